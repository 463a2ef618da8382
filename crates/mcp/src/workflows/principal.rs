//! Who is behind a request, as far as it is known.

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};

use crate::http::Principal;

/// Where a client of HTTP says which session is its own.
const SESSION: &str = "mcp-session-id";

/// Who asks, where a token says so. Whoever comes over a pipe is the user themselves.
pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<Principal>()?.name().map(str::to_owned)
}

/// The session of a client; a pipe is one by itself.
pub(super) fn session(context: &RequestContext<RoleServer>) -> String {
    let parts = context.extensions.get::<Parts>();
    let session = parts.and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
    session.unwrap_or_default().to_owned()
}

/// What tells one client from another.
pub(super) fn client_key(context: &RequestContext<RoleServer>) -> String {
    format!("{}\n{}", session(context), of(context).unwrap_or_default())
}
