//! Streamable HTTP in front of `rmcp`: one endpoint for clients with and without a handshake.
//!
//! ```text
//! connection -> guard (Host, Origin, token) -> endpoint (bodies, faults) -> rmcp -> handler
//!                                               ^ sessions: handshakes, requests in flight
//! ```
//!
//! Nothing reaches a route before the [`Guard`] has admitted it. The endpoint answers requests that
//! `rmcp` leaves unanswered or answers badly, with the same messages as over a pipe. Any handler
//! can be served, because nothing here depends on what it does.

mod connections;
mod endpoint;
mod guard;
mod jwt;
mod oauth;
mod probe;
mod reply;
mod sessions;
mod slots;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get};
use rmcp::handler::server::ServerHandler;
use tokio::net::TcpListener;

pub(crate) use self::guard::Principal;
pub use self::guard::{AllowListError, Guard, HttpAccess};
pub use self::oauth::{KeySource, OAuthError, ResourceServer};
use crate::limits;
use crate::version::SessionOptions;
use crate::workflows::WorkflowServer;
use connections::Shutdown;
use endpoint::Endpoint;
use probe::Probe;
use slots::Connection;

/// The path of the MCP endpoint.
pub const PATH: &str = "/mcp";

/// The settings of an HTTP server.
#[derive(Clone)]
pub struct HttpSettings {
    /// Who may send requests.
    pub guard: Guard,
    /// Which revisions are accepted in handshakes.
    pub options: SessionOptions,
    /// The server behind the handler, if it is our own. It reports the state of runs, and answers
    /// the task methods of revision 2025-11-25 as custom requests.
    pub server: Option<WorkflowServer>,
    pub limits: HttpLimits,
}

/// The limits of an HTTP server.
#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    /// Maximum number of bytes in one request body.
    pub body_bytes: usize,
    /// Maximum number of concurrent connections.
    pub connections: usize,
    /// Maximum number of concurrent sessions.
    pub sessions: usize,
    /// How long a session without activity is kept.
    pub session_idle: Duration,
    /// How long a client may take to send the head of a request.
    pub head_timeout: Duration,
    /// How long requests in flight may take to finish at shutdown.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            body_bytes: limits::LINE_BYTES,
            connections: limits::CONNECTIONS,
            sessions: limits::SESSIONS,
            session_idle: limits::SESSION_IDLE,
            head_timeout: limits::HEAD_TIMEOUT,
            grace: limits::GRACE,
        }
    }
}

/// Serves handlers that the factory creates, one for each session and each stateless request, until
/// `stop` completes. Requests in flight are answered before this returns; those that exceed the
/// grace period are answered with an error.
pub async fn serve<S, F>(
    listener: TcpListener,
    settings: HttpSettings,
    handler: F,
    stop: impl Future<Output = ()>,
) where
    S: ServerHandler,
    F: Fn() -> S + Send + Sync + 'static,
{
    let shutdown = Shutdown::default();
    let endpoint = Arc::new(Endpoint::new(handler, &settings, shutdown.clone()));
    let sweeper =
        tokio::spawn(sessions::sweep(Arc::clone(&endpoint.sessions), settings.limits.session_idle));
    let probe = Probe::new(settings.server, Arc::clone(&endpoint.sessions));
    let app = router(endpoint, Arc::new(settings.guard), probe);
    connections::serve(listener, app, settings.limits, stop, &shutdown).await;
    sweeper.abort();
}

/// Every route, behind the guard.
fn router<S: ServerHandler>(endpoint: Arc<Endpoint<S>>, guard: Arc<Guard>, probe: Probe) -> Router {
    let probe = Arc::new(probe);
    let (health, metrics) = (Arc::clone(&probe), probe);
    let mcp = move |request: Request| {
        let endpoint = Arc::clone(&endpoint);
        async move { endpoint.answer(request).await }
    };
    let mut routes = Router::new()
        .route(PATH, any(mcp))
        .route(probe::HEALTH, get(move || async move { health.health().await }))
        .route(probe::METRICS, get(move || async move { metrics.metrics().await }));
    if let HttpAccess::OAuth(server) = &guard.access {
        let text = server.metadata().to_string();
        let metadata = move || async move { reply::json(StatusCode::OK, text.into_bytes()) };
        let path = format!("{}{PATH}", oauth::METADATA);
        routes = routes.route(oauth::METADATA, get(metadata.clone())).route(&path, get(metadata));
    }
    let admit = move |request: Request, next: Next| {
        let guard = Arc::clone(&guard);
        async move { admitted(&guard, request, next).await }
    };
    let routes = routes.fallback(|| async { reply::no_route() });
    routes.layer(middleware::from_fn(admit)).layer(middleware::from_fn(probe::watched))
}

async fn admitted(guard: &Guard, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match guard.admit(&head).await {
        Ok(admitted) => {
            if let (Some(who), Some(connection)) =
                (&admitted, head.extensions.get::<Arc<Connection>>())
                && !connection.admit(who.name())
            {
                return reply::too_busy();
            }
            head.extensions.insert(admitted.unwrap_or_default());
            next.run(Request::from_parts(head, body)).await
        }
        Err(refusal) => reply::refusal(&refusal, guard),
    }
}
