//! The variables that the schemas of a workflow's steps declare.

use foldhash::{HashMap, HashSet, HashSetExt};
use serde_json::Value;

use super::run_variables::Pass;
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
    /// The enclosing loops up to and including the one that contains all of these steps, each with
    /// whether it is a `forEach`; empty if no loop contains them.
    loops: Vec<(String, bool)>,
}

impl Home {
    /// Whether a place sees a value that was set in these passes. The passes of a `forEach` are
    /// about different items, so none sees the value of another. The passes of any other loop
    /// repeat the same work and share it, but a loop that starts again inside another one starts
    /// without it.
    pub(super) fn is_seen(&self, set: &[Pass<'_>], at: &[Pass<'_>]) -> bool {
        let around = |(index, (id, _)): (usize, &(String, bool))| {
            at.get(index).is_some_and(|(other, _)| other == id)
        };
        let inside = self.loops.iter().enumerate().all(around);
        let passes = self.loops.iter().zip(set).zip(at).enumerate();
        for (index, (((id, each), own), other)) in passes {
            if other.0 != id {
                break;
            }
            let starts_again = inside && index + 1 < self.loops.len();
            if own.1 != other.1 && (*each || starts_again) {
                return false;
            }
        }
        true
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
    Home { loops: loops.to_vec() }
}

/// The loops that are also in the other list, outermost first.
fn common<'l>(one: &[(String, bool)], loops: &'l [(String, bool)]) -> &'l [(String, bool)] {
    let same = one.iter().zip(loops).take_while(|(one, other)| one == other).count();
    &loops[..same]
}

/// The properties of a prompt's output that its schemas name.
pub(crate) fn names(prompt: &Prompt) -> HashSet<String> {
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
