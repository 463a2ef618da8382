//! The form of a question, asked field by field on the terminal.

use milepost_ops::run::view::WaitingView;
use serde_json::{Map, Value};

pub(super) struct FormField<'f> {
    name: &'f str,
    schema: &'f Value,
    required: bool,
}

impl FormField<'_> {
    /// Its name, type, choices and description, in one line.
    pub(super) fn description(&self) -> String {
        let kind = self.schema.get("type").and_then(Value::as_str).unwrap_or("value");
        let need = if self.required { "" } else { ", optional" };
        let choices = self.schema.get("enum").map(|all| format!(", one of {all}"));
        let about = ["description", "title"].iter().find_map(|key| self.schema.get(key)?.as_str());
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        format!("`{}` ({kind}{need}{}){about}", self.name, choices.unwrap_or_default())
    }

    /// The typed text as a value of the field's type.
    fn read(&self, typed: &str) -> Value {
        match self.schema.get("type").and_then(Value::as_str) {
            Some("string") => typed.into(),
            _ => serde_json::from_str(typed).unwrap_or_else(|_| typed.into()),
        }
    }
}

/// The fields that a question asks for; none without a form, or if the form is not an object.
pub(super) fn fields(waiting: &WaitingView) -> Vec<FormField<'_>> {
    let Some(form) = &waiting.form else { return Vec::new() };
    let required = form.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = form.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, schema)| FormField { name, schema, required: is_required(name) })
        .collect()
}

/// Asks for every field; nothing if nobody can be asked.
pub(super) fn ask(waiting: &WaitingView, ask: impl Fn(&str) -> Option<String>) -> Option<Value> {
    let fields = fields(waiting);
    if fields.is_empty() {
        return None;
    }
    let mut answer = Map::new();
    for field in &fields {
        let typed = ask(&format!("{}: ", field.description()))?;
        if !typed.trim().is_empty() {
            answer.insert(field.name.to_owned(), field.read(typed.trim()));
        }
    }
    Some(Value::Object(answer))
}
