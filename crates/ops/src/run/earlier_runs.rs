//! Values from earlier runs, for the defaults of inputs.

use std::collections::BTreeMap;
use std::path::Path;

use milepost_driver::load;
use milepost_engine::state::End;
use milepost_model::id::{InputName, RunId, WorkflowId};
use milepost_model::input::DefaultFrom;
use milepost_model::workflow::Workflow;

use super::ports::RunPorts;
use crate::inputs::PastRuns;
use crate::prelude::*;

/// The values that a workflow's defaults take from earlier runs, loaded before the defaults are
/// resolved.
#[derive(Debug, Default)]
pub(crate) struct JournaledPast {
    values: BTreeMap<String, Value>,
    outputs: BTreeMap<WorkflowId, Value>,
}

impl JournaledPast {
    /// Loads what the defaults of a workflow refer to. Values that cannot be read count as absent.
    pub(crate) async fn of(runs: &RunPorts, workspace: &Path, workflow: &Workflow) -> Self {
        let mut past = JournaledPast::default();
        for (name, input) in &workflow.inputs.0 {
            let Some(default) = input.default.as_ref().map(|default| &default.0) else { continue };
            match default.from {
                DefaultFrom::History if !input.is_secret() => {
                    let value = last_value(runs, workspace, &workflow.id.value, &name.value).await;
                    past.values.extend(value.map(|value| (name.value.clone(), value)));
                }
                DefaultFrom::WorkflowOutput => {
                    let text = default.value.as_ref().and_then(|value| value.value.as_str());
                    let Some(Ok(id)) = text.map(WorkflowId::parse) else { continue };
                    let output = newest_output(runs, &id).await;
                    past.outputs.extend(output.map(|output| (id, output)));
                }
                DefaultFrom::History | DefaultFrom::Literal | DefaultFrom::Env => {}
            }
        }
        past
    }
}

impl PastRuns for JournaledPast {
    fn last_value(&self, _: &Path, _: &WorkflowId, input: &str) -> Option<Value> {
        self.values.get(input).cloned()
    }

    fn newest_output(&self, workflow: &WorkflowId) -> Option<Value> {
        self.outputs.get(workflow).cloned()
    }
}

async fn last_value(
    runs: &RunPorts,
    workspace: &Path,
    workflow: &WorkflowId,
    input: &str,
) -> Option<Value> {
    let input = InputName::parse(input).ok()?;
    let workspace = workspace.display().to_string();
    let text = runs.history.last_input(&workspace, workflow, &input).await.ok().flatten()?;
    serde_json::from_str(&text).ok()
}

async fn newest_output(runs: &RunPorts, workflow: &WorkflowId) -> Option<Value> {
    let run: RunId = runs.history.newest_succeeded(workflow).await.ok().flatten()?;
    match load(&*runs.journal, &run).await.ok()?.state.end? {
        End::Succeeded(output) => output,
        End::Failed(_) | End::Canceled => None,
    }
}
