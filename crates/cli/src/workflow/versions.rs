//! `milepost workflow versions`.

use milepost_ops::workflow::versions::{Item, Request, Versions as Operation};

use super::short;
use crate::args::Versions;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Versions, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let request = Request { workflow_id: arguments.id.clone(), limit: arguments.limit };
    let response = session.run::<Operation>(request)?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = response.versions.iter().map(row).collect();
    terminal.line(&table::render(&["version", "when", "by", "note"], &rows, terminal.width()))?;
    let id = &response.workflow_id;
    if let Some(at) = &response.deleted_at {
        terminal.remark(&format!("note: it was deleted at {at}"));
        let newest = response.versions.first().map_or("", |one| short(&one.version));
        terminal.remark(&format!("next: milepost workflow restore {id} {newest}"));
    }
    if response.more {
        terminal.remark("note: there are older ones; --limit shows more");
    }
    Ok(Exit::Done)
}

fn row(item: &Item) -> Vec<String> {
    let when = item.at.clone().unwrap_or_else(|| "-".to_owned());
    let note = match (&item.renamed_from, item.current) {
        (Some(from), true) => format!("current, was {from}"),
        (Some(from), false) => format!("was {from}"),
        (None, true) => "current".to_owned(),
        (None, false) => String::new(),
    };
    vec![short(&item.version).to_owned(), when, item.operation.clone(), note]
}
