//! `milepost person set-pin`.

use milepost_ops::run::pin::{Request, SetPin};

use super::args::PersonCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::Terminal;

/// Sets the PIN, asked for on the terminal and nowhere else.
pub(crate) fn run(command: &PersonCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let PersonCommand::SetPin(json) = command;
    let session = Session::open(Person::new(false, json.json))?;
    let set = session.run::<SetPin>(Request {})?;
    if json.json {
        print(&set, terminal)?;
        return Ok(Exit::Done);
    }
    terminal.line("the PIN is set: decisions in runs that start from now on need it")?;
    Ok(Exit::Done)
}
