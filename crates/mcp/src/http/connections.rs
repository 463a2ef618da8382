//! Connections: their maximum number, how long they may be idle, and how they are closed. Shutdown
//! has two phases: first no new work is started, then everything is cut off.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::HttpLimits;
use super::slots::{PatientStream, Slot, Slots};
use crate::limits;

/// Serves connections until `stop` completes, then finishes those with requests in flight.
pub(super) async fn serve(
    listener: TcpListener,
    app: Router,
    limits: HttpLimits,
    stop: impl Future<Output = ()>,
    shutdown: &Shutdown,
) {
    let mut open = JoinSet::new();
    tokio::select! {
        () = stop => {}
        () = accept(&listener, &app, limits, shutdown, &mut open) => {}
    }
    drop(listener);
    shutdown.close();
    if timeout(limits.grace, all(&mut open)).await.is_err() {
        shutdown.cut();
        // A client that has still not read its answer is considered gone.
        let _ = timeout(limits::LAST_WORDS, all(&mut open)).await;
        open.abort_all();
    }
}

async fn all(open: &mut JoinSet<()>) {
    while open.join_next().await.is_some() {}
}

/// Accepts connections for as long as it is polled. A connection over the limit takes the place of
/// one that does nothing, or waits for one.
async fn accept(
    listener: &TcpListener,
    app: &Router,
    limits: HttpLimits,
    shutdown: &Shutdown,
    open: &mut JoinSet<()>,
) {
    let slots = Slots::new(limits.connections);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(limits::ACCEPT_REST).await;
            continue;
        };
        let slot = slots.take().await;
        while open.try_join_next().is_some() {}
        open.spawn(connection(stream, app.clone(), limits, shutdown.clone(), slot));
    }
}

/// Serves one connection. Errors on it are not reported, because its client notices them.
async fn connection(
    stream: TcpStream,
    app: Router,
    limits: HttpLimits,
    shutdown: Shutdown,
    slot: Slot,
) {
    // Answers are short, and the client is waiting for them, so buffering would only delay each
    // one.
    let _ = stream.set_nodelay(true);
    let app = TowerToHyperService::new(app);
    let state = Arc::clone(&slot.connection);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let in_flight = state.begin();
        request.extensions_mut().insert(Arc::clone(&state));
        let answered = app.call(request);
        let sent = |response: Response<Body>| response.map(|body| in_flight.until_sent(body));
        async move { answered.await.map(sent) }
    });
    let stream = PatientStream::new(stream, Arc::clone(&slot.connection));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = slot.connection.closing() => return,
        () = shutdown.closing() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Open,
    /// Requests in flight are finished; all other streams are ended.
    Closing,
    /// Requests still in flight are answered with an error.
    Cut,
}

/// The phase of a server's shutdown. Clones share it.
#[derive(Debug, Default, Clone)]
pub(super) struct Shutdown(watch::Sender<Phase>);

impl Shutdown {
    pub(super) fn close(&self) {
        self.0.send_replace(Phase::Closing);
    }

    pub(super) fn cut(&self) {
        self.0.send_replace(Phase::Cut);
    }

    /// Completes when no new work may be started.
    pub(super) async fn closing(&self) {
        self.reached(Phase::Closing).await;
    }

    /// Completes when the server stops waiting for requests in flight.
    pub(super) async fn is_cut(&self) {
        self.reached(Phase::Cut).await;
    }

    async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.subscribe();
        // This cannot fail: we own the sender, so it exists for as long as we wait.
        let _ = receiver.wait_for(|now| *now >= phase).await;
    }
}
