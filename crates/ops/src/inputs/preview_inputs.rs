//! `workflow.preview_inputs`: the inputs of a workflow, and the status of each.

use milepost_model::input::{InputType, Mode};
use milepost_model::workflow::Workflow;

use super::gather::{GatheredInputs, InputOrigin, InputStatus, gather};
use super::offer::{ProviderQuery, ProviderView};
use super::past_runs::PastRuns;
use super::resolve::{SplitInputs, roots};
use super::rules::{self, DefaultView, JoinView, RulesView};
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
}

/// A workflow's inputs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// Its inputs, in prompting order.
    pub inputs: Vec<InputView>,
    /// Required inputs that have no value yet.
    pub required_missing: Vec<String>,
    /// Everything that is wrong with the given values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<InputViolation>,
    /// Non-blocking warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InputView {
    /// Its name in expressions.
    pub name: String,
    /// Its name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The type of its value.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub kind: InputType,
    /// What the value is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Placeholder text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Help text shown next to the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// An example value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// `multiple` if it takes a list of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mode: Option<Mode>,
    /// How several values are joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<JoinView>,
    /// Whether a run needs a value from the caller: it is not optional and has no default.
    pub required: bool,
    /// Whether its value is never shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// The source of its value if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultView>,
    /// Constraints on its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<RulesView>,
    /// Which fields of a choice to use.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub select: Map<String, Value>,
    /// Where its choices come from; only `workflow.resolve_inputs` fetches them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderView>,
    /// Its current value, as expressions read it; secrets are placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Its status.
    pub status: InputStatus,
    /// Where its value came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<InputOrigin>,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

operation! {
    /// Shows the inputs of a workflow.
    PreviewInputs: "workflow.preview_inputs", "Preview inputs",
        include_str!("preview_inputs.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("workflow inputs")];
    run: preview_inputs(Reader, Request) -> Response;
    example: {"workflow_id": "refund-order"};
}

async fn preview_inputs(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let id = request.workflow_id.as_deref();
    let subject = WorkflowSubject::find(reader, request.manifest.as_ref(), id)?;
    let workflow = subject.workflow()?;
    let past = PastRuns::of(reader, call, workflow).await;
    let gathered = gather(reader, workflow, &request.partial_inputs, &past)?;
    let inputs = views(reader, workflow, &gathered)?;
    let missing = inputs.iter().filter(|input| input.status == InputStatus::Missing);
    Ok(Response {
        workflow_id: workflow.id.value.to_string(),
        required_missing: missing.map(|input| input.name.clone()).collect(),
        violations: gathered.faults.iter().map(InputViolation::from).collect(),
        warnings: gathered.warnings,
        inputs,
    })
}

fn views(
    reader: &Reader,
    workflow: &Workflow,
    gathered: &GatheredInputs,
) -> Result<Vec<InputView>> {
    let split = SplitInputs::of(workflow, gathered);
    let mask = split.mask();
    let roots = roots(reader, split.real.clone())?;
    let declared = workflow.inputs.0.iter().zip(&gathered.inputs);
    let views = declared.map(|((name, input), state)| {
        let name = name.value.as_str();
        let provider = input.provider.as_ref().map(|provider| {
            let offer = ProviderQuery { name, input, provider, roots: &roots, mask: &mask };
            offer.unasked().0.provided
        });
        let path = super::violation::path(name);
        let fault = gathered.faults.iter().find(|fault| {
            let rest = fault.path.strip_prefix(&path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        InputView {
            name: name.to_owned(),
            label: input.name.clone(),
            kind: input.input_type(),
            description: input.description.clone(),
            placeholder: input.placeholder.clone(),
            hint: input.hint.clone(),
            example: input.example.clone(),
            mode: input.mode.filter(|mode| *mode == Mode::Multiple),
            join: rules::join_of(input),
            required: input.is_required(),
            secret: input.is_secret(),
            default: rules::default_of(input),
            rules: RulesView::of(input),
            select: rules::select_of(input),
            provider,
            value: split.shown.get(name).cloned(),
            status: state.status,
            origin: state.origin,
            problem: fault.map(|fault| fault.message.clone()),
        }
    });
    Ok(views.collect())
}
