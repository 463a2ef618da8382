//! `milepost config …`: where everything is, and what the configuration says.

use milepost_ops::config::{Configuration, Place, Setting, places};
use serde_json::{Value, json};

use crate::args::{ConfigCommand, ConfigGet, ConfigSet};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::print;
use crate::table;
use crate::target;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(command: &ConfigCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Path(arguments) => paths(arguments.json, terminal),
        ConfigCommand::Get(arguments) => get(arguments, terminal),
        ConfigCommand::Set(arguments) => set(arguments, terminal),
    }
}

fn paths(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let places = places(&target::locations()?, &target::variable);
    if json {
        print(&json!({"places": places}), terminal)?;
        return Ok(Exit::Done);
    }
    let row = |place: &Place| {
        let from = match place.variable {
            Some(variable) => format!("{} ({variable})", place.from),
            None => place.from.to_owned(),
        };
        let there = if place.exists { "yes" } else { "no" };
        vec![place.name.to_owned(), from, there.to_owned(), place.path.clone()]
    };
    let rows: Vec<Vec<String>> = places.iter().map(row).collect();
    // A path that is cut is of no use.
    terminal.line(&table::render(&["what", "from", "there", "path"], &rows, usize::MAX))?;
    Ok(Exit::Done)
}

fn get(arguments: &ConfigGet, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let configuration = Configuration::open(&target::locations()?, &target::variable)?;
    let Some(key) = &arguments.key else {
        let all = configuration.all();
        return listed(&all, arguments.json.json, terminal);
    };
    let setting = configuration.get(key)?;
    if arguments.json.json {
        print(&setting, terminal)?;
        return Ok(Exit::Done);
    }
    terminal.line(&safe(&shown(&setting.value)))?;
    Ok(Exit::Done)
}

fn listed(all: &[Setting], json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if json {
        print(&json!({"settings": all}), terminal)?;
        return Ok(Exit::Done);
    }
    let row = |one: &Setting| vec![one.key.to_owned(), one.from.to_owned(), shown(&one.value)];
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    terminal.line(&table::render(&["key", "from", "value"], &rows, terminal.width()))?;
    Ok(Exit::Done)
}

fn set(arguments: &ConfigSet, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let locations = target::locations()?;
    let mut configuration = Configuration::open(&locations, &target::variable)?;
    let (person, value) = (Person::new(false, arguments.json.json), arguments.value.as_deref());
    let setting = configuration.set_for(&person, &locations, &arguments.key, value)?;
    if arguments.json.json {
        print(&setting, terminal)?;
        return Ok(Exit::Done);
    }
    let (key, value, path) = (setting.key, shown(&setting.value), safe(&setting.path));
    terminal.line(&match arguments.value {
        Some(_) => format!("{key} is {} now, in {path}", safe(&value)),
        None => format!("{key} is as it is by default now, in {path}"),
    })?;
    Ok(Exit::Done)
}

/// As it is typed: a text as it is, several with commas between.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "no bound".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
