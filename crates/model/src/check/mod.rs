//! The checks that need the whole workflow: names, types, order, secrets, commands.
//!
//! They run on a draft, so that a document with structural errors still gets all its other
//! findings; what could not be read is not asked about.

mod commands;
mod inputs;
mod names;
mod outputs;
mod reach;
mod uses;
mod writes;

use std::collections::HashMap;

use serde_json::Value;

use crate::commands::Commands;
use crate::decode::{Report, Spot};
use crate::expr::SegmentKind;
use crate::finding::{Finding, Mend, Rule, Severity};
use crate::id::StepId;
use crate::limits;
use crate::manifest::Draft;
use crate::order::Order;
use crate::step::{Action, Step};
use crate::suggest;
use crate::tree::{At, Node};
use crate::workflow::{Spelling, Workflow};

pub(crate) use outputs::Verdict;
pub use uses::{Slot, Use};
pub(crate) use uses::{of_step, of_workflow};

/// What the checks may ask about the world outside the document.
#[derive(Clone, Copy)]
pub struct World<'w> {
    /// The commands there are.
    pub commands: &'w dyn Commands,
    /// The environment variables that expressions may read; `None` when nobody can say.
    pub env_allow: Option<&'w [String]>,
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("env_allow", &self.env_allow).finish_non_exhaustive()
    }
}

/// A command that could not be checked because its catalog is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchecked {
    /// Where it is named.
    pub at: At,
    /// What is named.
    pub target: String,
}

pub(crate) struct Checker<'c> {
    pub(crate) workflow: &'c Workflow,
    pub(crate) steps: HashMap<&'c str, &'c Step>,
    /// Ids of steps that are there but could not be read, and where they stand.
    pub(crate) unread_steps: HashMap<String, At>,
    /// What the document has been told already: where, and by which rule.
    pub(crate) faults: Vec<(At, Rule)>,
    /// How often each input, step and output field is read, by its path.
    pub(crate) mentions: HashMap<String, usize>,
    pub(crate) unread_inputs: &'c [String],
    pub(crate) order: &'c Order<'c>,
    pub(crate) world: World<'c>,
    pub(crate) report: &'c mut Report,
    pub(crate) unchecked: Vec<Unchecked>,
}

/// Runs every check.
pub(crate) fn run(
    draft: &Draft,
    root: &Node,
    world: World<'_>,
    report: &mut Report,
) -> Vec<Unchecked> {
    let workflow = &draft.workflow;
    let all = workflow.all_steps();
    duplicates(&all, report);
    if all.len() > limits::STEPS {
        let message = format!("{} steps with those of loops", all.len());
        let fault = Finding::error(root.at, Rule::Range, message);
        report.add(fault.expected(format!("at most {}", limits::STEPS)).suggest("split it"));
    }
    let read: HashMap<&str, &Step> =
        all.iter().rev().map(|step| (step.id.value.as_str(), *step)).collect();
    let mut unread_steps = HashMap::new();
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let faults = errors.map(|finding| (finding.place.at, finding.rule)).collect();
    for key in ["steps", "finally"] {
        unread(root.get(key), &read, &mut unread_steps);
    }
    let order = Order::of(workflow);
    let mut checker = Checker {
        workflow,
        steps: read,
        unread_steps,
        faults,
        mentions: mentions(workflow),
        unread_inputs: &draft.unread_inputs,
        order: &order,
        world,
        report,
        unchecked: Vec::new(),
    };
    checker.run();
    checker.unchecked
}

fn unread(list: Option<&Node>, read: &HashMap<&str, &Step>, found: &mut HashMap<String, At>) {
    for item in list.map_or(&[] as &[Node], Node::items) {
        if let Some(node) = item.get("id")
            && let Some(id) = node.text().filter(|id| !read.contains_key(id))
        {
            found.insert(id.to_owned(), node.at);
        }
        unread(item.get("body"), read, found);
    }
}

/// Counts what is read, so that a misspelt reference can be told from a misspelt declaration.
fn mentions(workflow: &Workflow) -> HashMap<String, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut count = |path: String| *counts.entry(path).or_default() += 1;
    let steps = workflow.all_steps();
    let uses = of_workflow(workflow).into_iter().chain(steps.iter().flat_map(|one| of_step(one)));
    for usage in uses {
        for reference in usage.located.expr.references() {
            let mut path = reference.root.clone();
            for segment in reference.path.iter().take(3) {
                let SegmentKind::Field(name) = &segment.kind else { break };
                path = format!("{path}.{name}");
                count(path.clone());
            }
        }
    }
    for step in steps {
        step.depends_on.iter().for_each(|id| count(format!("steps.{}", id.value)));
        if let Action::Approve(approve) = &step.action {
            approve.on_reject.iter().for_each(|back| count(format!("steps.{}", back.to.value)));
        }
    }
    counts
}

fn duplicates(steps: &[&Step], report: &mut Report) {
    let mut first: HashMap<&str, &Spot<StepId>> = HashMap::new();
    for step in steps {
        let id = step.id.value.as_str();
        if let Some(earlier) = first.get(id) {
            // A loop may name a step of the list as its body: that is one step, not two.
            if earlier.at == step.id.at {
                continue;
            }
            report.add(
                Finding::error(step.id.at, Rule::DuplicateId, format!("step id `{id}` is taken"))
                    .related(earlier.at, "first used here")
                    .suggest("give one of the two another id"),
            );
        } else {
            first.insert(id, &step.id);
        }
    }
}

impl<'c> Checker<'c> {
    fn run(&mut self) {
        let workflow = self.workflow;
        self.dependencies();
        self.cycles();
        if workflow.spelling == Spelling::Manifest {
            self.inputs();
            self.expressions();
            self.targets();
            self.writes();
        }
        self.reach();
        for step in workflow.all_steps() {
            if let Action::Loop(looped) = &step.action
                && workflow.spelling == Spelling::Manifest
            {
                crate::guide::check_loop(&looped.spec, self.report);
            }
        }
    }

    /// Whether a name that does not exist is a slip for one that does. When nothing reads the one
    /// and several places read the other, its declaration is as likely to be the slip.
    pub(crate) fn is_slip(&self, owner: &str, name: &str, meant: &str) -> bool {
        let read = |name: &str| self.mentions.get(&format!("{owner}.{name}")).copied();
        read(meant).is_some() || read(name).unwrap_or(0) <= 1
    }

    /// Whether something in this range could not be read as it stands.
    pub(crate) fn is_faulty(&self, at: At) -> bool {
        self.faults.iter().any(|(fault, _)| at.holds(*fault))
    }

    /// The step of an id; `None` also for one that could not be read.
    pub(crate) fn step(&self, id: &str) -> Option<&'c Step> {
        self.steps.get(id).copied()
    }

    pub(crate) fn is_step(&self, id: &str) -> bool {
        self.steps.contains_key(id) || self.unread_steps.contains_key(id)
    }

    pub(crate) fn step_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.steps.keys().copied().collect();
        names.extend(self.unread_steps.keys().map(String::as_str));
        names.sort_unstable();
        names
    }

    /// What the refused id of a step will be once it is mended.
    pub(crate) fn refused_id(&mut self, name: &str) -> Option<String> {
        match self.refusal(name)?.mend.as_ref()? {
            Mend::Replace { value: Value::String(meant), .. } => Some(meant.clone()),
            Mend::All(mends) => match mends.first()? {
                Mend::Replace { value: Value::String(meant), .. } => Some(meant.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// A reference to a step whose id is refused changes along with the id, so that mending the
    /// one does not break the other.
    pub(crate) fn mend_with_id(&mut self, name: &str, reference: Mend) {
        let Some(finding) = self.refusal(name) else { return };
        finding.mend = finding.mend.take().map(|mend| match mend {
            Mend::All(mends) => Mend::All([mends, vec![reference]].concat()),
            id => Mend::All(vec![id, reference]),
        });
    }

    fn refusal(&mut self, name: &str) -> Option<&mut Finding> {
        let id = self.unread_steps.get(name)?;
        let mut findings = self.report.findings.iter_mut();
        findings.find(|finding| finding.rule == Rule::Id && finding.place.at == *id)
    }

    /// Every id in `depends_on` and `on_reject` is one of a step.
    fn dependencies(&mut self) {
        for step in self.workflow.all_steps() {
            for id in &step.depends_on {
                self.known_step(id, step, "depends_on");
            }
            if let Action::Approve(approve) = &step.action
                && let Some(back) = &approve.on_reject
            {
                self.known_step(&back.to, step, "on_reject");
            }
        }
    }

    fn known_step(&mut self, id: &Spot<StepId>, step: &Step, key: &str) {
        let name = id.value.as_str();
        if name == step.id.value.as_str() {
            let message = format!("step `{name}` waits for itself");
            let fault = Finding::error(id.at, Rule::Cycle, message);
            self.report.add(fault.suggest("remove it").mend(Mend::RemoveItem { at: id.at }));
            return;
        }
        if self.is_step(name) {
            return;
        }
        let message = format!("there is no step `{name}` for `{key}`");
        let fault = Finding::error(id.at, Rule::UnknownName, message);
        let names = self.step_names();
        let others = names.iter().copied().filter(|id| *id != step.id.value.as_str());
        let meant = suggest::nearest(name, others);
        let meant = meant.filter(|meant| self.is_slip("steps", name, meant));
        self.report.add(match meant {
            Some(meant) => fault
                .expected(format!("`{meant}`"))
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::Replace { at: id.at, value: meant.into() }),
            None => fault.expected(suggest::list(names)).suggest("name a step of this workflow"),
        });
    }

    /// Steps that wait for each other, each ring once, with the ring shown.
    fn cycles(&mut self) {
        for ring in self.order.rings() {
            let names: Vec<&str> = ring.iter().map(|step| step.id.value.as_str()).collect();
            let shown = [&names[..], &names[..1]].concat().join(" → ");
            let Some(at) = self.order.edge_place(ring[0], ring[1 % ring.len()]) else { continue };
            // One step that reads its own output is told so where it does.
            if ring.len() == 1 {
                continue;
            }
            self.report.add(
                Finding::error(
                    at,
                    Rule::Cycle,
                    format!("these steps wait for each other: {shown}"),
                )
                .actual(shown)
                .suggest("take one of these dependencies away"),
            );
        }
    }
}
