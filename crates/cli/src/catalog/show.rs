//! `milepost catalog show`: the record, how it authenticates, and the first commands.

use milepost_ops::catalog::auth::{self, Auth};
use milepost_ops::catalog::list::{Item, List as Catalogs, Request};
use milepost_ops::command::list::{self as commands, Detail, List as Commands};

use super::address;
use super::args::Named;
use super::auth::schemes_table;
use super::list::state;
use crate::command::commands_table;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Named, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let which = Some(arguments.catalog.clone());
    let response = session.run::<Catalogs>(Request { catalog_id: which })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    for item in &response.catalogs {
        show(item, &session, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(item: &Item, session: &Session, terminal: &mut Terminal) -> Result<(), Failure> {
    terminal.line(&format!("{} — {}", item.catalog_id, safe(&item.title)))?;
    let vendor = item.vendor.as_deref().map(|vendor| format!(", by {}", safe(vendor)));
    let commands = count(item.command_count, "command");
    terminal.line(&format!("{}, {commands}{}", state(item), vendor.unwrap_or_default()))?;
    terminal.line(&format!("address   {}", safe(address(item.base_url.as_deref()))))?;
    terminal.line(&format!("source    {}", safe(&item.source)))?;
    terminal.line(&format!("record    {}", safe(&item.catalog_path)))?;
    terminal.line(&format!("document  {}", safe(&item.manifest_path)))?;
    if let Some(problem) = &item.problem {
        terminal.remark(&format!("warning: {}", safe(problem)));
        return Ok(());
    }
    let catalog_id = item.catalog_id.clone();
    let auth = session.run::<Auth>(auth::Request { catalog_id, ..auth::Request::default() })?;
    if !auth.schemes.is_empty() {
        terminal.line(&format!("\n{}", schemes_table(&auth, terminal.width())))?;
    }
    if !item.enabled {
        terminal.remark(&format!("next: milepost catalog enable {}", item.catalog_id));
        return Ok(());
    }
    let first = session.run::<Commands>(commands::Request {
        catalog: Some(item.catalog_id.clone()),
        detail: Some(Detail::Summary),
        limit: Some(limits::CATALOG_COMMANDS),
        ..commands::Request::default()
    })?;
    if !first.commands.is_empty() {
        let table = commands_table(&first.commands, terminal.width());
        terminal.line(&format!("\n{table}"))?;
    }
    if first.total > first.commands.len() {
        let rest = count(first.total - first.commands.len(), "command");
        let id = &item.catalog_id;
        terminal.remark(&format!("note: {rest} more: milepost command search --catalog {id}"));
    }
    Ok(())
}
