//! What the names in a run's expressions refer to.

use std::cell::OnceCell;

use milepost_model::expr::{Fuel, Outcome, Scope};
use milepost_model::templated::{Bare, Dynamic, Templated};
use milepost_model::walk::LoopPass;
use serde_json::{Map, Value, json};

use crate::event::CallAnswer;
use crate::state::{State, StepState};
use crate::{Cause, Failure, Flow, StepKey, secret_placeholder, time};

/// A run's names, shadowed by those of the enclosing loop.
#[derive(Clone)]
pub(crate) struct RunScope<'s> {
    state: &'s State,
    locals: Map<String, Value>,
    /// The top-level step that the names are for.
    node: Option<(&'s Flow, usize)>,
    now: OnceCell<String>,
}

impl<'s> RunScope<'s> {
    pub(crate) fn of(state: &'s State) -> RunScope<'s> {
        RunScope { state, locals: Map::new(), node: None, now: OnceCell::new() }
    }

    /// The scope for an execution of a step. Steps that depend on an approval see the time that was
    /// shown to the person.
    pub(crate) fn for_step(mut self, flow: &'s Flow, key: &StepKey) -> RunScope<'s> {
        self.node = flow.index(key.top()).map(|index| (flow, index));
        self
    }

    /// The value of `now()`: the time of the last event, unless a person was shown an earlier one.
    /// Otherwise a request that contains the time would always differ from the approved one.
    fn instant(&self) -> u64 {
        let shown = self.node.and_then(|(flow, index)| {
            let above = flow.above(index).into_iter().chain([index]);
            let steps = above.filter_map(|index| self.state.step(&flow.nodes()[index].key));
            steps.filter_map(StepState::shown_ms).min()
        });
        shown.unwrap_or(self.state.now_ms)
    }

    /// Adds a name.
    pub(crate) fn with(mut self, name: &str, value: Value) -> RunScope<'s> {
        self.locals.insert(name.to_owned(), value);
        self
    }

    /// Adds the output and status code of a response.
    pub(crate) fn answered(self, answer: &CallAnswer) -> RunScope<'s> {
        self.with("output", answer.output.clone()).with("status_code", answer.status.into())
    }

    /// Adds a list item and its index.
    pub(crate) fn item(self, name: Option<&str>, index: usize, item: Value) -> RunScope<'s> {
        self.with(name.unwrap_or("item"), item).with("index", index.into())
    }

    /// Adds the variables of the enclosing loops.
    pub(crate) fn passes(mut self, passes: &[LoopPass<'_, '_>]) -> RunScope<'s> {
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

    /// Adds `steps.self`: the result of the previous polling pass.
    pub(crate) fn with_self(self, output: Option<&Value>) -> RunScope<'s> {
        let mut steps = self.state.names().get("steps").cloned().unwrap_or_else(|| json!({}));
        // Before the first pass, the step exists but has no output.
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

    /// Evaluates the expressions in a value; `None` if the value is to be omitted.
    pub(crate) fn value(&self, place: &str, value: &Dynamic) -> Result<Option<Value>, Failure> {
        let outcome = value.render(self, &mut Fuel::default());
        match outcome.map_err(|error| Cause::expression(place, &error))? {
            Outcome::Value(value) => Ok(Some(value)),
            Outcome::Omit => Ok(None),
        }
    }

    /// Evaluates the expressions in a string.
    pub(crate) fn text(&self, place: &str, text: &Templated) -> Result<String, Failure> {
        let outcome = text.template.render(self, &mut Fuel::default());
        Ok(match outcome.map_err(|error| Cause::expression(place, &error))? {
            Outcome::Value(Value::String(text)) => text,
            Outcome::Value(other) => other.to_string(),
            Outcome::Omit => String::new(),
        })
    }

    /// Whether an expression is true.
    pub(crate) fn holds(&self, place: &str, bare: &Bare) -> Result<bool, Failure> {
        let held = bare.expr.eval_bool(self, &mut Fuel::default());
        held.map_err(|error| Cause::expression(place, &error).into())
    }
}

impl Scope for RunScope<'_> {
    fn root(&self, name: &str) -> Option<&Value> {
        self.locals.get(name).or_else(|| self.state.names().get(name))
    }

    fn roots(&self) -> Vec<&str> {
        let all = self.state.names().keys().chain(self.locals.keys());
        all.map(String::as_str).collect()
    }

    fn now(&self) -> Option<&str> {
        Some(self.now.get_or_init(|| time::rfc3339(self.instant())))
    }

    fn secret(&self, name: &str) -> Option<String> {
        Some(secret_placeholder(&self.state.head.nonce, name))
    }
}
