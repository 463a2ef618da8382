//! `milepost guide …`: the guide operations for people. The same functions answer agents.

mod check;
mod next;

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use milepost_model::limits;
use milepost_model::problem::{Code, Problem};
use milepost_ops::{Alone, Operations, Reader};
use milepost_store::read_document;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::GuideCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;
use crate::terminal::Terminal;

pub(crate) fn run(command: &GuideCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        GuideCommand::Next(arguments) => next::run(arguments, terminal),
        GuideCommand::Check(arguments) => check::run(arguments, terminal),
    }
}

/// Calls an operation; with `--json` its response is printed as it is.
fn call<T: DeserializeOwned>(
    name: &str,
    arguments: Value,
    json: bool,
    terminal: &mut Terminal,
) -> Result<T, Failure> {
    let operations = Operations::new(Reader::new(target::library()?));
    let response = operations.call(name, &Alone, arguments)?;
    if json {
        terminal.line(&response)?;
    }
    serde_json::from_str(&response).map_err(|error| {
        let message = format!("the answer of `{name}` cannot be read: {error}");
        Problem::new(Code::Internal, message, "report this with the command").into()
    })
}

/// The context of a file, as an object.
fn context(path: Option<&Path>) -> Result<Value, Failure> {
    let Some(path) = path else { return Ok(Value::Object(serde_json::Map::new())) };
    let bytes = read_document(path, limits::DOCUMENT_BYTES)?;
    let wrong = |message: String| {
        Problem::new(Code::InputInvalid, message, "write one JSON object into the file")
            .context("path", path.display().to_string())
    };
    let read: Value = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("`{}` is no JSON: {error}", path.display())))?;
    match read.is_object() {
        true => Ok(read),
        false => Err(wrong(format!("`{}` holds no JSON object", path.display())).into()),
    }
}

/// The text of a file, or of standard input for `-`.
fn text(from: &OsStr) -> Result<String, Failure> {
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
        Problem::new(Code::InputInvalid, "the output is no UTF-8 text", "save it as UTF-8").into()
    })
}
