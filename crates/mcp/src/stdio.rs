//! The loop: blocking reads, answers in order, one flush for all that a read brought.

use std::io::{self, Read, Write};

use crate::contract::Contract;
use crate::frame::{self, Framer};
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

/// Serves one client until it closes its end, asks for `shutdown`, or cannot be reached.
///
/// An error is on the log already when it is returned: the caller turns it into an exit code.
pub fn serve_stdio(
    contract: &dyn Contract,
    options: Options,
    stdin: impl Read,
    stdout: impl Write,
    mut log: impl Write,
) -> Result<(), ServeError> {
    let wire = Wire { stdout, log: &mut log, output: Output::default() };
    let served = serve(&mut Session::new(contract, options), stdin, wire);
    if let Err(error) = &served {
        // Nobody is left to tell when the log is gone too.
        let _ = writeln!(log, "error: {error}");
    }
    served
}

fn serve(
    session: &mut Session<'_>,
    mut stdin: impl Read,
    mut wire: Wire<impl Write, impl Write>,
) -> Result<(), ServeError> {
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
            if session.line(frame, &mut wire.output) == Flow::Exit {
                return wire.flush();
            }
            if wire.output.answers.len() > limits::UNSENT_BYTES {
                wire.send()?;
            }
        }
        if count == 0 {
            if let Some(frame) = framer.finish() {
                // Nothing follows either way.
                let (Flow::Continue | Flow::Exit) = session.line(frame, &mut wire.output);
            }
            return wire.flush();
        }
        wire.flush()?;
    }
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
