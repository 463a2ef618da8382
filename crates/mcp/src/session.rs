//! The life cycle of a connection that uses the guide contract: a line in, answer bytes out.
//!
//! ```text
//! state       message                             next
//! new         initialize that is answered         agreed (with its revision)
//! new         initialize that is refused          new
//! new         ping, server/discover, a fault      new
//! agreed      initialize                          agreed (refused)
//! any         shutdown                            over (SessionFlow::Exit)
//! ```
//!
//! A session does no I/O itself. The owner of the pipe drives it.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use milepost_model::suggest;
use milepost_ops::Response;
use milepost_ops::correlation::{self, Correlation};
use serde_json::{Map, Value};

use crate::answer::{self, RpcResult};
use crate::frame::Frame;
use crate::guide::Contract;
use crate::limits;
use crate::message::{self, Id, Incoming, Params, Request, RpcMessage};
use crate::request;
use crate::rpc_error::{self, RpcError};
use crate::stdio::WorkflowBackend;
use crate::trace::{self, RequestOutcome};
use crate::version::{Revision, SessionOptions, Surface};

/// What to do after a line.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionFlow {
    /// Read the next line.
    Continue,
    /// Send the output and stop.
    Exit,
    /// Hand the client over to the workflow contract; the line has not been answered.
    HandOver,
}

/// The output of a session; its owner sends it and clears it.
#[derive(Debug, Default)]
pub(crate) struct SessionOutput {
    /// Complete lines for the client.
    pub(crate) answers: Vec<u8>,
    /// Complete lines for the operator of the server.
    pub(crate) log: String,
}

/// One connection.
pub(crate) struct GuideSession<'c> {
    contract: &'c dyn Contract,
    /// The tools that are not guides, if they are served.
    workflows: Option<&'c WorkflowBackend>,
    options: SessionOptions,
    /// The revision agreed in the handshake.
    agreed: Option<Revision>,
}

impl<'c> GuideSession<'c> {
    /// A connection on which nothing has been sent yet.
    pub(crate) fn new(
        contract: &'c dyn Contract,
        workflows: Option<&'c WorkflowBackend>,
        options: SessionOptions,
    ) -> GuideSession<'c> {
        GuideSession { contract, workflows, options, agreed: None }
    }

    /// Answers one line, in full, before returning.
    pub(crate) fn line(&mut self, frame: Frame<'_>, output: &mut SessionOutput) -> SessionFlow {
        let incoming = match frame {
            Frame::Line(line) => message::read(line),
            Frame::Oversized => Incoming::Unreadable(RpcError::oversized_line()),
        };
        if let Incoming::One(RpcMessage::Request(request)) = &incoming
            && self.is_for_another(request)
        {
            return SessionFlow::HandOver;
        }
        let before = output.answers.len();
        let flow = match incoming {
            Incoming::Nothing => SessionFlow::Continue,
            Incoming::One(message) => self.message(&message, output),
            Incoming::Batch(messages) => self.batch(&messages, output),
            Incoming::Unreadable(fault) => {
                answer::fault(&mut output.answers, Id::NULL, &fault);
                SessionFlow::Continue
            }
        };
        if output.answers.len() > before {
            output.answers.push(b'\n');
        }
        flow
    }

    /// Whether a client opens in a way that this contract does not serve: with a revision of the
    /// other contract, or without a handshake.
    fn is_for_another(&self, request: &Request<'_>) -> bool {
        let is_only = self.options.surface == Surface::Workflowlookup || self.workflows.is_none();
        if self.agreed.is_some() || is_only {
            return false;
        }
        match request.method.as_ref() {
            "server/discover" => true,
            "initialize" => {
                let params = request.params.object();
                let revision = params.and_then(|params| requested(&params, self.options));
                revision.is_ok_and(|revision| !self.options.surface.is_guide(revision))
            }
            _ => matches!(request.params, Params::Object(text) if text.contains(request::VERSION)),
        }
    }

    fn batch(&mut self, messages: &[RpcMessage<'_>], output: &mut SessionOutput) -> SessionFlow {
        if self.agreed.is_some_and(|revision| !revision.has_batches()) {
            let fault = RpcError::invalid_request("this protocol version does not support batches");
            answer::fault(&mut output.answers, Id::NULL, &fault);
            return SessionFlow::Continue;
        }
        let mut flow = SessionFlow::Continue;
        let first = output.answers.len();
        for message in messages {
            let before = output.answers.len();
            // Starts the array before the first answer, and separates the others with commas.
            output.answers.push(if before == first { b'[' } else { b',' });
            let opened = output.answers.len();
            if self.member(message, first, output) == SessionFlow::Exit {
                flow = SessionFlow::Exit;
            }
            if output.answers.len() == opened {
                output.answers.truncate(before);
            }
        }
        if output.answers.len() > first {
            output.answers.push(b']');
        }
        flow
    }

    /// Answers one message of a batch whose answers start at `first`.
    fn member(
        &mut self,
        message: &RpcMessage<'_>,
        first: usize,
        output: &mut SessionOutput,
    ) -> SessionFlow {
        let RpcMessage::Request(request) = message else { return self.message(message, output) };
        let fault = if request.method == "initialize" {
            RpcError::invalid_request("initialize must not be in a batch")
        } else if output.answers.len() - first > limits::BATCH_ANSWER_BYTES {
            let details = "the answers to this batch exceed the size limit";
            RpcError::over_limit(details, limits::BATCH_ANSWER_BYTES)
        } else {
            return self.message(message, output);
        };
        answer::fault(&mut output.answers, request.id, &fault);
        SessionFlow::Continue
    }

    fn message(&mut self, message: &RpcMessage<'_>, output: &mut SessionOutput) -> SessionFlow {
        let request = match message {
            // No notification changes anything here, and we send clients no requests.
            RpcMessage::Notification(_) | RpcMessage::Response(_) => return SessionFlow::Continue,
            RpcMessage::Bad { id, fault } => {
                answer::fault(&mut output.answers, *id, fault);
                return SessionFlow::Continue;
            }
            RpcMessage::Request(request) => request,
        };
        let began = Instant::now();
        let replied = Correlation::current().within(|| self.reply(request, &mut output.log));
        let outcome = match &replied {
            Ok(RpcResult::Failed(_)) => RequestOutcome::Failed,
            Ok(_) => RequestOutcome::Ok,
            Err(_) => RequestOutcome::RpcError,
        };
        trace::answered(self.method(request), outcome, began);
        match replied {
            Ok(reply) => {
                answer::reply(&mut output.answers, request.id, &reply);
                if request.method == "shutdown" { SessionFlow::Exit } else { SessionFlow::Continue }
            }
            Err(fault) => {
                answer::fault(&mut output.answers, request.id, &fault);
                SessionFlow::Continue
            }
        }
    }

    /// The name that a method is counted under: the contract's own methods are counted together.
    fn method<'m>(&self, request: &'m Request<'_>) -> &'m str {
        let method = request.method.as_ref();
        if self.contract.names().contains(&method) { trace::GUIDE } else { method }
    }

    fn reply(&mut self, request: &Request<'_>, log: &mut String) -> Result<RpcResult, RpcError> {
        let (method, params) = (request.method.as_ref(), request.params);
        match method {
            "ping" => return Ok(RpcResult::Json("{}".into())),
            "initialize" => return self.initialize(params),
            // Stateless clients call this first; the error for an unknown method makes them use a
            // handshake instead.
            "server/discover" => return Err(RpcError::method_not_found(method)),
            _ if self.agreed.is_none() => return Err(RpcError::not_initialized()),
            _ => {}
        }
        match method {
            "shutdown" => Ok(RpcResult::Json("null".into())),
            "tools/call" => self.call_tool(request, log),
            "tools/list" => {
                let tools = format!("{{\"tools\":{}}}", self.contract.tools());
                one_page(params, RpcResult::Json(tools.into()))
            }
            "resources/list" => one_page(params, RpcResult::Json("{\"resources\":[]}".into())),
            "resources/templates/list" => {
                one_page(params, RpcResult::Json("{\"resourceTemplates\":[]}".into()))
            }
            "prompts/list" => one_page(params, RpcResult::Json("{\"prompts\":[]}".into())),
            _ if self.contract.names().contains(&method) => {
                let arguments = params.object()?;
                self.call(method, arguments, log)?.map(RpcResult::Plain)
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    fn initialize(&mut self, params: Params<'_>) -> Result<RpcResult, RpcError> {
        if self.agreed.is_some() {
            return Err(RpcError::invalid_request("the session is already initialized"));
        }
        let revision = requested(&params.object()?, self.options)?;
        self.agreed = Some(revision);
        Ok(RpcResult::Json(Cow::Owned(format!(
            concat!(
                r#"{{"protocolVersion":"{}","capabilities":{{"tools":{{"listChanged":false,"#,
                r#""notifyProgress":false}},"resources":{{"listChanged":false}}}},"serverInfo":"#,
                r#"{{"name":"workflowlookup","version":"{}","#,
                r#""description":"Workflow Orchestration System MCP Server"}}{}}}"#,
            ),
            revision.name(),
            env!("CARGO_PKG_VERSION"),
            self.instructions(revision),
        ))))
    }

    /// Instructions for the model on how to use the tools. The first revision is answered exactly
    /// as its contract specifies, without this field.
    fn instructions(&self, revision: Revision) -> String {
        match (revision, self.contract.instructions()) {
            (Revision::V20241105, _) | (_, "") => String::new(),
            (_, text) => format!(",\"instructions\":{}", Value::from(text)),
        }
    }

    fn call_tool(&self, request: &Request<'_>, log: &mut String) -> Result<RpcResult, RpcError> {
        let mut params = request.params.object()?;
        let arguments = match params.get_mut("arguments").map(Value::take) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(RpcError::not_an_object("arguments")),
        };
        let tool = required(&params, "name")?
            .as_str()
            .ok_or_else(|| RpcError::invalid_params("name is required: it must be a string"))?;
        let names = self.contract.names();
        if !names.contains(&tool) {
            let beyond =
                |_: &mut String| Ok(self.workflows.and_then(|all| all.call(tool, arguments)));
            if let Some(result) = guarded(tool, log, beyond)?? {
                return result.map(|text| RpcResult::Json(text.into()));
            }
            let nearest = suggest::nearest(tool, names.iter().copied());
            return Err(RpcError::unknown_tool(tool, nearest));
        }
        // A failure of the tool is a result, because models read results and correct their
        // arguments.
        Ok(match self.call(tool, arguments, log)? {
            Ok(result) => RpcResult::Gave(result),
            Err(fault) => RpcResult::Failed(fault),
        })
    }

    /// Calls a tool of the contract. The outer error is always an internal one, regardless of how
    /// the call was made.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        log: &mut String,
    ) -> Result<Result<Response, RpcError>, RpcError> {
        guarded(tool, log, |log| self.contract.call(tool, arguments, log))
    }
}

/// The revision that an `initialize` with these parameters negotiates.
pub(crate) fn requested(
    params: &Map<String, Value>,
    options: SessionOptions,
) -> Result<Revision, RpcError> {
    let requested = required(params, "protocolVersion")?;
    let requested = requested
        .as_str()
        .ok_or_else(|| RpcError::invalid_params("protocolVersion must be a string"))?;
    if !required(params, "capabilities")?.is_object() {
        return Err(RpcError::not_an_object("capabilities"));
    }
    options.negotiate(requested)
}

/// Runs a tool and catches panics. The inner result is the tool's; the outer error is an internal
/// one: a panic, or one that the tool reports itself.
pub(crate) fn guarded<T>(
    tool: &str,
    log: &mut String,
    work: impl FnOnce(&mut String) -> Result<T, RpcError>,
) -> Result<Result<T, RpcError>, RpcError> {
    // Unwinding leaves the contract usable: it is `Sync`, so the state shared between calls is
    // behind locks.
    let called = catch_unwind(AssertUnwindSafe(|| work(log)));
    let cause = match called {
        Ok(Err(fault)) if fault.code == rpc_error::INTERNAL_ERROR => fault.data.to_string(),
        Ok(result) => return Ok(result),
        Err(panic) => said(&*panic),
    };
    // The client gets a correlation id; the details are for the operator only.
    let id = correlation::id();
    trace::internal(&id, tool);
    log.extend(["internal error ", &id, ": tool `", tool, "`: ", &cause, "\n"]);
    Err(RpcError::internal(&id))
}

/// Answers a request for a list that fits on one page, for which no cursor was ever issued.
fn one_page(params: Params<'_>, reply: RpcResult) -> Result<RpcResult, RpcError> {
    match params.object()?.get("cursor") {
        None | Some(Value::Null) => Ok(reply),
        Some(_) => Err(RpcError::invalid_params("unknown cursor")),
    }
}

fn required<'m>(params: &'m Map<String, Value>, name: &str) -> Result<&'m Value, RpcError> {
    let given = params.get(name).filter(|value| !value.is_null());
    given.ok_or_else(|| RpcError::invalid_params(format!("{name} is required")))
}

/// The message of a panic, on one line.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").replace(['\n', '\r'], " ")
}
