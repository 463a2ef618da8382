//! Executions that are found without a look at all of them. All of it follows from the executions.

use std::collections::BTreeSet;

use super::step::{Phase, StepState};
use crate::event::step_key::StepKey;

/// Executions by how they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StepIndex {
    /// Those that have begun and are not over.
    pub(super) open: BTreeSet<StepKey>,
    /// Those that failed.
    pub(super) failed: BTreeSet<StepKey>,
    /// Those that a person said yes to, and that are over.
    pub(super) approved: BTreeSet<StepKey>,
}

impl StepIndex {
    /// Notes how an execution stands now.
    pub(super) fn note(&mut self, key: &StepKey, step: Option<&StepState>) {
        let is = |holds: fn(&StepState) -> bool| step.is_some_and(holds);
        let approved = is(|step| {
            step.phase == Phase::Succeeded && step.request.is_some() && step.verdict.is_some()
        });
        for (set, belongs) in [
            (&mut self.open, is(StepState::is_open)),
            (&mut self.failed, is(|step| step.phase == Phase::Failed)),
            (&mut self.approved, approved),
        ] {
            if !belongs {
                set.remove(key);
            } else if !set.contains(key) {
                set.insert(key.clone());
            }
        }
    }
}
