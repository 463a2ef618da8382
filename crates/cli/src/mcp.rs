//! `milepost mcp`: the server for agents, over standard input and output.

use std::io;
use std::sync::mpsc;
use std::thread;

use milepost_mcp::workflows::{Errors, Look, Spelling, WorkflowServer};
use milepost_mcp::{
    LazyRuntime, Options, Revision, Surface, Tables, raw_stdout, serve_stdio, stdin_until_signal,
};
use milepost_model::problem::{Code, Problem};
use milepost_ops::Profile;
use serde_json::{Map, Value, json};

use crate::args::{Json, Mcp, McpCommand, McpErrors, McpNames, McpShown, McpSurface, McpTools};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::wording::CommandLine;
use crate::{install, limits, table, target};

pub(crate) fn run(arguments: &Mcp, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match &arguments.command {
        Some(McpCommand::Budget(Json { json })) => return budget(arguments, *json, terminal),
        Some(McpCommand::Install(command)) => return install::run(command, terminal),
        None => {}
    }
    let shown = &arguments.shown;
    let options = options(shown)?;
    let stdin = stdin_until_signal().map_err(|error| {
        let message = format!("cannot wait for signals: {error}");
        Problem::new(Code::Internal, message, "report this with your system's version")
    })?;
    let stdout = raw_stdout().map_err(|error| {
        let message = format!("cannot write to standard output: {error}");
        Problem::new(Code::StorageFailed, message, "start the server with an open output")
    })?;
    let server = server(look(shown, options.surface))?;
    let runtime = LazyRuntime::new(limits::SERVER_WORKERS);
    let tending = Tending::begin(server.clone(), runtime.clone())?;
    let tables = Tables::both(&server, runtime.clone());
    let outcome = serve_stdio(&tables, options, stdin, stdout, io::stderr());
    tending.end();
    if let Some(runtime) = runtime.started() {
        runtime.block_on(server.finish_runs());
    }
    // What went wrong is on standard error already.
    Ok(if outcome.is_ok() { Exit::Done } else { Exit::Failed })
}

/// The one server of a process, over the one set of operations that it has.
pub(crate) fn server(look: Look) -> Result<WorkflowServer, Failure> {
    Ok(WorkflowServer::new(target::operations()?, look, Box::new(io::stderr())))
}

/// What a model pays for the list of tools, in bytes and roughly in tokens.
fn budget(arguments: &Mcp, json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let look = look(&arguments.shown, surface(&arguments.shown));
    let server = server(look)?;
    let size = |tool: &Value| tool.to_string().len();
    let total = server.tools().iter().map(size).sum::<usize>() + server.instructions().len();
    if json {
        let tools: Map<String, Value> = server
            .tools()
            .iter()
            .map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), size(tool).into()))
            .collect();
        let instructions = server.instructions().len();
        let object = json!({"tools": tools, "instructions": instructions, "bytes": total});
        terminal.line(&object.to_string())?;
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = server
        .tools()
        .iter()
        .map(|tool| {
            let name = tool["name"].as_str().unwrap_or_default().to_owned();
            vec![name, size(tool).to_string()]
        })
        .collect();
    rows.push(vec!["(instructions)".to_owned(), server.instructions().len().to_string()]);
    terminal.line(&table::render(&["tool", "bytes"], &rows, terminal.width()))?;
    terminal.line(&format!("{total} bytes, about {} tokens", total / limits::BYTES_A_TOKEN))?;
    Ok(Exit::Done)
}

/// What the work of a server is done on.
pub(crate) fn runtime() -> Result<LazyRuntime, Failure> {
    let runtime = LazyRuntime::new(limits::SERVER_WORKERS);
    runtime.get().map_err(|error| no_threads(&error))?;
    Ok(runtime)
}

fn no_threads(error: &io::Error) -> Problem {
    let message = format!("cannot start the threads of a server: {error}");
    Problem::new(Code::Internal, message, "see how many threads this user may have")
}

/// How sessions behave, as the arguments say.
pub(crate) fn options(shown: &McpShown) -> Result<Options, Failure> {
    let protocol = shown.protocol.as_deref().map(revision).transpose()?;
    Ok(Options { surface: surface(shown), protocol })
}

fn surface(shown: &McpShown) -> Surface {
    match shown.surface {
        // The guide contract shows every step of a workflow to whoever asks.
        McpSurface::Auto if shown.tools == McpTools::Work => Surface::Workflows,
        McpSurface::Auto => Surface::Auto,
        McpSurface::Workflowlookup => Surface::Workflowlookup,
        McpSurface::Workflows => Surface::Workflows,
        McpSurface::All => Surface::All,
    }
}

/// How the contract shows itself, as the arguments say.
pub(crate) fn look(shown: &McpShown, surface: Surface) -> Look {
    let dotted = shown.tool_names == McpNames::Dotted || surface == Surface::All;
    Look {
        surface,
        profile: match shown.tools {
            McpTools::Full => Profile::Full,
            McpTools::Core => Profile::Core,
            McpTools::Work => Profile::Work,
        },
        typed: &CommandLine,
        spelling: if dotted { Spelling::Dotted } else { Spelling::Underscore },
        errors: match shown.errors {
            Some(McpErrors::Jsonrpc) => Errors::JsonRpc,
            None if shown.tool_names == McpNames::Dotted => Errors::JsonRpc,
            Some(McpErrors::Result) | None => Errors::Result,
        },
    }
}

/// Drives runs on whose process is gone, beside what a server does and with the same operations.
/// As long as there are no runs, nothing is opened for them.
struct Tending {
    /// Closed when the server ends.
    open: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Tending {
    fn begin(server: WorkflowServer, runtime: LazyRuntime) -> Result<Tending, Failure> {
        let (open, closed) = mpsc::channel();
        let thread = thread::Builder::new().name("tending".to_owned()).spawn(move || {
            while !server.has_runs() {
                if closed.recv_timeout(limits::TEND_EVERY) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return;
                }
            }
            if let Ok(runtime) = runtime.get() {
                let tending = runtime.spawn(async move { server.tend_runs().await });
                // Nothing is ever sent: it ends when the other end is closed.
                let _ = closed.recv();
                tending.abort();
            }
        });
        Ok(Tending { open, thread: thread.map_err(|error| no_threads(&error))? })
    }

    /// Takes up no further runs.
    fn end(self) {
        drop(self.open);
        // One that panicked takes up none either.
        drop(self.thread.join());
    }
}

fn revision(date: &str) -> Result<Revision, Problem> {
    Revision::parse(date).ok_or_else(|| {
        let spoken: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
        let hint = format!("use one of {}", spoken.join(", "));
        Problem::new(Code::InputInvalid, format!("`{date}` is not a protocol version"), hint)
    })
}
