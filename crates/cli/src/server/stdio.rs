//! `milepost mcp`: the server for agents over standard input and output.

use std::io;

use milepost_mcp::workflows::{ErrorStyle, ToolNaming, ToolStyle, WorkflowServer};
use milepost_mcp::{
    Revision, SessionOptions, Surface, raw_stdout, serve_process, stdin_until_signal,
};
use milepost_model::problem::{Code, Problem};
use milepost_ops::Profile;
use serde_json::{Map, Value, json};

use super::args::{McpArgs, McpCommand, McpErrors, McpNames, McpSurface, McpSurfaceArgs, McpTools};
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::Terminal;
use crate::wording::CommandLine;
use crate::{environment, install, limits};

pub(crate) fn run(args: &McpArgs, terminal: &mut Terminal) -> CliResult {
    match &args.command {
        Some(McpCommand::Budget) => return budget(args, terminal),
        Some(McpCommand::Install(args)) => return install::run(args, terminal),
        None => {}
    }
    let shown = &args.shown;
    let options = options(shown)?;
    let stdin = stdin_until_signal().map_err(|error| {
        let message = format!("cannot wait for signals: {error}");
        Problem::new(Code::Internal, message, "report this with your system's version")
    })?;
    let stdout = raw_stdout().map_err(|error| {
        let message = format!("cannot write to standard output: {error}");
        Problem::new(Code::StorageFailed, message, "start the server with standard output open")
    })?;
    let server = server(style(shown, options.surface))?;
    let outcome = serve_process(&server, options, stdin, stdout, io::stderr());
    // The error was already printed to standard error.
    Ok(if outcome.is_ok() { Exit::DONE } else { Exit::FAILED })
}

/// Creates the server for this process, with its operations.
pub(crate) fn server(style: ToolStyle) -> CliResult<WorkflowServer> {
    Ok(WorkflowServer::new(environment::operations()?, style, Box::new(io::stderr())))
}

/// Shows what the list of tools costs a model, in bytes and approximate tokens.
fn budget(args: &McpArgs, terminal: &mut Terminal) -> CliResult {
    let server = server(style(&args.shown, surface(&args.shown)))?;
    let instructions = server.instructions().len();
    let sizes = server
        .tools()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), tool.to_string().len()));
    let sizes: Vec<(String, usize)> = sizes.collect();
    let total = sizes.iter().map(|(_, size)| size).sum::<usize>() + instructions;
    let tools: Map<String, Value> =
        sizes.iter().map(|(name, size)| (name.clone(), (*size).into())).collect();
    let response = json!({"tools": tools, "instructions": instructions, "bytes": total});
    terminal.answer(&response, |terminal| {
        let rows = sizes.into_iter().chain([("(instructions)".to_owned(), instructions)]);
        terminal.table(&["tool", "bytes"], rows.map(|(name, size)| vec![name, size.to_string()]));
        terminal.line(format!("{total} bytes, about {} tokens", total / limits::BYTES_A_TOKEN));
    })
}

pub(crate) fn options(shown: &McpSurfaceArgs) -> CliResult<SessionOptions> {
    let protocol = shown.protocol.as_deref().map(revision).transpose()?;
    Ok(SessionOptions { surface: surface(shown), protocol })
}

fn surface(shown: &McpSurfaceArgs) -> Surface {
    match shown.surface {
        // The guide tools show every step of a workflow to any client.
        McpSurface::Auto if shown.tools == McpTools::Work => Surface::Workflows,
        McpSurface::Auto => Surface::Auto,
        McpSurface::Workflowlookup => Surface::Workflowlookup,
        McpSurface::Workflows => Surface::Workflows,
        McpSurface::All => Surface::All,
    }
}

pub(crate) fn style(shown: &McpSurfaceArgs, surface: Surface) -> ToolStyle {
    let dotted = shown.tool_names == McpNames::Dotted || surface == Surface::All;
    ToolStyle {
        surface,
        profile: match shown.tools {
            McpTools::Full => Profile::Full,
            McpTools::Core => Profile::Core,
            McpTools::Work => Profile::Work,
        },
        typed: &CommandLine,
        spelling: if dotted { ToolNaming::Dotted } else { ToolNaming::Underscore },
        errors: match shown.errors {
            Some(McpErrors::Jsonrpc) => ErrorStyle::JsonRpc,
            None if shown.tool_names == McpNames::Dotted => ErrorStyle::JsonRpc,
            Some(McpErrors::Result) | None => ErrorStyle::Result,
        },
    }
}

fn revision(date: &str) -> Result<Revision, Problem> {
    Revision::named(date).ok_or_else(|| {
        let known: Vec<&str> = Revision::ALL.iter().map(|revision| revision.name()).collect();
        let hint = format!("use one of {}", known.join(", "));
        Problem::new(Code::ParamsInvalid, format!("`{date}` is not a protocol version"), hint)
    })
}
