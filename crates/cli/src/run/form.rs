//! The form of a question: what it asks for, field by field, on the terminal.

use milepost_ops::run::view::WaitingView;
use serde_json::{Map, Value};

/// A field of a form.
pub(crate) struct Field<'f> {
    name: &'f str,
    schema: &'f Value,
    required: bool,
}

impl Field<'_> {
    /// What it is, in a line.
    pub(crate) fn told(&self) -> String {
        let kind = self.schema.get("type").and_then(Value::as_str).unwrap_or("value");
        let need = if self.required { "" } else { ", optional" };
        let choices = self.schema.get("enum").map(|all| format!(", one of {all}"));
        let about = ["description", "title"].iter().find_map(|key| self.schema.get(key)?.as_str());
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        format!("`{}` ({kind}{need}{}){about}", self.name, choices.unwrap_or_default())
    }

    /// What was typed, as the value it was meant to be.
    fn read(&self, typed: &str) -> Value {
        match self.schema.get("type").and_then(Value::as_str) {
            Some("string") => typed.into(),
            _ => serde_json::from_str(typed).unwrap_or_else(|_| typed.into()),
        }
    }
}

/// The fields that a question asks for; none when it has no form, or one that is no object.
pub(crate) fn fields(waiting: &WaitingView) -> Vec<Field<'_>> {
    let Some(form) = &waiting.form else { return Vec::new() };
    let required = form.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = form.get("properties").and_then(Value::as_object);
    let fields = properties.into_iter().flatten().map(|(name, schema)| {
        let required = is_required(name);
        Field { name, schema, required }
    });
    fields.collect()
}

/// Asks for every field; nothing when there is nobody to ask.
pub(crate) fn asked(waiting: &WaitingView, ask: impl Fn(&str) -> Option<String>) -> Option<Value> {
    let fields = fields(waiting);
    if fields.is_empty() {
        return None;
    }
    let mut answer = Map::new();
    for field in &fields {
        let typed = ask(&format!("{}: ", field.told()))?;
        if !typed.trim().is_empty() {
            answer.insert(field.name.to_owned(), field.read(typed.trim()));
        }
    }
    Some(Value::Object(answer))
}
