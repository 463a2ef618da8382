//! A workflow as the interpreter sees it: its steps in order, and their dependencies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use milepost_model::plan::Plan;
use milepost_model::step::{Action, Step};
use milepost_model::workflow::{Spelling, Workflow};

use crate::{StepKey, limits};

/// A valid workflow, compiled. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Flow {
    workflow: Arc<Workflow>,
    nodes: Arc<[FlowNode]>,
    /// The index of each top-level step.
    numbers: Arc<HashMap<String, usize>>,
    /// The path to each step: the index of its top-level step, then the index in each loop body.
    paths: Arc<HashMap<String, Vec<usize>>>,
}

/// A top-level step; nodes are in the order in which a run without concurrency executes them.
#[derive(Debug, Clone)]
pub struct FlowNode {
    /// The key of its only execution.
    pub key: StepKey,
    /// The steps that it waits for.
    pub waits: Vec<usize>,
    /// The steps that wait for it.
    pub(crate) heirs: Vec<usize>,
    /// Whether the step always runs at the end.
    pub finally: bool,
}

impl Flow {
    /// Compiles a workflow.
    pub fn of(workflow: Arc<Workflow>) -> Flow {
        let plan = Plan::of(&workflow);
        let ids: Vec<&str> =
            plan.steps.iter().map(|planned| planned.step.id.value.as_str()).collect();
        let place: BTreeMap<&str, usize> =
            ids.iter().enumerate().map(|(index, id)| (*id, index)).collect();
        let nodes = plan.steps.iter().map(|planned| FlowNode {
            key: StepKey::of(&planned.step.id.value),
            waits: planned.waits_for.iter().filter_map(|id| place.get(id).copied()).collect(),
            heirs: Vec::new(),
            finally: planned.finally,
        });
        let mut nodes: Vec<FlowNode> = nodes.collect();
        for number in 0..nodes.len() {
            for wait in nodes[number].waits.clone() {
                nodes[wait].heirs.push(number);
            }
        }
        let numbered = nodes.iter().enumerate();
        let numbers =
            numbered.map(|(number, node)| (node.key.as_str().to_owned(), number)).collect();
        let mut paths = HashMap::new();
        let top = workflow.steps.iter().chain(&workflow.finally);
        for (index, step) in top.enumerate() {
            note(step, vec![index], &mut paths);
        }
        let (numbers, paths) = (Arc::new(numbers), Arc::new(paths));
        Flow { workflow, nodes: nodes.into(), numbers, paths }
    }

    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// How long a run of the workflow may take.
    pub fn allowed_ms(&self) -> u64 {
        let authored = self.workflow.timeout.as_ref().map(|period| period.0.as_millis());
        authored.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(limits::RUN_MS)
    }

    /// Whether the steps run one after the other, as in a guide.
    pub fn is_walked(&self) -> bool {
        self.workflow.spelling == Spelling::Guide
    }

    /// The top-level steps, in order.
    pub fn nodes(&self) -> &[FlowNode] {
        &self.nodes
    }

    /// A step by its id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        let (first, rest) = self.paths.get(id)?.split_first()?;
        let main = self.workflow.steps.len();
        let top = self.workflow.steps.get(*first);
        let mut step = top.or_else(|| self.workflow.finally.get(first.checked_sub(main)?))?;
        for index in rest {
            let Action::Loop(looped) = &step.action else { return None };
            step = looped.body.get(*index)?;
        }
        Some(step)
    }

    /// The definition of the step that an execution belongs to.
    pub fn of_key(&self, key: &StepKey) -> Option<&Step> {
        self.step(key.step())
    }

    /// The index of a top-level step.
    pub fn index(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Whether an execution belongs to a `finally` step, which always runs at the end.
    pub fn is_finally(&self, key: &StepKey) -> bool {
        self.index(key.top()).is_some_and(|index| self.nodes[index].finally)
    }

    /// All direct and indirect dependencies of a step.
    pub fn above(&self, index: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![index];
        while let Some(next) = open.pop() {
            for wait in &self.nodes[next].waits {
                if found.insert(*wait) {
                    open.push(*wait);
                }
            }
        }
        found
    }

    /// A step with all its direct and indirect dependencies and dependents.
    pub(crate) fn related(&self, index: usize) -> BTreeSet<usize> {
        let mut found = self.above(index);
        let mut open = vec![index];
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(&self.nodes[next].heirs);
            }
        }
        found
    }

    /// All direct and indirect dependents of a step.
    pub fn below(&self, index: usize) -> BTreeSet<usize> {
        let all = 0..self.nodes.len();
        all.filter(|other| self.above(*other).contains(&index)).collect()
    }
}

fn note(step: &Step, path: Vec<usize>, paths: &mut HashMap<String, Vec<usize>>) {
    if let Action::Loop(looped) = &step.action {
        for (index, inner) in looped.body.iter().enumerate() {
            let mut path = path.clone();
            path.push(index);
            note(inner, path, paths);
        }
    }
    paths.insert(step.id.value.as_str().to_owned(), path);
}
