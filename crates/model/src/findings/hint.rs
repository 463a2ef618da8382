//! Hints: what to do next, as data. A hint names operations and arguments, never command lines or
//! tools, because each interface writes those for its own readers, using its [`Wording`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wording::Wording;

/// An operation to call, with the known arguments. Actions that only people can take, such as
/// opening the inbox, have names of the same form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    pub operation: Cow<'static, str>,
    /// The known arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

impl Invocation {
    /// An operation without arguments.
    pub fn of(operation: &'static str) -> Invocation {
        Invocation { operation: Cow::Borrowed(operation), arguments: Map::new() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Invocation {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HintPart {
    /// Plain text.
    Text(String),
    /// A call that any reader of the hint can make.
    Call(Invocation),
    /// A call that only a person can make, even if an agent reads the hint.
    Person { person: Invocation },
    /// Arguments for the call that the hint is about; `null` for a value that has yet to be chosen.
    Arguments { arguments: Map<String, Value> },
}

/// The next action to take, as a sequence of parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Hint {
    parts: Vec<HintPart>,
}

/// The JSON form of a hint: a plain sentence is a string.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Parts(Vec<HintPart>),
}

impl From<Stored> for Hint {
    fn from(stored: Stored) -> Hint {
        match stored {
            Stored::Text(text) => Hint::text(text),
            Stored::Parts(parts) => Hint { parts },
        }
    }
}

impl From<Hint> for Stored {
    fn from(mut hint: Hint) -> Stored {
        match hint.parts.as_mut_slice() {
            [] => Stored::Text(String::new()),
            [HintPart::Text(text)] => Stored::Text(std::mem::take(text)),
            _ => Stored::Parts(hint.parts),
        }
    }
}

impl Hint {
    /// A hint that starts with text.
    pub fn text(text: impl Into<String>) -> Hint {
        Hint::default().then(text)
    }

    /// Appends text.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Hint {
        let text = text.into();
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(HintPart::Text(before)) => before.push_str(&text),
            _ => self.parts.push(HintPart::Text(text)),
        }
        self
    }

    /// Appends a call that any reader of the hint can make.
    #[must_use]
    pub fn call(mut self, call: Invocation) -> Hint {
        self.parts.push(HintPart::Call(call));
        self
    }

    /// Appends a call that only a person can make.
    #[must_use]
    pub fn person(mut self, person: Invocation) -> Hint {
        self.parts.push(HintPart::Person { person });
        self
    }

    /// Appends an argument for the call that the hint is about; its value has yet to be chosen.
    #[must_use]
    pub fn argument(self, name: &str) -> Hint {
        self.given(name, Value::Null)
    }

    /// Appends an argument with its value.
    #[must_use]
    pub fn given(self, name: &str, value: impl Into<Value>) -> Hint {
        self.arguments(Map::from_iter([(name.to_owned(), value.into())]))
    }

    /// Appends arguments that belong together.
    #[must_use]
    pub fn arguments(mut self, arguments: Map<String, Value>) -> Hint {
        self.parts.push(HintPart::Arguments { arguments });
        self
    }

    /// Appends another hint.
    #[must_use]
    pub fn and(self, other: Hint) -> Hint {
        other.parts.into_iter().fold(self, |mut hint, part| match part {
            HintPart::Text(text) => hint.then(text),
            part => {
                hint.parts.push(part);
                hint
            }
        })
    }

    /// Whether the hint is empty.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts in order.
    pub fn parts(&self) -> &[HintPart] {
        &self.parts
    }

    /// All calls in the hint, including those that only a person can make.
    pub fn calls(&self) -> impl Iterator<Item = &Invocation> {
        self.parts.iter().filter_map(|part| match part {
            HintPart::Call(call) | HintPart::Person { person: call } => Some(call),
            HintPart::Text(_) | HintPart::Arguments { .. } => None,
        })
    }

    /// Whether the hint requests an argument for the call that it is about.
    pub fn asks_for(&self, name: &str) -> bool {
        self.parts.iter().any(|part| match part {
            HintPart::Arguments { arguments } => arguments.contains_key(name),
            HintPart::Text(_) | HintPart::Call(_) | HintPart::Person { .. } => false,
        })
    }

    /// The hint as text for an interface, with calls and arguments in backticks.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        let words = self.parts.iter().map(|part| match part {
            HintPart::Text(text) => text.clone(),
            HintPart::Call(call) => format!("`{}`", wording.call(call)),
            HintPart::Person { person } => format!("`{}`", wording.person(person)),
            HintPart::Arguments { arguments } => format!("`{}`", wording.arguments(arguments)),
        });
        words.collect()
    }
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Hint {
        Hint::text(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wording::Neutral;

    fn round(hint: &Hint) -> Value {
        let stored = serde_json::to_value(hint).expect("JSON");
        assert_eq!(serde_json::from_value::<Hint>(stored.clone()).expect("a hint"), *hint);
        stored
    }

    #[test]
    fn a_plain_sentence_is_stored_as_a_string() {
        assert_eq!(round(&"check the path".into()), json!("check the path"));
        assert_eq!(round(&Hint::default()), json!(""));
    }

    #[test]
    fn what_a_hint_names_is_stored_as_data() {
        let enable = Invocation::of("catalog.set_enabled").with("catalog_id", "shop");
        let hint = Hint::text("say ").given("overwrite", true).then(", or enable it with ");
        let hint = hint.call(enable.clone()).then("; ").person(Invocation::of("inbox"));
        assert_eq!(
            round(&hint),
            json!([
                "say ",
                {"arguments": {"overwrite": true}},
                ", or enable it with ",
                {"operation": "catalog.set_enabled", "arguments": {"catalog_id": "shop"}},
                "; ",
                {"person": {"operation": "inbox"}},
            ])
        );
        assert_eq!(hint.calls().next(), Some(&enable));
        assert!(hint.asks_for("overwrite") && !hint.asks_for("yes"));
        assert_eq!(
            hint.worded(&Neutral),
            "say `overwrite: true`, or enable it with \
             `catalog.set_enabled {\"catalog_id\":\"shop\"}`; `inbox`"
        );
    }

    #[test]
    fn hints_are_joined_without_gaps() {
        let hint = Hint::text("a").then("b").and(Hint::text("c").argument("x").then(""));
        assert_eq!(round(&hint), json!(["abc", {"arguments": {"x": null}}]));
        assert_eq!(hint.worded(&Neutral), "abc`x`");
    }
}
