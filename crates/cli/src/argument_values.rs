//! Values of arguments that are JSON, files or standard input, and the inputs of a workflow among
//! them: `-i name=value`, and `--inputs` for all.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use clap::Args;
use milepost_model::limits::CONTEXT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Workflow;
use milepost_ops::inputs::typed_inputs;
use milepost_store::read_document;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Standard input up to a limit, and one byte more.
pub(crate) fn stdin_bytes(limit: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        let message = format!("cannot read standard input: {error}");
        Problem::new(Code::StorageFailed, message, "pass a file instead")
    })?;
    Ok(bytes)
}

/// All of standard input, as text.
pub(crate) fn stdin_text(limit: usize) -> Result<String, Failure> {
    let bytes = stdin_bytes(limit)?;
    let wrong = |message: &str| Problem::new(Code::InputInvalid, message, "pass a file instead");
    if bytes.len() > limit {
        return Err(wrong("standard input is too large").into());
    }
    String::from_utf8(bytes).map_err(|_| wrong("standard input is not UTF-8 text").into())
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn file_text(path: &OsStr, limit: usize) -> Result<String, Failure> {
    let bytes = match path == "-" {
        true => stdin_bytes(limit)?,
        false => read_document(Path::new(path), limit)?,
    };
    String::from_utf8(bytes).map_err(|_| {
        Problem::new(Code::InputInvalid, "the output is not UTF-8 text", "save it as UTF-8").into()
    })
}

/// A JSON object: the object itself, or a file that holds it.
pub(crate) fn object_or_file(
    flag: &str,
    given: &str,
    limit: usize,
) -> Result<Map<String, Value>, Failure> {
    match given.trim_start().starts_with(['{', '[']) {
        true => object(flag, given.as_bytes(), Code::InputInvalid),
        false => object(flag, &read_document(given.as_ref(), limit)?, Code::InputInvalid),
    }
}

/// The JSON object in some bytes.
pub(crate) fn object(flag: &str, bytes: &[u8], code: Code) -> Result<Map<String, Value>, Failure> {
    let message = match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(_) => format!("`{flag}` is not a JSON object"),
        // The position, and never the text there: it may be a secret.
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            format!("`{flag}` is not valid JSON at line {line}, column {column}")
        }
    };
    Err(Problem::new(code, message, "give one JSON object, or a file that holds one").into())
}

/// Any JSON value.
pub(crate) fn value(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("`{text}` is not valid JSON: {error}");
        Problem::new(Code::ParamsInvalid, message, "write it as JSON, with texts in quotes").into()
    })
}

/// `name=value`, split.
pub(crate) fn pair<'p>(
    pair: &'p str,
    code: Code,
    example: &str,
) -> Result<(&'p str, &'p str), Failure> {
    pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        let message = format!("`{pair}` is not a name and a value");
        Problem::new(code, message, format!("write it as `{example}`")).into()
    })
}

#[derive(Debug, Default, Args)]
pub(crate) struct InputArgs {
    /// An input as `name=value`; write types other than text as JSON
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

    /// The given values; those named one by one win.
    pub(crate) fn read(&self, workflow: &Workflow) -> Result<Map<String, Value>, Failure> {
        let mut inputs = self.all()?;
        inputs.extend(typed_inputs::read(workflow, &self.input)?);
        Ok(inputs)
    }

    /// The same without knowing the types: a value that is valid JSON is JSON, else text.
    pub(crate) fn read_untyped(&self) -> Result<Map<String, Value>, Failure> {
        let mut inputs = self.all()?;
        for pair in &self.input {
            let Some((name, text)) = pair.split_once('=') else {
                // Without the text, which may be a secret.
                let hint = "write it as `-i name=value`";
                return Err(Problem::new(Code::InputInvalid, "`-i` is not an input", hint).into());
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            inputs.insert(name.to_owned(), value);
        }
        Ok(inputs)
    }

    fn all(&self) -> Result<Map<String, Value>, Failure> {
        match self.all.as_deref() {
            None => Ok(Map::new()),
            Some("-") => {
                object("--inputs", stdin_text(CONTEXT_BYTES)?.as_bytes(), Code::InputInvalid)
            }
            Some(given) => object_or_file("--inputs", given, CONTEXT_BYTES),
        }
    }
}
