//! The caller's context, overlaid with the variables of the enclosing loops.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::LoopPass;
use super::run_variables::{Decisiveness, Pass, RunVariables, root};
use crate::condition::{Variables, descend};

/// The variables in scope: those of the innermost loop come first, the caller's last.
#[derive(Debug, Clone)]
pub struct WalkScope<'w, 'c> {
    base: &'c Value,
    /// The variables of a durable run, which take the place of `base`.
    run: Option<&'c RunVariables<'c>>,
    /// The passes around the place.
    passes: Vec<Pass<'w>>,
    /// The loop variables: items borrowed from the caller's context, and owned counters.
    over: Vec<(&'w str, Cow<'c, Value>)>,
    /// For each loop variable: the number of passes around it, including its own.
    depths: Vec<usize>,
    /// For each loop over a list: the item's variable, the list's path in the caller's context,
    /// and the item's index.
    items: Vec<(&'w str, &'w str, usize)>,
}

impl<'w, 'c> WalkScope<'w, 'c> {
    /// A scope with only the caller's context.
    pub fn of(base: &'c Value) -> Self {
        WalkScope {
            base,
            run: None,
            passes: Vec::new(),
            over: Vec::new(),
            depths: Vec::new(),
            items: Vec::new(),
        }
    }

    /// A scope with the variables of a durable run.
    pub(super) fn of_run(run: &'c RunVariables<'c>) -> Self {
        WalkScope { run: Some(run), ..WalkScope::of(run.said) }
    }

    /// The numbers of passes and of loop variables.
    pub(super) fn depth(&self) -> (usize, usize) {
        (self.passes.len(), self.over.len())
    }

    pub(super) fn enter(&mut self, pass: &LoopPass<'w, 'c>) {
        let spec = pass.spec;
        self.passes.push((pass.id, pass.iteration));
        let numbers =
            [(&spec.iteration_var, pass.iteration + 1), (&spec.index_var, pass.iteration)];
        for (name, number) in numbers {
            if let Some(name) = name {
                self.over.push((name, Cow::Owned(number.into())));
            }
        }
        if let (Some(name), Some(item)) = (&spec.item_var, pass.item) {
            self.over.push((name, Cow::Borrowed(item)));
            let list = spec.items.as_ref().map_or("", |items| items.0.as_str());
            self.items.push((name, list, pass.iteration));
        }
        self.depths.resize(self.over.len(), self.passes.len());
    }

    pub(super) fn leave(&mut self, (passes, depth): (usize, usize)) {
        self.passes.truncate(passes);
        self.over.truncate(depth);
        self.depths.truncate(depth);
        let over = &self.over;
        self.items.retain(|(name, ..)| over.iter().any(|(own, _)| own == name));
    }

    /// The path of a variable in the caller's context. An item's path is its position in its list.
    pub(super) fn path_of(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for (name, list, index) in self.items.iter().rev() {
            if let Some(rest) = path.strip_prefix(name)
                && (rest.is_empty() || rest.starts_with('.'))
            {
                path = format!("{list}.{index}{rest}");
            }
        }
        path
    }

    /// A value borrowed from the caller's context, with the lifetime of that context.
    pub(super) fn theirs(&self, path: &str) -> Option<&'c Value> {
        let decided = self.borrowed(path, Decisiveness::Decided);
        decided.or_else(|| self.borrowed(path, Decisiveness::Known).filter(|_| self.run.is_some()))
    }

    fn borrowed(&self, path: &str, decisiveness: Decisiveness) -> Option<&'c Value> {
        let Some(index) = self.own_index(path) else { return self.outer(path, decisiveness) };
        let in_pass = self.in_pass(path, self.depths[index], decisiveness);
        in_pass.or_else(|| match self.own(path)? {
            (Cow::Borrowed(value), rest) => below(value, rest),
            (Cow::Owned(_), _) => None,
        })
    }

    /// A value that is not a loop variable.
    fn outer(&self, path: &str, decisiveness: Decisiveness) -> Option<&'c Value> {
        match self.run {
            Some(run) => run.get(path, &self.passes, decisiveness),
            None => Variables::get(self.base, path),
        }
    }

    fn in_pass(&self, path: &str, depth: usize, decisiveness: Decisiveness) -> Option<&'c Value> {
        self.run.and_then(|run| run.in_pass(path, &self.passes, depth, decisiveness))
    }

    /// Whether, in a durable run, the outputs of steps decide what a variable is.
    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.run.is_some_and(|run| run.declared.has(name))
    }

    /// All that is known in a durable run, for conditions that would otherwise be undecided.
    pub(super) fn known(&self) -> Known<'_, 'w, 'c> {
        Known(self)
    }

    fn find(&self, path: &str, decisiveness: Decisiveness) -> Option<&Value> {
        let Some(index) = self.own_index(path) else { return self.outer(path, decisiveness) };
        let in_pass = self.in_pass(path, self.depths[index], decisiveness);
        let own = || self.own(path).and_then(|(value, rest)| below(value, rest));
        // A caller that is asked for a field of an item names it by its place in the list.
        let answer =
            || Variables::get(self.base, &self.path_of(path)).filter(|_| self.run.is_some());
        in_pass.or_else(own).or_else(answer)
    }

    fn own_index(&self, path: &str) -> Option<usize> {
        let name = root(path);
        self.over.iter().rposition(|(own, _)| *own == name)
    }

    /// The loop variable that a path starts with, and the rest of the path.
    fn own<'p>(&self, path: &'p str) -> Option<(&Cow<'c, Value>, Option<&'p str>)> {
        let name = path.split('.').next().unwrap_or(path);
        let (_, variable) = self.over.iter().rev().find(|(own, _)| *own == name)?;
        Some((variable, path.get(name.len() + 1..)))
    }
}

fn below<'v>(value: &'v Value, rest: Option<&str>) -> Option<&'v Value> {
    match rest {
        Some(rest) => descend(value, rest),
        None => Some(value),
    }
}

impl Variables for WalkScope<'_, '_> {
    fn get(&self, path: &str) -> Option<&Value> {
        self.find(path, Decisiveness::Decided)
    }

    fn to_value(&self) -> Value {
        let mut all = match self.run {
            Some(run) => run.all(&self.passes),
            None => self.base.as_object().cloned().unwrap_or_else(Map::new),
        };
        for (index, (name, variable)) in self.over.iter().enumerate() {
            let variable = variable.clone().into_owned();
            let changed = self.in_pass(name, self.depths[index], Decisiveness::Decided);
            // What an output of the pass says comes before what the item said.
            let value = match changed {
                Some(changed) => overlaid(variable, changed),
                None => variable,
            };
            all.insert((*name).to_owned(), value);
        }
        Value::Object(all)
    }
}

/// An item with the fields that an output gave it.
fn overlaid(item: Value, changed: &Value) -> Value {
    match (item, changed) {
        (Value::Object(mut item), Value::Object(changed)) => {
            item.extend(changed.clone());
            Value::Object(item)
        }
        (_, changed) => changed.clone(),
    }
}

/// The variables of a scope, including those that do not decide.
pub(super) struct Known<'s, 'w, 'c>(&'s WalkScope<'w, 'c>);

impl Variables for Known<'_, '_, '_> {
    fn get(&self, path: &str) -> Option<&Value> {
        self.0.find(path, Decisiveness::Known)
    }

    fn to_value(&self) -> Value {
        self.0.to_value()
    }
}
