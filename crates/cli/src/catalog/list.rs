//! `milepost catalog list`.

use milepost_ops::catalog::list::{Item, List as Operation, Request};

use super::address;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let session = Session::open(Person::new(false, json))?;
    let response = session.run::<Operation>(Request::default())?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    if response.catalogs.is_empty() {
        let hint = "hint: import one with `milepost catalog import <file|url>`";
        terminal.line(&format!("no catalogs yet\n{hint}"))?;
    } else {
        let rows: Vec<Vec<String>> = response.catalogs.iter().map(row).collect();
        let headings = ["id", "state", "commands", "address", "title"];
        terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    }
    for item in &response.catalogs {
        if let Some(problem) = &item.problem {
            terminal.remark(&format!("warning: `{}`: {}", item.catalog_id, safe(problem)));
        }
    }
    for file in &response.unreadable {
        let (path, message) = (safe(&file.path), safe(&file.message));
        terminal.remark(&format!("warning: `{path}` is left out: {message}"));
    }
    Ok(Exit::Done)
}

fn row(item: &Item) -> Vec<String> {
    vec![
        item.catalog_id.clone(),
        state(item).to_owned(),
        item.command_count.to_string(),
        address(item.base_url.as_deref()).to_owned(),
        item.title.clone(),
    ]
}

/// Whether its commands can be used.
pub(super) fn state(item: &Item) -> &'static str {
    match (&item.problem, item.enabled) {
        (Some(_), _) => "broken",
        (None, true) => "enabled",
        (None, false) => "disabled",
    }
}
