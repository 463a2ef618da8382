//! The choices that an input's provider offers, and the fallback when the provider is unavailable.

use std::sync::Arc;
use std::time::Duration;

use milepost_model::finding::Rule;
use milepost_model::input::{Input, InputType, Provider, ProviderError};
use milepost_model::problem::Argument;
use milepost_model::secret::Mask;

use super::argument::{self, ProviderArguments};
use super::violation;
use crate::command::run::CommandCall;
use crate::prelude::*;
use crate::provider::values::{FetchedItems, fetch, label_of};

/// The result of querying a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderOutcome {
    /// Not queried: the value is known.
    #[default]
    NotAsked,
    /// It returned these choices.
    Ready,
    /// The query failed; these choices are from the cache.
    Cached,
    /// The query failed; a person types the value.
    Manual,
    /// One of its arguments has no value yet and must be supplied first.
    Prompt,
    /// The query failed, and the run cannot start.
    Error,
}

/// A provider and the result of querying it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ProviderView {
    /// `group name`.
    pub provider: String,
    /// The result of the query.
    pub outcome: ProviderOutcome,
    /// Its arguments, with secrets masked.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// Arguments omitted because their source has no value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Values that are required before it can be queried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The choices, in the API's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<InputChoice>,
    /// Whether there are more choices than are shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Why the query failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A selectable value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InputChoice {
    /// The value, converted to the input's type.
    pub value: Value,
    /// A human-readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The value that identifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
}

/// An input with a provider, and the values that its arguments are computed from.
pub(crate) struct ProviderQuery<'o> {
    pub(crate) name: &'o str,
    pub(crate) input: &'o Input,
    pub(crate) provider: &'o Provider,
    /// The data that expressions read, including secrets.
    pub(crate) roots: &'o Map<String, Value>,
    pub(crate) mask: &'o Mask,
}

/// The result of a query: what is shown, what keeps the run from starting, and warnings.
pub(crate) struct ProviderAnswer {
    pub(crate) provided: ProviderView,
    pub(crate) faults: Vec<Argument>,
    pub(crate) warnings: Vec<String>,
}

impl ProviderQuery<'_> {
    /// What is known about the provider without querying it.
    pub(crate) fn unasked(&self) -> (ProviderAnswer, ProviderArguments) {
        let arguments = argument::arguments(self.input, self.roots);
        let shown = self.mask.json(&Value::Object(arguments.with.clone()));
        let needs = arguments.prompts.iter().chain(&arguments.fails);
        let provided = ProviderView {
            provider: self.provider.command.to_string(),
            args: shown.as_object().cloned().unwrap_or_default(),
            left_out: arguments.left_out.clone(),
            needs: needs.cloned().collect(),
            ..ProviderView::default()
        };
        let mut answer = ProviderAnswer { provided, faults: Vec::new(), warnings: Vec::new() };
        if let Some(source) = arguments.fails.first() {
            let message = format!("the choices for input `{}` need `{source}`", self.name);
            answer.provided.outcome = ProviderOutcome::Error;
            answer.faults.push(self.fault(Rule::Required.name(), message, "give that value too"));
        }
        (answer, arguments)
    }

    /// Queries the provider; `value` is the one already chosen, if any.
    pub(crate) async fn ask(
        &self,
        writer: &Writer,
        call: &dyn Caller,
        value: Option<&Value>,
    ) -> ProviderAnswer {
        let (mut answer, arguments) = self.unasked();
        if answer.provided.outcome == ProviderOutcome::Error {
            return answer;
        }
        if !arguments.prompts.is_empty() {
            answer.provided.outcome = ProviderOutcome::Prompt;
            return answer;
        }
        let found = match arguments.broken.first() {
            Some(broken) => Err(self.mask.text(broken).into_owned()),
            None => self.fetched(writer, call, arguments.with).await,
        };
        match found {
            Ok((outcome, fetched, message)) => {
                answer.provided.outcome = outcome;
                answer.provided.message = message;
                self.show(writer, &fetched, value, &mut answer);
            }
            Err(message) => self.failed(message, &mut answer),
        }
        answer
    }

    fn failed(&self, message: String, answer: &mut ProviderAnswer) {
        answer.provided.outcome = ProviderOutcome::Manual;
        if self.input.on_error == Some(ProviderError::Fail) {
            answer.provided.outcome = ProviderOutcome::Error;
            let told = format!("the choices for input `{}` are unavailable: {message}", self.name);
            answer.faults.push(self.fault("provider", told, "try again when the API is available"));
        }
        answer.provided.message = Some(message);
    }

    fn fault(&self, rule: &'static str, message: String, suggestion: &str) -> Argument {
        Argument {
            path: violation::path(self.name),
            rule,
            message,
            expected: format!("choices from `{}`", self.provider.command),
            actual: String::new(),
            suggestion: suggestion.into(),
        }
    }

    /// The items of the list: fresh ones, or the last good ones if the author allows it.
    async fn fetched(
        &self,
        writer: &Writer,
        call: &dyn Caller,
        args: Map<String, Value>,
    ) -> Result<(ProviderOutcome, Arc<FetchedItems>, Option<String>), String> {
        let list_at = self.provider.field.as_deref().map(argument::pointer);
        let command = self.provider.command.to_string();
        let key = format!("input\n{command}\n{list_at:?}\n{}", Value::from(args.clone()));
        let known = match self.input.cache_ttl_sec {
            Some(ttl) => writer.choices.fresh(&key, Duration::from_secs(ttl.0.unsigned_abs())),
            None => writer.choices.recent(&key, Duration::from_secs(limits::CHOICES_FRESH_S)),
        };
        if let Some(known) = known {
            return Ok((ProviderOutcome::Ready, known, None));
        }
        let fetched = self.fetch(writer, call, list_at, args).await;
        let problem = match fetched {
            Ok(fetched) => {
                return Ok((ProviderOutcome::Ready, writer.choices.keep(key, fetched), None));
            }
            Err(problem) => self.mask.text(&problem.message).into_owned(),
        };
        let last = writer.choices.last(&key);
        match last.filter(|_| self.input.on_error == Some(ProviderError::Cached)) {
            Some(last) => Ok((ProviderOutcome::Cached, last, Some(problem))),
            None => Err(problem),
        }
    }

    async fn fetch(
        &self,
        writer: &Writer,
        call: &dyn Caller,
        list_at: Option<String>,
        args: Map<String, Value>,
    ) -> Result<FetchedItems> {
        let (loaded, row) = writer.reader.shelf.command(&self.provider.command.to_string())?;
        let mut calling = CommandCall::open(writer, call, &loaded, row, None)?;
        calling.list_at = list_at;
        fetch(&calling, args).await
    }

    /// Adds the choices to the answer, and reports a value that is not one of them.
    fn show(
        &self,
        writer: &Writer,
        fetched: &FetchedItems,
        value: Option<&Value>,
        answer: &mut ProviderAnswer,
    ) {
        let fields = self.fields(writer);
        if fields.value.is_none() && fetched.items.first().is_some_and(Value::is_object) {
            let message = "the items are objects: set the value field with \
                 `select: {value_field: …}`";
            self.failed(message.to_owned(), answer);
            return;
        }
        let choices = chosen(&fetched.items, &fields, self.input.input_type());
        let all = !fetched.more && answer.provided.outcome == ProviderOutcome::Ready;
        let picked: Vec<&Value> = match value {
            Some(Value::Array(items)) if self.input.takes_several() => items.iter().collect(),
            value => value.into_iter().collect(),
        };
        let stray = picked.iter().any(|value| choices.iter().all(|one| one.value != **value));
        if all && stray {
            let message =
                format!("input `{}` is not one of the values its provider offers", self.name);
            match self.input.on_error {
                Some(ProviderError::Fail) => {
                    let then = "choose one of the offered values";
                    answer.faults.push(self.fault(Rule::Choice.name(), message, then));
                }
                _ => answer.warnings.push(message),
            }
        }
        answer.provided.more = fetched.more || choices.len() > limits::INPUT_CHOICES;
        let choices = choices.into_iter().take(limits::INPUT_CHOICES);
        answer.provided.choices = choices.map(|choice| self.masked(choice)).collect();
    }

    /// A choice as it is shown. The value that was given has been compared with the real one.
    fn masked(&self, choice: InputChoice) -> InputChoice {
        InputChoice {
            value: self.mask.json(&choice.value),
            label: choice.label.map(|label| self.mask.text(&label).into_owned()),
            id: choice.id.map(|id| self.mask.json(&id)),
        }
    }

    /// The fields to use: the author's, falling back to those the catalog knows.
    fn fields(&self, writer: &Writer) -> Fields {
        let select = self.input.select.as_ref();
        let authored = |field: Option<&String>| field.map(|field| argument::pointer(field));
        let mut fields = Fields {
            value: authored(select.and_then(|select| select.value_field.as_ref())),
            label: authored(select.and_then(|select| select.display_field.as_ref())),
            id: authored(select.and_then(|select| select.id_field.as_ref())),
        };
        let command = self.provider.command.to_string();
        if let Ok((loaded, row)) = writer.reader.shelf.command(&command) {
            let name = &loaded.table.rows[row].name;
            let known = loaded.table.providers.iter().find(|one| one.command == *name);
            if let Some(known) = known {
                fields.value.get_or_insert_with(|| argument::pointer(&known.value_field));
                let label = known.label_field.as_deref().map(argument::pointer);
                fields.label = fields.label.take().or(label);
            }
        }
        fields
    }
}

/// JSON pointers into one item.
struct Fields {
    value: Option<String>,
    label: Option<String>,
    id: Option<String>,
}

fn chosen(items: &[Value], fields: &Fields, kind: InputType) -> Vec<InputChoice> {
    let read = |item: &Value, field: &Option<String>| {
        field.as_deref().and_then(|field| item.pointer(field)).cloned()
    };
    let mut choices: Vec<InputChoice> = Vec::new();
    for item in items {
        let value = if item.is_object() { read(item, &fields.value) } else { Some(item.clone()) };
        let Some(value) = value.and_then(|value| in_type(value, kind)) else { continue };
        let label = read(item, &fields.label).map(label_of);
        let choice = InputChoice { value, label, id: read(item, &fields.id) };
        let same = |other: &InputChoice| match &choice.id {
            Some(_) => other.id == choice.id,
            None => other.value == choice.value,
        };
        if !choices.iter().any(same) {
            choices.push(choice);
        }
    }
    choices
}

/// Converts an API's value to the input's type, so that the choice is valid. For example, a numeric
/// id becomes a string for a string input.
fn in_type(value: Value, kind: InputType) -> Option<Value> {
    match (&value, kind) {
        _ if kind.accepts(&value) => Some(value),
        (Value::Number(_) | Value::Bool(_), InputType::String) => Some(value.to_string().into()),
        (Value::String(text), InputType::Integer | InputType::Number) => {
            serde_json::from_str(text).ok().filter(|value| kind.accepts(value))
        }
        _ => None,
    }
}
