//! `milepost guide …`: the guide operations for people. The same functions answer agents.

mod check;
mod next;

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use milepost_model::limits;
use milepost_model::problem::{Code, Problem};
use milepost_ops::{Alone, Operations};
use milepost_store::{Entry, SourceKind, read_document};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::GuideCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target::{self, Loaded};
use crate::terminal::Terminal;
use crate::workflow::invalid;

pub(crate) fn run(command: &GuideCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        GuideCommand::Next(arguments) => next::run(arguments, terminal),
        GuideCommand::Check(arguments) => check::run(arguments, terminal),
    }
}

/// The operations, and the id of the workflow that the user named by its id or by its file.
fn open(target: &OsStr, json: bool, terminal: &mut Terminal) -> Result<Opened, Failure> {
    let Loaded { name, file, document, .. } = target::load(target)?;
    let Some(workflow) = &document.workflow else {
        return Err(invalid(&name, &document, json, terminal).into());
    };
    let id = workflow.id.value.to_string();
    let entry = Entry {
        id: id.clone(),
        source: SourceKind::Runtime,
        path: file.unwrap_or_else(|| name.into()),
        version: String::new(),
        document,
    };
    let operations = Operations::new(target::writer(Some(entry))?);
    Ok(Opened { operations, id })
}

struct Opened {
    operations: Operations,
    id: String,
}

/// Calls an operation; with `--json` its response is printed as it is.
fn call<T: DeserializeOwned>(
    operations: &Operations,
    name: &str,
    arguments: Value,
    json: bool,
    terminal: &mut Terminal,
) -> Result<T, Failure> {
    let response = operations.call(name, &Alone, arguments)?;
    if json {
        terminal.line(response.json())?;
    }
    serde_json::from_str(response.json()).map_err(|error| {
        let message = format!("the answer of `{name}` cannot be read: {error}");
        Problem::new(Code::Internal, message, "report this with the command").into()
    })
}

/// The context: an object of JSON, written out or in a file.
pub(crate) fn context(given: Option<&OsStr>) -> Result<Value, Failure> {
    let Some(given) = given else { return Ok(Value::Object(serde_json::Map::new())) };
    let name = given.to_string_lossy();
    let bytes = match name.trim_start().starts_with(['{', '[']) {
        true => name.as_bytes().to_vec(),
        false => read_document(Path::new(given), limits::DOCUMENT_BYTES)?,
    };
    let wrong = |message: String| {
        let hint = "give one JSON object, or a file that holds one";
        Problem::new(Code::InputInvalid, message, hint)
    };
    let read: Value = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("the context is not valid JSON: {error}")))?;
    match read.is_object() {
        true => Ok(read),
        false => Err(wrong("the context is not a JSON object".to_owned()).into()),
    }
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(from: &OsStr) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    if from == "-" {
        let limit = limits::OUTPUT_BYTES as u64 + 1;
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(|error| {
            let message = format!("cannot read standard input: {error}");
            Problem::new(Code::StorageFailed, message, "pass a file instead")
        })?;
    } else {
        bytes = read_document(Path::new(from), limits::OUTPUT_BYTES)?;
    }
    String::from_utf8(bytes).map_err(|_| {
        Problem::new(Code::InputInvalid, "the output is not UTF-8 text", "save it as UTF-8").into()
    })
}
