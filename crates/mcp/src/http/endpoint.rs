//! Decides what happens to each request: we answer it, or pass it to `rmcp`.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use futures_util::future::join_all;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonObject, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::connections::Shutdown;
use super::guard::Principal;
use super::sessions::{HttpSession, Sessions};
use super::slots::Connection;
use super::{HttpLimits, HttpSettings, reply, sessions};
use crate::limits;
use crate::message::{self, Id, Incoming, Request as Asked, RpcMessage};
use crate::request::{self, DISCOVER, Era, LISTEN};
use crate::rpc_error::{METHOD_NOT_FOUND, RpcError, SERVER_ERROR};
use crate::trace::{self, RequestOutcome};
use crate::traced_handler::TracedHandler;
use crate::version::{Revision, SessionOptions};
use crate::workflows::{AtOnce, WorkflowServer};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The MCP endpoint. Every request to it is answered once, even if its bytes are malformed.
pub(super) struct Endpoint<S> {
    service: StreamableHttpService<TracedHandler<S>, Sessions>,
    pub(super) sessions: Arc<Sessions>,
    options: SessionOptions,
    /// The server behind the handler, if it is our own. It answers the task methods of revision
    /// 2025-11-25, and some calls immediately.
    server: Option<WorkflowServer>,
    limits: HttpLimits,
    shutdown: Shutdown,
}

/// Why a request is refused.
#[derive(Debug, PartialEq)]
pub(super) struct HttpError {
    pub(super) status: StatusCode,
    pub(super) fault: RpcError,
}

impl HttpError {
    /// In revisions with a handshake, a well-formed request gets a success status even if it fails,
    /// because clients mistake any other status for a connection error.
    fn well_formed(fault: RpcError, era: Era) -> HttpError {
        let status = match era {
            Era::Stateless if fault.code == METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            Era::Stateless => StatusCode::BAD_REQUEST,
            Era::Handshake | Era::OlderTasks => StatusCode::OK,
        };
        HttpError { status, fault }
    }

    pub(super) fn malformed(fault: RpcError) -> HttpError {
        HttpError { status: StatusCode::BAD_REQUEST, fault }
    }

    pub(super) fn unavailable(fault: RpcError) -> HttpError {
        HttpError { status: StatusCode::SERVICE_UNAVAILABLE, fault }
    }

    pub(super) fn response(&self, id: Id<'_>) -> Response {
        reply::fault(self.status, id, &self.fault)
    }
}

impl<S: ServerHandler> Endpoint<S> {
    pub(super) fn new(
        handler: impl Fn() -> S + Send + Sync + 'static,
        settings: &HttpSettings,
        shutdown: Shutdown,
    ) -> Endpoint<S> {
        let sessions = Arc::new(Sessions::new(settings.server.is_some()));
        // The guard checks hosts and origins for every route.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(usize::MAX);
        let handler = move || Ok(TracedHandler(handler()));
        Endpoint {
            service: StreamableHttpService::new(handler, Arc::clone(&sessions), config),
            sessions,
            options: settings.options,
            server: settings.server.clone(),
            limits: settings.limits,
            shutdown,
        }
    }

    pub(super) async fn answer(&self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let answered = match head.method {
            Method::POST => self.post(head, body).await,
            _ => self.stream(head).await,
        };
        answered.unwrap_or_else(|refused| refused.response(Id::NULL))
    }

    /// Opens a stream for messages that the server sends on its own, ends a session, or rejects an
    /// unsupported method.
    async fn stream(&self, head: Parts) -> Result<Response, HttpError> {
        let session = self.session(&head)?.filter(|_| head.method == Method::GET);
        let connection: Option<Arc<Connection>> = head.extensions.get().cloned();
        let response = self.hand_on(head, Vec::new(), Id::NULL).await;
        Ok(match session {
            Some(session) => {
                listens(connection.as_ref());
                reply::until_closing(response, session.stream(), &self.shutdown)
            }
            None => response,
        })
    }

    async fn post(&self, head: Parts, body: Body) -> Result<Response, HttpError> {
        let wants_events = reply::wants_events(&head.headers);
        let body = reply::body(body, self.limits.body_bytes).await?;
        match message::read(&body) {
            Incoming::One(RpcMessage::Request(asked)) => {
                Ok(match self.request(head, &asked).await {
                    Ok(response) if wants_events => reply::as_event(response),
                    Ok(response) => response,
                    Err(refused) => refused.response(asked.id),
                })
            }
            Incoming::One(RpcMessage::Notification(text) | RpcMessage::Response(text)) => {
                self.told(head, text).await
            }
            Incoming::One(RpcMessage::Bad { id, fault }) => {
                Ok(HttpError::malformed(fault).response(id))
            }
            Incoming::Batch(messages) => self.batch(head, &messages).await,
            Incoming::Nothing => {
                Err(HttpError::malformed(RpcError::parse_error("the body is empty")))
            }
            Incoming::Unreadable(fault) => Err(HttpError::malformed(fault)),
        }
    }

    /// Passes on a notification or a response. A message that is not part of the protocol is
    /// ignored.
    async fn told(&self, head: Parts, text: &str) -> Result<Response, HttpError> {
        let session = self.session(&head)?;
        if session.is_none() && !is_stateless(&head) {
            return Err(HttpError::malformed(RpcError::not_initialized()));
        }
        let Ok(message) = serde_json::from_str::<ClientJsonRpcMessage>(text) else {
            return Ok(reply::accepted());
        };
        let (Some(session), Some(id)) = (session, cancelled(&message)) else {
            return Ok(self.hand_on(head, text.as_bytes().to_vec(), Id::NULL).await);
        };
        session.is_handed_on(id).await;
        session.begin_cancel(id);
        let accepted = self.hand_on(head, text.as_bytes().to_vec(), Id::NULL).await;
        session.end_cancel(id);
        Ok(accepted)
    }

    /// Answers a batch with one stream that carries the answer to each of its requests. `rmcp`
    /// accepts messages only one at a time.
    async fn batch(&self, head: Parts, messages: &[RpcMessage<'_>]) -> Result<Response, HttpError> {
        let revision = self.session(&head)?.map(|session| session.revision());
        if !revision.is_some_and(Revision::has_batches) {
            let fault = RpcError::invalid_request("this protocol version does not support batches");
            return Err(HttpError::malformed(fault));
        }
        let members = messages.iter().map(|message| self.member(head.clone(), message));
        let answers: Vec<Response> = join_all(members).await.into_iter().flatten().collect();
        Ok(if answers.is_empty() { reply::accepted() } else { reply::together(answers) })
    }

    /// The answer to one message of a batch, if it expects one.
    async fn member(&self, head: Parts, message: &RpcMessage<'_>) -> Option<Response> {
        match message {
            RpcMessage::Notification(text) | RpcMessage::Response(text) => {
                // Errors in a notification are not reported.
                drop(self.told(head, text).await);
                None
            }
            RpcMessage::Bad { id, fault } => Some(reply::fault(StatusCode::OK, *id, fault)),
            RpcMessage::Request(asked) if asked.method == "initialize" => {
                let fault = RpcError::invalid_request("initialize must not be in a batch");
                Some(reply::fault(StatusCode::OK, asked.id, &fault))
            }
            RpcMessage::Request(asked) => {
                let answered = self.request(head, asked).await;
                Some(answered.unwrap_or_else(|refused| refused.response(asked.id)))
            }
        }
    }

    async fn request(&self, head: Parts, asked: &Asked<'_>) -> Result<Response, HttpError> {
        let began = Instant::now();
        let answered = self.decided(head, asked).await;
        // Requests that were passed on are recorded where they are answered.
        if answered.is_err() {
            trace::answered(&asked.method, RequestOutcome::RpcError, began);
        }
        answered
    }

    async fn decided(&self, head: Parts, asked: &Asked<'_>) -> Result<Response, HttpError> {
        let session = self.session(&head)?;
        let method = asked.method.as_ref();
        let params = asked.params.object().map_err(|fault| {
            let era = self.era(session.as_deref());
            HttpError::well_formed(fault, era)
        })?;
        // `initialize` is a handshake regardless of the version in the header, unless its `_meta`
        // contains a version.
        let stands_alone = request::stands_alone(&params);
        let is_handshake = method == "initialize" && !stands_alone;
        if !is_handshake && (stands_alone || method == DISCOVER || is_stateless(&head)) {
            if method == LISTEN {
                listens(head.extensions.get());
            }
            return self.work(head, asked, params, Era::Stateless).await;
        }
        match (session, method) {
            (None, "initialize") => self.initialize(head, asked, params).await,
            (None, _) => Err(HttpError::malformed(RpcError::not_initialized())),
            (Some(_), "initialize") => {
                let fault = RpcError::invalid_request("the session is already initialized");
                Err(HttpError::malformed(fault))
            }
            (Some(session), _) => self.work_in(&session, head, asked, params).await,
        }
    }

    async fn initialize(
        &self,
        mut head: Parts,
        asked: &Asked<'_>,
        params: JsonObject,
    ) -> Result<Response, HttpError> {
        let who = head.extensions.get::<Principal>().cloned().unwrap_or_default();
        let total = self.limits.sessions;
        // Without names, all clients are one caller.
        let own = who.name().map_or(total, |_| limits::SESSIONS_PER_CALLER.min(total));
        if !self.sessions.make_room(&who, own, total).await {
            return Err(HttpError::unavailable(RpcError::over_limit(
                "too many sessions are open",
                own,
            )));
        }
        let wanted = params.get("protocolVersion").cloned();
        let (revision, params) = request::handshake(params, self.options)
            .map_err(|fault| HttpError::well_formed(fault, Era::Handshake))?;
        // The header repeats the version in the parameters, so it has to follow the negotiated one.
        if let Some(header) = head.headers.get_mut(VERSION)
            && wanted.as_ref().and_then(Value::as_str).is_some_and(|wanted| header == wanted)
        {
            *header = axum::http::HeaderValue::from_static(revision.name());
        }
        sessions::opened_by(who, self.work(head, asked, params, Era::Handshake)).await
    }

    /// Handles a request in a session; the id is in use until the request is answered.
    async fn work_in(
        &self,
        session: &HttpSession,
        head: Parts,
        asked: &Asked<'_>,
        params: JsonObject,
    ) -> Result<Response, HttpError> {
        let id = request::id(asked.id).map_err(HttpError::malformed)?;
        session.open(&id).await?;
        if let Some(response) = self.at_once(session, &head, asked, &params) {
            session.give_up(&id);
            return Ok(response);
        }
        let era = self.era(Some(session));
        let response = self.work(head, asked, params, era).await;
        // A request that `rmcp` refused is not in flight.
        if response.as_ref().map_or(true, |response| !response.status().is_success()) {
            session.give_up(&id);
        }
        response
    }

    /// Answers a call that has nothing to wait for, if `rmcp` would accept the request's headers.
    fn at_once(
        &self,
        session: &HttpSession,
        head: &Parts,
        asked: &Asked<'_>,
        params: &JsonObject,
    ) -> Option<Response> {
        let says = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let takes = says(ACCEPT).unwrap_or_default();
        let revision = session.revision();
        if asked.method != "tools/call"
            || !(takes.contains("application/json") && takes.contains(reply::EVENTS))
            || !says(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"))
            || says(VERSION).is_some_and(|version| version != revision.name())
        {
            return None;
        }
        let principal = head.extensions.get::<Principal>().and_then(Principal::name);
        let client = AtOnce::new(revision, principal.map(str::to_owned));
        let text = self.server.as_ref()?.call_at_once(params, asked.id, &client)?;
        Some(reply::json(StatusCode::OK, text))
    }

    /// Passes a request to `rmcp` if it is one that `rmcp` understands.
    async fn work(
        &self,
        head: Parts,
        asked: &Asked<'_>,
        params: JsonObject,
        era: Era,
    ) -> Result<Response, HttpError> {
        let id = request::id(asked.id).map_err(HttpError::malformed)?;
        let read = request::understood(&asked.method, params, era)
            .map_err(|fault| HttpError::well_formed(fault, era))?;
        let message: ClientJsonRpcMessage = JsonRpcMessage::request(read, id);
        let Ok(body) = serde_json::to_vec(&message) else {
            let fault = RpcError::invalid_params("these parameters are not valid JSON");
            return Err(HttpError::well_formed(fault, era));
        };
        let response = tokio::select! {
            response = self.hand_on(head, body, asked.id) => response,
            () = self.shutdown.is_cut() => return Err(HttpError::unavailable(reply::ending())),
        };
        Ok(reply::until_cut(response, asked.id, &self.shutdown))
    }

    async fn hand_on(&self, mut head: Parts, body: Vec<u8>, id: Id<'_>) -> Response {
        head.headers.remove(CONTENT_LENGTH);
        let is_end = head.method == Method::DELETE;
        let request = Request::from_parts(head, Body::from(body));
        let mut response = self.service.handle(request).await;
        // The session has already ended, and some clients consider "accepted" a failure.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        reply::worded(reply::masked(response.map(Body::new)), id).await
    }

    /// The session that a request names, if any.
    fn session(&self, head: &Parts) -> Result<Option<Arc<HttpSession>>, HttpError> {
        let Some(id) = head.headers.get(SESSION) else { return Ok(None) };
        let session = id.to_str().ok().and_then(|id| self.sessions.get(id));
        // Another user's session looks like one that does not exist.
        let session = session.filter(|session| session.is_of(head.extensions.get()));
        session.map(Some).ok_or_else(|| {
            let details = "the session is unknown or has ended; send initialize again";
            let data = json!({ "details": details });
            let fault = RpcError::new(SERVER_ERROR, "Session not found", data);
            HttpError { status: StatusCode::NOT_FOUND, fault }
        })
    }

    fn era(&self, session: Option<&HttpSession>) -> Era {
        session.map_or(Era::Stateless, |session| Era::of(session.revision(), self.server.is_some()))
    }
}

/// Records that the request in flight on a connection is a stream on which the client only listens.
fn listens(connection: Option<&Arc<Connection>>) {
    if let Some(connection) = connection {
        connection.listens();
    }
}

/// Whether the headers of a request mark it as stateless.
fn is_stateless(head: &Parts) -> bool {
    let version = head.headers.get(VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The id of the request that a client cancels.
fn cancelled(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Notification(note) => match &note.notification {
            ClientNotification::CancelledNotification(note) => note.params.request_id.as_ref(),
            _ => None,
        },
        _ => None,
    }
}
