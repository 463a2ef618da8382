//! How an interface, such as the command line or MCP, words the operations that hints name, and
//! which interface a response is written for.
//!
//! Responses are serialized far below the interface that requested them. [`scoped`] sets the
//! wording of that interface for the duration of a call, and [`Worded`] fields are written in it;
//! outside such a call, the [`Neutral`] wording is used.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::hint::{Hint, Invocation};

/// The wording of an interface.
pub trait Wording: fmt::Debug + Send + Sync {
    /// Formats a call that any reader of the hint can make.
    fn call(&self, call: &Invocation) -> String;

    /// Formats a call that only a person can make.
    fn person(&self, call: &Invocation) -> String;

    /// Formats the arguments of a call. An argument whose value is `null` has yet to be chosen, so
    /// only its name is shown.
    fn arguments(&self, arguments: &Map<String, Value>) -> String {
        let words = arguments.iter().map(|(name, value)| match value {
            Value::Null => name.clone(),
            value => format!("{name}: {value}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The next action in machine-readable form. `person` describes what only a person can do.
    fn next(&self, call: &Invocation, person: Option<&str>) -> Value;
}

/// Uses the names of operations unchanged, for logs and tests.
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

/// Restores the previous wording on drop, even if the work panics.
struct Restore(Option<Arc<dyn Wording>>);

impl Drop for Restore {
    fn drop(&mut self) {
        DOOR.with(|door| door.replace(self.0.take()));
    }
}

/// Runs work that writes responses for an interface, with its wording set on this thread.
pub fn scoped<T>(wording: &Arc<dyn Wording>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(DOOR.with(|door| door.replace(Some(Arc::clone(wording)))));
    work()
}

/// Calls a function with the wording that is set on this thread.
pub fn current<T>(ask: impl FnOnce(&dyn Wording) -> T) -> T {
    // The borrow is released before the call, which may use the wording again.
    let door = DOOR.with(|door| door.borrow().clone());
    ask(door.as_deref().unwrap_or(&Neutral))
}

/// A hint in a response. It is serialized as text in the wording of the interface that the response
/// is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Worded(pub Hint);

impl Deref for Worded {
    type Target = Hint;

    fn deref(&self) -> &Hint {
        &self.0
    }
}

impl Worded {
    /// Whether the hint is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<Hint>> From<T> for Worded {
    fn from(hint: T) -> Worded {
        Worded(hint.into())
    }
}

impl Serialize for Worded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&current(|wording| self.0.worded(wording)))
    }
}

/// Text that an interface wrote is read back as a plain sentence.
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
