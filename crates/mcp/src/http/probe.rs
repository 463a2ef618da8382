//! Monitoring: a health check, metrics, and a log line for each request.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use milepost_metrics::ProcessMetrics;

use tokio::runtime::Handle;

use super::oauth::METADATA;
use super::reply;
use super::sessions::Sessions;
use crate::limits;
use crate::workflows::WorkflowServer;

/// The path of the health check, which needs no token.
pub(super) const HEALTH: &str = "/healthz";
/// The path of the metrics.
pub(super) const METRICS: &str = "/metrics";

const OK: &[u8] = br#"{"status":"ok"}"#;
const UNWELL: &[u8] = br#"{"status":"unavailable"}"#;

/// Answers monitoring requests.
pub(super) struct Probe {
    server: Option<WorkflowServer>,
    sessions: Arc<Sessions>,
    began: Instant,
}

impl Probe {
    pub(super) fn new(server: Option<WorkflowServer>, sessions: Arc<Sessions>) -> Probe {
        Probe { server, sessions, began: Instant::now() }
    }

    /// Reports whether runs can be read, and nothing else, because the caller is not authenticated.
    pub(super) async fn health(&self) -> Response {
        let healthy = self.looked(async |server| server.operations().is_healthy().await).await;
        match healthy.unwrap_or(self.server.is_none()) {
            true => reply::json(StatusCode::OK, OK.to_vec()),
            false => reply::json(StatusCode::SERVICE_UNAVAILABLE, UNWELL.to_vec()),
        }
    }

    pub(super) async fn metrics(&self) -> Response {
        let journal = self.looked(async |server| server.operations().standing().await).await;
        let now = ProcessMetrics {
            version: env!("CARGO_PKG_VERSION"),
            uptime: self.began.elapsed(),
            sessions: self.sessions.count(),
            journal: journal.and_then(Result::ok),
        };
        let mut response = Response::new(Body::from(milepost_metrics::text(&now)));
        let kind = HeaderValue::from_static(milepost_metrics::CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Queries the journal on a blocking thread, so that a hanging disk does not delay other
    /// requests.
    async fn looked<T: Send + 'static>(
        &self,
        look: impl AsyncFnOnce(WorkflowServer) -> T + Send + 'static,
    ) -> Option<T> {
        let (server, runtime) = (self.server.clone()?, Handle::current());
        let looking = tokio::task::spawn_blocking(move || runtime.block_on(look(server)));
        tokio::time::timeout(limits::PROBE_PATIENCE, looking).await.ok()?.ok()
    }
}

/// Counts and logs a request, whether the guard admits it or not.
pub(super) async fn watched(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (method, route) = (method(request.method()), route(request.uri().path()));
    let response = next.run(request).await;
    let status = response.status();
    milepost_metrics::HTTP.add(route, status.as_str());
    tracing::info!(
        target: "milepost::http",
        method,
        route,
        status = status.as_u16(),
        duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "http request"
    );
    response
}

/// The route that a path is counted under. The path itself may be any string that the client sends.
fn route(path: &str) -> &'static str {
    if path.starts_with(METADATA) {
        return milepost_metrics::HTTP.row("metadata");
    }
    milepost_metrics::HTTP.row(path)
}

/// The method if it is a known one, or `other`, because a client may send any string.
fn method(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"];
    KNOWN.into_iter().find(|known| method == known).unwrap_or("other")
}
