//! Decides what happens to each message: we answer it, or pass it to `rmcp`. `rmcp` ignores lines
//! it cannot read, loses the reply to a malformed envelope under load, and quits if a notification
//! comes first, so these cases are handled here.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rmcp::model::{GetExtensions, JsonObject, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::outbox::{Batch, Outbox};
use crate::answer::{self, RpcResult};
use crate::frame::Frame;
use crate::guide::Contract;
use crate::message::{self, Id, Incoming, Request, RpcMessage};
use crate::request::{self, DISCOVER, Era};
use crate::rpc_error::RpcError;
use crate::session;
use crate::trace::{self, RequestOutcome};
use crate::version::{Revision, SessionOptions};
use crate::workflows::{AtOnce, WorkflowServer};

/// Whether to read more lines: [`MORE`] or [`OVER`].
pub(super) type Verdict = ControlFlow<()>;

const MORE: Verdict = Verdict::Continue(());
const OVER: Verdict = Verdict::Break(());

/// One connection, from the point of view of the thread that reads its lines.
pub(super) struct Framing {
    server: WorkflowServer,
    options: SessionOptions,
    outbox: Outbox,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    /// The runtime on which this thread waits for answers.
    runtime: Handle,
    /// The revision agreed in the handshake.
    agreed: Option<Revision>,
    /// Whether a stateless request has been made, in which case no handshake is needed.
    stateless: bool,
    /// The current request: the name it is counted under, and when it started.
    asked: (&'static str, Instant),
}

type InBatch<'b> = Option<&'b Arc<Mutex<Batch>>>;

impl Framing {
    pub(super) fn new(
        server: WorkflowServer,
        options: SessionOptions,
        outbox: Outbox,
        inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
        runtime: Handle,
    ) -> Framing {
        let asked = (trace::known(""), Instant::now());
        Framing { server, options, outbox, inbox, runtime, agreed: None, stateless: false, asked }
    }

    pub(super) fn line(&mut self, frame: Frame<'_>) -> Verdict {
        self.outbox.wait_for_room();
        let incoming = match frame {
            Frame::Line(line) => message::read(line),
            Frame::Oversized => Incoming::Unreadable(RpcError::oversized_line()),
        };
        self.asked = (trace::known(""), Instant::now());
        match incoming {
            Incoming::Nothing => MORE,
            Incoming::One(one) => self.message(&one, None),
            Incoming::Batch(messages) => self.batch(&messages),
            Incoming::Unreadable(fault) => self.refuse(Id::NULL, &fault, None),
        }
    }

    fn batch(&mut self, messages: &[RpcMessage<'_>]) -> Verdict {
        if !self.agreed.is_some_and(Revision::has_batches) {
            let fault = RpcError::invalid_request("this protocol version does not support batches");
            return self.refuse(Id::NULL, &fault, None);
        }
        let batch = Arc::default();
        let verdict = messages.iter().try_for_each(|message| self.message(message, Some(&batch)));
        self.outbox.complete(&batch);
        verdict
    }

    fn message(&mut self, message: &RpcMessage<'_>, batch: InBatch<'_>) -> Verdict {
        match message {
            RpcMessage::Bad { id, fault } => self.refuse(*id, fault, batch),
            // Notifications before the first handshake or stateless request are ignored.
            RpcMessage::Notification(_) if !self.is_open() => MORE,
            RpcMessage::Notification(text) | RpcMessage::Response(text) => self.pass(text),
            RpcMessage::Request(request) => {
                let handled = self.request(request, batch);
                handled.unwrap_or_else(|fault| self.refuse(request.id, &fault, batch))
            }
        }
    }

    /// Whether requests are accepted: a handshake was made, or none is needed.
    fn is_open(&self) -> bool {
        self.agreed.is_some() || self.stateless
    }

    /// Passes on a message that expects no answer; one that is not part of the protocol is ignored.
    fn pass(&mut self, text: &str) -> Verdict {
        let Ok(message) = serde_json::from_str(text) else { return MORE };
        if let JsonRpcMessage::Notification(note) = &message
            && let rmcp::model::ClientNotification::CancelledNotification(note) = &note.notification
            && let Some(id) = &note.params.request_id
        {
            self.outbox.give_up(id);
        }
        self.hand_on(message)
    }

    /// Handles a request; the error is its answer.
    fn request(&mut self, request: &Request<'_>, batch: InBatch<'_>) -> Result<Verdict, RpcError> {
        let method = request.method.as_ref();
        self.asked = (trace::known(method), Instant::now());
        let params = request.params.object()?;
        let alone = request::stands_alone(&params);
        match method {
            "initialize" if batch.is_some() => {
                Err(RpcError::invalid_request("initialize must not be in a batch"))
            }
            "initialize" => self.initialize(request, params),
            "ping" if !alone => Ok(self.reply(request.id, &RpcResult::Json("{}".into()), batch)),
            "shutdown" => {
                self.settle();
                let _ = self.reply(request.id, &RpcResult::Json("null".into()), batch);
                Ok(OVER)
            }
            _ if alone || method == DISCOVER => {
                self.stateless |= alone && method != DISCOVER;
                self.work(request, params, Era::Stateless, batch)
            }
            _ if !self.is_open() => Err(RpcError::not_initialized()),
            _ if self.server.guides().names().contains(&method) && !self.server.only_works() => {
                self.bare(method, request.id, params, batch)
            }
            _ => {
                if let Some(verdict) = self.at_once(request, &params, batch) {
                    return Ok(verdict);
                }
                let era = self.agreed.map_or(Era::Stateless, |agreed| Era::of(agreed, true));
                self.work(request, params, era, batch)
            }
        }
    }

    /// Answers a call that has nothing to wait for.
    fn at_once(
        &self,
        request: &Request<'_>,
        params: &JsonObject,
        batch: InBatch<'_>,
    ) -> Option<Verdict> {
        let revision = self.agreed.filter(|_| request.method == "tools/call")?;
        let is_free = request::id(request.id).is_ok_and(|id| !self.outbox.is_open(&id));
        let _entered = self.runtime.enter();
        let client = is_free.then(|| AtOnce::new(revision, None))?;
        let text = self.server.call_at_once(params, request.id, &client)?;
        match batch {
            Some(_) => self.outbox.answer(text, batch),
            None => self.outbox.answer_later(text),
        }
        Some(MORE)
    }

    /// Sends all answers that were held back; called when there is nothing more to read.
    pub(super) fn flush(&self) {
        self.outbox.flush();
    }

    fn initialize(
        &mut self,
        request: &Request<'_>,
        params: JsonObject,
    ) -> Result<Verdict, RpcError> {
        if self.agreed.is_some() {
            return Err(RpcError::invalid_request("the session is already initialized"));
        }
        let (revision, params) = request::handshake(params, self.options)?;
        let verdict = self.work(request, params, Era::Handshake, None);
        self.agreed = Some(revision);
        // Nothing may be answered before the handshake.
        self.settle();
        verdict
    }

    /// Calls a method of the guide contract directly by its name.
    fn bare(
        &mut self,
        method: &str,
        id: Id<'_>,
        arguments: JsonObject,
        batch: InBatch<'_>,
    ) -> Result<Verdict, RpcError> {
        self.asked.0 = trace::GUIDE;
        let mut log = String::new();
        let called = session::guarded(method, &mut log, |log| {
            self.server.guides().call(method, arguments, log)
        });
        self.server.log_lines(&log);
        Ok(self.reply(id, &RpcResult::Plain(called??), batch))
    }

    /// Passes a request to `rmcp` if it is one that `rmcp` understands.
    fn work(
        &mut self,
        request: &Request<'_>,
        params: JsonObject,
        era: Era,
        batch: InBatch<'_>,
    ) -> Result<Verdict, RpcError> {
        let id = match request::id(request.id) {
            Ok(id) => id,
            // An id that cannot be read cannot be repeated either.
            Err(fault) => return Ok(self.refuse(Id::NULL, &fault, batch)),
        };
        let mut read = request::understood(&request.method, params, era)?;
        // The rest may take a while, so earlier answers are sent first.
        self.flush();
        self.outbox.pace();
        self.outbox.open(&id, request.bytes(), batch)?;
        read.extensions_mut().insert(self.outbox.clone());
        Ok(self.hand_on(JsonRpcMessage::request(read, id)))
    }

    /// Waits until every earlier request has been answered.
    fn settle(&self) {
        self.runtime.block_on(self.outbox.settled());
    }

    fn hand_on(&mut self, message: RxJsonRpcMessage<RoleServer>) -> Verdict {
        if self.inbox.blocking_send(message).is_ok() { MORE } else { OVER }
    }

    fn reply(&mut self, id: Id<'_>, reply: &RpcResult, batch: InBatch<'_>) -> Verdict {
        let mut text = Vec::new();
        answer::reply(&mut text, id, reply);
        self.answer(text, RequestOutcome::Ok, batch)
    }

    fn refuse(&mut self, id: Id<'_>, fault: &RpcError, batch: InBatch<'_>) -> Verdict {
        let mut text = Vec::new();
        answer::fault(&mut text, id, fault);
        self.answer(text, RequestOutcome::RpcError, batch)
    }

    fn answer(&self, text: Vec<u8>, outcome: RequestOutcome, batch: InBatch<'_>) -> Verdict {
        trace::answered(self.asked.0, outcome, self.asked.1);
        self.outbox.answer(text, batch);
        MORE
    }
}
