//! The edge of the pipe: in front of `rmcp`, for every client but those of the guide contract.
//!
//! ```text
//! stdin -> reader thread: frames, messages, faults ---- answers ----+
//!              | what rmcp is to handle                             v
//!              +--------> RmcpTransport::receive -> rmcp -> RmcpTransport::send -> writer thread -> stdout
//! ```
//!
//! Every request is answered exactly once, in whatever order the work is done. The edge answers
//! what `rmcp` leaves unanswered or answers badly; the tests under `tests/it/pipe` pin each of
//! these.

mod framing;
mod transport;

use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::thread;

use rmcp::service::serve_server;

use crate::frame::Framer;
use crate::limits;
use crate::observed::Observed;
use crate::stdio::ServeError;
use crate::version::Options;
use crate::workflows::WorkflowServer;
use framing::{Framing, Verdict};
use transport::RmcpTransport;

pub(crate) use transport::Outbox;

/// Serves one client until it closes its end, asks for `shutdown`, or cannot be reached.
pub async fn serve_pipe(
    server: WorkflowServer,
    options: Options,
    stdin: impl Read + Send + 'static,
    stdout: impl Write + Send + 'static,
) -> Result<(), ServeError> {
    let (outbox, lines) = mpsc::channel();
    let outbox = Outbox::new(outbox);
    let writer = thread::spawn(move || write(&lines, stdout));
    let (wire, inbox) = RmcpTransport::new(outbox.clone());
    let edge = Framing::new(server.clone(), options, outbox.clone(), inbox);
    let (read, was_read) = tokio::sync::oneshot::channel();
    let listening = server.clone();
    thread::spawn(move || {
        let outcome = read_all(edge, stdin);
        listening.end_listening();
        // Whoever waits for it is gone when this cannot be told.
        let _ = read.send(outcome);
    });
    // What is not the beginning of a session is answered, and the next one awaited.
    while !wire.is_closed() {
        if let Ok(service) = serve_server(Observed(server.clone()), wire.clone()).await {
            let _ = service.waiting().await;
        }
    }
    let read = was_read.await.unwrap_or(Ok(()));
    outbox.settled().await;
    drop((outbox, wire));
    let written = tokio::task::spawn_blocking(move || writer.join()).await;
    read?;
    match written {
        Ok(Ok(written)) => written,
        _ => Err(ServeError::Write(io::Error::other("the writer ended early"))),
    }
}

/// Reads until there is nothing more to read, or wanted.
fn read_all(mut edge: Framing, mut stdin: impl Read) -> Result<(), ServeError> {
    let mut framer = Framer::default();
    let mut chunk = vec![0; limits::READ_BYTES];
    loop {
        let count = match stdin.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ServeError::Read(error)),
        };
        let mut rest = &chunk[..count];
        while let Some(frame) = framer.next(&mut rest) {
            if edge.line(frame) == Verdict::Over {
                return Ok(());
            }
        }
        if count == 0 {
            if let Some(frame) = framer.finish() {
                // Nothing follows either way.
                let (Verdict::More | Verdict::Over) = edge.line(frame);
            }
            return Ok(());
        }
    }
}

/// Writes lines as they come, and flushes when no other is there yet.
fn write(lines: &mpsc::Receiver<Vec<u8>>, mut stdout: impl Write) -> Result<(), ServeError> {
    while let Ok(mut unsent) = lines.recv() {
        while unsent.len() < limits::UNSENT_BYTES
            && let Ok(line) = lines.try_recv()
        {
            unsent.extend_from_slice(&line);
        }
        stdout.write_all(&unsent).map_err(ServeError::Write)?;
        stdout.flush().map_err(ServeError::Write)?;
    }
    Ok(())
}
