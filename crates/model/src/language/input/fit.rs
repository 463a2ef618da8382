//! Checks a value against its input without converting it, and turns a valid value into what
//! expressions see. All objections are reported at once.
//!
//! An objection never quotes a secret value.

use serde_json::Value;

use super::{Input, InputType, Join, Mode};
use crate::finding::Rule;
use crate::limits::OBJECTIONS;
use crate::suggest;

/// A problem with an input's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// JSON pointer into the value; empty if the objection concerns the whole value.
    pub pointer: String,
    /// The rule that was violated.
    pub rule: Rule,
    /// What is wrong, in one sentence.
    pub message: String,
    pub expected: String,
    /// What was found.
    pub actual: String,
    /// The next action to take.
    pub suggestion: String,
}

/// Text that is not a value of its input's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text is not {}", suggest::with_article(.kind.name()))]
pub struct NotOfType {
    pub kind: InputType,
}

impl Input {
    /// Whether the input accepts a list of values of its type. Inputs of type `array` are excluded,
    /// since people cannot pick a list of lists.
    pub fn takes_several(&self) -> bool {
        self.mode == Some(Mode::Multiple) && self.input_type() != InputType::Array
    }

    /// Whether a value has the input's type, or is a list of such values if the input accepts
    /// several.
    pub fn accepts(&self, value: &Value) -> bool {
        let kind = self.input_type();
        match (self.takes_several(), value) {
            (true, Value::Array(items)) => items.iter().all(|item| kind.accepts(item)),
            (true, _) => false,
            (false, value) => kind.accepts(value),
        }
    }

    /// All problems with a value; empty if it is valid. Nothing is converted.
    pub fn judge(&self, name: &str, value: &Value) -> Vec<Objection> {
        let whole = Subject { input: self, pointer: String::new(), words: named(name) };
        let mut found = match (self.takes_several(), value) {
            (true, Value::Array(items)) => {
                let mut found = whole.rules(value);
                for (index, item) in items.iter().enumerate() {
                    let words = format!("item {} of {}", index + 1, named(name));
                    let item_of = Subject { input: self, pointer: format!("/{index}"), words };
                    found.extend(item_of.value(item));
                    if found.len() >= OBJECTIONS {
                        break;
                    }
                }
                found
            }
            (true, _) => vec![whole.no_list(value)],
            (false, _) => whole.value(value),
        };
        found.truncate(OBJECTIONS);
        found
    }

    /// Parses what a person typed. Only the input's type determines what the text means; types
    /// other than `string` are written as JSON.
    ///
    /// # Errors
    /// If the text is not a value of the type. It is not quoted, because it may be a secret.
    pub fn from_text(&self, text: &str) -> Result<Value, NotOfType> {
        let kind = self.input_type();
        let listed = self.mode == Some(Mode::Multiple) && kind == InputType::Array;
        if listed {
            // The items of a list have no declared type, so text that parses as JSON is treated as
            // JSON.
            return Ok(match serde_json::from_str(text.trim()) {
                Ok(Value::Array(items)) => Value::Array(items),
                Ok(item) => Value::Array(vec![item]),
                Err(_) => Value::Array(vec![text.into()]),
            });
        }
        if !self.takes_several() {
            return kind.of_text(text);
        }
        // A JSON list is used as is; anything else becomes a list of one value.
        match serde_json::from_str(text.trim()) {
            Ok(Value::Array(items)) => Ok(Value::Array(items)),
            _ => Ok(Value::Array(vec![kind.of_text(text)?])),
        }
    }

    /// The form of a valid value in expressions: several values become one string if `join` is set.
    pub fn joined(&self, value: Value) -> Value {
        match (&self.join, value) {
            (Some(join), Value::Array(items)) => Value::String(join.text(&items)),
            (_, value) => value,
        }
    }

    /// The only values that the input accepts, whether they are listed in `enum` or in `validate`.
    pub fn listed_choices(&self) -> Option<&Vec<Value>> {
        let listed = self.choices.as_ref();
        listed.or_else(|| self.validate.as_ref()?.choices.as_ref())
    }
}

impl InputType {
    fn of_text(self, text: &str) -> Result<Value, NotOfType> {
        let value = match self {
            InputType::String => Some(Value::from(text)),
            _ => serde_json::from_str(text.trim()).ok(),
        };
        value.filter(|value| self.accepts(value)).ok_or(NotOfType { kind: self })
    }
}

impl Join {
    /// Joins the values into one string: each one is wrapped, with the separator in between.
    pub fn text(&self, items: &[Value]) -> String {
        let wrap = self.wrap_each.as_deref().unwrap_or_default();
        let texts = items.iter().map(|item| match item {
            Value::String(text) => format!("{wrap}{text}{wrap}"),
            other => format!("{wrap}{other}{wrap}"),
        });
        texts.collect::<Vec<_>>().join(self.separator.as_deref().unwrap_or(","))
    }
}

fn named(name: &str) -> String {
    format!("input `{}`", suggest::excerpt(name))
}

/// The value being checked: a whole input, or one item of it.
struct Subject<'i> {
    input: &'i Input,
    pointer: String,
    words: String,
}

impl Subject<'_> {
    fn objection(&self, rule: Rule, fault: &str, expected: String, value: &Value) -> Objection {
        let actual = match self.input.is_secret() {
            true => "a secret, which is not shown".to_owned(),
            false => suggest::excerpt(&value.to_string()),
        };
        Objection {
            pointer: self.pointer.clone(),
            rule,
            message: format!("{} {fault}", self.words),
            suggestion: format!("give {expected}"),
            expected,
            actual,
        }
    }

    fn no_list(&self, value: &Value) -> Objection {
        let expected = format!("a list of values of type {}", self.input.input_type().name());
        let objection = self.objection(Rule::Type, "takes a list", expected, value);
        if self.input.is_secret() {
            return objection;
        }
        let meant = suggest::excerpt(&Value::Array(vec![value.clone()]).to_string());
        Objection { suggestion: format!("write `{meant}`"), ..objection }
    }

    /// The problems with a single value: a wrong type, or else every rule it violates.
    fn value(&self, value: &Value) -> Vec<Objection> {
        let kind = self.input.input_type();
        if !kind.accepts(value) {
            let fault = format!("is not {}", suggest::with_article(kind.name()));
            let expected = format!("a value of type {}", kind.name());
            return vec![self.objection(Rule::Type, &fault, expected, value)];
        }
        let mut found = self.rules(value);
        let validate = self.input.validate.as_ref();
        let lists = [self.input.choices.as_ref(), validate.and_then(|one| one.choices.as_ref())];
        for choices in lists.into_iter().flatten().filter(|choices| !choices.contains(value)) {
            found.push(self.no_choice(choices, value));
        }
        found
    }

    fn rules(&self, value: &Value) -> Vec<Objection> {
        let rules = self.input.validate.iter();
        let broken = rules.flat_map(|rules| rules.objections(value));
        let told = broken.map(|(rule, expected)| {
            let found = self.objection(rule, "", expected, value);
            let (words, Objection { expected, actual, .. }) = (&self.words, &found);
            let message = format!("{words} violates a rule: expected {expected}, found {actual}");
            Objection { message, ..found }
        });
        told.collect()
    }

    fn no_choice(&self, choices: &[Value], value: &Value) -> Objection {
        let words: Vec<String> = choices.iter().map(suggest::plain_text).collect();
        let expected = suggest::list(&words);
        let fault = "is not one of the choices";
        let objection = self.objection(Rule::Choice, fault, expected, value);
        match suggest::nearest(&suggest::plain_text(value), &words) {
            Some(near) if !self.input.is_secret() => {
                Objection { suggestion: format!("did you mean `{near}`?"), ..objection }
            }
            _ => objection,
        }
    }
}
