//! Warns about unguarded writes, based on the effects of the commands.
//!
//! Each step gets at most one warning, the most specific one.

use std::collections::HashSet;

use crate::check::Checker;
use crate::commands::{Effect, Lookup};
use crate::finding::{Finding, Rule};
use crate::step::{Action, Run, Step};
use crate::target::Target;

/// A call at the top level or in a loop, and what guards it there.
struct Inner<'s> {
    step: &'s Step,
    run: &'s Run,
    /// Whether an approval precedes the call in its loop.
    approved: bool,
    /// Whether the call or an enclosing loop has a condition.
    conditional: bool,
}

impl Checker<'_> {
    pub(crate) fn writes(&mut self) {
        let steps = &self.order.steps;
        let mut looked: HashSet<String> = HashSet::new();
        for index in self.order.sequence() {
            let mut calls = Vec::new();
            inner(steps[index], (false, false), &mut calls);
            for call in calls {
                self.write(index, &call, &mut looked);
            }
        }
    }

    fn write(&mut self, index: usize, call: &Inner<'_>, looked: &mut HashSet<String>) {
        let run = call.run;
        let Some((effect, may_repeat)) = self.effect(run) else { return };
        let resource = resource(&run.target.value);
        if effect == Effect::Read {
            looked.insert(resource);
            return;
        }
        if self.may_be_guarded(index) {
            return;
        }
        let approved = call.approved
            || self.waits_for(index, |step| matches!(step.action, Action::Approve(_)));
        let guarded = approved || call.conditional;
        let repeatable = may_repeat || run.idempotent == Some(true);
        let (rule, message, then) = if !repeatable && !approved {
            (
                Rule::UnapprovedWrite,
                "makes a request that must not be repeated, without approval",
                "add an `approve` step and depend on it",
            )
        } else if effect == Effect::Create && !looked.contains(&resource) && !guarded {
            (
                Rule::CreateWithoutCheck,
                "creates something without checking whether it exists",
                "list or get it first, and run this step only if it does not exist",
            )
        } else if looked.is_empty() && !guarded {
            (Rule::WriteBeforeCheck, "writes before reading anything", "read what it changes first")
        } else if !guarded {
            (
                Rule::UnguardedWrite,
                "writes without a guard",
                "add an `if`, or an `approve` step to depend on",
            )
        } else {
            return;
        };
        let message = format!("step `{}` {message}", call.step.id.value);
        self.report.add(Finding::warning(run.target.at, rule, message).suggest(then));
    }

    /// Whether a guard may be hidden in a part that could not be read, in the step or in one it
    /// waits for.
    fn may_be_guarded(&self, index: usize) -> bool {
        let unread = |step: &Step| {
            step.depends_on.iter().any(|id| self.step(id.value.as_str()).is_none())
                || self.report.has_error_in(step.at)
        };
        unread(self.order.steps[index]) || self.waits_for(index, unread)
    }

    fn effect(&self, run: &Run) -> Option<(Effect, bool)> {
        let Target::Command(command) = &run.target.value else { return None };
        match self.world.commands.command(command) {
            Lookup::Known(info) => Some((info.effect, info.may_repeat)),
            _ => None,
        }
    }

    /// Whether a step waits, directly or indirectly, for one that matches a predicate.
    fn waits_for(&self, index: usize, is: impl Fn(&Step) -> bool) -> bool {
        let steps = &self.order.steps;
        let mut seen = HashSet::new();
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            for other in self.order.waits(index) {
                if is(steps[other]) {
                    return true;
                }
                if seen.insert(other) {
                    open.push(other);
                }
            }
        }
        false
    }
}

/// Collects a step's calls; those inside a loop are in document order.
fn inner<'s>(step: &'s Step, (approved, conditional): (bool, bool), found: &mut Vec<Inner<'s>>) {
    let conditional = conditional || step.when.is_some();
    match &step.action {
        Action::Run(run) => found.push(Inner { step, run, approved, conditional }),
        Action::Loop(looped) => {
            let mut approved = approved;
            for one in &looped.body {
                inner(one, (approved, conditional), found);
                approved |= matches!(one.action, Action::Approve(_));
            }
        }
        _ => {}
    }
}

/// A target's resource: `shop orders:create` and `shop orders:list` refer to the same one.
fn resource(target: &Target) -> String {
    let words = target.to_string();
    words.rsplit_once(':').map_or(words.clone(), |(resource, _)| resource.to_owned())
}
