//! `milepost workflow list`.

use milepost_store::{Entry, Library};
use serde_json::{Value, json};

use super::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::table;
use crate::target;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let library = target::library()?;
    if json {
        terminal.line(&as_json(&library).to_string())?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = library.entries().map(row).collect();
    if rows.is_empty() {
        terminal.line("no workflows yet\nhint: begin one with `milepost workflow new <id>`")?;
    } else {
        let headings = ["id", "kind", "steps", "source", "title"];
        terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    }
    for invalid in library.invalid() {
        let path = safe(&invalid.path.display().to_string());
        let reason = safe(&invalid.reason);
        terminal.complain(&format!("warning: `{path}` is left out: {reason}"));
    }
    if !library.invalid().is_empty() {
        let files = count(library.invalid().len(), "file");
        terminal.complain(&format!("hint: {files} can be looked at with `workflow validate`"));
    }
    Ok(Exit::Done)
}

fn row(entry: &Entry) -> Vec<String> {
    let workflow = entry.document.workflow.as_ref();
    vec![
        entry.id.clone(),
        workflow.map_or("", |workflow| workflow.spelling.name()).to_owned(),
        workflow.map_or(0, |workflow| workflow.all_steps().len()).to_string(),
        entry.source.name().to_owned(),
        workflow.map_or("", |workflow| workflow.display_title()).to_owned(),
    ]
}

fn as_json(library: &Library) -> Value {
    let workflows: Vec<Value> = library
        .entries()
        .map(|entry| {
            let workflow = entry.document.workflow.as_ref();
            json!({
                "workflow_id": entry.id,
                "kind": workflow.map(|workflow| workflow.spelling.name()),
                "title": workflow.map(milepost_model::workflow::Workflow::display_title),
                "description": workflow.and_then(|workflow| workflow.description.as_deref()),
                "source": entry.source.name(),
                "path": entry.path.display().to_string(),
                "format": entry.document.source.as_ref().map(|source| source.format().name()),
                "version": milepost_model::document::version(&entry.bytes),
                "steps": workflow.map(|workflow| workflow.all_steps().len()),
            })
        })
        .collect();
    let invalid: Vec<Value> = library
        .invalid()
        .iter()
        .map(|one| json!({"path": one.path.display().to_string(), "reason": one.reason}))
        .collect();
    json!({"workflows": workflows, "invalid": invalid})
}
