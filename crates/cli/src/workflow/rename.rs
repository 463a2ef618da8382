//! `milepost workflow rename`.

use milepost_ops::workflow::rename::{Rename as Operation, Request};

use super::short;
use crate::args::Rename;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Rename, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let response = session.run::<Operation>(Request {
        workflow_id: arguments.id.clone(),
        new_id: arguments.new_id.clone(),
        expected_version: arguments.expect.clone(),
    })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    for warning in &response.warnings {
        terminal.remark(&format!("warning: {}", safe(warning)));
    }
    let (from, to) = (&response.previous_id, &response.workflow_id);
    let (version, path) = (short(&response.version), safe(&response.path));
    terminal.line(&format!("renamed {from} to {to} {version}: {path}"))?;
    Ok(Exit::Done)
}
