//! What earlier runs left behind that a later one may begin with.

use std::fmt::Debug;
use std::path::Path;

use milepost_model::id::WorkflowId;

use crate::prelude::*;

/// Answers from earlier runs. Values of secret inputs are never among them.
pub trait PastRuns: Debug + Send + Sync {
    /// The value last used for an input of a workflow in a workspace.
    fn last_value(&self, workspace: &Path, workflow: &WorkflowId, input: &str) -> Option<Value>;

    /// The final output of the newest succeeded run of a workflow.
    fn newest_output(&self, workflow: &WorkflowId) -> Option<Value>;
}

/// Nothing ever ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPastRuns;

impl PastRuns for NoPastRuns {
    fn last_value(&self, _: &Path, _: &WorkflowId, _: &str) -> Option<Value> {
        None
    }

    fn newest_output(&self, _: &WorkflowId) -> Option<Value> {
        None
    }
}
