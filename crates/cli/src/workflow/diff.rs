//! `milepost workflow diff`.

use clap::builder::styling::{AnsiColor, Style};
use milepost_ops::workflow::diff::{Diff as Operation, Request};

use super::{count, short};
use crate::args::Diff;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Diff, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let response = session.run::<Operation>(Request {
        workflow_id: arguments.id.clone(),
        from: arguments.from.clone(),
        to: arguments.to.clone(),
    })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    for line in response.diff.lines() {
        let style = style(line);
        terminal.line(&format!("{style}{}{style:#}", safe(line)))?;
    }
    let (from, to) = (short(&response.from), short(&response.to));
    let (added, removed) = (count(response.added, "line"), response.removed);
    terminal.remark(&format!("{from} to {to}: {added} added, {removed} removed"));
    Ok(Exit::Done)
}

/// Colours repeat what the first letter says.
fn style(line: &str) -> Style {
    match line.bytes().next() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => AnsiColor::Cyan.on_default(),
        _ => Style::new(),
    }
}
