//! A workflow as the interpreter walks it: its steps in order, and who waits for whom.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use milepost_model::plan::Plan;
use milepost_model::step::{Action, Step};
use milepost_model::workflow::{Spelling, Workflow};

use crate::{StepKey, limits};

/// A workflow without errors, compiled. A clone is the same.
#[derive(Debug, Clone)]
pub struct Flow {
    workflow: Arc<Workflow>,
    nodes: Arc<[FlowNode]>,
    /// The number of each step of the top level.
    numbers: Arc<HashMap<String, usize>>,
    /// Where each step stands: which of the top level, then which of each loop's body.
    paths: Arc<HashMap<String, Vec<usize>>>,
}

/// A step of the top level, in the order of a run with one step at a time.
#[derive(Debug, Clone)]
pub struct FlowNode {
    /// Its only execution.
    pub key: StepKey,
    /// Those it waits for.
    pub waits: Vec<usize>,
    /// Those that wait for it.
    pub(crate) heirs: Vec<usize>,
    /// Whether it runs at the end in every case.
    pub finally: bool,
}

impl Flow {
    /// Of a workflow.
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

    /// The workflow.
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// How long a run of it may take.
    pub fn allowed_ms(&self) -> u64 {
        let authored = self.workflow.timeout.as_ref().map(|period| period.0.as_millis());
        authored.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(limits::RUN_MS)
    }

    /// Whether its steps are walked one after the other, as guides are.
    pub fn is_walked(&self) -> bool {
        self.workflow.spelling == Spelling::Guide
    }

    /// The steps of the top level in order.
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

    /// The definition of an execution.
    pub fn of_key(&self, key: &StepKey) -> Option<&Step> {
        self.step(key.step())
    }

    /// The number of a step of the top level.
    pub fn index(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Whether an execution belongs to the end of the run, which comes in every case.
    pub fn is_finally(&self, key: &StepKey) -> bool {
        self.index(key.top()).is_some_and(|index| self.nodes[index].finally)
    }

    /// Everything a step waits for, however far up.
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

    /// A step, with everything it waits for and everything that waits for it.
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

    /// Everything that waits for a step, however far down.
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
