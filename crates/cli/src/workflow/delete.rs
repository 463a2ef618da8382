//! `milepost workflow delete`.

use milepost_ops::workflow::delete::{Delete as Operation, Request};

use super::short;
use crate::args::Delete;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Delete, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(arguments.yes, json))?;
    let response = session.run::<Operation>(Request {
        workflow_id: arguments.id.clone(),
        expected_version: arguments.expect.clone(),
    })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    for warning in &response.warnings {
        terminal.remark(&format!("warning: {}", safe(warning)));
    }
    let (id, version) = (&response.workflow_id, short(&response.version));
    terminal.line(&format!("deleted {id} {version}: {}", safe(&response.path)))?;
    if let Some(other) = &response.uncovers {
        let note = "note: the one that is only read counts again";
        terminal.remark(&format!("{note} ({}: {})", other.source, safe(&other.path)));
    }
    terminal.remark(&format!("undo: milepost workflow restore {id} {version}"));
    Ok(Exit::Done)
}
