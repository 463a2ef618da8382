//! Connections: how many there are, how long they may be silent, and how they end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::HttpLimits;
use super::shutdown::Shutdown;
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
