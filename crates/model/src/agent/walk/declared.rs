//! The variables that the schemas of a workflow's steps declare.

use foldhash::{HashMap, HashSet, HashSetExt};
use serde_json::Value;

use crate::criteria::{CheckKind, Criteria};
use crate::limits;
use crate::step::{Action, Prompt, Step};
use crate::workflow::Workflow;

/// The variables that steps declare in their output schemas, and the loops that each variable
/// belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredVariables {
    by_step: HashMap<String, HashSet<String>>,
    homes: HashMap<String, Home>,
    /// For each step inside a loop: the home of a variable that only this step sets.
    steps: HashMap<String, Home>,
}

/// The loop that contains every step that sets a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    /// The enclosing loops up to and including the one that contains all of these steps; empty if
    /// no loop does.
    loops: Vec<String>,
    /// How many of these loops start over with a new value. The passes of a `forEach` are about
    /// different items, so none sees the value of another; the passes of any other loop repeat the
    /// same work and share it.
    separate: usize,
}

impl Home {
    /// The innermost loop that contains all steps that set the variable, with its depth.
    pub(super) fn innermost(&self) -> Option<(usize, &str)> {
        let last = self.loops.len().checked_sub(1)?;
        Some((last, &self.loops[last]))
    }

    pub(super) fn separate(&self) -> usize {
        self.separate
    }
}

impl DeclaredVariables {
    /// The declarations of a workflow, which are computed once.
    pub fn of(workflow: &Workflow) -> &DeclaredVariables {
        workflow.declared.get_or_init(|| {
            let mut found = DeclaredVariables::default();
            for step in workflow.steps.iter().chain(&workflow.finally) {
                found.add(step, &mut Vec::new());
            }
            found
        })
    }

    /// Whether any step declares the variable.
    pub fn has(&self, name: &str) -> bool {
        self.homes.contains_key(name)
    }

    /// Whether this step declares the variable.
    pub fn is_of(&self, step: &str, name: &str) -> bool {
        self.by_step.get(step).is_some_and(|names| names.contains(name))
    }

    /// The home of a variable that this step sets.
    pub(super) fn home(&self, step: &str, name: &str) -> Option<&Home> {
        self.homes.get(name).or_else(|| self.steps.get(step))
    }

    fn add(&mut self, step: &Step, loops: &mut Vec<(String, bool)>) {
        match &step.action {
            Action::Loop(looped) => {
                let each = looped.spec.kind.value == crate::guide::LoopType::ForEach;
                loops.push((step.name().to_owned(), each));
                looped.body.iter().for_each(|step| self.add(step, loops));
                loops.pop();
            }
            Action::Prompt(prompt) => {
                let names = names(prompt);
                for name in &names {
                    let home = match self.homes.get(name) {
                        Some(home) => home_of(common(&home.loops, loops)),
                        None => home_of(loops),
                    };
                    self.homes.insert(name.clone(), home);
                }
                self.steps.insert(step.name().to_owned(), home_of(loops));
                self.by_step.insert(step.name().to_owned(), names);
            }
            Action::Run(_)
            | Action::Approve(_)
            | Action::Wait(_)
            | Action::Set(_)
            | Action::Fail(_) => {}
        }
    }
}

fn home_of(loops: &[(String, bool)]) -> Home {
    let each = loops.last().is_some_and(|(_, each)| *each);
    let separate = if each { loops.len() } else { loops.len().saturating_sub(1) };
    Home { loops: loops.iter().map(|(id, _)| id.clone()).collect(), separate }
}

/// The loops that are also in the other list, outermost first.
fn common<'l>(one: &[String], loops: &'l [(String, bool)]) -> &'l [(String, bool)] {
    let same = one.iter().zip(loops).take_while(|(one, (other, _))| *one == other).count();
    &loops[..same]
}

/// The properties of a prompt's output that its schemas name.
fn names(prompt: &Prompt) -> HashSet<String> {
    let mut names = HashSet::new();
    if let Some(schema) = &prompt.output_schema {
        properties(&schema.value, &schema.value, 0, &mut names);
    }
    if let Some(criteria) = &prompt.criteria {
        of_criteria(criteria, &mut names);
    }
    names
}

fn of_criteria(criteria: &Criteria, names: &mut HashSet<String>) {
    match criteria {
        Criteria::All(parts) | Criteria::Any(parts) => {
            parts.iter().for_each(|part| of_criteria(part, names));
        }
        // A schema that must not match declares nothing.
        Criteria::Not(_) => {}
        Criteria::Check(check) => {
            if let CheckKind::Schema(schema) = &check.kind {
                properties(&schema.value, &schema.value, 0, names);
            }
        }
    }
}

/// Collects the names of the properties of the value itself, not of anything nested in it.
fn properties(root: &Value, schema: &Value, depth: usize, names: &mut HashSet<String>) {
    if depth > limits::SCHEMA_PARTS_DEPTH {
        return;
    }
    let own = schema.get("properties").and_then(Value::as_object);
    names.extend(own.into_iter().flatten().map(|(name, _)| name.clone()));
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.extend(required.filter_map(Value::as_str).map(str::to_owned));
    for key in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(key).and_then(Value::as_array);
        parts.into_iter().flatten().for_each(|part| properties(root, part, depth + 1, names));
    }
    for key in ["if", "then", "else"] {
        schema.get(key).into_iter().for_each(|part| properties(root, part, depth + 1, names));
    }
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    if let Some(part) = pointer.and_then(|pointer| root.pointer(pointer)) {
        properties(root, part, depth + 1, names);
    }
}
