//! What becomes of each message: an answer of the edge, or work for `rmcp`.

use std::sync::{Arc, Mutex};

use rmcp::model::{ClientRequest, JsonRpcMessage, NumberOrString};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::wire::{Batch, Outbox};
use crate::answer::{self, Reply};
use crate::contract::Contract;
use crate::fault::Fault;
use crate::frame::Frame;
use crate::message::{self, Id, Incoming, Message, Request};
use crate::params;
use crate::session;
use crate::version::{Options, Revision};
use crate::workflows::{Face, TASK};

/// Whether more lines are wanted.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    More,
    Over,
}

/// The methods whose parameters `rmcp` knows: one it does not understand has wrong ones.
const STANDARD: &[&str] = &[
    "ping",
    "initialize",
    "server/discover",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
/// Where a request of the stateless era says its version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// One connection, as the reader of its lines sees it.
pub(super) struct Edge {
    face: Face,
    options: Options,
    outbox: Outbox,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    /// Where answers are waited for.
    runtime: Handle,
    /// The revision that a handshake settled.
    agreed: Option<Revision>,
    /// A request that stands alone was made: there need not be a handshake.
    stateless: bool,
}

type InBatch<'b> = Option<&'b Arc<Mutex<Batch>>>;

impl Edge {
    pub(super) fn new(
        face: Face,
        options: Options,
        outbox: Outbox,
        inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    ) -> Edge {
        let runtime = Handle::current();
        Edge { face, options, outbox, inbox, runtime, agreed: None, stateless: false }
    }

    pub(super) fn line(&mut self, frame: Frame<'_>) -> Verdict {
        let incoming = match frame {
            Frame::Line(line) => message::read(line),
            Frame::Oversized => Incoming::Unreadable(Fault::oversized_line()),
        };
        match incoming {
            Incoming::Nothing => Verdict::More,
            Incoming::One(one) => self.message(&one, None),
            Incoming::Batch(messages) => self.batch(&messages),
            Incoming::Unreadable(fault) => self.refuse(Id::NULL, &fault, None),
        }
    }

    fn batch(&mut self, messages: &[Message<'_>]) -> Verdict {
        if !self.agreed.is_some_and(Revision::has_batches) {
            let fault = Fault::invalid_request("this protocol version has no batches");
            return self.refuse(Id::NULL, &fault, None);
        }
        let batch = Arc::default();
        let mut verdict = Verdict::More;
        for message in messages {
            if self.message(message, Some(&batch)) == Verdict::Over {
                verdict = Verdict::Over;
                break;
            }
        }
        self.outbox.complete(&batch);
        verdict
    }

    fn message(&mut self, message: &Message<'_>, batch: InBatch<'_>) -> Verdict {
        match message {
            Message::Bad { id, fault } => self.refuse(*id, fault, batch),
            Message::Notification(note) => self.notification(note.text),
            Message::Response(text) => self.pass(text),
            Message::Request(request) => self.request(request, batch),
        }
    }

    /// A notification that opens a connection, or that cannot be read, changes nothing.
    fn notification(&mut self, text: &str) -> Verdict {
        if self.agreed.is_none() && !self.stateless {
            return Verdict::More;
        }
        self.pass(text)
    }

    /// Hands on what wants no answer; what is none of the protocol's is nothing.
    fn pass(&mut self, text: &str) -> Verdict {
        let Ok(message) = serde_json::from_str(text) else { return Verdict::More };
        if let JsonRpcMessage::Notification(note) = &message
            && let rmcp::model::ClientNotification::CancelledNotification(note) = &note.notification
            && let Some(id) = &note.params.request_id
        {
            self.outbox.give_up(id);
        }
        self.hand_on(message)
    }

    fn request(&mut self, request: &Request<'_>, batch: InBatch<'_>) -> Verdict {
        let method = request.method.as_ref();
        let params = match params::object(request.params) {
            Ok(params) => params,
            Err(fault) => return self.refuse(request.id, &fault, batch),
        };
        let alone = params.get("_meta").is_some_and(|meta| meta.get(VERSION).is_some());
        match method {
            "initialize" if batch.is_some() => {
                let fault = Fault::invalid_request("initialize must not be in a batch");
                self.refuse(request.id, &fault, batch)
            }
            "initialize" => self.initialize(request, params),
            "ping" if !alone => self.reply(request.id, &Reply::Fixed("{}"), batch),
            "shutdown" => {
                self.settle();
                let (Verdict::More | Verdict::Over) =
                    self.reply(request.id, &Reply::Fixed("null"), batch);
                Verdict::Over
            }
            _ if alone || method == "server/discover" => {
                self.stateless |= alone && method != "server/discover";
                self.work(request, params, batch)
            }
            _ if self.agreed.is_none() && !self.stateless => {
                self.refuse(request.id, &Fault::not_initialized(), batch)
            }
            _ if self.face.guides().names().contains(&method) && !self.face.only_works() => {
                self.bare(method, request.id, params, batch)
            }
            _ => self.work(request, params, batch),
        }
    }

    /// Checks the handshake, so that `rmcp` sees only one that it will accept.
    fn initialize(&mut self, request: &Request<'_>, mut params: Map<String, Value>) -> Verdict {
        if self.agreed.is_some() {
            let fault = Fault::invalid_request("the session is initialized already");
            return self.refuse(request.id, &fault, None);
        }
        let revision = match session::requested(&params, self.options) {
            Ok(revision) => revision,
            Err(fault) => return self.refuse(request.id, &fault, None),
        };
        params.insert("protocolVersion".into(), revision.as_str().into());
        params
            .entry("clientInfo")
            .or_insert_with(|| serde_json::json!({"name": "unknown", "version": "0"}));
        let verdict = self.work(request, params, None);
        self.agreed = Some(revision);
        // Nothing is answered before the handshake is.
        self.settle();
        verdict
    }

    /// A method of the guide contract, called by its bare name.
    fn bare(
        &mut self,
        method: &str,
        id: Id<'_>,
        arguments: Map<String, Value>,
        batch: InBatch<'_>,
    ) -> Verdict {
        let mut log = String::new();
        let called = session::guarded(method, &mut log, |log| {
            self.face.guides().call(method, arguments, log)
        });
        self.face.log_lines(&log);
        match called {
            Ok(Ok(response)) => self.reply(id, &Reply::Plain(response), batch),
            Ok(Err(fault)) | Err(fault) => self.refuse(id, &fault, batch),
        }
    }

    /// Work for `rmcp`, when it is a request that it understands.
    fn work(
        &mut self,
        request: &Request<'_>,
        mut params: Map<String, Value>,
        batch: InBatch<'_>,
    ) -> Verdict {
        let method = request.method.as_ref();
        let Some(id) = id(request.id) else {
            let fault = Fault::invalid_request("id must be a string or an integer");
            return self.refuse(Id::NULL, &fault, batch);
        };
        if method == "tools/call" && self.agreed == Some(Revision::V20251125) {
            move_task(&mut params);
        }
        let mut value = serde_json::json!({"method": method});
        if !params.is_empty() {
            value["params"] = Value::Object(params);
        }
        let read = serde_json::from_value::<ClientRequest>(value.clone());
        let read = match read {
            Ok(ClientRequest::CustomRequest(_)) | Err(_) if STANDARD.contains(&method) => {
                let fault = Fault::invalid_params(format!("these are no parameters of {method}"));
                return self.refuse(request.id, &fault, batch);
            }
            Ok(ClientRequest::CustomRequest(custom)) if self.is_task_method(method) => {
                ClientRequest::CustomRequest(custom)
            }
            Ok(ClientRequest::CustomRequest(_)) | Err(_) => {
                return self.refuse(request.id, &Fault::method_not_found(method), batch);
            }
            Ok(read) => read,
        };
        if !self.outbox.open(&id, batch) {
            let fault = Fault::invalid_request("a request with this id is under way");
            return self.refuse(request.id, &fault, batch);
        }
        self.hand_on(JsonRpcMessage::request(read, id))
    }

    /// Whether a method is one of the tasks of 2025-11-25, of which `rmcp` knows nothing.
    fn is_task_method(&self, method: &str) -> bool {
        self.agreed == Some(Revision::V20251125) && matches!(method, "tasks/result" | "tasks/list")
    }

    /// Waits until every request before this one has its answer.
    fn settle(&self) {
        self.runtime.block_on(self.outbox.settled());
    }

    fn hand_on(&mut self, message: RxJsonRpcMessage<RoleServer>) -> Verdict {
        match self.inbox.blocking_send(message) {
            Ok(()) => Verdict::More,
            Err(_) => Verdict::Over,
        }
    }

    fn reply(&mut self, id: Id<'_>, reply: &Reply<'_>, batch: InBatch<'_>) -> Verdict {
        let mut text = Vec::new();
        answer::reply(&mut text, id, reply);
        self.outbox.answer(text, batch);
        Verdict::More
    }

    fn refuse(&mut self, id: Id<'_>, fault: &Fault, batch: InBatch<'_>) -> Verdict {
        let mut text = Vec::new();
        answer::fault(&mut text, id, fault);
        self.outbox.answer(text, batch);
        Verdict::More
    }
}

/// Puts what makes a call a task where `rmcp` keeps it.
fn move_task(params: &mut Map<String, Value>) {
    let Some(task) = params.remove("task") else { return };
    let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(TASK.to_owned(), task);
    }
}

/// An id as `rmcp` has it: MCP allows strings and integers.
fn id(id: Id<'_>) -> Option<NumberOrString> {
    match serde_json::from_str(id.as_json()).ok()? {
        Value::String(text) => Some(NumberOrString::String(text.into())),
        Value::Number(number) => number.as_i64().map(NumberOrString::Number),
        _ => None,
    }
}
