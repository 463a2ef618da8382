//! `milepost workflow list`.

use milepost_ops::workflow::list::{Item, List as Operation, Request};

use super::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let session = Session::open(Person::new(false, json))?;
    let mut response = session.run::<Operation>(Request::default())?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = response.workflows.iter().map(row).collect();
    while let Some(cursor) = response.next_cursor.take() {
        let request = Request { cursor: Some(cursor), ..Request::default() };
        response = session.run::<Operation>(request)?;
        rows.extend(response.workflows.iter().map(row));
    }
    if rows.is_empty() {
        terminal.line("no workflows yet\nhint: begin one with `milepost workflow new <id>`")?;
    } else {
        let headings = ["id", "kind", "steps", "source", "title"];
        terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    }
    for invalid in &response.invalid {
        let (path, reason) = (safe(&invalid.path), safe(&invalid.reason));
        terminal.remark(&format!("warning: `{path}` is left out: {reason}"));
    }
    if !response.invalid.is_empty() {
        let files = count(response.invalid.len(), "file");
        terminal.remark(&format!("hint: {files} can be looked at with `workflow validate`"));
    }
    Ok(Exit::Done)
}

fn row(item: &Item) -> Vec<String> {
    vec![
        item.workflow_id.clone(),
        item.kind.name().to_owned(),
        item.steps.to_string(),
        item.source.clone(),
        item.title.clone(),
    ]
}
