//! The loop: blocking reads, answers in order, one flush for all that a read brought.

use std::io::{self, Chain, Cursor, Read, Write};

use crate::contract::Contract;
use crate::frame::{self, Frame, Framer};
use crate::limits;
use crate::session::{Flow, Output, Session};
use crate::version::Options;

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nothing more can be read.
    #[error("cannot read from the client: {0}")]
    Read(#[source] io::Error),
    /// Nothing more can be answered.
    #[error("cannot write to the client: {0}")]
    Write(#[source] io::Error),
}

/// How serving ended.
#[must_use]
#[derive(Debug)]
pub enum Served<R> {
    /// The client is gone, or asked for it.
    Over,
    /// The client is one for the other contract: what it said, with all that follows.
    HandOver(Chain<Cursor<Vec<u8>>, R>),
}

/// Serves one client until it closes its end, asks for `shutdown`, cannot be reached, or turns out
/// to be one of the other contract.
///
/// An error is on the log already when it is returned: the caller turns it into an exit code.
pub fn serve_stdio<R: Read>(
    contract: &dyn Contract,
    options: Options,
    stdin: R,
    stdout: impl Write,
    mut log: impl Write,
) -> Result<Served<R>, ServeError> {
    let wire = Wire { stdout, log: &mut log, output: Output::default() };
    let served = serve(&mut Session::new(contract, options), stdin, wire);
    if let Err(error) = &served {
        // Nobody is left to tell when the log is gone too.
        let _ = writeln!(log, "error: {error}");
    }
    served
}

fn serve<R: Read>(
    session: &mut Session<'_>,
    mut stdin: R,
    mut wire: Wire<impl Write, impl Write>,
) -> Result<Served<R>, ServeError> {
    let mut framer = Framer::default();
    let mut chunk = vec![0; limits::READ_BYTES];
    loop {
        let count = match stdin.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ServeError::Read(error)),
        };
        session.arrived();
        let mut rest = &chunk[..count];
        while let Some(frame) = framer.next(&mut rest) {
            match session.line(frame, &mut wire.output) {
                Flow::Continue => {}
                Flow::Exit => return wire.flush().map(|()| Served::Over),
                Flow::HandOver => {
                    let unread = unread(frame, rest);
                    wire.flush()?;
                    return Ok(Served::HandOver(Cursor::new(unread).chain(stdin)));
                }
            }
            if wire.output.answers.len() > limits::UNSENT_BYTES {
                wire.send()?;
            }
        }
        if count == 0 {
            if let Some(frame) = framer.finish() {
                // Nothing follows either way.
                if session.line(frame, &mut wire.output) == Flow::HandOver {
                    let unread = unread(frame, &[]);
                    wire.flush()?;
                    return Ok(Served::HandOver(Cursor::new(unread).chain(stdin)));
                }
            }
            return wire.flush().map(|()| Served::Over);
        }
        wire.flush()?;
    }
}

/// A line that was read, as it was sent, and what followed it.
fn unread(frame: Frame<'_>, rest: &[u8]) -> Vec<u8> {
    let mut unread = Vec::new();
    if let Frame::Line(line) = frame {
        unread.extend_from_slice(line);
        unread.push(b'\n');
    }
    unread.extend_from_slice(rest);
    unread
}

/// Where the output of a session goes.
struct Wire<W, L> {
    stdout: W,
    log: L,
    output: Output,
}

impl<W: Write, L: Write> Wire<W, L> {
    fn flush(&mut self) -> Result<(), ServeError> {
        if self.output.answers.is_empty() && self.output.log.is_empty() {
            return Ok(());
        }
        self.send()?;
        self.stdout.flush().map_err(ServeError::Write)
    }

    fn send(&mut self) -> Result<(), ServeError> {
        if !self.output.log.is_empty() {
            // A log that cannot be written must not keep the client from its answer.
            let _ = self.log.write_all(self.output.log.as_bytes());
            self.output.log.clear();
        }
        self.stdout.write_all(&self.output.answers).map_err(ServeError::Write)?;
        frame::give_back(&mut self.output.answers);
        Ok(())
    }
}
