//! `milepost catalog import`.

use milepost_ops::catalog::import::{Import as Operation, Request, Response};

use super::args::Import;
use super::{address, remarks};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Import, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (source, naming) = (&arguments.source, &arguments.naming);
    let session = Session::open(Person::new(false, source.json.json))?;
    let response = session.run::<Operation>(Request {
        source: source.named.clone(),
        source_type: None,
        catalog_title: naming.title.clone(),
        vendor: naming.vendor.clone(),
        base_url: naming.base_url.clone(),
        overwrite: arguments.overwrite,
        enabled: !arguments.disabled,
        allow_refs: source.references.allow_refs.clone(),
        refs_root: source.references.refs_root.clone(),
    })?;
    if source.json.json {
        print(&response, terminal)?;
    } else {
        show(&response, arguments.disabled, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(response: &Response, disabled: bool, terminal: &mut Terminal) -> Result<(), Failure> {
    remarks::tell(&response.warnings, terminal);
    let id = &response.catalog_id;
    let verb = if response.replaced { "replaced" } else { "imported" };
    let operations = count(response.operation_count, "operation");
    let commands = count(response.command_count, "command");
    let providers = count(response.provider_contract_count, "provider");
    terminal.line(&format!("{verb} {id}: {operations}, {commands}, {providers}"))?;
    terminal.line(&safe(address(response.base_url.as_deref())))?;
    terminal.line(&safe(&response.catalog_path))?;
    terminal.remark(&match disabled {
        true => format!("next: milepost catalog enable {id}"),
        false => format!("next: milepost catalog show {id}"),
    });
    Ok(())
}
