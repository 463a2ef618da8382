//! What a run would do, before it starts: the order of its steps, and the requests that the inputs
//! alone determine. Nothing is sent and no secret is read.

mod draft_step;
mod knowledge;
pub mod preview_rendered;
pub mod step_plan;

use milepost_model::workflow::Workflow;

use self::knowledge::Knowledge;
use crate::inputs::{GatheredInputs, PastRuns, WorkflowSubject, gather};
use crate::prelude::*;
use crate::run::effect_bound;

/// What a run with these inputs can change, one line each.
fn can_change(reader: &Reader, workflow: &Workflow, inputs: &Map<String, Value>) -> Vec<String> {
    effect_bound::preview(reader, workflow, inputs).lines(limits::BOUND_LINES)
}

/// Which workflow, and its inputs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// The workflow as text or as an object.
    pub manifest: Option<Value>,
    /// Or a workflow's id.
    pub workflow_id: Option<String>,
    /// Inputs known so far.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
}

impl PreviewRequest {
    fn subject(&self, reader: &Reader) -> Result<WorkflowSubject> {
        WorkflowSubject::find(reader, self.manifest.as_ref(), self.workflow_id.as_deref())
    }

    /// What can be determined from the inputs; invalid inputs are rejected.
    async fn knowledge(
        &self,
        reader: &Reader,
        call: &dyn Caller,
        workflow: &Workflow,
    ) -> Result<(GatheredInputs, Knowledge)> {
        let past = PastRuns::of(reader, call, workflow).await;
        let gathered = gather(reader, workflow, &self.inputs, &past)?;
        gathered.refuse_wrong(workflow)?;
        let knowledge = Knowledge::of(reader, workflow, &gathered)?;
        Ok((gathered, knowledge))
    }
}
