//! How a door spells what hints name, and which door an answer is written for.
//!
//! Answers are serialised far below the door that asked for them. [`scoped`] sets the wording of
//! that door for as long as it takes, and [`Worded`] fields are written in it; without a door they
//! are written in the [`Neutral`] one.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::hint::{Hint, Invocation};

/// The words of a door.
pub trait Wording: fmt::Debug + Send + Sync {
    /// A call that whoever reads the hint can make.
    fn call(&self, call: &Invocation) -> String;

    /// A call that only a person makes.
    fn person(&self, call: &Invocation) -> String;

    /// Arguments for a call, by name alone where `null` says that a value is still to be chosen.
    fn arguments(&self, arguments: &Map<String, Value>) -> String {
        let words = arguments.iter().map(|(name, value)| match value {
            Value::Null => name.clone(),
            value => format!("{name}: {value}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// What to do next, as a program reads it. `person` says what it is that only a person can do.
    fn next(&self, call: &Invocation, person: Option<&str>) -> Value;
}

/// The names of operations as they are, for logs and tests.
#[derive(Debug, Clone, Copy)]
pub struct Neutral;

impl Wording for Neutral {
    fn call(&self, call: &Invocation) -> String {
        match call.arguments.is_empty() {
            true => call.operation.to_string(),
            false => format!("{} {}", call.operation, Value::Object(call.arguments.clone())),
        }
    }

    fn person(&self, call: &Invocation) -> String {
        self.call(call)
    }

    fn next(&self, call: &Invocation, _person: Option<&str>) -> Value {
        json!({"operation": call.operation, "arguments": call.arguments})
    }
}

thread_local! {
    static DOOR: RefCell<Option<Arc<dyn Wording>>> = const { RefCell::new(None) };
}

/// Puts back the wording that was set before, also when the work panics.
struct Restore(Option<Arc<dyn Wording>>);

impl Drop for Restore {
    fn drop(&mut self) {
        DOOR.with(|door| door.replace(self.0.take()));
    }
}

/// Does work on this thread that writes answers for a door.
pub fn scoped<T>(wording: &Arc<dyn Wording>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(DOOR.with(|door| door.replace(Some(Arc::clone(wording)))));
    work()
}

/// Asks the wording that is set on this thread.
pub fn current<T>(ask: impl FnOnce(&dyn Wording) -> T) -> T {
    // Not held while it is asked: the answer may be made of others.
    let door = DOOR.with(|door| door.borrow().clone());
    ask(door.as_deref().unwrap_or(&Neutral))
}

/// A hint in an answer: written as a text, in the words of the door that the answer is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Worded(pub Hint);

impl Deref for Worded {
    type Target = Hint;

    fn deref(&self) -> &Hint {
        &self.0
    }
}

impl Worded {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Worded {
    fn from(text: String) -> Worded {
        Worded(text.into())
    }
}

impl From<Hint> for Worded {
    fn from(hint: Hint) -> Worded {
        Worded(hint)
    }
}

impl Serialize for Worded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&current(|wording| self.0.worded(wording)))
    }
}

/// What a door wrote is read as the sentence that it is.
impl<'de> Deserialize<'de> for Worded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Worded, D::Error> {
        String::deserialize(deserializer).map(Worded::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Loud;

    impl Wording for Loud {
        fn call(&self, call: &Invocation) -> String {
            call.operation.to_uppercase()
        }

        fn person(&self, call: &Invocation) -> String {
            self.call(call)
        }

        fn next(&self, call: &Invocation, _: Option<&str>) -> Value {
            self.call(call).into()
        }
    }

    #[test]
    fn an_answer_is_written_in_the_words_of_its_door() {
        let hint = Worded(Hint::text("see ").call(Invocation::of("runs.list")));
        let written = || serde_json::to_string(&hint).expect("JSON");
        let loud: Arc<dyn Wording> = Arc::new(Loud);
        assert_eq!(written(), "\"see `runs.list`\"");
        assert_eq!(scoped(&loud, written), "\"see `RUNS.LIST`\"");
        assert_eq!(written(), "\"see `runs.list`\"");
    }
}
