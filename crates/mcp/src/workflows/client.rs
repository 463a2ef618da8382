//! The client behind a call: who it is, and whether it can be asked questions. Some calls are
//! answered immediately, by the same code as all others but without going through `rmcp`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use axum::http::request::Parts;
use milepost_ops::{AgentCaller, Safety, Task, Tool};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ErrorData, JsonObject,
    ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};

use super::WorkflowServer;
use super::tool_names::ToolTarget;
use crate::answer::{self, RpcResult};
use crate::http::Principal;
use crate::message::Id;
use crate::trace::{self, RequestOutcome};
use crate::version::Revision;

/// A client's request, as `rmcp` represents it.
pub(super) type Context = RequestContext<RoleServer>;
/// What a handler returns to `rmcp` in answer to a request.
pub(super) type Answer<T> = Result<T, ErrorData>;

/// The header in which an HTTP client names its session.
const SESSION: &str = "mcp-session-id";

/// The client that made a call.
#[derive(Clone, Copy)]
pub(super) enum McpClient<'c> {
    /// A client served by `rmcp`. In a session, it is asked with a request from the server;
    /// otherwise it repeats its request together with the answer.
    Peer(&'c Context),
    /// A client on the guide contract. Nothing is known about it, and it cannot be asked questions.
    Guide,
    /// A client whose call is answered immediately, or else left to `rmcp`.
    AtOnce(&'c AtOnce),
}

/// A client in a session, with what an immediate call needs to know about it.
#[derive(Debug)]
pub(crate) struct AtOnce {
    revision: Revision,
    principal: Option<String>,
    /// Whether the call is left to `rmcp`: somebody has to be asked, or it failed.
    is_left: AtomicBool,
}

impl AtOnce {
    pub(crate) fn new(revision: Revision, principal: Option<String>) -> AtOnce {
        AtOnce { revision, principal, is_left: AtomicBool::new(false) }
    }
}

impl<'c> McpClient<'c> {
    /// The request context from `rmcp`.
    pub(super) fn context(self) -> Option<&'c Context> {
        match self {
            McpClient::Peer(context) => Some(context),
            McpClient::Guide | McpClient::AtOnce(_) => None,
        }
    }

    /// If the call was to be answered immediately, leaves it to `rmcp` instead, because somebody
    /// has to be asked or the call failed. Returns whether it is such a call.
    pub(super) fn leaves_it(self) -> bool {
        if let McpClient::AtOnce(client) = self {
            client.is_left.store(true, Ordering::Relaxed);
        }
        matches!(self, McpClient::AtOnce(_))
    }

    fn capabilities(self) -> Option<ClientCapabilities> {
        self.context().and_then(RequestContext::client_capabilities)
    }

    /// Whether the client can ask its user to fill in a form.
    pub(super) fn has_forms(self) -> bool {
        has_forms(self.capabilities().as_ref())
    }

    /// Whether the request is stateless.
    pub(super) fn is_stateless(self) -> bool {
        self.context().is_some_and(is_stateless)
    }

    /// Whether the client accepts a task as an answer, which only stateless clients do.
    pub(super) fn knows_tasks(self) -> bool {
        self.is_stateless() && self.capabilities().is_some_and(|can| can.supports_tasks())
    }

    /// Whether the client reads structured content and resource links.
    pub(super) fn reads_structure(self) -> bool {
        if let McpClient::AtOnce(client) = self {
            return client.revision >= Revision::V20250618;
        }
        let Some(context) = self.context() else { return false };
        let known = context.peer.peer_info().map(|info| info.protocol_version.clone());
        // Requests without a handshake use a later revision.
        known.is_none_or(|version| version >= ProtocolVersion::V_2025_06_18)
    }

    /// Whether the request was canceled.
    pub(super) fn is_gone(self) -> bool {
        self.context().is_some_and(|context| context.ct.is_cancelled())
    }

    /// The user, if a token names one. Over a pipe there is only the local user.
    pub(super) fn principal(self) -> Option<String> {
        match self {
            McpClient::Peer(context) => principal(context),
            McpClient::Guide => None,
            McpClient::AtOnce(client) => client.principal.clone(),
        }
    }

    /// The agent behind the call.
    pub(super) fn agent(self) -> AgentCaller {
        AgentCaller { principal: self.principal() }
    }

    /// A key that identifies the client.
    pub(super) fn key(self) -> String {
        let session = self.context().map(session);
        let principal = self.principal();
        format!("{}\n{}", session.unwrap_or_default(), principal.unwrap_or_default())
    }
}

/// The user that the request's token names, if any.
pub(super) fn principal(context: &Context) -> Option<String> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<Principal>()?.name().map(str::to_owned)
}

/// The agent behind a request.
pub(super) fn agent(context: &Context) -> AgentCaller {
    AgentCaller { principal: principal(context) }
}

/// The session id of a client; empty for a pipe, which is a single session.
pub(super) fn session(context: &Context) -> String {
    let parts = context.extensions.get::<Parts>();
    let session = parts.and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
    session.unwrap_or_default().to_owned()
}

/// Whether a client can show forms. An empty elicitation capability means that the client supports
/// forms.
pub(super) fn has_forms(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whether the request is stateless.
pub(super) fn is_stateless(context: &Context) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

impl WorkflowServer {
    /// Answers a call that only reads and has nothing to wait for. Most calls are like this, and
    /// going through `rmcp` costs several times as much as the call itself. `None` leaves the call
    /// to `rmcp`; in that case, nothing has been changed.
    ///
    /// Must be called from within a runtime.
    pub(crate) fn call_at_once(
        &self,
        params: &JsonObject,
        id: Id<'_>,
        client: &AtOnce,
    ) -> Option<Vec<u8>> {
        // Any other parameter requests more than the result.
        if params.keys().any(|key| key != "name" && key != "arguments") {
            return None;
        }
        let name = params.get("name")?.as_str()?;
        let Some(ToolTarget::Operation(operation)) = self.meant(name) else { return None };
        let stays_here = |tool: Tool| !tool.calls_out && tool.task == Task::Never;
        if operation.safety != Safety::Safe || !operation.tool().is_some_and(stays_here) {
            return None;
        }
        let arguments = match params.get("arguments") {
            None => JsonObject::new(),
            Some(arguments) => arguments.as_object()?.clone(),
        };
        let request = CallToolRequestParams::new(operation.name).with_arguments(arguments);
        let call = self.call(McpClient::AtOnce(client), request);
        // A failed call is reported when it is repeated through `rmcp`.
        let mut work = pin!(trace::request("tools/call", call, |end| end == RequestOutcome::Ok));
        let poll = || work.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop()));
        // A panic ends only this attempt; the call through `rmcp` reports it.
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(Ok(CallToolResponse::Complete(mut result))))
                if result.is_error != Some(true) && !client.is_left.load(Ordering::Relaxed) =>
            {
                // Clients that opened with a handshake do not know this field.
                result.result_type = None;
                let mut text = Vec::new();
                let result = serde_json::to_string(&result).ok()?;
                answer::reply(&mut text, id, &RpcResult::Json(result.into()));
                Some(text)
            }
            _ => None,
        }
    }
}
