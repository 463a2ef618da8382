//! `milepost person set-pin`.

use milepost_ops::run::pin::{Request, SetPin};

use super::args::PersonCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::Session;
use crate::terminal::Terminal;

/// Sets the PIN, asked for on the terminal and nowhere else.
pub(crate) fn run(command: &PersonCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let PersonCommand::SetPin = command;
    let session = Session::open(Person::new(false, false))?;
    session.run::<SetPin>(Request {})?;
    terminal.line("the PIN is set: decisions in runs that start from now on need it")?;
    Ok(Exit::Done)
}
