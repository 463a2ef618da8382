//! The server for a pipe, which reads every line once and answers it from one of two contracts.
//!
//! ```text
//! stdin -> frames -> GuideSession (guides): answered here, in order
//!             \----> pipe (workflows): rmcp behind its framing
//! ```
//!
//! The line with which a client opens its session decides which contract serves it, and that
//! contract answers the line. A client that uses only the guides needs no thread and no runtime.

use std::io::{self, Read, Write};

use milepost_model::secret::known_secrets;
use serde_json::{Map, Value};

use crate::frame::{self, Frame, Framer};
use crate::guide::Contract;
use crate::limits;
use crate::orphans::OrphanThread;
use crate::pipe;
use crate::rpc_error::{self, RpcError};
use crate::runtime::LazyRuntime;
use crate::session::{GuideSession, SessionFlow, SessionOutput};
use crate::version::{SessionOptions, Surface};
use crate::workflows::WorkflowServer;

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Reading the input failed.
    #[error("cannot read from the client: {0}")]
    Read(#[source] io::Error),
    /// Writing an answer failed.
    #[error("cannot write to the client: {0}")]
    Write(#[source] io::Error),
    /// The threads for waiting calls could not be started.
    #[error("cannot start the server's threads: {0}")]
    Threads(#[source] io::Error),
}

/// The contracts that a pipe is served from.
pub struct Contracts<'s> {
    guides: &'s dyn Contract,
    workflows: Option<WorkflowBackend>,
}

/// The contract for writing and running workflows, and the threads its calls wait on.
pub(crate) struct WorkflowBackend {
    pub(crate) server: WorkflowServer,
    pub(crate) runtime: LazyRuntime,
    /// The same server, except that tool names that exist in both contracts refer to the guides.
    beside_guides: WorkflowServer,
}

impl<'s> Contracts<'s> {
    /// Serves one contract to every client.
    pub fn guides(guides: &'s dyn Contract) -> Contracts<'s> {
        Contracts { guides, workflows: None }
    }

    /// Serves both contracts of a server: the guides, and everything else as soon as a client needs
    /// it.
    pub fn both(server: &'s WorkflowServer, runtime: LazyRuntime) -> Contracts<'s> {
        let (own, beside_guides) = (server.clone(), server.beside_guides());
        let workflows = WorkflowBackend { server: own, runtime, beside_guides };
        Contracts { guides: server.guides(), workflows: Some(workflows) }
    }
}

impl WorkflowBackend {
    /// Calls a tool that is not in the guide contract, for a client that uses that contract;
    /// returns `None` if this contract does not have it either. The result is the JSON text of a
    /// complete tool result.
    pub(crate) fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<String, RpcError>> {
        if !self.beside_guides.has(tool) {
            return None;
        }
        let called = match self.runtime.get() {
            Ok(runtime) => runtime.block_on(self.beside_guides.call_for_guides(tool, arguments)),
            Err(error) => Err(internal(&error)),
        };
        Some(
            called.and_then(|result| {
                serde_json::to_string(&result).map_err(|error| internal(&error))
            }),
        )
    }
}

fn internal(error: &dyn std::error::Error) -> RpcError {
    let data = serde_json::json!({"details": error.to_string()});
    RpcError::new(rpc_error::INTERNAL_ERROR, "Internal error", data)
}

/// Serves one client until it closes its end, sends `shutdown`, or cannot be reached.
///
/// An error has already been logged when it is returned; the caller only turns it into an exit
/// code.
pub fn serve_stdio(
    tables: &Contracts<'_>,
    options: SessionOptions,
    stdin: impl Read,
    stdout: impl Write + Send,
    mut log: impl Write,
) -> Result<(), ServeError> {
    let outcome = serve(tables, options, stdin, stdout, &mut log);
    logged(outcome, &mut log)
}

/// Serves the only client of a process, as [`serve_stdio`] does, from both contracts of a server.
/// Meanwhile it continues orphaned runs; at the end it releases the runs of the process.
pub fn serve_process(
    server: &WorkflowServer,
    options: SessionOptions,
    stdin: impl Read,
    stdout: impl Write + Send,
    mut log: impl Write,
) -> Result<(), ServeError> {
    let runtime = LazyRuntime::default();
    let orphans = OrphanThread::start(server.clone(), runtime.clone());
    let orphans = logged(orphans.map_err(ServeError::Threads), &mut log)?;
    let tables = Contracts::both(server, runtime.clone());
    let outcome = serve_stdio(&tables, options, stdin, stdout, log);
    orphans.stop();
    if let Some(runtime) = runtime.started() {
        runtime.block_on(server.operations().finish_runs());
    }
    outcome
}

fn logged<T>(outcome: Result<T, ServeError>, log: &mut impl Write) -> Result<T, ServeError> {
    if let Err(error) = &outcome {
        // If the log is gone too, there is nobody left to notify.
        let _ = writeln!(log, "error: {error}");
    }
    outcome
}

fn serve(
    tables: &Contracts<'_>,
    options: SessionOptions,
    stdin: impl Read,
    stdout: impl Write + Send,
    log: impl Write,
) -> Result<(), ServeError> {
    let mut frames = FrameReader::new(stdin);
    let workflows = tables.workflows.as_ref();
    let opens_with_guides = matches!(options.surface, Surface::Auto | Surface::Workflowlookup);
    let workflows = match workflows.filter(|_| !opens_with_guides) {
        Some(workflows) => return pipe::serve(workflows, options, None, frames, stdout),
        None => workflows,
    };
    let mut session = GuideSession::new(tables.guides, workflows, options);
    let mut answers = Answers { stdout, log, output: SessionOutput::default() };
    let other = answered(&mut session, &mut frames, &mut answers)?;
    match workflows.zip(other) {
        Some((workflows, line)) => {
            pipe::serve(workflows, options, Some(&line), frames, answers.stdout)
        }
        None => Ok(()),
    }
}

/// Answers lines in order, until the input ends or a line is not for the guides; such a line is
/// returned.
fn answered(
    session: &mut GuideSession<'_>,
    frames: &mut FrameReader<impl Read>,
    answers: &mut Answers<impl Write, impl Write>,
) -> Result<Option<Vec<u8>>, ServeError> {
    while frames.fill()? {
        while let Some(frame) = frames.next() {
            match session.line(frame, &mut answers.output) {
                SessionFlow::Continue => {}
                SessionFlow::Exit => return answers.flush().map(|()| None),
                SessionFlow::HandOver => {
                    answers.flush()?;
                    let Frame::Line(line) = frame else { return Ok(None) };
                    return Ok(Some(line.to_owned()));
                }
            }
            if answers.output.answers.len() > limits::UNSENT_BYTES {
                answers.send()?;
            }
        }
        answers.flush()?;
    }
    Ok(None)
}

/// The lines of a client, in order of arrival.
pub(crate) struct FrameReader<R> {
    stdin: R,
    framer: Framer,
    chunk: Vec<u8>,
    /// The part of the chunk that has been read but not yet split into lines.
    unread: std::ops::Range<usize>,
    has_ended: bool,
}

impl<R: Read> FrameReader<R> {
    fn new(stdin: R) -> FrameReader<R> {
        let chunk = vec![0; limits::READ_BYTES];
        FrameReader { stdin, framer: Framer::default(), chunk, unread: 0..0, has_ended: false }
    }

    /// Reads more input; to be called once every line of the current chunk has been taken. `false`
    /// means that the input has ended.
    pub(crate) fn fill(&mut self) -> Result<bool, ServeError> {
        if self.has_ended {
            return Ok(false);
        }
        loop {
            match self.stdin.read(&mut self.chunk) {
                Ok(count) => {
                    self.unread = 0..count;
                    self.has_ended = count == 0;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ServeError::Read(error)),
            }
        }
    }

    /// The next line of the input read so far; the last line of the input may lack a line break.
    pub(crate) fn next(&mut self) -> Option<Frame<'_>> {
        if self.has_ended {
            return self.framer.finish();
        }
        let mut rest = &self.chunk[self.unread.clone()];
        let before = rest.len();
        let frame = self.framer.next(&mut rest);
        self.unread.start += before - rest.len();
        frame
    }
}

/// Where a session's output goes.
struct Answers<W, L> {
    stdout: W,
    log: L,
    output: SessionOutput,
}

impl<W: Write, L: Write> Answers<W, L> {
    fn flush(&mut self) -> Result<(), ServeError> {
        if self.output.answers.is_empty() && self.output.log.is_empty() {
            return Ok(());
        }
        self.send()?;
        self.stdout.flush().map_err(ServeError::Write)
    }

    fn send(&mut self) -> Result<(), ServeError> {
        if !self.output.log.is_empty() {
            // A log that cannot be written must not prevent the client from getting its answer.
            let _ = self.log.write_all(known_secrets::shown(&self.output.log).as_bytes());
            self.output.log.clear();
        }
        let answers = known_secrets::shown_bytes(&self.output.answers);
        self.stdout.write_all(&answers).map_err(ServeError::Write)?;
        drop(answers);
        frame::give_back(&mut self.output.answers);
        Ok(())
    }
}
