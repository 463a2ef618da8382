//! `milepost command search`.

use milepost_ops::command::list::{Detail, List, Request, Response};

use super::args::Search;
use super::commands_table;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::{Terminal, count};

pub(crate) fn run(arguments: &Search, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let query = arguments.words.join(" ");
    let response = session.run::<List>(Request {
        query: Some(query).filter(|query| !query.trim().is_empty()),
        catalog: arguments.catalog.clone(),
        method: arguments.method.clone(),
        // A table shows no schemas.
        detail: (!json).then_some(Detail::Summary),
        cursor: None,
        limit: arguments.limit,
    })?;
    if json {
        print(&response, terminal)?;
    } else {
        show(&response, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    if response.total == 0 {
        terminal.remark("nothing was found; `milepost catalog list` shows what is searched");
        return Ok(());
    }
    let width = terminal.width();
    if !response.commands.is_empty() {
        terminal.line(&commands_table(&response.commands, width))?;
    }
    if !response.workflows.is_empty() {
        let gap = if response.commands.is_empty() { "" } else { "\n" };
        let rows =
            response.workflows.iter().map(|one| vec![one.command.clone(), one.title.clone()]);
        let rows: Vec<Vec<String>> = rows.collect();
        terminal.line(&format!("{gap}{}", table::render(&["workflow", "title"], &rows, width)))?;
    }
    let shown = response.commands.len() + response.workflows.len();
    if response.total > shown {
        let rest = count(response.total - shown, "match").replace("matchs", "matches");
        terminal.remark(&format!("note: {rest} more: say more words, or --limit"));
    }
    if let Some(first) = response.commands.first() {
        terminal.remark(&format!("next: milepost command show {}", first.command));
    }
    Ok(())
}
