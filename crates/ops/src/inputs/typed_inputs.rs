//! Workflow inputs that a person typed as strings, converted to the declared types. Models send
//! JSON, which is taken literally.

use milepost_model::suggest;
use milepost_model::workflow::{Spelling, Workflow};

use crate::prelude::*;

/// Parses `name=value` pairs according to the types of a workflow's inputs, reporting all faults at
/// once. An input that takes several values may be repeated.
///
/// # Errors
/// A single problem that covers every invalid pair.
pub fn read(workflow: &Workflow, pairs: &[String]) -> Result<Map<String, Value>> {
    let mut inputs = Map::new();
    let mut faults: Vec<Problem> = Vec::new();
    for pair in pairs {
        match value(pair, workflow) {
            Ok((name, value)) => match (inputs.get_mut(name), value) {
                (None, value) => drop(inputs.insert(name.to_owned(), value)),
                (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
                (Some(_), _) => {
                    let message = format!("input `{name}` is given twice");
                    faults.push(Problem::new(Code::InputInvalid, message, "give it once"));
                }
            },
            Err(problem) => faults.push(*problem),
        }
    }
    let Some(first) = faults.first() else { return Ok(inputs) };
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    Err(Problem::new(Code::InputInvalid, messages.join("; "), first.hint.clone()))
}

fn value<'p>(pair: &'p str, workflow: &Workflow) -> Result<(&'p str, Value), Box<Problem>> {
    let Some((name, text)) = pair.split_once('=') else {
        let message = format!("`{pair}` has no value");
        let hint = Hint::text("write ").given("inputs", json!({"name": "value"}));
        return Err(Box::new(Problem::new(Code::InputInvalid, message, hint)));
    };
    let Some(input) = workflow.inputs.get(name) else {
        // A guide declares no inputs; the given values become its context.
        return match workflow.spelling {
            Spelling::Guide => Ok((name, serde_json::from_str(text).unwrap_or(text.into()))),
            Spelling::Manifest => Err(Box::new(unknown(name, workflow))),
        };
    };
    let value = input.from_text(text).map_err(|error| {
        let kind = error.kind.name();
        let shown = match input.is_secret() {
            true => String::new(),
            false => format!(": `{}`", suggest::excerpt(text)),
        };
        let wanted = suggest::with_article(kind);
        let message = format!("input `{name}` is not {wanted}{shown}");
        let hint = format!("give a value of type {kind}");
        Box::new(Problem::new(Code::InputInvalid, message, hint).context("input", name))
    })?;
    Ok((name, value))
}

fn unknown(name: &str, workflow: &Workflow) -> Problem {
    let all = Hint::text("see ").call(Invocation::of("workflow.preview_inputs"));
    let near = suggest::nearest(name, workflow.inputs.names());
    let hint = near.map_or_else(|| all.then(" for its inputs"), problems::meant);
    let message = format!("workflow `{}` has no input `{name}`", workflow.id.value);
    Problem::new(Code::InputInvalid, message, hint).context("input", name)
}
