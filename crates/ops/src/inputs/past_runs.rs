//! Data from earlier runs that a later run may start with. A caller with an identity gets only what
//! it gave or produced itself.

use std::collections::BTreeMap;

use milepost_driver::load;
use milepost_engine::ports::remembered_in;
use milepost_engine::state::End;
use milepost_model::id::{InputName, RunId, WorkflowId};
use milepost_model::input::DefaultFrom;
use milepost_model::workflow::Workflow;

use crate::prelude::*;
use crate::run::ports::RunPorts;

/// The values that a workflow's defaults take from earlier runs, loaded before the defaults are
/// resolved. They never include values of secret inputs.
#[derive(Debug, Default)]
pub(crate) struct PastRuns {
    /// The values used last, by input.
    pub(super) values: BTreeMap<String, Value>,
    /// The final outputs of the latest successful runs.
    pub(super) outputs: BTreeMap<WorkflowId, Value>,
}

impl PastRuns {
    /// Loads what a workflow's defaults refer to. Values that cannot be read count as absent.
    pub(crate) async fn of(reader: &Reader, call: &dyn Caller, workflow: &Workflow) -> PastRuns {
        let mut past = PastRuns::default();
        for (name, input) in &workflow.inputs.0 {
            let Some(default) = input.default.as_ref().map(|default| &default.0) else { continue };
            match default.from {
                DefaultFrom::History if !input.is_secret() => {
                    let value = last_value(reader, call, &workflow.id.value, &name.value).await;
                    past.values.extend(value.map(|value| (name.value.clone(), value)));
                }
                DefaultFrom::WorkflowOutput => {
                    let text = default.value.as_ref().and_then(|value| value.value.as_str());
                    let Some(Ok(id)) = text.map(WorkflowId::parse) else { continue };
                    let output = newest_output(&reader.ports, call, &id).await;
                    past.outputs.extend(output.map(|output| (id, output)));
                }
                DefaultFrom::History | DefaultFrom::Literal | DefaultFrom::Env => {}
            }
        }
        past
    }
}

async fn last_value(
    reader: &Reader,
    call: &dyn Caller,
    workflow: &WorkflowId,
    input: &str,
) -> Option<Value> {
    let input = InputName::parse(input).ok()?;
    let workspace = remembered_in(&reader.workspace().display().to_string(), call.principal());
    let history = &reader.ports.history;
    let text = history.last_input(&workspace, workflow, &input).await.ok().flatten()?;
    serde_json::from_str(&text).ok()
}

async fn newest_output(runs: &RunPorts, call: &dyn Caller, workflow: &WorkflowId) -> Option<Value> {
    let actor = crate::run::visible(call).actor;
    let newest = runs.history.newest_succeeded(workflow, actor.as_deref()).await;
    let run: RunId = newest.ok().flatten()?;
    match load(&*runs.journal, &run).await.ok()?.state.end? {
        End::Succeeded(output) => output,
        End::Failed(_) | End::Canceled => None,
    }
}
