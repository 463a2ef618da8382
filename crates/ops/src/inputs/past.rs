//! What earlier runs left behind that a later one may begin with.

use std::fmt::Debug;
use std::path::Path;

use milepost_model::id::WorkflowId;
use serde_json::Value;

/// Answers from earlier runs. Values of secret inputs are never among them.
pub trait Past: Debug + Send + Sync {
    /// The value last used for an input of a workflow in a workspace.
    fn last_value(&self, workspace: &Path, workflow: &WorkflowId, input: &str) -> Option<Value>;

    /// The final output of the newest succeeded run of a workflow.
    fn newest_output(&self, workflow: &WorkflowId) -> Option<Value>;
}

/// Nothing ever ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPast;

impl Past for NoPast {
    fn last_value(&self, _: &Path, _: &WorkflowId, _: &str) -> Option<Value> {
        None
    }

    fn newest_output(&self, _: &WorkflowId) -> Option<Value> {
        None
    }
}
