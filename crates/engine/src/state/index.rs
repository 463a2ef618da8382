//! An index of executions, so that a lookup does not have to scan all of them. It can be derived
//! from the executions.

use std::collections::BTreeSet;

use super::step::{Phase, StepState};
use crate::event::step_key::StepKey;

/// Executions by their current phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StepIndex {
    /// Executions that have started but not ended.
    pub(super) open: BTreeSet<StepKey>,
    pub(super) failed: BTreeSet<StepKey>,
    /// Executions that have ended with a person's approval.
    pub(super) approved: BTreeSet<StepKey>,
}

impl StepIndex {
    /// Updates the index after an execution has changed.
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
