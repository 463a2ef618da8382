//! Sessions opened by a handshake: which revision each client speaks, and which of its requests are
//! in flight.
//!
//! `rmcp` manages the sessions; what it does not expose is observed here as messages pass through.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{OriginatingRequestId, RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::endpoint::HttpError;
use super::guard::Principal;
use crate::lock::lock;
use crate::rpc_error::RpcError;
use crate::version::Revision;
use crate::{limits, request};

/// One client session.
#[derive(Debug)]
pub(super) struct HttpSession {
    revision: OnceLock<Revision>,
    /// Requests in flight.
    open: Mutex<HashMap<RequestId, Stage>>,
    /// Notified when a request reaches the next stage or is done.
    moved: Notify,
    /// Open streams for messages that the server sends on its own.
    streams: AtomicUsize,
    used: Mutex<Instant>,
    /// Who opened the session, if known; nobody else may use it.
    owner: Option<Principal>,
    has_tasks: bool,
}

/// How far a request has been processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has been read.
    Read,
    /// `rmcp` has received it.
    HandedOn,
    /// Its answer is on the way to its stream. `rmcp` finds that stream by the id, so no other
    /// request may use the id yet.
    Answering,
}

impl HttpSession {
    fn new(has_tasks: bool, owner: Option<Principal>) -> HttpSession {
        HttpSession {
            revision: OnceLock::new(),
            open: Mutex::default(),
            moved: Notify::new(),
            streams: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            owner,
            has_tasks,
        }
    }

    pub(super) fn is_of(&self, who: Option<&Principal>) -> bool {
        self.owner.as_ref().is_none_or(|owner| Some(owner) == who)
    }

    /// The revision of the session. It is always set here, because only the answer to the handshake
    /// contains the session id.
    pub(super) fn revision(&self) -> Revision {
        self.revision.get().copied().unwrap_or(Revision::NEWEST)
    }

    /// Registers a request as in flight. If another request with the same id is being answered,
    /// waits until that is done, because the client already has the answer or is about to get it.
    pub(super) async fn open(&self, id: &RequestId) -> Result<(), HttpError> {
        self.touch();
        let opened = self.looked(|| self.try_open(id)).await;
        opened.unwrap_or_else(|| Err(HttpError::malformed(RpcError::in_use())))
    }

    /// Repeats a check whenever a request reaches another stage, until it returns a value; `None`
    /// after a timeout.
    async fn looked<T>(&self, look: impl Fn() -> Option<T>) -> Option<T> {
        loop {
            let moved = self.moved.notified();
            if let Some(found) = look() {
                return Some(found);
            }
            tokio::time::timeout(limits::OVERTAKEN, moved).await.ok()?;
        }
    }

    fn try_open(&self, id: &RequestId) -> Option<Result<(), HttpError>> {
        let mut open = lock(&self.open);
        let is_full = open.len() >= limits::SESSION_REQUESTS;
        match open.entry(id.clone()) {
            Entry::Occupied(taken) if *taken.get() == Stage::Answering => None,
            Entry::Occupied(_) => Some(Err(HttpError::malformed(RpcError::in_use()))),
            Entry::Vacant(_) if is_full => {
                let fault = RpcError::too_many_requests(limits::SESSION_REQUESTS);
                Some(Err(HttpError::unavailable(fault)))
            }
            Entry::Vacant(free) => {
                free.insert(Stage::Read);
                Some(Ok(()))
            }
        }
    }

    fn moves_to(&self, id: &RequestId, next: Stage) {
        if let Some(stage) = lock(&self.open).get_mut(id) {
            *stage = next;
        }
        self.moved.notify_waiters();
    }

    /// Waits until `rmcp` has received a request in flight, because a notification about it uses a
    /// different connection and may arrive first.
    pub(super) async fn is_handed_on(&self, id: &RequestId) {
        self.looked(|| (lock(&self.open).get(id) != Some(&Stage::Read)).then_some(())).await;
    }

    /// Keeps the id of a request in use while its cancellation is on the way. Otherwise, the next
    /// request with that id could be the one that is canceled.
    pub(super) fn begin_cancel(&self, id: &RequestId) {
        self.moves_to(id, Stage::Answering);
    }

    /// Frees the id of a request whose cancellation has arrived, unless its answer was faster.
    pub(super) fn end_cancel(&self, id: &RequestId) {
        self.touch();
        let mut open = lock(&self.open);
        if open.get(id) == Some(&Stage::Answering) {
            open.remove(id);
        }
        drop(open);
        self.moved.notify_waiters();
    }

    /// Forgets a request that will not be answered, or whose answer is no longer wanted.
    pub(super) fn give_up(&self, id: &RequestId) {
        self.touch();
        lock(&self.open).remove(id);
        self.moved.notify_waiters();
    }

    /// Registers an open stream, which keeps the session active while it exists.
    pub(super) fn stream(self: &Arc<HttpSession>) -> OpenStream {
        self.streams.fetch_add(1, Ordering::AcqRel);
        OpenStream(Arc::clone(self))
    }

    /// Records activity in the session.
    fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    fn is_idle(&self, idle: Duration) -> bool {
        lock(&self.open).is_empty()
            && self.streams.load(Ordering::Acquire) == 0
            && lock(&self.used).elapsed() >= idle
    }

    /// Processes an outgoing message; returns it, and the id of the request that it answers.
    fn said(
        &self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> (TxJsonRpcMessage<RoleServer>, Option<RequestId>) {
        let answered = match &message {
            JsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(result) = &response.result
                    && let Some(revision) = Revision::named(result.protocol_version.as_str())
                {
                    // A session has exactly one handshake.
                    let _ = self.revision.set(revision);
                }
                Some(response.id.clone())
            }
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = &answered {
            self.moves_to(id, Stage::Answering);
        }
        (request::greeted(message, self.has_tasks), answered)
    }
}

tokio::task_local! {
    /// Who opens a session: `rmcp` creates it while it handles the handshake.
    static OPENED_BY: Principal;
}

/// Handles a handshake, so that the session it opens belongs to this user from its beginning. A
/// client that hangs up in the middle leaves a session that counts as this user's.
pub(super) fn opened_by<F: Future>(who: Principal, work: F) -> impl Future<Output = F::Output> {
    OPENED_BY.scope(who, work)
}

/// An open stream of a session.
#[derive(Debug)]
pub(super) struct OpenStream(Arc<HttpSession>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.touch();
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    known: Mutex<HashMap<SessionId, Arc<HttpSession>>>,
    has_tasks: bool,
}

impl Sessions {
    pub(super) fn new(has_tasks: bool) -> Sessions {
        let mut inner = LocalSessionManager::default();
        // The idle timeout in `rmcp` ignores requests in flight, so sessions are closed by `sweep`
        // below instead.
        inner.session_config.keep_alive = None;
        Sessions { inner, known: Mutex::default(), has_tasks }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        lock(&self.known).get(id).cloned()
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.known).len()
    }

    /// Makes room for one more session of a caller, who may have `own` of the `total` sessions.
    /// Callers with as many sessions or more give way, those with most of them first: the session
    /// that has been idle for the longest time is closed. Returns false if none of them is idle.
    pub(super) async fn make_room(&self, who: &Principal, own: usize, total: usize) -> bool {
        let oldest = {
            let known = lock(&self.known);
            let of = |owner: Option<&Principal>| {
                known.values().filter(|session| session.owner.as_ref() == owner).count()
            };
            let mine = of(Some(who));
            if mine < own && known.len() < total {
                return true;
            }
            let rank = |session: &HttpSession| {
                let theirs = of(session.owner.as_ref());
                let is_mine = session.owner.as_ref() == Some(who);
                let gives_way = is_mine || mine < own && theirs >= mine;
                gives_way.then(|| (Reverse(theirs), *lock(&session.used)))
            };
            let idle = known.iter().filter(|(_, session)| session.is_idle(Duration::ZERO));
            let ranked = idle.filter_map(|(id, session)| Some((rank(session)?, id)));
            ranked.min().map(|(_, id)| Arc::clone(id))
        };
        let Some(oldest) = oldest else { return false };
        // The session may have ended on its own in the meantime, which is not an error.
        let _ = self.close_session(&oldest).await;
        true
    }

    /// Sessions that have been idle for at least this long.
    fn idle(&self, idle: Duration) -> Vec<SessionId> {
        let known = lock(&self.known);
        let ended = known.iter().filter(|(_, session)| session.is_idle(idle));
        ended.map(|(id, _)| Arc::clone(id)).collect()
    }
}

/// Closes idle sessions for as long as it is polled.
pub(super) async fn sweep(sessions: Arc<Sessions>, idle: Duration) {
    loop {
        tokio::time::sleep(idle / limits::SESSION_LOOKS).await;
        for id in sessions.idle(idle) {
            // The session may have ended on its own in the meantime, which is not an error.
            let _ = sessions.close_session(&id).await;
        }
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = TrackedTransport;

    async fn create_session(&self) -> Result<(SessionId, TrackedTransport), Self::Error> {
        let (id, inner) = self.inner.create_session().await?;
        let owner = OPENED_BY.try_with(Principal::clone).ok();
        let session = Arc::new(HttpSession::new(self.has_tasks, owner));
        lock(&self.known).insert(Arc::clone(&id), Arc::clone(&session));
        Ok((id, TrackedTransport { inner, session, ids: RequestIds::default() }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        lock(&self.known).remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}

/// The ids that requests have inside `rmcp`, where each is used once. Otherwise, the answer to a
/// request that was canceled would be taken for that of the next request with the same id.
#[derive(Debug, Default)]
struct RequestIds {
    last: i64,
    /// The clients' ids of the requests in flight.
    open: HashMap<RequestId, RequestId>,
}

impl RequestIds {
    /// Replaces the id in a message from the client.
    fn received(&mut self, message: &mut RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.last += 1;
                let own = RequestId::Number(self.last);
                let theirs = std::mem::replace(&mut request.id, own.clone());
                self.open.insert(own, theirs);
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(note) = &mut note.notification
                    && let Some(id) = &mut note.params.request_id
                {
                    let meant = self.open.iter().find(|(_, theirs)| *theirs == id);
                    // The answer to a request that was canceled is no longer wanted.
                    if let Some(own) = meant.map(|(own, _)| own.clone()) {
                        self.open.remove(&own);
                        *id = own;
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Puts the client's id back into an outgoing message; false if it must not be sent, because it
    /// answers a request that was canceled.
    fn sending(&mut self, message: &mut TxJsonRpcMessage<RoleServer>) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(error) => match &mut error.id {
                Some(id) => id,
                None => return true,
            },
            JsonRpcMessage::Request(request) => {
                let extensions = request.request.extensions_mut();
                if let Some(OriginatingRequestId(id)) = extensions.get_mut()
                    && let Some(theirs) = self.open.get(id)
                {
                    *id = theirs.clone();
                }
                return true;
            }
            JsonRpcMessage::Notification(_) => return true,
        };
        let theirs = self.open.remove(id);
        theirs.map(|theirs| *id = theirs).is_some()
    }
}

/// A session's transport to `rmcp` that observes outgoing messages.
pub(super) struct TrackedTransport {
    inner: SessionTransport,
    session: Arc<HttpSession>,
    ids: RequestIds,
}

impl Transport<RoleServer> for TrackedTransport {
    type Error = <SessionTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = self.ids.sending(&mut item).then(|| {
            let (item, answered) = self.session.said(item);
            (self.inner.send(item), answered)
        });
        let session = Arc::clone(&self.session);
        async move {
            let Some((sent, answered)) = sent else { return Ok(()) };
            let sent = sent.await;
            // From here on, nothing depends on the id.
            if let Some(id) = answered {
                session.give_up(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.inner.receive().await?;
        if let JsonRpcMessage::Request(request) = &message {
            self.session.moves_to(&request.id, Stage::HandedOn);
        }
        self.ids.received(&mut message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_is_idle_when_nothing_is_under_way_and_nobody_listens() {
        let session = Arc::new(HttpSession::new(true, None));
        let (now, later) = (Duration::ZERO, Duration::from_hours(1));
        assert!(session.is_idle(now) && !session.is_idle(later));
        let id = RequestId::Number(1);
        assert_eq!(session.open(&id).await, Ok(()));
        let in_use = HttpError::malformed(RpcError::in_use());
        assert_eq!(session.open(&id).await, Err(in_use));
        assert!(!session.is_idle(now));
        session.give_up(&id);
        assert!(session.is_idle(now));
        let streams = [session.stream(), session.stream()];
        assert!(!session.is_idle(now));
        drop(streams);
        assert!(session.is_idle(now));
    }

    #[tokio::test]
    async fn a_session_has_so_many_requests_under_way_and_no_more() {
        let session = HttpSession::new(true, None);
        let id = |number: usize| RequestId::Number(i64::try_from(number).expect("fits"));
        for number in 0..limits::SESSION_REQUESTS {
            assert_eq!(session.open(&id(number)).await, Ok(()));
        }
        let next = id(limits::SESSION_REQUESTS);
        let too_many = RpcError::too_many_requests(limits::SESSION_REQUESTS);
        assert_eq!(session.open(&next).await, Err(HttpError::unavailable(too_many)));
        session.give_up(&id(0));
        assert_eq!(session.open(&next).await, Ok(()));
    }

    #[tokio::test]
    async fn an_id_that_is_being_answered_is_waited_for() {
        let session = Arc::new(HttpSession::new(true, None));
        let id = RequestId::Number(7);
        assert_eq!(session.open(&id).await, Ok(()));
        session.moves_to(&id, Stage::Answering);
        let next = tokio::spawn({
            let (session, id) = (Arc::clone(&session), id.clone());
            async move { session.open(&id).await }
        });
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        session.give_up(&id);
        assert_eq!(next.await.expect("ends"), Ok(()));
    }

    #[test]
    fn the_answer_to_a_canceled_request_is_not_that_of_the_next_one() {
        fn message<T: serde::de::DeserializeOwned>(text: &str) -> T {
            serde_json::from_str(text).expect("a message")
        }
        let request = || message(r#"{"jsonrpc": "2.0", "id": 9, "method": "ping"}"#);
        let cancel = r#"{"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 9}}"#;
        let mut ids = RequestIds::default();
        let (mut first, mut second): (RxJsonRpcMessage<RoleServer>, _) = (request(), request());
        ids.received(&mut first);
        let mut canceled: RxJsonRpcMessage<RoleServer> = message(cancel);
        ids.received(&mut canceled);
        ids.received(&mut second);
        let own = |message: &RxJsonRpcMessage<RoleServer>| match message {
            JsonRpcMessage::Request(request) => request.id.clone(),
            other => panic!("{other:?} is no request"),
        };
        assert_ne!(own(&first), own(&second));
        let told = serde_json::to_value(&canceled).expect("is JSON");
        assert_eq!(told["params"]["requestId"], serde_json::json!(own(&first)));
        let answer = |id: RequestId| JsonRpcMessage::response(ServerResult::empty(()), id);
        assert!(!ids.sending(&mut answer(own(&first))), "nobody wants this answer");
        let mut wanted = answer(own(&second));
        assert!(ids.sending(&mut wanted));
        assert_eq!(serde_json::to_value(&wanted).expect("is JSON")["id"], 9);
        assert!(ids.open.is_empty());
    }

    #[test]
    fn a_session_that_nobody_owns_is_everybodys() {
        let session = HttpSession::new(false, None);
        assert!(session.is_of(None) && session.is_of(Some(&Principal::default())));
        let session = HttpSession::new(false, Some(Principal::default()));
        assert!(session.is_of(Some(&Principal::default())) && !session.is_of(None));
    }

    #[tokio::test]
    async fn what_is_idle_is_closed_for_rmcp_as_well() {
        let sessions = Sessions::new(true);
        let (id, _transport) = sessions.create_session().await.expect("is made");
        assert_eq!(sessions.idle(Duration::from_hours(1)), Vec::<SessionId>::new());
        assert_eq!(sessions.idle(Duration::ZERO), [Arc::clone(&id)]);
        sessions.close_session(&id).await.expect("is closed");
        assert!(sessions.get(&id).is_none());
        assert!(!sessions.has_session(&id).await.expect("is told"));
    }
}
