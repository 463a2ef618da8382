//! What earlier runs left behind that a later run may start with.

use std::fmt::Debug;
use std::path::Path;

use milepost_model::id::WorkflowId;

use crate::prelude::*;

/// Queries about earlier runs. They never return values of secret inputs.
pub trait PastRuns: Debug + Send + Sync {
    /// The value used last for a workflow's input in a workspace.
    fn last_value(&self, workspace: &Path, workflow: &WorkflowId, input: &str) -> Option<Value>;

    /// The final output of a workflow's latest successful run.
    fn newest_output(&self, workflow: &WorkflowId) -> Option<Value>;
}

/// A history without runs.
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
