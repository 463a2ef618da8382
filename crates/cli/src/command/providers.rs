//! `milepost command providers`.

use milepost_ops::provider::list::{Item, List, Request};

use super::args::Providers;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Providers, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let (catalog, command) = (arguments.catalog.clone(), arguments.command.clone());
    let response = session.run::<List>(Request { catalog, command })?;
    if json {
        print(&response, terminal)?;
        return Ok(Exit::Done);
    }
    if response.providers.is_empty() {
        terminal.remark("no command yields choices for these");
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = response.providers.iter().map(row).collect();
    let headings = ["provider", "value", "sure", "serves"];
    terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    if let Some(first) = response.providers.first() {
        let mut words = vec![format!("next: milepost command choices {}", first.provider)];
        let given = first.required_parameters.iter();
        words.extend(given.map(|bind| format!("-p {}=…", bind.parameter)));
        terminal.remark(&words.join(" "));
    }
    Ok(Exit::Done)
}

fn row(item: &Item) -> Vec<String> {
    let mut serves: Vec<String> = item
        .serves
        .iter()
        .take(limits::PROVIDER_PARAMETERS)
        .map(|one| format!("{} {}", one.command, one.parameter))
        .collect();
    if item.serves.len() > limits::PROVIDER_PARAMETERS {
        serves.push(format!("{} more", item.serves.len() - limits::PROVIDER_PARAMETERS));
    }
    vec![
        item.provider.clone(),
        item.value_field.clone(),
        format!("{:.0} %", item.confidence * 100.0),
        serves.join(", "),
    ]
}
