//! `milepost workflow restore`.

use milepost_ops::workflow::restore::{Request, Restore as Operation};

use super::short;
use crate::args::Restore;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Restore, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let response = session.run::<Operation>(Request {
        workflow_id: arguments.id.clone(),
        version: arguments.version.clone(),
        expected_version: arguments.expect.clone(),
    })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    let (id, version) = (&response.workflow_id, short(&response.version));
    terminal.line(&format!("restored {id} {version}: {}", safe(&response.path)))?;
    for violation in &response.violations {
        let (line, message) = (violation.line, safe(&violation.message));
        terminal.remark(&format!("warning[{}]: line {line}: {message}", violation.rule));
    }
    if !response.valid {
        let next = format!("next: milepost workflow validate {}", safe(&response.path));
        terminal.remark("warning: it cannot be used as it is");
        terminal.remark(&next);
    }
    if let Some(previous) = response.previous_version.as_deref().map(short) {
        terminal.remark(&format!("undo: milepost workflow restore {id} {previous}"));
    }
    Ok(Exit::Done)
}
