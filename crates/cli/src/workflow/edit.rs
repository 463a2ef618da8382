//! `milepost workflow save`, `rename` and `delete`.

use std::path::Path;

use milepost_model::problem::{Code, Problem};
use milepost_ops::workflow::delete::{self, DeleteWorkflow};
use milepost_ops::workflow::rename::{self, RenameWorkflow};
use milepost_ops::workflow::save::{self, SaveWorkflow};
use milepost_store::read_document;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use super::args::{DeleteArgs, RenameArgs, SaveArgs};
use super::short;
use crate::argument_values::stdin_bytes;
use crate::failure::CommandResult;
use crate::session::{CliSession, call};
use crate::terminal::{Terminal, safe};

pub(super) fn save(args: &SaveArgs, terminal: &mut Terminal) -> CommandResult {
    let (bytes, format) = if args.file == "-" {
        (stdin_bytes(DOCUMENT_BYTES)?, None)
    } else {
        let path = Path::new(&args.file);
        let extension = path.extension().and_then(|extension| extension.to_str());
        (read_document(path, DOCUMENT_BYTES)?, extension.and_then(Format::of_extension))
    };
    let content = String::from_utf8(bytes).map_err(|error| {
        let message = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
        Problem::new(Code::WorkflowInvalid, message, "save the file as UTF-8")
    })?;
    let request = save::Request {
        content,
        workflow_id: None,
        format: format.map(Into::into),
        overwrite: args.overwrite,
        expected_version: args.expect.clone(),
    };
    let response = call::<SaveWorkflow>(request, terminal)?;
    terminal.answer(&response, |terminal| show_saved(&response, terminal))
}

fn show_saved(response: &save::Response, terminal: &mut Terminal) {
    for warning in &response.warnings {
        let (line, message) = (warning.line, safe(&warning.message));
        terminal.remark(format!("warning[{}]: line {line}: {message}", warning.rule));
    }
    let (id, version) = (&response.workflow_id, short(&response.version));
    let path = safe(&response.path);
    match response.previous_version.as_deref() {
        Some(previous) if previous == response.version => {
            terminal.line(format!("{id} is already at {version}: {path}"));
        }
        Some(previous) => {
            let previous = short(previous);
            terminal.line(format!("saved {id} {version}, replacing {previous}: {path}"));
            terminal.remark(format!("undo: milepost workflow restore {id} {previous}"));
        }
        None => terminal.line(format!("saved {id} {version}: {path}")),
    }
    if let Some(other) = &response.overrides {
        let (source, path) = (&other.source, safe(&other.path));
        terminal.remark(format!("note: it overrides the read-only one ({source}: {path})"));
    }
}

pub(super) fn rename(args: &RenameArgs, terminal: &mut Terminal) -> CommandResult {
    let request = rename::Request {
        workflow_id: args.id.clone(),
        new_id: args.new_id.clone(),
        expected_version: args.expect.clone(),
    };
    let response = call::<RenameWorkflow>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        terminal.warnings(&response.warnings);
        let (from, to) = (&response.previous_id, &response.workflow_id);
        let (version, path) = (short(&response.version), safe(&response.path));
        terminal.line(format!("renamed {from} to {to} {version}: {path}"));
    })
}

pub(super) fn delete(args: &DeleteArgs, terminal: &mut Terminal) -> CommandResult {
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let response = session.run::<DeleteWorkflow>(delete::Request {
        workflow_id: args.id.clone(),
        expected_version: args.expect.clone(),
    })?;
    terminal.answer(&response, |terminal| {
        terminal.warnings(&response.warnings);
        let (id, version) = (&response.workflow_id, short(&response.version));
        terminal.line(format!("deleted {id} {version}: {}", safe(&response.path)));
        if let Some(other) = &response.uncovers {
            let (source, path) = (&other.source, safe(&other.path));
            terminal.remark(format!("note: the read-only one is used again ({source}: {path})"));
        }
        terminal.remark(format!("undo: milepost workflow restore {id} {version}"));
    })
}
