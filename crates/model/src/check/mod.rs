//! The checks that need the whole workflow: names, types, order, secrets, commands.
//!
//! They run on a draft, so a document with structural errors still gets all other findings. Parts
//! that could not be read are not checked.

pub mod catalog_lookup;
mod commands;
mod inputs;
mod names;
mod outputs;
mod reach;
mod reads;
mod uses;
mod writes;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use milepost_syntax::mend::Mend;
use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::Value;

use crate::commands::Commands;
use crate::decode::{Report, Spot};
use crate::finding::{Finding, Rule, Severity};
use crate::id::StepId;
use crate::limits;
use crate::manifest::Draft;
use crate::order::Order;
use crate::step::{Action, Step};
use crate::suggest;
use crate::workflow::{Spelling, Workflow};

use reads::{NameKind, Reads};
pub(crate) use uses::{of_step, of_workflow};

/// Information from outside the document that the checks may use.
#[derive(Clone, Copy)]
pub struct World<'w> {
    /// Looks up commands and workflows.
    pub commands: &'w dyn Commands,
    /// The environment variables that expressions may read; `None` if unknown.
    pub env_allow: Option<&'w [String]>,
}

/// A command that could not be checked because its catalog is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchecked {
    /// The position of the reference.
    pub at: Span,
    /// The target as written.
    pub target: String,
}

pub(crate) struct Checker<'c> {
    pub(crate) workflow: &'c Workflow,
    pub(crate) steps: HashMap<&'c str, &'c Step>,
    /// The ids and positions of steps that exist but could not be read.
    pub(crate) unread_steps: HashMap<String, Span>,
    /// Whether some step has no readable id, in which case any unknown name may refer to it.
    pub(crate) nameless: bool,
    pub(crate) root: &'c SyntaxNode,
    /// The number of findings before the checks.
    decoded: usize,
    pub(crate) unread_inputs: Vec<String>,
    pub(crate) reads: Reads<'c>,
    /// The ids of all steps, sorted; computed when the first unknown id is found.
    names: OnceCell<Rc<[String]>>,
    pub(crate) order: &'c Order<'c>,
    pub(crate) world: World<'c>,
    pub(crate) report: &'c mut Report,
    pub(crate) unchecked: Vec<Unchecked>,
}

/// Whether an expression can use this name after a dot.
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Runs every check.
pub(crate) fn run(
    draft: &Draft,
    root: &SyntaxNode,
    world: World<'_>,
    report: &mut Report,
) -> Vec<Unchecked> {
    let workflow = &draft.workflow;
    let all = workflow.all_steps();
    duplicates(&all, report);
    if all.len() > limits::STEPS {
        let message = format!("{} steps, counting those in loops", all.len());
        let fault = Finding::error(root.at, Rule::Range, message);
        let expected = format!("at most {}", limits::STEPS);
        report.add(fault.expected(expected).suggest("split the workflow"));
        return Vec::new();
    }
    let read: HashMap<&str, &Step> = all.iter().rev().map(|step| (step.name(), *step)).collect();
    let mut unread_steps = HashMap::new();
    let mut nameless = false;
    for key in ["steps", "finally"] {
        let list = root.get(key);
        nameless |= match list {
            Some(list) => list.text().is_some() || list.items().is_empty(),
            None => key == "steps",
        };
        nameless |= unread(list, &read, &mut unread_steps);
    }
    let decoded = report.findings.len();
    let order = Order::of(workflow);
    let mut checker = Checker {
        workflow,
        steps: read,
        unread_steps,
        nameless,
        root,
        decoded,
        unread_inputs: draft.unread_inputs.clone(),
        reads: Reads::of(workflow),
        names: OnceCell::new(),
        order: &order,
        world,
        report,
        unchecked: Vec::new(),
    };
    checker.run();
    let unchecked = checker.unchecked;
    report.merge_repeats();
    unchecked
}

/// Collects the ids of steps that could not be read. Returns whether some step has no readable id.
fn unread(
    list: Option<&SyntaxNode>,
    read: &HashMap<&str, &Step>,
    found: &mut HashMap<String, Span>,
) -> bool {
    let mut nameless =
        list.is_some_and(|list| !matches!(list.kind, SyntaxKind::List(_) | SyntaxKind::Str(_)));
    for item in list.map_or(&[] as &[SyntaxNode], SyntaxNode::items) {
        let node = item.get("id");
        match node.and_then(|node| Some((node.at, node.text()?))) {
            Some((at, id)) if !read.contains_key(id) => {
                // References may already use the id that the fix will give the step.
                found.extend(suggest::slug(id, false).map(|slug| (slug, at)));
                found.insert(id.to_owned(), at);
            }
            Some(_) => {}
            None => nameless = true,
        }
        nameless |= unread(item.get("body").filter(|_| item.get("loop").is_some()), read, found);
    }
    nameless
}

fn duplicates(steps: &[&Step], report: &mut Report) {
    let mut first: HashMap<&str, &Spot<StepId>> = HashMap::new();
    for step in steps {
        let id = step.name();
        if let Some(earlier) = first.get(id) {
            // A top-level step that a loop lists as its body appears twice but is one step.
            if earlier.at == step.id.at {
                continue;
            }
            Finding::error(step.id.at, Rule::DuplicateId, format!("duplicate step id `{id}`"))
                .related(earlier.at, "first used here")
                .suggest("give one of the two another id")
                .add_to(report);
        } else {
            first.insert(id, &step.id);
        }
    }
}

impl<'c> Checker<'c> {
    fn run(&mut self) {
        let workflow = self.workflow;
        #[cfg(debug_assertions)]
        added_rule::check(self);
        self.server_version();
        if workflow.spelling == Spelling::Manifest {
            self.misspelt();
        }
        self.reserved();
        self.dependencies();
        self.bodies(&workflow.steps, &mut Vec::new());
        self.cycles();
        if workflow.spelling == Spelling::Manifest {
            self.inputs();
            self.expressions();
            // The strings under an unreadable key would all be mistaken for plain text, and the key
            // itself has already been reported.
            if !self.report.has_errors() {
                self.unfilled_templates();
            }
            self.targets();
            self.writes();
        }
        self.reach();
        self.unused();
        for step in workflow.all_steps() {
            if let Action::Loop(looped) = &step.action
                && workflow.spelling == Spelling::Manifest
            {
                crate::guide::check_loop(&looped.spec, self.report);
            }
        }
    }

    /// Rejects a workflow that does not support this version of Milepost.
    fn server_version(&mut self) {
        let this = env!("CARGO_PKG_VERSION");
        let Ok(version) = semver::Version::parse(this) else { return };
        let guide = self.workflow.guide.as_ref().and_then(|guide| guide.min_server.as_ref());
        let requires = self.workflow.requires.as_ref().and_then(|need| need.milepost.as_ref());
        let lacking = match (guide, requires) {
            (Some(least), _) if least.value.0 > version => {
                Some((least.at, least.value.0.to_string()))
            }
            (_, Some(need)) if !need.value.accepts(&version) => {
                Some((need.at, need.value.0.to_string()))
            }
            _ => None,
        };
        if let Some((at, wanted)) = lacking {
            let message = format!("the workflow requires Milepost {wanted}, but this is {this}");
            Finding::error(at, Rule::Version, message)
                .expected(format!("version {wanted}"))
                .suggest("upgrade Milepost, or require an older version")
                .add_to(self.report);
        }
    }

    /// The errors found before the checks.
    fn decoding_errors(&self) -> impl Iterator<Item = &Finding> {
        let before = self.report.findings[..self.decoded].iter();
        before.filter(|one| one.severity == Severity::Error)
    }

    /// Whether part of the document at this position could not be read.
    pub(crate) fn is_damaged(&self, at: Span) -> bool {
        self.decoding_errors().any(|one| at.holds(one.place.at))
    }

    /// Whether a map may have a key that seems to be missing: its value could not be read, or an
    /// unknown key may be a misspelling of it.
    pub(crate) fn may_have(&self, map: Span, key: &str) -> bool {
        let Some(map) = self.root.node_at(map) else { return false };
        let is_key = |at: Span| map.entries().iter().any(|(key, _)| key.at == at);
        self.decoding_errors().any(|one| {
            map.get(key).is_some_and(|value| value.at.holds(one.place.at))
                || (one.rule == Rule::UnknownKey && is_key(one.place.at))
        })
    }

    /// Whether an unknown name is a misspelling of a declared one. If nothing reads the declared
    /// name and several places read the unknown one, the declaration is just as likely to be wrong.
    pub(crate) fn is_misspelling(&self, of: NameKind<'_>, name: &str, meant: &str) -> bool {
        self.reads.count(of, meant) > 0 || self.reads.count(of, name) <= 1
    }

    /// Whether a range of the document contains an unknown key.
    pub(crate) fn has_unknown_key(&self, at: Span) -> bool {
        self.decoding_errors().any(|one| one.rule == Rule::UnknownKey && at.holds(one.place.at))
    }

    /// Looks up a step by id; `None` for one that could not be read.
    pub(crate) fn step(&self, id: &str) -> Option<&'c Step> {
        self.steps.get(id).copied()
    }

    pub(crate) fn is_step(&self, id: &str) -> bool {
        self.steps.contains_key(id) || self.unread_steps.contains_key(id)
    }

    /// Whether an id may belong to a step, for example to one whose id could not be read.
    pub(crate) fn may_be_step(&self, id: &str) -> bool {
        self.nameless || self.is_step(id)
    }

    pub(crate) fn step_names(&self) -> Rc<[String]> {
        let names = || {
            let read = self.steps.keys().copied();
            let unread = self.unread_steps.keys().map(String::as_str);
            let unread = unread.filter(|id| StepId::parse(id).is_ok());
            let mut names: Vec<String> = read.chain(unread).map(str::to_owned).collect();
            names.sort_unstable();
            names.dedup();
            names.into()
        };
        Rc::clone(self.names.get_or_init(names))
    }

    /// The valid id that the fix will give to a step whose id was rejected.
    pub(crate) fn refused_id(&mut self, name: &str) -> Option<String> {
        let mend = match self.refusal(name)?.mend.as_ref()? {
            Mend::All(mends) => mends.first()?,
            mend => mend,
        };
        match mend {
            Mend::Replace { value: Value::String(meant), .. } => Some(meant.clone()),
            _ => None,
        }
    }

    /// Extends the fix for a rejected step id to a reference, so that fixing the id does not break
    /// the reference.
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

    /// Checks that every id in `depends_on` and `on_reject` belongs to a step.
    fn dependencies(&mut self) {
        for step in self.workflow.all_steps() {
            for id in &step.depends_on {
                self.known_step(id, step);
            }
            if let Action::Approve(approve) = &step.action
                && let Some(back) = &approve.on_reject
            {
                self.known_step(&back.to, step);
            }
        }
    }

    fn known_step(&mut self, id: &Spot<StepId>, step: &Step) {
        let name = id.value.as_str();
        if name == step.name() {
            let message = format!("step `{name}` waits for itself");
            let fault = Finding::error(id.at, Rule::Cycle, message);
            self.report.add(fault.suggest("remove the id").mend(Mend::RemoveItem { at: id.at }));
            return;
        }
        if self.may_be_step(name) {
            self.runs_last(id, step);
            return;
        }
        let names = self.step_names();
        let others = names.iter().filter(|id| *id != step.name());
        let meant = suggest::nearest(name, others);
        let meant = meant.filter(|meant| self.is_misspelling(NameKind::Step, name, meant));
        let expected = meant.map_or_else(|| suggest::list(&*names), |meant| format!("`{meant}`"));
        Finding::error(id.at, Rule::UnknownName, format!("there is no step `{name}`"))
            .expected(expected)
            .did_you_mean(id.at, meant, "name an existing step, or add this one")
            .add_to(self.report);
    }

    /// Checks the order inside loops, which is document order: a step cannot wait for a later step
    /// of the body or for the loop itself.
    fn bodies(&mut self, steps: &'c [Step], around: &mut Vec<&'c str>) {
        for step in steps {
            let Action::Loop(looped) = &step.action else { continue };
            around.push(step.name());
            for (index, inner) in looped.body.iter().enumerate() {
                for id in &inner.depends_on {
                    let later = looped.body[index + 1..].iter().any(|one| one.id.value == id.value);
                    let message = match (later, around.contains(&id.value.as_str())) {
                        (true, _) => format!("step `{}` comes later in the loop", id.value),
                        (_, true) => format!("this step is in the loop `{}`", id.value),
                        _ => continue,
                    };
                    let fault = Finding::error(id.at, Rule::Cycle, message);
                    self.report.add(fault.suggest("remove this dependency"));
                }
            }
            self.bodies(&looped.body, around);
            around.pop();
        }
    }

    /// Reports a dependency on a `finally` step from outside `finally`.
    fn runs_last(&mut self, id: &Spot<StepId>, step: &Step) {
        let among = |steps: &[Step], id: &StepId| steps.iter().any(|step| step.id.value == *id);
        let is_last =
            |id: &StepId| among(&self.workflow.finally, id) && !among(&self.workflow.steps, id);
        if is_last(&id.value) && !is_last(&step.id.value) {
            self.report.add(names::runs_last(id.value.as_str(), id.at));
        }
    }

    /// Rejects the step id `self`, because `steps.self` means the step itself and other steps could
    /// not refer to such a step.
    fn reserved(&mut self) {
        for step in self.workflow.all_steps() {
            if step.name() == "self" {
                let fault = Finding::error(step.id.at, Rule::Id, "`self` is reserved");
                let expected = "another id: `steps.self` means the step itself";
                self.report.add(fault.expected(expected).suggest("give the step another id"));
            }
        }
    }

    /// Reports cycles of steps that wait for each other, each cycle once.
    fn cycles(&mut self) {
        for ring in self.order.rings() {
            let names: Vec<&str> = ring.iter().map(|step| step.name()).collect();
            let shown = [&names[..], &names[..1]].concat().join(" → ");
            let Some(at) = self.order.edge_place(ring[0], ring[1 % ring.len()]) else { continue };
            // A step that refers to itself is reported by other checks.
            if ring.len() == 1 {
                continue;
            }
            let message = format!("these steps depend on each other: {shown}");
            let fault = Finding::error(at, Rule::Cycle, message).actual(shown);
            self.report.add(fault.suggest("remove one of these dependencies"));
        }
    }
}
/// A rule that tests add to check what happens to workflows that were valid before the rule
/// existed. Release builds do not include it.
#[cfg(debug_assertions)]
pub mod added_rule {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::Checker;
    use crate::finding::{Finding, Rule};

    static IS_ADDED: AtomicBool = AtomicBool::new(false);

    /// Adds the rule. From then on, no workflow is valid in this process.
    pub fn add() {
        IS_ADDED.store(true, Ordering::Relaxed);
    }

    pub(super) fn check(checker: &mut Checker<'_>) {
        if IS_ADDED.load(Ordering::Relaxed) {
            let message = "a rule that was added for a test";
            checker.report.add(Finding::error(checker.root.at, Rule::DocumentKind, message));
        }
    }
}
