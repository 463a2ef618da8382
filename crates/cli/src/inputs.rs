//! Inputs of a workflow on the command line: `-i name=value`, and `--inputs` for all of them.

use clap::Args;
use milepost_model::limits::CONTEXT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Workflow;
use milepost_ops::inputs::typed_inputs;
use serde_json::{Map, Value};

use crate::argument_values::{object, object_or_file, stdin_text};
use crate::failure::Failure;

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
