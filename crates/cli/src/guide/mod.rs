//! `milepost guide …`: the guide operations for people. The same functions answer agents.

mod check;
mod next;

use std::ffi::OsStr;

use milepost_model::problem::{Code, Problem};
use milepost_ops::SilentCaller;
use milepost_syntax::limits::DOCUMENT_BYTES;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::args::GuideCommand;
use crate::argument_values::object_or_file;
use crate::document;
use crate::failure::{CommandResult, Failure};
use crate::terminal::Terminal;

pub(crate) fn run(command: &GuideCommand, terminal: &mut Terminal) -> CommandResult {
    match command {
        GuideCommand::Next(args) => next::run(args, terminal),
        GuideCommand::Check(args) => check::run(args, terminal),
    }
}

/// Calls an operation on the workflow that the user named by its id or its file; with `--json` its
/// response is printed as it is.
fn call<T: DeserializeOwned>(
    operation: &str,
    target: &OsStr,
    mut request: Value,
    terminal: &mut Terminal,
) -> Result<T, Failure> {
    let loaded = document::load(target)?;
    let workflow = loaded.workflow(terminal)?;
    let session = loaded.open_session(workflow, terminal)?;
    request["workflowId"] = workflow.id.value.as_str().into();
    let response = session.operations.call(operation, &SilentCaller, request)?;
    if terminal.is_json() {
        terminal.line(response.json());
    }
    serde_json::from_str(response.json()).map_err(|error| {
        let message = format!("cannot read the response of `{operation}`: {error}");
        Problem::new(Code::Internal, message, "report this with the command").into()
    })
}

/// The value of `--context`.
pub(crate) fn context(given: Option<&OsStr>) -> Result<Map<String, Value>, Failure> {
    let Some(given) = given else { return Ok(Map::new()) };
    object_or_file("--context", &given.to_string_lossy(), DOCUMENT_BYTES)
}
