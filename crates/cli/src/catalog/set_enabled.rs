//! `milepost catalog enable` and `milepost catalog disable`.

use milepost_ops::catalog::set_enabled::{Request, SetEnabled};

use super::args::Named;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count};

pub(crate) fn run(
    arguments: &Named,
    enabled: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let catalog_id = Some(arguments.catalog.clone());
    let response =
        session.run::<SetEnabled>(Request { catalog_id, catalog_title: None, enabled })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    let state = if response.enabled { "enabled" } else { "disabled" };
    let all = count(response.command_count_after_toggle, "command");
    terminal.line(&format!("{} is {state}; {all} can be used", response.catalog_id))?;
    Ok(Exit::Done)
}
