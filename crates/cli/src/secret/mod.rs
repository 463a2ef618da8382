//! `milepost secret …`: names are shown, values never.

pub(crate) mod args;

use std::io::{self, IsTerminal};

use milepost_model::secret::Secret;
use milepost_ops::secret::{Item, Secrets};
use milepost_store::limits::SECRET_BYTES;
use serde_json::json;

use self::args::{Remove, SecretCommand, Set};
use crate::command::standard_input;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::table;
use crate::target;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(command: &SecretCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        SecretCommand::Set(arguments) => set(arguments, terminal),
        SecretCommand::List(arguments) => list(arguments.json, terminal),
        SecretCommand::Remove(arguments) => remove(arguments, terminal),
    }
}

fn set(arguments: &Set, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let writer = target::writer(None)?;
    let secrets = Secrets::of(&writer);
    // A name that is none is refused before anybody types a value.
    Secrets::check(&arguments.name, arguments.origin.as_deref())?;
    let value = value(&arguments.name)?;
    secrets.set(&arguments.name, value, arguments.origin.as_deref())?;
    let kept = secrets.list()?.into_iter().find(|item| item.name == arguments.name);
    if arguments.json.json {
        print(&kept, terminal)?;
        return Ok(Exit::Done);
    }
    let name = safe(&arguments.name);
    let bound = kept.as_ref().and_then(|item| item.origin.as_deref());
    terminal.line(&match bound {
        Some(origin) => format!("kept {name}, for {} alone", safe(origin)),
        None => format!("kept {name}"),
    })?;
    if kept.is_some_and(|item| item.shadowed) {
        terminal.remark("warning: a variable of the environment stands before it");
    }
    Ok(Exit::Done)
}

/// From the person, or from what is piped in; a line end is no part of it.
fn value(name: &str) -> Result<Secret, Failure> {
    if io::stdin().is_terminal() {
        return crate::hidden::value(&format!("Value of {}: ", safe(name)));
    }
    let text = standard_input(SECRET_BYTES + 2)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Secret::new(line.strip_suffix('\r').unwrap_or(line)))
}

fn list(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let writer = target::writer(None)?;
    let items = Secrets::of(&writer).list()?;
    if json {
        print(&json!({"secrets": items}), terminal)?;
    } else if items.is_empty() {
        terminal.line("no secrets yet\nhint: keep one with `milepost secret set <NAME>`")?;
    } else {
        let rows: Vec<Vec<String>> = items.iter().map(row).collect();
        terminal.line(&table::render(&["name", "from", "for"], &rows, terminal.width()))?;
    }
    Ok(Exit::Done)
}

fn row(item: &Item) -> Vec<String> {
    let shadowed = if item.shadowed { " (before one that is kept)" } else { "" };
    let origin = item.origin.clone().unwrap_or_else(|| "any catalog".to_owned());
    vec![item.name.clone(), format!("{}{shadowed}", item.from), origin]
}

fn remove(arguments: &Remove, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let writer = target::writer(None)?;
    Secrets::of(&writer).remove(&arguments.name)?;
    if arguments.json.json {
        print(&json!({"removed": arguments.name}), terminal)?;
    } else {
        terminal.line(&format!("removed {}", safe(&arguments.name)))?;
    }
    Ok(Exit::Done)
}
