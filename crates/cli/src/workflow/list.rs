//! `milepost workflow list`.

use milepost_model::source::Format;
use milepost_store::{Listing, Summary};
use serde_json::{Value, json};

use super::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::table;
use crate::target;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let listing = target::library()?.listing(target::world())?;
    if json {
        terminal.line(&as_json(&listing).to_string())?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = listing.items.iter().map(|item| row(item)).collect();
    if rows.is_empty() {
        terminal.line("no workflows yet\nhint: begin one with `milepost workflow new <id>`")?;
    } else {
        let headings = ["id", "kind", "steps", "source", "title"];
        terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    }
    for invalid in &listing.invalid {
        let path = safe(&invalid.path.display().to_string());
        let reason = safe(&invalid.reason);
        terminal.complain(&format!("warning: `{path}` is left out: {reason}"));
    }
    if !listing.invalid.is_empty() {
        let files = count(listing.invalid.len(), "file");
        terminal.complain(&format!("hint: {files} can be looked at with `workflow validate`"));
    }
    Ok(Exit::Done)
}

fn row(item: &Summary) -> Vec<String> {
    vec![
        item.id.clone(),
        item.spelling.name().to_owned(),
        item.steps.to_string(),
        item.source.name().to_owned(),
        item.title.clone(),
    ]
}

fn as_json(listing: &Listing) -> Value {
    let workflows: Vec<Value> = listing
        .items
        .iter()
        .map(|item| {
            json!({
                "workflow_id": item.id,
                "kind": item.spelling.name(),
                "title": item.title,
                "description": item.description,
                "source": item.source.name(),
                "path": item.path.display().to_string(),
                "format": item.format.map(Format::name),
                "version": item.version,
                "steps": item.steps,
            })
        })
        .collect();
    let invalid: Vec<Value> = listing
        .invalid
        .iter()
        .map(|one| json!({"path": one.path.display().to_string(), "reason": one.reason}))
        .collect();
    json!({"workflows": workflows, "invalid": invalid})
}
