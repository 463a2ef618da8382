//! Argument values given as JSON, as a file or on standard input, including workflow inputs: `-i
//! name=value` for one, `--inputs` for all.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use milepost_model::limits::CONTEXT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Workflow;
use milepost_ops::inputs::typed_inputs;
use milepost_store::read_document;
use serde_json::{Map, Value};

use crate::failure::CliResult;

/// Reads standard input up to a limit plus one byte, so that excess input is detected.
pub(crate) fn stdin_bytes(limit: usize) -> CliResult<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        let message = format!("cannot read standard input: {error}");
        Problem::new(Code::StorageFailed, message, "pass a file instead")
    })?;
    Ok(bytes)
}

/// Reads all of standard input as a string.
pub(crate) fn stdin_text(limit: usize) -> CliResult<String> {
    let bytes = stdin_bytes(limit)?;
    let wrong = |message: &str| Problem::new(Code::InputInvalid, message, "pass a file instead");
    if bytes.len() > limit {
        return Err(wrong("standard input is too large").into());
    }
    String::from_utf8(bytes).map_err(|_| wrong("standard input is not UTF-8 text").into())
}

/// Reads a file, or standard input for `-`, as a string.
pub(crate) fn file_text(path: &OsStr, limit: usize) -> CliResult<String> {
    let bytes = match path == "-" {
        true => stdin_bytes(limit)?,
        false => read_document(Path::new(path), limit)?,
    };
    String::from_utf8(bytes).map_err(|_| {
        Problem::new(Code::InputInvalid, "the output is not UTF-8 text", "save it as UTF-8").into()
    })
}

/// Parses a JSON object, given directly or as the path of a file.
pub(crate) fn object_or_file(
    flag: &str,
    given: &str,
    limit: usize,
) -> CliResult<Map<String, Value>> {
    match given.trim_start().starts_with(['{', '[']) {
        true => object(flag, given.as_bytes(), Code::InputInvalid),
        false => object(flag, &read_document(given.as_ref(), limit)?, Code::InputInvalid),
    }
}

/// Parses bytes as a JSON object.
pub(crate) fn object(flag: &str, bytes: &[u8], code: Code) -> CliResult<Map<String, Value>> {
    let message = match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(_) => format!("`{flag}` is not a JSON object"),
        // Report the position but not the text at that position, which may be a secret.
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            format!("`{flag}` is not valid JSON at line {line}, column {column}")
        }
    };
    Err(Problem::new(code, message, "pass a JSON object, or a file that contains one").into())
}

/// Parses the numeric value of an option.
pub(crate) fn number<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "use a whole number that is not too large")
}

/// Parses any JSON value.
pub(crate) fn value(text: &str) -> CliResult<Value> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = format!("`{text}` is not valid JSON at line {line}, column {column}");
        Problem::new(Code::ParamsInvalid, message, "write it as JSON, with strings in quotes")
            .into()
    })
}

/// Splits `name=value`.
pub(crate) fn pair<'p>(pair: &'p str, code: Code, example: &str) -> CliResult<(&'p str, &'p str)> {
    pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        let message = format!("`{pair}` is not of the form `name=value`");
        Problem::new(code, message, format!("write it as `{example}`")).into()
    })
}

#[derive(Debug, Default, Args)]
pub(crate) struct InputArgs {
    /// An input as `name=value`; write values other than text as JSON
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// All inputs as one JSON object: a file, the object itself, or `-` for standard input
    #[arg(long = "inputs", value_name = "FILE|JSON")]
    pub(crate) all: Option<String>,
}

impl InputArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty() && self.all.is_none()
    }

    /// The given values; individual inputs take precedence.
    pub(crate) fn read(&self, workflow: &Workflow) -> CliResult<Map<String, Value>> {
        let mut inputs = self.all()?;
        inputs.extend(typed_inputs::read(workflow, &self.input)?);
        Ok(inputs)
    }

    /// Like [`read`](Self::read), but without types: a value that is valid JSON is parsed as JSON,
    /// and anything else is a string.
    pub(crate) fn read_untyped(&self) -> CliResult<Map<String, Value>> {
        let mut inputs = self.all()?;
        for pair in &self.input {
            let Some((name, text)) = pair.split_once('=') else {
                // The argument is omitted because it may be a secret.
                let hint = "write it as `-i name=value`";
                return Err(
                    Problem::new(Code::InputInvalid, "the value of `-i` has no `=`", hint).into()
                );
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            inputs.insert(name.to_owned(), value);
        }
        Ok(inputs)
    }

    fn all(&self) -> CliResult<Map<String, Value>> {
        match self.all.as_deref() {
            None => Ok(Map::new()),
            Some("-") => {
                object("--inputs", stdin_text(CONTEXT_BYTES)?.as_bytes(), Code::InputInvalid)
            }
            Some(given) => object_or_file("--inputs", given, CONTEXT_BYTES),
        }
    }
}
