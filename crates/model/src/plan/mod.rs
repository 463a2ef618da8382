//! A workflow's plan: the order of its steps, their dependencies, and the plan's identity.

pub mod digest;
pub(crate) mod order;
pub mod pinned;

use serde_json::{Map, Value, json};

use crate::agent_prompt;
use crate::condition::Truth;
use crate::digest::Digest;
use crate::document::Document;
use crate::graph::{self, Graph};
use crate::order::Order;
use crate::step::{Action, Step, When};
use crate::workflow::{Spelling, Workflow};

/// A workflow's execution order.
#[derive(Debug)]
pub struct Plan<'w> {
    pub workflow: &'w Workflow,
    /// The steps in the order in which a sequential run executes them, `finally` last.
    pub steps: Vec<PlannedStep<'w>>,
}

/// A top-level step and its place in the order.
#[derive(Debug)]
pub struct PlannedStep<'w> {
    pub step: &'w Step,
    /// The earliest wave that the step can run in, starting at 1.
    pub wave: usize,
    /// The ids of the steps that it waits for.
    pub waits_for: Vec<&'w str>,
    /// Whether the step belongs to `finally`.
    pub finally: bool,
}

impl<'w> Plan<'w> {
    /// The plan for a workflow without errors.
    pub fn of(workflow: &'w Workflow) -> Plan<'w> {
        let order = Order::of(workflow);
        let waves = order.waves();
        let steps = &order.steps;
        let planned = order.sequence().into_iter().map(|index| PlannedStep {
            step: steps[index],
            wave: waves[index] + 1,
            waits_for: order.waits(index).map(|other| steps[other].name()).collect(),
            finally: order.is_finally(index),
        });
        let mut steps: Vec<PlannedStep<'w>> = planned.collect();
        if workflow.spelling == Spelling::Guide {
            in_sequence(&mut steps);
        }
        Plan { workflow, steps }
    }

    /// The number of waves.
    pub fn waves(&self) -> usize {
        self.steps.iter().map(|step| step.wave).max().unwrap_or(0)
    }

    /// The graph of this plan: a link for each dependency, and one for each step that a rejection
    /// leads back to.
    pub fn graph(&self) -> Graph {
        let workflow = self.workflow;
        let mut nodes = Vec::new();
        for step in &workflow.steps {
            node(step, None, false, &mut nodes);
        }
        for step in &workflow.finally {
            node(step, None, true, &mut nodes);
        }
        let index = |id: &str| nodes.iter().position(|node: &graph::GraphNode| node.id == id);
        let mut edges = Vec::new();
        for planned in &self.steps {
            let to = index(planned.step.name());
            for from in &planned.waits_for {
                if let (Some(from), Some(to)) = (index(from), to) {
                    edges.push(graph::Edge { from, to, label: None });
                }
            }
        }
        back_edges(workflow, &index, &mut edges);
        Graph { title: workflow.display_title().to_owned(), nodes, edges }
    }
}

/// Makes each step of a guide wait for the one before it, since a guide is walked in document
/// order.
fn in_sequence(steps: &mut [PlannedStep<'_>]) {
    for index in 0..steps.len() {
        steps[index].wave = index + 1;
        if let Some(before) = index.checked_sub(1) {
            steps[index].waits_for = vec![steps[before].step.name()];
        }
    }
}

fn back_edges(
    workflow: &Workflow,
    index: &dyn Fn(&str) -> Option<usize>,
    edges: &mut Vec<graph::Edge>,
) {
    for step in workflow.all_steps() {
        if let Action::Approve(approve) = &step.action
            && let Some(back) = &approve.on_reject
            && let (Some(from), Some(to)) = (index(step.name()), index(back.to.value.as_str()))
        {
            edges.push(graph::Edge { from, to, label: Some("rejected".into()) });
        }
    }
}

fn node(step: &Step, parent: Option<usize>, finally: bool, nodes: &mut Vec<graph::GraphNode>) {
    let index = nodes.len();
    let id = step.name();
    nodes.push(graph::GraphNode {
        id: id.to_owned(),
        title: step.title.clone().unwrap_or_else(|| id.to_owned()),
        kind: step.action.kind(),
        detail: detail(step),
        condition: step.when.as_ref().map(words),
        parent,
        finally,
    });
    if let Action::Loop(looped) = &step.action {
        looped.body.iter().for_each(|inner| node(inner, Some(index), finally, nodes));
    }
}

/// A line that describes a step, in addition to its title.
fn detail(step: &Step) -> Option<String> {
    match &step.action {
        Action::Run(run) => Some(run.target.value.to_string()),
        Action::Loop(looped) => {
            let spec = &looped.spec;
            Some(format!("{}, pass limit {}", spec.kind.value.name(), spec.max_iterations.0))
        }
        Action::Set(values) => Some(values.names().collect::<Vec<_>>().join(", ")),
        _ => None,
    }
}

/// A condition on one line.
pub fn words(when: &When) -> String {
    match when {
        When::Expr(bare) => bare.expr.source().trim().to_owned(),
        When::Condition(condition) => condition.to_string(),
    }
}

/// The value of a condition, if the inputs alone decide it.
pub fn decided(when: &When, inputs: &Map<String, Value>) -> Option<bool> {
    let inputs = Value::Object(inputs.clone());
    match when {
        When::Condition(condition) => match condition.decide(&inputs) {
            Truth::Holds => Some(true),
            Truth::Fails => Some(false),
            Truth::Undecided(_) => None,
        },
        When::Expr(bare) => {
            if bare.expr.references().iter().any(|reference| reference.root != "inputs") {
                return None;
            }
            agent_prompt::expression_holds(&bare.expr, &inputs).ok()
        }
    }
}

/// The identity of a document's meaning: equal for documents that differ only in layout, comments,
/// key order or names that are aliases of each other.
pub fn hash(document: &Document) -> Option<String> {
    let value = document.parsed()?;
    document.workflow.as_ref()?;
    Some(hash_of(&value))
}

/// Like [`hash`], for a document's parsed data.
pub(crate) fn hash_of(value: &Value) -> String {
    Digest::of(canonical(value, None).to_string().as_bytes()).to_string()
}

/// Normalizes data: keys are sorted, except those of `inputs`, whose order people see, and aliases
/// are replaced.
fn canonical(value: &Value, key: Option<&str>) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&str, Value)> = map
                .iter()
                .map(|(name, value)| {
                    let name = if name == "when" { "if" } else { name.as_str() };
                    (name, canonical(value, Some(name)))
                })
                .collect();
            if key != Some("inputs") {
                entries.sort_by_key(|(name, _)| *name);
                return Value::Object(
                    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                );
            }
            // A list, because some map types do not preserve order.
            entries.into_iter().map(|(name, value)| json!([name, value])).collect()
        }
        Value::Array(items) => items.iter().map(|item| canonical(item, None)).collect(),
        Value::String(text) if matches!(key, Some("if" | "until" | "check")) => {
            let bare = text.trim();
            let bare = bare.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}"));
            bare.unwrap_or(text).trim().into()
        }
        other => other.clone(),
    }
}
