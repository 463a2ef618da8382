//! `workflow.resolve_inputs`: the values a run would start with, the choices for the rest, and
//! whether it could start.

use std::collections::BTreeMap;

use milepost_model::problem::Argument;

use super::gather::{InputState, InputStatus, gather};
use super::offer::{ProviderOutcome, ProviderView};
use super::past_runs::PastRuns;
use super::resolve::{ProviderScope, SplitInputs, look};
use super::subject::WorkflowSubject;
use super::violation::InputViolation;
use crate::prelude::*;

/// A workflow and the inputs known so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workflow as text or as an object.
    pub manifest: Option<Value>,
    /// Or a workflow's id.
    pub workflow_id: Option<String>,
    /// Values known so far, by input.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub partial_inputs: Map<String, Value>,
    /// Also fetches choices for inputs with a value.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub all_choices: bool,
}

/// The values, and those that are missing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflow's id.
    pub workflow_id: String,
    /// Whether a run could start: all required values are present and valid, and no provider failed
    /// or needs a person.
    pub ready: bool,
    /// Whether all required values are present and valid.
    pub valid: bool,
    /// The status of each input, in prompting order.
    pub inputs: Vec<InputState>,
    /// Values that came from defaults.
    pub defaults: Map<String, Value>,
    /// All values, as expressions read them; secrets are placeholders.
    pub resolved: Map<String, Value>,
    /// Everything that keeps a run from starting.
    pub violations: Vec<InputViolation>,
    /// The results of provider queries, by input.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderView>,
    /// Non-blocking warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

operation! {
    /// Resolves the inputs of a workflow.
    ResolveInputs: "workflow.resolve_inputs", "Resolve inputs",
        include_str!("resolve_inputs.md");
    doors: [
        Door::Tool(Tool { calls_out: true, ..Tool::FULL }),
        Door::Command("workflow inputs --choices"),
    ];
    run: resolve_inputs(Writer, Request) -> Response;
    example: {"workflow_id": "refund-order"};
}

async fn resolve_inputs(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    let reader = &writer.reader;
    let id = request.workflow_id.as_deref();
    let subject = WorkflowSubject::find(reader, request.manifest.as_ref(), id)?;
    let workflow = subject.workflow()?;
    let past = PastRuns::of(reader, call, workflow).await;
    let gathered = gather(reader, workflow, &request.partial_inputs, &past)?;
    let asking = if request.all_choices { ProviderScope::All } else { ProviderScope::Open };
    let looked = look(writer, call, workflow, &gathered, asking).await?;
    let resolved = SplitInputs::of(workflow, &gathered).shown;
    let faults: Vec<&Argument> = gathered.faults.iter().chain(&looked.faults).collect();
    let waits = looked.providers.values().any(|provided| {
        matches!(provided.outcome, ProviderOutcome::Prompt | ProviderOutcome::Error)
    });
    let by_default = gathered.inputs.iter().filter(|input| input.status == InputStatus::Default);
    let defaults = by_default.filter_map(|input| resolved.get_key_value(&input.name));
    let defaults = defaults.map(|(name, value)| (name.clone(), value.clone())).collect();
    Ok(Response {
        workflow_id: workflow.id.value.to_string(),
        ready: faults.is_empty() && !waits,
        valid: gathered.faults.is_empty(),
        inputs: gathered.inputs,
        defaults,
        violations: faults.into_iter().map(InputViolation::from).collect(),
        resolved,
        providers: looked.providers,
        warnings: gathered.warnings.into_iter().chain(looked.warnings).collect(),
    })
}
