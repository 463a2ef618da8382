//! Changes to workflows, and their history: `milepost workflow save`, `rename`, `delete`,
//! `versions`, `diff` and `restore`.

use std::path::Path;

use clap::builder::styling::{AnsiColor, Style};
use milepost_model::problem::{Code, Problem};
use milepost_ops::workflow::delete::{self, DeleteWorkflow};
use milepost_ops::workflow::diff::{self, DiffVersions};
use milepost_ops::workflow::rename::{self, RenameWorkflow};
use milepost_ops::workflow::restore::{self, RestoreWorkflow};
use milepost_ops::workflow::save::{self, SaveWorkflow};
use milepost_ops::workflow::versions::{self, ListVersions, VersionItem};
use milepost_store::read_document;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use super::args::{
    DeleteArgs, RenameArgs, RestoreWorkflowArgs, SaveArgs, VersionsArgs, WorkflowDiffArgs,
};
use crate::argument_values::stdin_bytes;
use crate::failure::CliResult;
use crate::session::{CliSession, call};
use crate::terminal::{Terminal, count, safe};

pub(super) fn save(args: &SaveArgs, terminal: &mut Terminal) -> CliResult {
    let (bytes, format) = if args.file == "-" {
        (stdin_bytes(DOCUMENT_BYTES)?, None)
    } else {
        let path = Path::new(&args.file);
        let extension = path.extension().and_then(|extension| extension.to_str());
        (read_document(path, DOCUMENT_BYTES)?, extension.and_then(Format::of_extension))
    };
    let content = String::from_utf8(bytes).map_err(|error| {
        let message = format!("not valid UTF-8 at byte {}", error.utf8_error().valid_up_to());
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
        terminal.remark(format!("note: it overrides the read-only workflow ({source}: {path})"));
    }
}

pub(super) fn rename(args: &RenameArgs, terminal: &mut Terminal) -> CliResult {
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

pub(super) fn delete(args: &DeleteArgs, terminal: &mut Terminal) -> CliResult {
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
            terminal
                .remark(format!("note: the read-only workflow is used again ({source}: {path})"));
        }
        terminal.remark(format!("undo: milepost workflow restore {id} {version}"));
    })
}

pub(super) fn versions(args: &VersionsArgs, terminal: &mut Terminal) -> CliResult {
    let request = versions::Request { workflow_id: args.id.clone(), limit: args.limit };
    let response = call::<ListVersions>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        let headings = ["version", "when", "action", "note"];
        terminal.table(&headings, response.versions.iter().map(version_row));
        let id = &response.workflow_id;
        if let Some(at) = &response.deleted_at {
            terminal.remark(format!("note: the workflow was deleted at {at}"));
            let newest = response.versions.first().map_or("", |one| short(&one.version));
            terminal.remark(format!("next: milepost workflow restore {id} {newest}"));
        }
        if response.more {
            terminal.remark("note: older versions exist; show more with `--limit`");
        }
    })
}

fn version_row(item: &VersionItem) -> Vec<String> {
    let when = item.at.clone().unwrap_or_else(|| "-".to_owned());
    let note = match (&item.renamed_from, item.current) {
        (Some(from), true) => format!("current, was {from}"),
        (Some(from), false) => format!("was {from}"),
        (None, true) => "current".to_owned(),
        (None, false) => String::new(),
    };
    vec![short(&item.version).to_owned(), when, item.operation.clone(), note]
}

pub(super) fn diff(args: &WorkflowDiffArgs, terminal: &mut Terminal) -> CliResult {
    let (from, to) = (args.from.clone(), args.to.clone());
    let request = diff::Request { workflow_id: args.id.clone(), from, to };
    let response = call::<DiffVersions>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        for line in response.diff.lines() {
            let style = style(line);
            terminal.line(format!("{style}{}{style:#}", safe(line)));
        }
        let (from, to) = (short(&response.from), short(&response.to));
        let (added, removed) = (count(response.added, "line"), response.removed);
        terminal.remark(format!("{from} to {to}: {added} added, {removed} removed"));
    })
}

/// The color only repeats the meaning of the first character.
fn style(line: &str) -> Style {
    match line.bytes().next() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => AnsiColor::Cyan.on_default(),
        _ => Style::new(),
    }
}

pub(super) fn restore(args: &RestoreWorkflowArgs, terminal: &mut Terminal) -> CliResult {
    let request = restore::Request {
        workflow_id: args.id.clone(),
        version: args.version.clone(),
        expected_version: args.expect.clone(),
    };
    let response = call::<RestoreWorkflow>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        let (id, version) = (&response.workflow_id, short(&response.version));
        terminal.line(format!("restored {id} {version}: {}", safe(&response.path)));
        for violation in &response.violations {
            let (line, message) = (violation.line, safe(&violation.message));
            terminal.remark(format!("warning[{}]: line {line}: {message}", violation.rule));
        }
        if !response.valid {
            terminal.remark("warning: the restored workflow is not valid");
            terminal.remark(format!("next: milepost workflow validate {}", safe(&response.path)));
        }
        if let Some(previous) = response.previous_version.as_deref().map(short) {
            terminal.remark(format!("undo: milepost workflow restore {id} {previous}"));
        }
    })
}

/// The first digits of a version, enough to distinguish it from others.
fn short(version: &str) -> &str {
    version.get(..12).unwrap_or(version)
}
