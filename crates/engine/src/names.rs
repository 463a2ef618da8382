//! What the names in an expression stand for in a run.

use milepost_model::expr::{Fuel, Outcome, Scope};
use milepost_model::templated::{Bare, Dynamic, Templated};
use milepost_model::walk::Pass;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::state::State;
use crate::{time, words};

/// The names of a run, with those of the loop around laid over them.
#[derive(Clone)]
pub(crate) struct Names<'s> {
    state: &'s State,
    locals: Map<String, Value>,
    now: String,
}

impl<'s> Names<'s> {
    pub(crate) fn of(state: &'s State) -> Names<'s> {
        Names { state, locals: Map::new(), now: time::rfc3339(state.now_ms) }
    }

    /// With one more name.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Names<'s> {
        self.locals.insert(name.to_owned(), value);
        self
    }

    /// With the item of a list.
    pub(crate) fn item(self, name: Option<&str>, index: usize, item: Value) -> Names<'s> {
        self.with(name.unwrap_or("item"), item).with("index", index.into())
    }

    /// With the variables of the loops around.
    pub(crate) fn passes(mut self, passes: &[Pass<'_, '_>]) -> Names<'s> {
        for pass in passes {
            let item = pass.item.cloned().unwrap_or(Value::Null);
            self = self.item(pass.spec.item_var.as_deref(), pass.iteration, item);
            if let Some(name) = &pass.spec.index_var {
                self = self.with(name, pass.iteration.into());
            }
            if let Some(name) = &pass.spec.iteration_var {
                self = self.with(name, (pass.iteration + 1).into());
            }
        }
        self
    }

    /// With `steps.self`: what the pass of polling before came to.
    pub(crate) fn with_self(self, output: Option<&Value>) -> Names<'s> {
        let mut steps = self.state.names().get("steps").cloned().unwrap_or_else(|| json!({}));
        // Before the first pass there is a step, and no output.
        let own = output.map_or_else(|| json!({}), |output| json!({ "output": output }));
        if let Some(steps) = steps.as_object_mut() {
            steps.insert("self".to_owned(), own);
        }
        self.with("steps", steps)
    }

    /// The time of the last event.
    pub(crate) fn now_ms(&self) -> u64 {
        self.state.now_ms
    }

    /// A value with its expressions evaluated.
    pub(crate) fn value(&self, place: &str, value: &Dynamic) -> Result<Option<Value>, Failure> {
        let outcome = value.render(self, &mut Fuel::default());
        match outcome.map_err(|error| words::expression(place, &error))? {
            Outcome::Value(value) => Ok(Some(value)),
            Outcome::Omit => Ok(None),
        }
    }

    /// A text with its expressions evaluated.
    pub(crate) fn text(&self, place: &str, text: &Templated) -> Result<String, Failure> {
        let outcome = text.template.render(self, &mut Fuel::default());
        Ok(match outcome.map_err(|error| words::expression(place, &error))? {
            Outcome::Value(Value::String(text)) => text,
            Outcome::Value(other) => other.to_string(),
            Outcome::Omit => String::new(),
        })
    }

    /// Whether an expression holds.
    pub(crate) fn holds(&self, place: &str, bare: &Bare) -> Result<bool, Failure> {
        let held = bare.expr.eval_bool(self, &mut Fuel::default());
        held.map_err(|error| words::expression(place, &error))
    }
}

impl Scope for Names<'_> {
    fn root(&self, name: &str) -> Option<&Value> {
        self.locals.get(name).or_else(|| self.state.names().get(name))
    }

    fn roots(&self) -> Vec<&str> {
        let all = self.state.names().keys().chain(self.locals.keys());
        all.map(String::as_str).collect()
    }

    fn now(&self) -> Option<&str> {
        Some(&self.now)
    }

    fn secret(&self, name: &str) -> Option<String> {
        Some(sentinel(&self.state.head.seal, name))
    }
}

/// What stands in the place of a secret until it is sent. Nobody outside knows the seal, so no
/// answer of an API can make the engine put a secret somewhere.
pub fn sentinel(seal: &str, name: &str) -> String {
    format!("milepost-secret({seal}:{name})")
}

/// A value as it may be shown: marks in the place of sentinels.
pub fn shown(seal: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown_text(seal, text)),
        Value::Array(items) => items.iter().map(|item| shown(seal, item)).collect(),
        Value::Object(map) => Value::Object(
            map.iter().map(|(name, value)| (name.clone(), shown(seal, value))).collect(),
        ),
        other => other.clone(),
    }
}

/// A text as it may be shown.
pub fn shown_text(seal: &str, text: &str) -> String {
    let open = format!("milepost-secret({seal}:");
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&open) {
        let inner = &rest[at + open.len()..];
        let Some(end) = inner.find(')') else { break };
        out.push_str(&rest[..at]);
        out.push_str(&milepost_model::secret::mark(&inner[..end]));
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    out
}
