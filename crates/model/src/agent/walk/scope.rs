//! The caller's context, overlaid with the variables of the enclosing loops.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::LoopPass;
use crate::condition::{Variables, descend};

/// The variables in scope: those of the innermost loop come first, the caller's last.
#[derive(Debug, Clone)]
pub struct WalkScope<'w, 'c> {
    base: &'c Value,
    /// The loop variables: items borrowed from the caller's context, and owned counters.
    over: Vec<(&'w str, Cow<'c, Value>)>,
    /// For each loop over a list: the item's variable, the list's path in the caller's context,
    /// and the item's index.
    items: Vec<(&'w str, &'w str, usize)>,
}

impl<'w, 'c> WalkScope<'w, 'c> {
    /// A scope with only the caller's context.
    pub fn of(base: &'c Value) -> Self {
        WalkScope { base, over: Vec::new(), items: Vec::new() }
    }

    pub(super) fn depth(&self) -> usize {
        self.over.len()
    }

    pub(super) fn enter(&mut self, pass: &LoopPass<'w, 'c>) {
        let spec = pass.spec;
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
    }

    pub(super) fn leave(&mut self, depth: usize) {
        self.over.truncate(depth);
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
        match self.own(path) {
            Some((Cow::Borrowed(value), rest)) => below(value, rest),
            Some((Cow::Owned(_), _)) => None,
            None => Variables::get(self.base, path),
        }
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
        match self.own(path) {
            Some((value, rest)) => below(value, rest),
            None => Variables::get(self.base, path),
        }
    }

    fn to_value(&self) -> Value {
        let mut all = self.base.as_object().cloned().unwrap_or_else(Map::new);
        for (name, variable) in &self.over {
            all.insert((*name).to_owned(), variable.clone().into_owned());
        }
        Value::Object(all)
    }
}
