//! `milepost catalog remove`.

use milepost_ops::catalog::remove::{Remove as Operation, Request};

use super::args::Remove;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count};

pub(crate) fn run(arguments: &Remove, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.named.json.json;
    let session = Session::open(Person::new(arguments.yes, json))?;
    let response = session.run::<Operation>(Request {
        catalog_id: Some(arguments.named.catalog.clone()),
        catalog_title: None,
        remove_manifest: arguments.manifest,
    })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    let left = count(response.remaining_catalog_count, "catalog");
    terminal.line(&format!("removed {}; {left} left", response.removed_catalog_id))?;
    if !response.manifest_removed {
        terminal.remark("note: its document stays for the next import; --manifest removes it");
    }
    Ok(Exit::Done)
}
