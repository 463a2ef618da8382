//! `milepost catalog preview`.

use milepost_ops::catalog::preview::{Judgement, Preview as Operation, Request, Response};

use super::args::Preview;
use super::{address, remarks};
use crate::command::commands_table;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Preview, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (source, naming) = (&arguments.source, &arguments.naming);
    let session = Session::open(Person::new(false, source.json.json))?;
    let response = session.run::<Operation>(Request {
        source: source.named.clone(),
        source_type: None,
        catalog_title: naming.title.clone(),
        vendor: naming.vendor.clone(),
        base_url: naming.base_url.clone(),
        include_command_preview: arguments.commands,
        allow_refs: source.references.allow_refs.clone(),
        refs_root: source.references.refs_root.clone(),
    })?;
    if source.json.json {
        print(&Judgement::of(response), terminal)?;
    } else {
        show(&response, &source.named, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(response: &Response, source: &str, terminal: &mut Terminal) -> Result<(), Failure> {
    remarks::tell(&response.warnings, terminal);
    let catalog = &response.catalog;
    terminal.line(&format!("{} — {}", catalog.catalog_id, safe(&catalog.title)))?;
    terminal.line(&safe(address(catalog.base_url.as_deref())))?;
    let operations = count(response.operation_count, "operation");
    let commands = count(response.projected_command_count, "command");
    let providers = count(response.provider_contract_count, "provider");
    terminal.line(&format!("{operations}, {commands}, {providers}"))?;
    if let Some(commands) = &response.command_preview {
        terminal.line(&format!("\n{}", commands_table(commands, terminal.width())))?;
        let rest = response.projected_command_count.saturating_sub(commands.len());
        if rest > 0 {
            terminal.remark(&format!("note: {} more", count(rest, "command")));
        }
    }
    let overwrite = if response.exists { " --overwrite" } else { "" };
    if response.exists {
        let id = &catalog.catalog_id;
        terminal.remark(&format!("note: catalog `{id}` is there already"));
    }
    terminal.remark(&format!("next: milepost catalog import {}{overwrite}", safe(source)));
    Ok(())
}
