//! The contract for workflows over a pipe: `rmcp` behind a framing of our own.
//!
//! ```text
//! reader: lines -> Framing: messages, faults ------------- answers ----+
//!                     | what rmcp is to handle                         v
//!                     +---> RmcpTransport -> rmcp -> RmcpTransport -> Outbox -> writer -> stdout
//! ```
//!
//! Every request is answered exactly once, in whatever order the work is done. A client that does
//! not read its answers is not read from: the [`Outbox`] has room for so much, and the reader
//! waits until there is some.

mod framing;
mod outbox;
mod transport;

use std::io::{Read, Write};
use std::{io, thread};

use rmcp::service::serve_server;

use crate::frame::Frame;
use crate::stdio::{FrameReader, ServeError, WorkflowBackend};
use crate::traced_handler::TracedHandler;
use crate::version::SessionOptions;
use crate::workflows::WorkflowServer;
use framing::{Framing, Verdict};
use transport::RmcpTransport;

pub(crate) use outbox::Outbox;

/// Serves one client until nothing follows, or it asks for `shutdown`. `first` is a line that was
/// read already.
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
            // A panic in there leaves nothing to be waited for.
            let _ = serving.await;
            outbox.settled().await;
        });
        outbox.close();
        let written = writer.join();
        read?;
        written.unwrap_or_else(|_| Err(ServeError::Write(io::Error::other("the writer ended"))))
    })
}

/// What is not the beginning of a session is answered, and the next one awaited.
async fn serve_sessions(server: WorkflowServer, transport: RmcpTransport) {
    while !transport.is_closed() {
        if let Ok(service) = serve_server(TracedHandler(server.clone()), transport.clone()).await {
            let _ = service.waiting().await;
        }
    }
}

/// Reads until there is nothing more to read, or wanted.
fn read_all(
    mut framing: Framing,
    first: Option<&[u8]>,
    mut frames: FrameReader<impl Read>,
) -> Result<(), ServeError> {
    if let Some(first) = first
        && framing.line(Frame::Line(first)) == Verdict::Over
    {
        return Ok(());
    }
    loop {
        while let Some(frame) = frames.next() {
            if framing.line(frame) == Verdict::Over {
                return Ok(());
            }
        }
        framing.flush();
        if !frames.fill()? {
            return Ok(());
        }
    }
}
