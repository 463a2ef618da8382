//! Determines the value of every input: the one given, or its default. Nobody is prompted here, and
//! values are not converted, except those of environment variables, which are always strings.

use milepost_model::finding::Rule;
use milepost_model::id::WorkflowId;
use milepost_model::input::{DefaultDoc, DefaultFrom, Input};
use milepost_model::problem::Argument;
use milepost_model::suggest;
use milepost_model::workflow::{Spelling, Workflow};

use super::past_runs::PastRuns;
use super::violation;
use crate::prelude::*;

/// Where the value of an input came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputOrigin {
    /// The caller gave it.
    Given,
    /// The workflow's own default.
    Literal,
    /// An environment variable.
    Env,
    /// The value used last.
    History,
    /// The final output of another workflow's latest successful run.
    WorkflowOutput,
}

/// The state of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputStatus {
    /// The caller gave a valid value.
    Given,
    /// Its default supplied one.
    Default,
    /// It has no value and needs none.
    Optional,
    /// It has no value but needs one.
    Missing,
    /// Its value is invalid.
    Invalid,
}

/// The status of an input.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InputState {
    /// Its name.
    pub name: String,
    /// Its status.
    pub status: InputStatus,
    /// Where its value came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<InputOrigin>,
}

/// All values known so far, including those of secrets; must never leave the crate.
#[derive(Default)]
pub(crate) struct GatheredInputs {
    /// Valid values, before lists are joined into strings.
    pub(crate) values: Map<String, Value>,
    /// The status of each declared input, in document order.
    pub(crate) inputs: Vec<InputState>,
    pub(crate) faults: Vec<Argument>,
    pub(crate) warnings: Vec<String>,
}

/// Gathers the values of a workflow's inputs.
pub(crate) fn gather(
    reader: &Reader,
    workflow: &Workflow,
    given: &Map<String, Value>,
    past: &PastRuns,
) -> Result<GatheredInputs> {
    let allowed = reader.config()?.env_allow;
    let mut gathered = GatheredInputs::default();
    for (name, input) in &workflow.inputs.0 {
        let source = InputSource { reader, past, allowed: &allowed, name: &name.value, input };
        // Null means no value, as it does for optional arguments.
        let value = given.get(&name.value).filter(|value| !value.is_null());
        gathered.add(&source, value);
    }
    for (name, value) in given {
        if workflow.inputs.get(name).is_some() {
            continue;
        }
        if workflow.spelling == Spelling::Guide {
            // A guide declares no inputs; the given values become its context.
            gathered.values.insert(name.clone(), value.clone());
        } else {
            gathered.faults.push(unknown(workflow, name));
        }
    }
    Ok(gathered)
}

impl GatheredInputs {
    /// Rejects invalid values; missing ones may still be supplied later.
    pub(crate) fn refuse_wrong(&self, workflow: &Workflow) -> Result<()> {
        let is_wrong = |fault: &&Argument| fault.rule != Rule::Required.name();
        let wrong: Vec<Argument> = self.faults.iter().filter(is_wrong).cloned().collect();
        if wrong.is_empty() { Ok(()) } else { Err(violation::problem(&workflow.id.value, wrong)) }
    }

    fn add(&mut self, source: &InputSource<'_>, given: Option<&Value>) {
        let (name, input) = (source.name, source.input);
        let found = match given {
            Some(value) => Ok(Some((value.clone(), InputOrigin::Given))),
            None => source.default(&mut self.warnings),
        };
        let (status, origin) = match found {
            Ok(Some((value, origin))) => {
                let objections = input.judge(name, &value);
                let status = match (objections.is_empty(), origin) {
                    (false, _) => InputStatus::Invalid,
                    (true, InputOrigin::Given) => InputStatus::Given,
                    (true, _) => InputStatus::Default,
                };
                let faults = objections.into_iter().map(|one| violation::of_objection(name, one));
                self.faults.extend(faults);
                if status != InputStatus::Invalid {
                    self.values.insert(name.to_owned(), value);
                }
                (status, Some(origin))
            }
            Ok(None) if input.optional == Some(true) => (InputStatus::Optional, None),
            Ok(None) => {
                self.faults.push(source.missing());
                (InputStatus::Missing, None)
            }
            Err(fault) => {
                self.faults.push(*fault);
                (InputStatus::Invalid, None)
            }
        };
        self.inputs.push(InputState { name: name.to_owned(), status, origin });
    }
}

/// One input, and everything its default may read.
struct InputSource<'s> {
    reader: &'s Reader,
    past: &'s PastRuns,
    allowed: &'s [String],
    name: &'s str,
    input: &'s Input,
}

impl InputSource<'_> {
    /// The value of the default, if it yields one.
    fn default(
        &self,
        warnings: &mut Vec<String>,
    ) -> Result<Option<(Value, InputOrigin)>, Box<Argument>> {
        let Some(default) = self.input.default.as_ref().map(|default| &default.0) else {
            return Ok(None);
        };
        let value = default.value.as_ref().map(|value| &value.value);
        let text = value.and_then(Value::as_str).unwrap_or_default();
        Ok(match default.from {
            DefaultFrom::Literal => value.cloned().map(|value| (value, InputOrigin::Literal)),
            DefaultFrom::Env => self.variable(text)?.map(|value| (value, InputOrigin::Env)),
            DefaultFrom::History => self.last(warnings).map(|value| (value, InputOrigin::History)),
            DefaultFrom::WorkflowOutput => {
                let id = WorkflowId::parse(text).ok();
                let output = id.and_then(|id| self.past.outputs.get(&id).cloned());
                output.map(|value| (value, InputOrigin::WorkflowOutput))
            }
        })
    }

    fn variable(&self, name: &str) -> Result<Option<Value>, Box<Argument>> {
        if !self.allowed.iter().any(|allowed| allowed == name) {
            return Ok(None);
        }
        let Some(text) = self.reader.environment.variable(name) else { return Ok(None) };
        let value = self.input.from_text(text.reveal());
        value.map(Some).map_err(|error| {
            let kind = error.kind.name();
            Box::new(Argument {
                path: violation::path(self.name),
                rule: Rule::Type.name(),
                message: format!(
                    "input `{}`: the value of the variable `{name}` is not a valid {kind}",
                    self.name
                ),
                expected: format!("a value of type {kind}"),
                actual: "a string that is not valid for the input".to_owned(),
                suggestion: format!(
                    "set `{name}` to a value of type {kind}, or give the input a value"
                )
                .into(),
            })
        })
    }

    /// The value used last, if it is still valid. A stale value only causes a warning.
    fn last(&self, warnings: &mut Vec<String>) -> Option<Value> {
        if self.input.is_secret() {
            return None;
        }
        let value = self.past.values.get(self.name).cloned()?;
        if self.input.judge(self.name, &value).is_empty() {
            return Some(value);
        }
        let name = self.name;
        warnings.push(format!("the last value of `{name}` is no longer valid"));
        None
    }

    /// The violation reported when the input has no value.
    fn missing(&self) -> Argument {
        let (name, input) = (self.name, self.input);
        let default = input.default.as_ref().map(|default| self.lacking(&default.0));
        let (why, remedy) = default.unzip();
        let mut missing = violation::missing(name, wanted(input), why);
        let remedy = remedy.filter(|remedy| !remedy.is_empty());
        let remedy = remedy.map(|remedy| format!(", or {remedy}")).unwrap_or_default();
        missing.suggestion = Hint::text(format!("give {} with ", wanted(input)))
            .given("inputs", json!({name: "…"}))
            .then(remedy);
        missing
    }

    /// Why the default yields no value, and what the user could do about it (empty if there is
    /// nothing to do).
    fn lacking(&self, default: &DefaultDoc) -> (String, String) {
        let name = default.value.as_ref().and_then(|value| value.value.as_str());
        let name = name.unwrap_or_default();
        let value = suggest::excerpt(name);
        let nothing = |why: &str| (why.to_owned(), String::new());
        match default.from {
            DefaultFrom::Literal => nothing("its default is empty"),
            DefaultFrom::Env if !self.allowed.iter().any(|allowed| allowed == name) => (
                format!("the variable `{value}` is not in the configuration's `env_allow`"),
                format!("set the variable `{value}` and add it to `env_allow`"),
            ),
            DefaultFrom::Env => (
                format!("the variable `{value}` is not set"),
                format!("set the variable `{value}`"),
            ),
            DefaultFrom::History if self.input.is_secret() => {
                nothing("secret values are not remembered")
            }
            DefaultFrom::History => nothing("no earlier value is known"),
            DefaultFrom::WorkflowOutput => {
                (format!("no run of `{value}` has succeeded yet"), format!("run `{value}` first"))
            }
        }
    }
}

/// A description of the values that an input accepts.
pub(crate) fn wanted(input: &Input) -> String {
    let kind = input.input_type().name();
    let several = if input.takes_several() { "a list of values" } else { "a value" };
    match input.listed_choices() {
        Some(choices) => {
            let words: Vec<String> = choices.iter().map(plain_text).collect();
            suggest::list(words.iter().map(String::as_str))
        }
        None => format!("{several} of type {kind}"),
    }
}

fn unknown(workflow: &Workflow, name: &str) -> Argument {
    let names: Vec<&str> = workflow.inputs.names().collect();
    let near = suggest::nearest(name, names.iter().copied());
    let suggestion = near.map_or_else(|| "leave it out".into(), problems::meant);
    let shown = suggest::excerpt(name);
    Argument {
        path: violation::path(name),
        rule: Rule::UnknownName.name(),
        message: format!("workflow `{}` has no input `{shown}`", workflow.id.value),
        expected: if names.is_empty() { "no inputs".to_owned() } else { suggest::list(names) },
        // Shows the name only: the value may be a secret given under a misspelled name.
        actual: format!("`{shown}`"),
        suggestion,
    }
}
