//! The workflow contract over a pipe: `rmcp` behind our own framing.
//!
//! ```text
//! reader: lines -> Framing: messages, faults ------------- answers ----+
//!                     | requests for rmcp                              v
//!                     +---> RmcpTransport -> rmcp -> RmcpTransport -> Outbox -> writer -> stdout
//! ```
//!
//! Every request is answered exactly once, in the order in which the work is completed. If a client
//! does not read its answers, no more of its requests are read, because the [`Outbox`] is bounded
//! and the reader waits until there is room.

mod framing;
mod outbox;

use std::convert::Infallible;
use std::future::Future;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};

use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use crate::frame::Frame;
use crate::stdio::{FrameReader, ServeError, WorkflowBackend};
use crate::traced_handler::TracedHandler;
use crate::version::SessionOptions;
use crate::workflows::WorkflowServer;
use crate::{limits, request};
use framing::Framing;

pub(crate) use outbox::Outbox;

/// Serves one client until its input ends, or it sends `shutdown`. `first` is a line that has
/// already been read.
pub(crate) fn serve(
    workflows: &WorkflowBackend,
    options: SessionOptions,
    first: Option<&[u8]>,
    frames: FrameReader<impl Read>,
    stdout: impl Write + Send,
) -> Result<(), ServeError> {
    let runtime = workflows.runtime.get().map_err(ServeError::Threads)?;
    let server = &workflows.server;
    let outbox = Outbox::default();
    thread::scope(|scope| {
        let writer = scope.spawn(|| outbox.write_to(stdout));
        let (transport, inbox) = RmcpTransport::new(outbox.clone());
        let serving = runtime.spawn(serve_sessions(server.clone(), transport));
        let handle = runtime.handle().clone();
        let framing = Framing::new(server.clone(), options, outbox.clone(), inbox, handle);
        let read = read_all(framing, first, frames);
        server.end_listening();
        runtime.block_on(async {
            // If it panicked, there is nothing left to wait for.
            let _ = serving.await;
            outbox.settled().await;
        });
        outbox.close();
        let written = writer.join();
        read?;
        written.unwrap_or_else(|_| {
            Err(ServeError::Write(io::Error::other("the writer thread panicked")))
        })
    })
}

/// Serves sessions one after another: a message that does not open a session is answered, and the
/// next one is awaited.
async fn serve_sessions(server: WorkflowServer, transport: RmcpTransport) {
    while !transport.is_closed() {
        if let Ok(service) = serve_server(TracedHandler(server.clone()), transport.clone()).await {
            let _ = service.waiting().await;
        }
    }
}

/// Reads until the input ends or the client sends `shutdown`.
fn read_all(
    mut framing: Framing,
    first: Option<&[u8]>,
    mut frames: FrameReader<impl Read>,
) -> Result<(), ServeError> {
    if let Some(first) = first
        && framing.line(Frame::Line(first)).is_break()
    {
        return Ok(());
    }
    loop {
        while let Some(frame) = frames.next() {
            if framing.line(frame).is_break() {
                return Ok(());
            }
        }
        framing.flush();
        if !frames.fill()? {
            return Ok(());
        }
    }
}

/// The pipe as `rmcp` sees it. Clones share the pipe, so a session that was never opened leaves it
/// open for the next one.
#[derive(Clone)]
struct RmcpTransport {
    inbox: Arc<tokio::sync::Mutex<mpsc::Receiver<RxJsonRpcMessage<RoleServer>>>>,
    outbox: Outbox,
    closed: Arc<AtomicBool>,
}

impl RmcpTransport {
    fn new(outbox: Outbox) -> (RmcpTransport, mpsc::Sender<RxJsonRpcMessage<RoleServer>>) {
        let (sender, inbox) = mpsc::channel(limits::UNREAD_REQUESTS);
        let inbox = Arc::new(tokio::sync::Mutex::new(inbox));
        (RmcpTransport { inbox, outbox, closed: Arc::default() }, sender)
    }

    /// Whether no more messages will arrive.
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Transport<RoleServer> for RmcpTransport {
    type Error = Infallible;

    /// Queues a message in order immediately; the future completes when there is room for the next
    /// one.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.outbox.message(&request::greeted(item, true));
        let outbox = self.outbox.clone();
        async move {
            outbox.room().await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inbox.lock().await.recv().await;
        if message.is_none() {
            self.closed.store(true, Ordering::Release);
            // Ending the session cancels its requests in flight, so every answer is sent first.
            self.outbox.settled().await;
        }
        message
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
