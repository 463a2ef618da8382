//! `milepost config …`: where everything is stored, and the configuration.

use milepost_ops::config::{Configuration, Place, Setting, places};
use serde_json::{Value, json};

use crate::args::{ConfigCommand, ConfigGetArgs, ConfigSetArgs};
use crate::environment;
use crate::failure::CliResult;
use crate::table;
use crate::terminal::{Terminal, safe};
use crate::terminal_user::TerminalUser;

pub(crate) fn run(command: &ConfigCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        ConfigCommand::Path => paths(terminal),
        ConfigCommand::Get(args) => get(args, terminal),
        ConfigCommand::Set(args) => set(args, terminal),
    }
}

fn paths(terminal: &mut Terminal) -> CliResult {
    let places = places(&environment::locations()?, &environment::variable);
    terminal.answer(&json!({"places": places}), |terminal| {
        let row = |place: &Place| {
            let from = match place.variable {
                Some(variable) => format!("{} ({variable})", place.from),
                None => place.from.to_owned(),
            };
            let exists = if place.exists { "yes" } else { "no" };
            vec![place.name.to_owned(), from, exists.to_owned(), place.path.clone()]
        };
        let rows: Vec<Vec<String>> = places.iter().map(row).collect();
        // A truncated path would be useless.
        terminal.line(table::render(&["what", "from", "exists", "path"], &rows, usize::MAX));
    })
}

fn get(args: &ConfigGetArgs, terminal: &mut Terminal) -> CliResult {
    let configuration = Configuration::open(&environment::locations()?, &environment::variable)?;
    if let Some(key) = &args.key {
        let setting = configuration.get(key)?;
        return terminal.answer(&setting, |terminal| terminal.line(safe(&shown(&setting.value))));
    }
    let all = configuration.all();
    terminal.answer(&json!({"settings": all}), |terminal| {
        let row = |one: &Setting| vec![one.key.to_owned(), one.from.to_owned(), shown(&one.value)];
        terminal.table(&["key", "from", "value"], all.iter().map(row));
    })
}

fn set(args: &ConfigSetArgs, terminal: &mut Terminal) -> CliResult {
    let locations = environment::locations()?;
    let mut configuration = Configuration::open(&locations, &environment::variable)?;
    let (user, value) = (TerminalUser::new(false, terminal.is_json()), args.value.as_deref());
    let setting = configuration.set_for(&user, &locations, &args.key, value)?;
    terminal.answer(&setting, |terminal| {
        let (key, value, path) = (setting.key, safe(&shown(&setting.value)), safe(&setting.path));
        terminal.line(match args.value {
            Some(_) => format!("set {key} to {value} in {path}"),
            None => format!("reset {key} to its default in {path}"),
        });
    })
}

/// A value as a user would type it: strings without quotes, lists separated by commas.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "no limit".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
