//! `milepost mcp`: the server for agents, over standard input and output.

use std::io::{self, Read};
use std::time::Duration;

use milepost_mcp::guide::Guides;
use milepost_mcp::workflows::{Errors, Face, Look, Spelling};
use milepost_mcp::{
    Options, Revision, ServeError, Served, Surface, raw_stdout, serve_pipe, serve_stdio,
    stdin_until_signal,
};
use milepost_model::problem::{Code, Problem};
use milepost_ops::Profile;

use crate::args::{Mcp, McpErrors, McpNames, McpSurface, McpTools};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;

/// Threads that work on calls at a time: one that waits for a disk must not keep others waiting.
const WORKERS: usize = 4;

pub(crate) fn run(arguments: &Mcp) -> Result<Exit, Failure> {
    let options = Options {
        surface: match arguments.surface {
            // The guide contract shows every step of a workflow to whoever asks.
            McpSurface::Auto if arguments.tools == McpTools::Work => Surface::Workflows,
            McpSurface::Auto => Surface::Auto,
            McpSurface::Workflowlookup => Surface::Workflowlookup,
            McpSurface::Workflows => Surface::Workflows,
            McpSurface::All => Surface::All,
        },
        protocol: arguments.protocol.as_deref().map(revision).transpose()?,
    };
    let stdin = stdin_until_signal().map_err(|error| {
        let message = format!("cannot wait for signals: {error}");
        Problem::new(Code::Internal, message, "report this with your system's version")
    })?;
    let look = look(arguments, options.surface);
    let served = match options.surface {
        Surface::Auto | Surface::Workflowlookup => {
            let contract = Guides::new(target::operations()?);
            tend_runs();
            let served = serve_stdio(&contract, options, stdin, io::stdout().lock(), io::stderr());
            match served {
                Ok(Served::Over) => Ok(()),
                Ok(Served::HandOver(stdin)) => workflows(look, options, stdin)?,
                Err(error) => Err(error),
            }
        }
        Surface::Workflows | Surface::All => workflows(look, options, stdin)?,
    };
    // What went wrong is on standard error already.
    Ok(if served.is_ok() { Exit::Done } else { Exit::Failed })
}

/// Serves the contract for writing and running workflows.
fn workflows(
    look: Look,
    options: Options,
    stdin: impl Read + Send + 'static,
) -> Result<Result<(), ServeError>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| {
            let message = format!("cannot start the threads of a server: {error}");
            Problem::new(Code::Internal, message, "see how many threads this user may have")
        })?;
    let stdout = raw_stdout().map_err(|error| {
        let message = format!("cannot write to standard output: {error}");
        Problem::new(Code::StorageFailed, message, "start the server with an open output")
    })?;
    let face = Face::new(target::operations()?, look, Box::new(io::stderr()));
    Ok(runtime.block_on(async {
        let tended = face.clone();
        tokio::spawn(async move { tended.tend_runs().await });
        serve_pipe(face, options, stdin, stdout).await
    }))
}

fn look(arguments: &Mcp, surface: Surface) -> Look {
    let dotted = arguments.tool_names == McpNames::Dotted || surface == Surface::All;
    Look {
        surface,
        profile: match arguments.tools {
            McpTools::Full => Profile::Full,
            McpTools::Core => Profile::Core,
            McpTools::Work => Profile::Work,
        },
        spelling: if dotted { Spelling::Dotted } else { Spelling::Underscore },
        errors: match arguments.errors {
            Some(McpErrors::Result) => Errors::Result,
            Some(McpErrors::Jsonrpc) => Errors::JsonRpc,
            None if arguments.tool_names == McpNames::Dotted => Errors::JsonRpc,
            None => Errors::Result,
        },
    }
}

/// How often a server looks whether there are runs at all.
const LOOK: Duration = Duration::from_secs(2);

/// Drives runs on whose process is gone, for as long as this one lives. As long as there are no
/// runs, nothing is opened for them.
fn tend_runs() {
    std::thread::spawn(|| {
        let Ok(locations) = target::locations() else { return };
        while !locations.data.join(milepost_store::runs::FILE).is_file() {
            std::thread::sleep(LOOK);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let (Ok(runtime), Ok(operations)) = (runtime, target::operations()) {
            runtime.block_on(operations.tend_runs());
        }
    });
}

fn revision(date: &str) -> Result<Revision, Problem> {
    Revision::parse(date).ok_or_else(|| {
        let spoken: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
        let hint = format!("use one of {}", spoken.join(", "));
        Problem::new(Code::InputInvalid, format!("`{date}` is no protocol version"), hint)
    })
}
