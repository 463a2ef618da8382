//! What earlier runs remember, for defaults of inputs.

use std::path::Path;

use milepost_engine::state::End;
use milepost_model::id::{InputName, RunId, WorkflowId};
use milepost_store::runs::Runs;
use serde_json::Value;

use super::journal;
use crate::inputs::Past;

/// The past as the journal has it.
#[derive(Debug)]
pub(crate) struct Journaled<'r> {
    pub(crate) runs: &'r Runs,
}

impl Past for Journaled<'_> {
    fn last_value(&self, workspace: &Path, workflow: &WorkflowId, input: &str) -> Option<Value> {
        let input = InputName::parse(input).ok()?;
        let workspace = workspace.display().to_string();
        let text = self.runs.last_input(&workspace, workflow, &input).ok().flatten()?;
        serde_json::from_str(&text).ok()
    }

    fn newest_output(&self, workflow: &WorkflowId) -> Option<Value> {
        let row = self.runs.newest_succeeded(workflow).ok().flatten()?;
        output(self.runs, &row.id)
    }
}

fn output(runs: &Runs, run: &RunId) -> Option<Value> {
    match journal::load(runs, run).ok()?.state.end? {
        End::Succeeded(output) => output,
        End::Failed(_) | End::Canceled => None,
    }
}
