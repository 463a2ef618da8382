//! Connections: how many there are, how long they may be silent, and how they end. The end of a
//! server has two steps: nothing new, then nothing at all.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::HttpLimits;
use crate::limits;

/// Serves connections until `stop` is done, and then those that are at work to their end.
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
        // Whoever does not take its answer now is gone.
        let _ = timeout(limits::LAST_WORDS, all(&mut open)).await;
        open.abort_all();
    }
}

async fn all(open: &mut JoinSet<()>) {
    while open.join_next().await.is_some() {}
}

/// Takes connections for as long as it is polled; one that is too many waits to be taken.
async fn accept(
    listener: &TcpListener,
    app: &Router,
    limits: HttpLimits,
    shutdown: &Shutdown,
    open: &mut JoinSet<()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(limits::ACCEPT_REST).await;
            continue;
        };
        while open.try_join_next().is_some() {}
        open.spawn(connection(stream, app.clone(), limits, shutdown.clone(), slot));
    }
}

/// One connection. What goes wrong on it is its client's to notice.
async fn connection(
    stream: TcpStream,
    app: Router,
    limits: HttpLimits,
    shutdown: Shutdown,
    _slot: OwnedSemaphorePermit,
) {
    // Answers are short and are waited for: held back to be sent with more, each would be late.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = shutdown.closing() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Open,
    /// What is under way is answered; streams that wait for nothing in particular end.
    Closing,
    /// What is still under way is answered with a fault.
    Cut,
}

/// How far the end of a server has come. Clones are of the same server.
#[derive(Debug, Default, Clone)]
pub(super) struct Shutdown(watch::Sender<Phase>);

impl Shutdown {
    pub(super) fn close(&self) {
        self.0.send_replace(Phase::Closing);
    }

    pub(super) fn cut(&self) {
        self.0.send_replace(Phase::Cut);
    }

    /// Done when nothing new is to begin.
    pub(super) async fn closing(&self) {
        self.reached(Phase::Closing).await;
    }

    /// Done when nothing is waited for any longer.
    pub(super) async fn is_cut(&self) {
        self.reached(Phase::Cut).await;
    }

    async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.subscribe();
        // The sender is ours: it is there for as long as we wait.
        let _ = receiver.wait_for(|now| *now >= phase).await;
    }
}
