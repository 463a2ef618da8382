//! `milepost workflow list` and `sources`.

use milepost_ops::workflow::list::{ListWorkflows, Request, WorkflowItem};
use milepost_store::{Library, SourceReport};
use serde_json::{Value, json};

use crate::environment;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::session::CliSession;
use crate::terminal::{Terminal, count, safe};

pub(super) fn list(terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let mut response = session.run::<ListWorkflows>(Request::default())?;
    if terminal.is_json() {
        return terminal.answer(&response, |_| {});
    }
    let mut rows: Vec<Vec<String>> = response.workflows.iter().map(row).collect();
    while let Some(cursor) = response.next_cursor.take() {
        let request = Request { cursor: Some(cursor), ..Request::default() };
        response = session.run::<ListWorkflows>(request)?;
        rows.extend(response.workflows.iter().map(row));
    }
    if rows.is_empty() {
        terminal.line("no workflows yet\nhint: create one with `milepost workflow new <id>`");
    } else {
        terminal.table(&["id", "kind", "steps", "source", "title"], rows.into_iter());
    }
    for invalid in &response.invalid {
        let (path, reason) = (safe(&invalid.path), safe(&invalid.reason));
        terminal.remark(format!("warning: skipped `{path}`: {reason}"));
    }
    if !response.invalid.is_empty() {
        let files = count(response.invalid.len(), "file");
        terminal.remark(format!("hint: check {files} with `milepost workflow validate`"));
    }
    Ok(Exit::DONE)
}

fn row(item: &WorkflowItem) -> Vec<String> {
    vec![
        item.workflow_id.clone(),
        item.kind.name().to_owned(),
        item.steps.to_string(),
        item.source.clone(),
        item.title.clone(),
    ]
}

pub(super) fn sources(terminal: &mut Terminal) -> CliResult {
    let library = Library::open(environment::locations()?);
    let listing = library.listing(environment::world())?;
    let sources = &listing.sources;
    let config = library.locations().config.display().to_string();
    let all: Vec<Value> = sources.iter().map(source_json).collect();
    terminal.answer(&json!({"config": config, "sources": all}), |terminal| {
        let headings = ["source", "workflows", "shadowed", "directory"];
        terminal.table(&headings, sources.iter().map(source_row));
        for report in sources {
            for (id, by) in &report.shadowed {
                let (from, by) = (report.kind.name(), by.name());
                terminal.line(format!("`{id}` in {from} is shadowed by {by}"));
            }
            if report.cut {
                let path = report.path.as_ref().map(|path| path.display().to_string());
                let path = path.unwrap_or_default();
                terminal.remark(format!("warning: `{path}` has too many files: some were skipped"));
            }
        }
        terminal.line("later sources win; changes are written to `runtime`");
    })
}

fn source_row(report: &SourceReport) -> Vec<String> {
    let directory = match &report.path {
        None => "built in".to_owned(),
        Some(path) if report.exists => path.display().to_string(),
        Some(path) => format!("{} (does not exist)", path.display()),
    };
    let shadowed = report.shadowed.len().to_string();
    vec![report.kind.name().to_owned(), report.count.to_string(), shadowed, directory]
}

fn source_json(report: &SourceReport) -> Value {
    let shadowed = report.shadowed.iter();
    let shadowed: Vec<Value> =
        shadowed.map(|(id, by)| json!({"workflow_id": id, "by": by.name()})).collect();
    json!({
        "source": report.kind.name(),
        "path": report.path.as_ref().map(|path| path.display().to_string()),
        "exists": report.exists,
        "count": report.count,
        "shadowed": shadowed,
    })
}
