//! `milepost command …`: one file for each subcommand.

pub(crate) mod args;
mod choices;
pub(crate) mod http;
mod providers;
mod run;
mod search;
mod show;

use std::io::Read;
use std::path::Path;

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_ops::command::Short;
use milepost_store::read_document;
use serde_json::{Map, Value};

use self::args::CommandCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::table;
use crate::terminal::Terminal;

pub(crate) fn run(command: &CommandCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        CommandCommand::Search(arguments) => search::run(arguments, terminal),
        CommandCommand::Show(arguments) => show::run(arguments, terminal),
        CommandCommand::Run(arguments) => run::run(arguments, terminal),
        CommandCommand::Providers(arguments) => providers::run(arguments, terminal),
        CommandCommand::Choices(arguments) => choices::run(arguments, terminal),
    }
}

/// Commands in short, within a width.
pub(crate) fn commands_table(commands: &[Short], width: usize) -> String {
    let row = |one: &Short| {
        let deprecated = if one.deprecated { "(deprecated) " } else { "" };
        let summary = format!("{deprecated}{}", one.summary);
        vec![one.command.clone(), one.method.clone(), summary]
    };
    let rows: Vec<Vec<String>> = commands.iter().map(row).collect();
    table::render(&["command", "method", "summary"], &rows, width)
}

/// `name=value`, each.
fn pairs(texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => {
            let message = format!("`{text}` is not an argument");
            Err(Problem::new(Code::ArgumentsInvalid, message, "write it as `name=value`").into())
        }
    };
    texts.iter().map(pair).collect()
}

/// An object of JSON, written out or in a file.
fn object(given: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let Some(given) = given else { return Ok(Map::new()) };
    let bytes = match given.strip_prefix('@') {
        Some(path) => read_document(Path::new(path), DOCUMENT_BYTES)?,
        None => given.as_bytes().to_vec(),
    };
    let hint = "give one JSON object, or `@` and the file that holds one";
    let wrong = |message: String| Problem::new(Code::ArgumentsInvalid, message, hint);
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("`--with` is not a JSON object".to_owned()).into()),
        Err(error) => Err(wrong(format!("`--with` is not valid JSON: {error}")).into()),
    }
}

/// All of standard input, as text.
pub(crate) fn standard_input(limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock();
    stdin.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        let message = format!("cannot read standard input: {error}");
        Problem::new(Code::StorageFailed, message, "pass a file instead")
    })?;
    let wrong = |message: &str| Problem::new(Code::InputInvalid, message, "pass a file instead");
    if bytes.len() > limit {
        return Err(wrong("there is too much on standard input").into());
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| wrong("standard input is not UTF-8 text").into())
}
