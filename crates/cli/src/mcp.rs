//! `milepost mcp`: the server for agents, over standard input and output.

use std::io;
use std::time::Duration;

use milepost_mcp::guide::Guides;
use milepost_mcp::{Options, Revision, Surface, serve_stdio, stdin_until_signal};
use milepost_model::problem::{Code, Problem};

use crate::args::{Mcp, McpSurface};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;

pub(crate) fn run(arguments: &Mcp) -> Result<Exit, Failure> {
    let options = Options {
        surface: match arguments.surface {
            McpSurface::Auto => Surface::Auto,
            McpSurface::Workflowlookup => Surface::Workflowlookup,
        },
        protocol: arguments.protocol.as_deref().map(revision).transpose()?,
    };
    let contract = Guides::new(target::operations()?);
    tend_runs();
    let stdin = stdin_until_signal().map_err(|error| {
        let message = format!("cannot wait for signals: {error}");
        Problem::new(Code::Internal, message, "report this with your system's version")
    })?;
    let served = serve_stdio(&contract, options, stdin, io::stdout().lock(), io::stderr());
    // What went wrong is on standard error already.
    Ok(if served.is_ok() { Exit::Done } else { Exit::Failed })
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
