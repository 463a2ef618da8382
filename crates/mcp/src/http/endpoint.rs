//! What becomes of each request: an answer of ours, or work for `rmcp`.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};

use super::guard::Principal;
use super::sessions::{HttpSession, Opened, Sessions};
use super::shutdown::Shutdown;
use super::{HttpLimits, HttpSettings, reply};
use crate::answer::{self, RpcResult};
use crate::limits;
use crate::message::{self, Id, Incoming, Request as Asked, RpcMessage};
use crate::params;
use crate::request::{self, DISCOVER, Era};
use crate::rpc_error::{METHOD_NOT_FOUND, RpcError};
use crate::trace::{self, RequestOutcome};
use crate::traced_handler::TracedHandler;
use crate::version::SessionOptions;
use crate::workflows::{AtOnce, WorkflowServer};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The endpoint: every request to it is answered once, whatever its bytes.
pub(super) struct Endpoint<S> {
    service: StreamableHttpService<TracedHandler<S>, Sessions>,
    sessions: Arc<Sessions>,
    options: SessionOptions,
    /// What is behind the handler, where that is our own: it answers the tasks of 2025-11-25, and
    /// some calls on the spot.
    server: Option<WorkflowServer>,
    limits: HttpLimits,
    shutdown: Shutdown,
}

/// Why a request goes no further.
pub(super) struct HttpError {
    status: StatusCode,
    fault: RpcError,
}

impl HttpError {
    /// A well-formed request is answered with success in the era of handshakes, where clients
    /// take any other status for a fault of the connection.
    fn well_formed(fault: RpcError, era: Era) -> HttpError {
        let status = match era {
            Era::Stateless if fault.code == METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            Era::Stateless => StatusCode::BAD_REQUEST,
            Era::Handshake | Era::OlderTasks => StatusCode::OK,
        };
        HttpError { status, fault }
    }

    fn malformed(fault: RpcError) -> HttpError {
        HttpError { status: StatusCode::BAD_REQUEST, fault }
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
        // Hosts and origins are the guard's, for every route.
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

    pub(super) fn sessions(&self) -> Arc<Sessions> {
        Arc::clone(&self.sessions)
    }

    pub(super) async fn answer(&self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        match head.method {
            Method::POST => self.post(head, body).await,
            Method::GET => self.stream(head).await,
            _ => self.other(head).await,
        }
    }

    /// A stream for what the server says unasked.
    async fn stream(&self, head: Parts) -> Response {
        let session = match self.session(&head) {
            Ok(Some(session)) => session,
            Ok(None) => return self.hand_on(head, Vec::new(), Id::NULL).await,
            Err(refused) => return refused.response(Id::NULL),
        };
        let response = self.hand_on(head, Vec::new(), Id::NULL).await;
        reply::until_closing(response, session.stream(), &self.shutdown)
    }

    /// The end of a session, or what is no method here.
    async fn other(&self, head: Parts) -> Response {
        match self.session(&head) {
            Ok(_) => self.hand_on(head, Vec::new(), Id::NULL).await,
            Err(refused) => refused.response(Id::NULL),
        }
    }

    async fn post(&self, head: Parts, body: Body) -> Response {
        let wants_events = reply::wants_events(&head.headers);
        let body = match reply::body(body, self.limits.body_bytes).await {
            Ok(body) => body,
            Err((status, fault)) => return reply::fault(status, Id::NULL, &fault),
        };
        let refused = match message::read(&body) {
            Incoming::One(RpcMessage::Request(asked)) => {
                let id = asked.id;
                return match self.request(head, &asked).await {
                    Ok(response) if wants_events => reply::as_event(response),
                    Ok(response) => response,
                    Err(refused) => refused.response(id),
                };
            }
            Incoming::One(RpcMessage::Notification(note)) => {
                return self.told(head, note.text).await;
            }
            Incoming::One(RpcMessage::Response(text)) => return self.told(head, text).await,
            Incoming::One(RpcMessage::Bad { id, fault }) => {
                return HttpError::malformed(fault).response(id);
            }
            Incoming::Batch(messages) => return self.batch(head, &messages).await,
            Incoming::Nothing => RpcError::parse_error("the body is empty"),
            Incoming::Unreadable(fault) => fault,
        };
        HttpError::malformed(refused).response(Id::NULL)
    }

    /// What wants no answer. What is none of the protocol's changes nothing.
    pub(super) async fn told(&self, head: Parts, text: &str) -> Response {
        let session = match self.session(&head) {
            Ok(session) => session,
            Err(refused) => return refused.response(Id::NULL),
        };
        if session.is_none() && !is_stateless(&head) {
            return HttpError::malformed(RpcError::not_initialized()).response(Id::NULL);
        }
        let Ok(message) = serde_json::from_str::<ClientJsonRpcMessage>(text) else {
            return reply::accepted();
        };
        if let (Some(session), Some(id)) = (session, cancelled(&message)) {
            session.is_handed_on(id).await;
            session.give_up(id);
        }
        self.hand_on(head, text.as_bytes().to_vec(), Id::NULL).await
    }

    pub(super) async fn request(
        &self,
        head: Parts,
        asked: &Asked<'_>,
    ) -> Result<Response, HttpError> {
        let began = Instant::now();
        let answered = self.decided(head, asked).await;
        // What was handed on is told of by whoever answered it.
        if answered.is_err() {
            trace::answered(&asked.method, RequestOutcome::RpcError, began);
        }
        answered
    }

    async fn decided(&self, head: Parts, asked: &Asked<'_>) -> Result<Response, HttpError> {
        let session = self.session(&head)?;
        let method = asked.method.as_ref();
        let params = params::object(asked.params).map_err(|fault| {
            let era = self.era(session.as_deref());
            HttpError::well_formed(fault, era)
        })?;
        // A handshake is one, whichever version it asks for; what stands alone is none.
        let stands_alone = request::stands_alone(&params);
        let is_handshake = method == "initialize" && !stands_alone;
        if !is_handshake && (stands_alone || method == DISCOVER || is_stateless(&head)) {
            return self.work(head, asked, params, Era::Stateless).await;
        }
        match (session, method) {
            (None, "initialize") => self.initialize(head, asked, params).await,
            (None, _) => Err(HttpError::malformed(RpcError::not_initialized())),
            (Some(_), "initialize") => {
                let fault = RpcError::invalid_request("the session is initialized already");
                Err(HttpError::malformed(fault))
            }
            (Some(session), _) => self.work_in(&session, head, asked, params).await,
        }
    }

    async fn initialize(
        &self,
        mut head: Parts,
        asked: &Asked<'_>,
        params: Map<String, Value>,
    ) -> Result<Response, HttpError> {
        if self.sessions.count() >= self.limits.sessions {
            let fault = RpcError::over_limit("there are too many sessions", self.limits.sessions);
            return Err(HttpError { status: StatusCode::SERVICE_UNAVAILABLE, fault });
        }
        let wanted = params.get("protocolVersion").cloned();
        let (revision, params) = request::handshake(params, self.options)
            .map_err(|fault| HttpError::well_formed(fault, Era::Handshake))?;
        // What the header repeats of the parameters is still the same after they were settled.
        if let Some(header) = head.headers.get_mut(VERSION)
            && wanted.as_ref().and_then(Value::as_str).is_some_and(|wanted| header == wanted)
        {
            *header = axum::http::HeaderValue::from_static(revision.as_str());
        }
        let principal = head.extensions.get::<Principal>().cloned();
        let response = self.work(head, asked, params, Era::Handshake).await?;
        let id = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
        if let (Some(session), Some(principal)) =
            (id.and_then(|id| self.sessions.get(id)), principal)
        {
            session.belongs_to(principal);
        }
        Ok(response)
    }

    /// Work in a session, where an id is in use until it is answered.
    async fn work_in(
        &self,
        session: &HttpSession,
        head: Parts,
        asked: &Asked<'_>,
        params: Map<String, Value>,
    ) -> Result<Response, HttpError> {
        let id = request::id(asked.id).map_err(HttpError::malformed)?;
        match session.open(&id).await {
            Opened::Yes => {}
            Opened::InUse => return Err(HttpError::malformed(RpcError::in_use())),
            Opened::TooMany => {
                let details = "too many requests are under way";
                let fault = RpcError::over_limit(details, limits::SESSION_REQUESTS);
                return Err(HttpError { status: StatusCode::SERVICE_UNAVAILABLE, fault });
            }
        }
        if let Some(response) = self.at_once(session, &head, asked, &params) {
            session.give_up(&id);
            return Ok(response);
        }
        let era = self.era(Some(session));
        let response = self.work(head, asked, params, era).await;
        // Nothing that `rmcp` did not take is under way.
        if response.as_ref().map_or(true, |response| !response.status().is_success()) {
            session.give_up(&id);
        }
        response
    }

    /// The answer to a call that has nothing to wait for, from a client that `rmcp` would answer.
    fn at_once(
        &self,
        session: &HttpSession,
        head: &Parts,
        asked: &Asked<'_>,
        params: &Map<String, Value>,
    ) -> Option<Response> {
        let says = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let takes = says(ACCEPT).unwrap_or_default();
        let revision = session.revision();
        if asked.method != "tools/call"
            || !(takes.contains("application/json") && takes.contains(reply::EVENTS))
            || !says(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"))
            || says(VERSION).is_some_and(|version| version != revision.as_str())
        {
            return None;
        }
        let principal = head.extensions.get::<Principal>().and_then(Principal::name);
        let client = AtOnce::new(revision, principal.map(str::to_owned));
        let result = self.server.as_ref()?.call_at_once(params, &client)?;
        let mut text = Vec::new();
        let result = serde_json::to_string(&result).ok()?;
        answer::reply(&mut text, asked.id, &RpcResult::Made(result));
        Some(reply::json(StatusCode::OK, text))
    }

    /// Work for `rmcp`, when it is a request that it understands.
    async fn work(
        &self,
        head: Parts,
        asked: &Asked<'_>,
        params: Map<String, Value>,
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
            () = self.shutdown.is_cut() => {
                return Err(HttpError {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    fault: reply::ending(),
                });
            }
        };
        Ok(reply::until_cut(response, asked.id, &self.shutdown))
    }

    async fn hand_on(&self, mut head: Parts, body: Vec<u8>, id: Id<'_>) -> Response {
        head.headers.remove(CONTENT_LENGTH);
        let is_end = head.method == Method::DELETE;
        let request = Request::from_parts(head, Body::from(body));
        let mut response = self.service.handle(request).await;
        // A session that has ended has done so: some clients take "accepted" for a failure.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        reply::worded(response.map(Body::new), id).await
    }

    /// The session that a request names, if it names one.
    pub(super) fn session(&self, head: &Parts) -> Result<Option<Arc<HttpSession>>, HttpError> {
        let Some(id) = head.headers.get(SESSION) else { return Ok(None) };
        let session = id.to_str().ok().and_then(|id| self.sessions.get(id));
        // That somebody else has it is nobody's business.
        let session = session.filter(|session| session.is_of(head.extensions.get()));
        session.map(Some).ok_or_else(|| {
            let data = serde_json::json!({
                "details": "the session is not known, or has ended; send initialize again",
            });
            let fault =
                RpcError::new(crate::rpc_error::SERVER_ERROR, "Session not found", data);
            HttpError { status: StatusCode::NOT_FOUND, fault }
        })
    }

    fn era(&self, session: Option<&HttpSession>) -> Era {
        session.map_or(Era::Stateless, |session| Era::of(session.revision(), self.server.is_some()))
    }
}

/// Whether a request says in its head that it is of the era without handshakes.
fn is_stateless(head: &Parts) -> bool {
    let version = head.headers.get(VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The request that a client no longer wants the answer of.
fn cancelled(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Notification(note) => match &note.notification {
            ClientNotification::CancelledNotification(note) => note.params.request_id.as_ref(),
            _ => None,
        },
        _ => None,
    }
}
