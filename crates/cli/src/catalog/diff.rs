//! `milepost catalog diff`.

use milepost_ops::catalog::diff::{Diff as Operation, Request, Response};

use super::args::Diff;
use super::remarks;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Diff, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.named.json.json;
    let session = Session::open(Person::new(false, json))?;
    let response = session.run::<Operation>(Request {
        catalog_id: arguments.named.catalog.clone(),
        source: arguments.source.clone(),
        source_type: None,
        allow_refs: arguments.references.allow_refs.clone(),
        refs_root: arguments.references.refs_root.clone(),
    })?;
    if json {
        print(&response, terminal)?;
    } else {
        remarks::tell(&response.warnings, terminal);
        show(&response, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    for (mark, entries) in [("+", &response.added), ("-", &response.removed)] {
        for entry in entries {
            let (command, path) = (safe(&entry.command), safe(&entry.path));
            terminal.line(&format!("{mark} {command}  {} {path}", entry.method))?;
        }
    }
    for change in &response.changed {
        let breaking = if change.breaking { "  (breaking)" } else { "" };
        terminal.line(&format!("~ {}{breaking}", safe(&change.command)))?;
        for detail in &change.details {
            terminal.line(&format!("    {}", safe(detail)))?;
        }
    }
    let id = &response.catalog_id;
    if !response.changes {
        terminal.line(&format!("{id}: nothing changes"))?;
        return Ok(());
    }
    let breaking = if response.breaking { "breaking: calls that worked may fail" } else { "safe" };
    let changed = count(response.changed.len(), "command");
    terminal.line(&format!(
        "{id}: {} added, {} removed, {changed} changed; {breaking}",
        response.added.len(),
        response.removed.len(),
    ))?;
    Ok(())
}
