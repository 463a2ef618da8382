//! `milepost command choices`.

use milepost_ops::command::typed::{self, Typed};
use milepost_ops::provider::values::{Choice, Request, Values};

use super::args::Choices;
use super::pairs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Choices, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.named.json.json;
    let session = Session::open(Person::new(false, json))?;
    let provider = arguments.named.command();
    let typed = Typed { texts: pairs(&arguments.parameters)?, ..Typed::default() };
    let reader = session.operations.reader();
    let args = typed::read(reader, &session.person, &provider, typed)?.with;
    let response = session.run::<Values>(Request {
        provider,
        args,
        query: arguments.query.clone(),
        profile: arguments.profile.clone(),
        ..Request::default()
    })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    if response.choices.is_empty() {
        terminal.remark("there is nothing to choose from");
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = response.choices.iter().map(row).collect();
    terminal.line(&table::render(&["value", "label"], &rows, terminal.width()))?;
    if response.next_cursor.is_some() || response.more {
        terminal.remark("note: there are more; --query narrows them");
    }
    Ok(Exit::Done)
}

fn row(choice: &Choice) -> Vec<String> {
    let value = &choice.value;
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    vec![value, choice.label.clone().unwrap_or_default()]
}
