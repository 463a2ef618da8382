//! Inputs of a workflow on the command line: `-i name=value`, and `--inputs` for all of them.

use clap::Args;
use milepost_model::limits::CONTEXT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Workflow;
use milepost_ops::inputs::typed;
use milepost_store::read_document;
use serde_json::{Map, Value};

use crate::command::standard_input;
use crate::failure::Failure;

/// How inputs are given.
#[derive(Debug, Default, Args)]
pub(crate) struct InputArguments {
    /// An input as `name=value`; types other than text are written as JSON
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// Inputs as one JSON object: a file, the object itself, or `-` for standard input
    #[arg(long = "inputs", value_name = "FILE|JSON")]
    pub(crate) all: Option<String>,
}

impl InputArguments {
    /// Whether none were given.
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty() && self.all.is_none()
    }

    /// The values that were given; those named one by one win.
    pub(crate) fn read(&self, workflow: &Workflow) -> Result<Map<String, Value>, Failure> {
        let mut inputs = object(self.all.as_deref())?;
        inputs.extend(typed::read(workflow, &self.input)?);
        Ok(inputs)
    }
}

impl InputArguments {
    /// The same where the types are not at hand: what reads as JSON is JSON, else it is a text.
    pub(crate) fn untyped(&self) -> Result<Map<String, Value>, Failure> {
        let mut inputs = object(self.all.as_deref())?;
        for pair in &self.input {
            let Some((name, text)) = pair.split_once('=') else {
                let hint = "write it as `-i name=value`";
                return Err(Problem::new(Code::InputInvalid, "this is not an input", hint).into());
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            inputs.insert(name.to_owned(), value);
        }
        Ok(inputs)
    }
}

fn object(given: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let Some(given) = given else { return Ok(Map::new()) };
    let text = match given {
        "-" => standard_input(CONTEXT_BYTES)?.into_bytes(),
        text if text.trim_start().starts_with(['{', '[']) => text.as_bytes().to_vec(),
        path => read_document(path.as_ref(), CONTEXT_BYTES)?,
    };
    let wrong = |message: String| {
        Problem::new(Code::InputInvalid, message, "give one JSON object, or a file that holds one")
    };
    match serde_json::from_slice(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("`--inputs` is not a JSON object".to_owned()).into()),
        // Where it stops making sense, and not what stands there: it may be a secret.
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let message = format!("`--inputs` is not valid JSON at line {line}, column {column}");
            Err(wrong(message).into())
        }
    }
}
