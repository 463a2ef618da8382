//! `milepost workflow versions`, `diff` and `restore`.

use clap::builder::styling::{AnsiColor, Style};
use milepost_ops::workflow::diff::{self, DiffVersions};
use milepost_ops::workflow::restore::{self, RestoreWorkflow};
use milepost_ops::workflow::versions::{self, ListVersions, VersionItem};

use super::args::{RestoreWorkflowArgs, VersionsArgs, WorkflowDiffArgs};
use super::short;
use crate::failure::CommandResult;
use crate::session::call;
use crate::terminal::{Terminal, count, safe};

pub(super) fn list(args: &VersionsArgs, terminal: &mut Terminal) -> CommandResult {
    let request = versions::Request { workflow_id: args.id.clone(), limit: args.limit };
    let response = call::<ListVersions>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        terminal.table(&["version", "when", "by", "note"], response.versions.iter().map(row));
        let id = &response.workflow_id;
        if let Some(at) = &response.deleted_at {
            terminal.remark(format!("note: it was deleted at {at}"));
            let newest = response.versions.first().map_or("", |one| short(&one.version));
            terminal.remark(format!("next: milepost workflow restore {id} {newest}"));
        }
        if response.more {
            terminal.remark("note: there are older ones; --limit shows more");
        }
    })
}

fn row(item: &VersionItem) -> Vec<String> {
    let when = item.at.clone().unwrap_or_else(|| "-".to_owned());
    let note = match (&item.renamed_from, item.current) {
        (Some(from), true) => format!("current, was {from}"),
        (Some(from), false) => format!("was {from}"),
        (None, true) => "current".to_owned(),
        (None, false) => String::new(),
    };
    vec![short(&item.version).to_owned(), when, item.operation.clone(), note]
}

pub(super) fn diff(args: &WorkflowDiffArgs, terminal: &mut Terminal) -> CommandResult {
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

/// Colours repeat what the first character says.
fn style(line: &str) -> Style {
    match line.bytes().next() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => AnsiColor::Cyan.on_default(),
        _ => Style::new(),
    }
}

pub(super) fn restore(args: &RestoreWorkflowArgs, terminal: &mut Terminal) -> CommandResult {
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
            terminal.remark("warning: it cannot be used as it is");
            terminal.remark(format!("next: milepost workflow validate {}", safe(&response.path)));
        }
        if let Some(previous) = response.previous_version.as_deref().map(short) {
            terminal.remark(format!("undo: milepost workflow restore {id} {previous}"));
        }
    })
}
