//! The client behind a call, as far as the protocol tells: who it is, and whether it can be asked.

use axum::http::request::Parts;
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};

use super::inline_call::AtOnce;
use crate::http::Principal;

/// Where a client of HTTP says which session is its own.
const SESSION: &str = "mcp-session-id";

/// Whoever made a call.
#[derive(Clone, Copy)]
pub(super) enum McpClient<'c> {
    /// One that `rmcp` serves. One that shook hands may be asked by a request of ours, any other
    /// in rounds: it repeats its request with the answer.
    Peer(&'c RequestContext<RoleServer>),
    /// One of the guide contract. Nothing is known of it, and it cannot be asked.
    Guide,
    /// One that is answered on the spot or not at all.
    AtOnce(&'c AtOnce),
}

impl<'c> McpClient<'c> {
    /// What `rmcp` knows of the call.
    pub(super) fn context(self) -> Option<&'c RequestContext<RoleServer>> {
        match self {
            McpClient::Peer(context) => Some(context),
            McpClient::Guide | McpClient::AtOnce(_) => None,
        }
    }

    /// Leaves a call that was to be answered on the spot to `rmcp`: somebody has to be asked, or it
    /// fails. Whether it is such a call.
    pub(super) fn leaves_it(self) -> bool {
        if let McpClient::AtOnce(client) = self {
            client.leave();
        }
        matches!(self, McpClient::AtOnce(_))
    }

    fn capabilities(self) -> Option<ClientCapabilities> {
        self.context().and_then(RequestContext::client_capabilities)
    }

    /// Whether its person can be asked to fill in a form.
    pub(super) fn has_forms(self) -> bool {
        has_forms(self.capabilities().as_ref())
    }

    /// Whether the request stands alone.
    pub(super) fn is_stateless(self) -> bool {
        self.context().is_some_and(is_stateless)
    }

    /// Whether it takes a task for an answer: only where every request stands alone.
    pub(super) fn knows_tasks(self) -> bool {
        self.is_stateless() && self.capabilities().is_some_and(|can| can.supports_tasks())
    }

    /// Whether it knows results with a structure, and addresses in them.
    pub(super) fn reads_structure(self) -> bool {
        if let McpClient::AtOnce(client) = self {
            return client.revision().as_str() >= ProtocolVersion::V_2025_06_18.as_str();
        }
        let Some(context) = self.context() else { return false };
        let known = context.peer.peer_info().map(|info| info.protocol_version.clone());
        // What comes without a handshake is of a later revision.
        known.is_none_or(|version| version >= ProtocolVersion::V_2025_06_18)
    }

    /// Whether nobody wants the answer any more.
    pub(super) fn is_gone(self) -> bool {
        self.context().is_some_and(|context| context.ct.is_cancelled())
    }

    /// Who asks, where a token says so. Whoever comes over a pipe is the user themselves.
    pub(super) fn principal(self) -> Option<String> {
        match self {
            McpClient::Peer(context) => principal(context),
            McpClient::Guide => None,
            McpClient::AtOnce(client) => client.principal().map(str::to_owned),
        }
    }

    /// What tells one client from another.
    pub(super) fn key(self) -> String {
        let session = self.context().map(session);
        let principal = self.principal();
        format!("{}\n{}", session.unwrap_or_default(), principal.unwrap_or_default())
    }
}

/// Who asks, where a token says so.
pub(super) fn principal(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<Principal>()?.name().map(str::to_owned)
}

/// The session of a client; a pipe is one by itself.
pub(super) fn session(context: &RequestContext<RoleServer>) -> String {
    let parts = context.extensions.get::<Parts>();
    let session = parts.and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
    session.unwrap_or_default().to_owned()
}

/// Whether a client asks people to fill in forms. An empty capability means forms.
pub(super) fn has_forms(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whether the request stands alone.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
