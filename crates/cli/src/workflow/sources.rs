//! `milepost workflow sources`.

use milepost_store::SourceReport;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::table;
use crate::target;
use crate::terminal::Terminal;

pub(crate) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let library = target::library()?;
    let listing = library.listing(target::world())?;
    if json {
        let sources: Vec<Value> = listing.sources.iter().map(as_json).collect();
        let config = library.locations().config.display().to_string();
        terminal.line(&json!({"config": config, "sources": sources}).to_string())?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = listing.sources.iter().map(row).collect();
    let headings = ["source", "workflows", "shadowed", "directory"];
    terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    for report in &listing.sources {
        for (id, by) in &report.shadowed {
            let (from, by) = (report.kind.name(), by.name());
            terminal.line(&format!("`{id}` of {from} is shadowed by {by}"))?;
        }
        if report.cut {
            let path = report.path.as_ref().map(|path| path.display().to_string());
            let path = path.unwrap_or_default();
            terminal.remark(&format!("warning: not every file of `{path}` was looked at"));
        }
    }
    terminal.line("a later source wins; `runtime` is the one that is written")?;
    Ok(Exit::Done)
}

fn row(report: &SourceReport) -> Vec<String> {
    let directory = match &report.path {
        None => "in the program".to_owned(),
        Some(path) if report.exists => path.display().to_string(),
        Some(path) => format!("{} (not there)", path.display()),
    };
    let shadowed = report.shadowed.len().to_string();
    vec![report.kind.name().to_owned(), report.count.to_string(), shadowed, directory]
}

fn as_json(report: &SourceReport) -> Value {
    let shadowed: Vec<Value> = report
        .shadowed
        .iter()
        .map(|(id, by)| json!({"workflow_id": id, "by": by.name()}))
        .collect();
    json!({
        "source": report.kind.name(),
        "path": report.path.as_ref().map(|path| path.display().to_string()),
        "exists": report.exists,
        "count": report.count,
        "shadowed": shadowed,
    })
}
