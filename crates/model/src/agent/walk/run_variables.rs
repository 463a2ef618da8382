//! The variables of a durable run: what accepted outputs hold, and what callers said.
//!
//! A step's accepted output decides: each property of an output that is an object is a variable,
//! and neither the context nor a step that does not declare the variable can change it. Which value
//! a place sees depends on the passes of the loops around it: the value from its own pass comes
//! first, and the passes of a `forEach` do not see each other's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::declared::DeclaredVariables;
use crate::condition::{Variables, descend};

/// A loop and the number of a pass.
pub type Pass<'c> = (&'c str, usize);

/// The output of a step that has ended.
#[derive(Debug, Clone)]
pub struct StepOutput<'c> {
    /// The id of the step; empty for values that were given when the run started.
    pub step: &'c str,
    /// The passes around the step, outermost first.
    pub passes: Vec<Pass<'c>>,
    /// When it was accepted, as a number that grows.
    pub seq: u64,
    pub values: &'c Map<String, Value>,
}

/// What is known in a run. What callers said counts only where no output decides.
#[derive(Debug)]
pub struct RunVariables<'c> {
    /// What callers said: an object.
    pub said: &'c Value,
    /// When each variable was said; zero if it is not listed.
    pub said_at: &'c BTreeMap<String, u64>,
    pub outputs: Vec<StepOutput<'c>>,
    pub declared: &'c DeclaredVariables,
    /// Names that no output can set.
    pub reserved: &'static [&'static str],
}

/// Whether a value has to be one that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decisiveness {
    /// Outputs that are visible at the place, and what callers said about variables that no step
    /// declares.
    Decided,
    /// Everything that is known, for conditions that would otherwise be undecided.
    Known,
}

/// The passes around a step, from its instance key.
pub fn passes_of(key: &str) -> Vec<Pass<'_>> {
    let parts = key.split("::").filter_map(|part| part.split_once('@'));
    parts.filter_map(|(id, number)| Some((id, number.parse().ok()?))).collect()
}

/// The variable that a path starts with.
pub fn root(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

fn rest<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    path.get(root.len() + 1..)
}

fn below<'v>(value: &'v Value, rest: Option<&str>) -> Option<&'v Value> {
    match rest {
        Some(rest) => descend(value, rest),
        None => Some(value),
    }
}

impl<'c> RunVariables<'c> {
    /// The output that holds a variable at a place, and its value.
    pub fn held(&self, name: &str, at: &[Pass<'_>]) -> Option<(&StepOutput<'c>, &'c Value)> {
        self.best(name, at, 0, Decisiveness::Decided)
    }

    /// Like [`RunVariables::held`], among the outputs that share at least `depth` passes with the
    /// place.
    fn best(
        &self,
        name: &str,
        at: &[Pass<'_>],
        depth: usize,
        decisiveness: Decisiveness,
    ) -> Option<(&StepOutput<'c>, &'c Value)> {
        let found = self.outputs.iter().filter_map(|output| {
            let value = output.values.get(name).filter(|_| !self.reserved.contains(&name))?;
            let shared = shared(&output.passes, at);
            let counts = decisiveness == Decisiveness::Known
                || self.counts(output, name) && self.is_visible(output, name, at);
            (counts && shared >= depth).then_some((shared, output, value))
        });
        let best = found.max_by_key(|(shared, output, _)| {
            // What counts comes before what is only known.
            let sure = self.counts(output, name) && self.is_visible(output, name, at);
            (sure, *shared, output.seq)
        });
        best.map(|(_, output, value)| (output, value))
    }

    /// Whether a property of an output is a variable: its step declares it, or no step does.
    fn counts(&self, output: &StepOutput<'_>, name: &str) -> bool {
        output.step.is_empty() || self.declared.is_of(output.step, name) || !self.declared.has(name)
    }

    /// Whether a place sees the value in an output. It does not if it is in another pass of a loop
    /// that starts over with a new value.
    fn is_visible(&self, output: &StepOutput<'_>, name: &str, at: &[Pass<'_>]) -> bool {
        let home = self.declared.home(output.step, name);
        home.is_none_or(|home| home.is_seen(&output.passes, at))
    }

    /// The value at a path, which does not start with a loop variable.
    pub(super) fn get(
        &self,
        path: &str,
        at: &[Pass<'_>],
        decisiveness: Decisiveness,
    ) -> Option<&'c Value> {
        let name = root(path);
        let held = self.best(name, at, 0, decisiveness);
        let said = |path: &str| Variables::get(self.said, path);
        let Some((output, value)) = held else {
            let literal = || Some(self.best(path, at, 0, decisiveness)?.1);
            let open = decisiveness == Decisiveness::Known || !self.declared.has(name);
            return literal().or_else(|| said(path).filter(|_| open));
        };
        // A submission that contradicts an output is refused. So what was said later agrees with
        // the output and may add to it, unless an earlier version recorded it.
        let later = self.said_at.get(name).is_some_and(|seq| *seq >= output.seq);
        let newer = || self.said.get(name).filter(|_| later);
        let of = |value: &'c Value| below(value, rest(path, name));
        let found = newer().and_then(of).or_else(|| of(value));
        found.or_else(|| said(path).filter(|_| path != name))
    }

    /// A variable below a loop variable: from an output of the same pass, or from the loop itself.
    pub(super) fn in_pass(
        &self,
        path: &str,
        at: &[Pass<'_>],
        depth: usize,
        decisiveness: Decisiveness,
    ) -> Option<&'c Value> {
        let name = root(path);
        // Only the author of a schema can give a loop variable a new meaning.
        let (output, value) = self.best(name, at, depth, decisiveness)?;
        let declared = self.declared.is_of(output.step, name);
        declared.then(|| below(value, rest(path, name))).flatten()
    }

    /// Everything that a place knows, as one object.
    pub fn all(&self, at: &[Pass<'_>]) -> Map<String, Value> {
        let mut all = self.said.as_object().cloned().unwrap_or_default();
        let names = self.outputs.iter().flat_map(|output| output.values.keys());
        for name in names {
            if let Some(value) = self.get(name, at, Decisiveness::Known) {
                all.insert(name.clone(), value.clone());
            }
        }
        all
    }
}

/// The number of passes that two places share.
fn shared(one: &[Pass<'_>], other: &[Pass<'_>]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Adds what an object or a list has in addition to another one. The error is the path at which the
/// two contradict each other.
pub fn extended(held: &Value, given: &Value) -> Result<Value, String> {
    match (held, given) {
        (Value::Object(held), Value::Object(given)) => {
            let mut all = held.clone();
            for (name, value) in given {
                let value = match held.get(name) {
                    Some(held) => extended(held, value).map_err(|path| format!(".{name}{path}"))?,
                    None => value.clone(),
                };
                all.insert(name.clone(), value);
            }
            Ok(Value::Object(all))
        }
        (Value::Array(held), Value::Array(given)) if held.len() == given.len() => {
            let items = held.iter().zip(given).enumerate();
            let items = items.map(|(index, (held, given))| {
                extended(held, given).map_err(|path| format!(".{index}{path}"))
            });
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        _ if crate::condition::equal(held, given) && held.is_array() == given.is_array() => {
            Ok(held.clone())
        }
        _ => Err(String::new()),
    }
}
