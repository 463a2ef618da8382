//! `workflow.run`: starts a run, which is on disk when the call returns.

use std::time::Duration;

use super::prepare;
use super::view::RunView;
use crate::inputs::InputViolation;
use crate::masked_values;
use crate::prelude::*;
use crate::preview::preview_rendered::{self, PreviewRequests, RenderedStep};
use crate::trust::review;

/// What to run, and its inputs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A workflow id.
    pub workflow_id: Option<String>,
    /// Or its source.
    pub manifest: Option<Value>,
    /// Its inputs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// Mocks answer; nothing is sent.
    #[serde(default)]
    pub mock: bool,
    /// Only shows what would run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The run need not survive a power loss; it is acknowledged before it is on disk.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub relaxed: bool,
    /// Seconds to wait, at most 25.
    #[serde(default)]
    pub wait_s: u64,
    /// Repeating a key starts only one run.
    #[schemars(extend("x-rare" = true))]
    pub idempotency_key: Option<String>,
}

operation! {
    StartRun: RunWorkflow::NAME, RunWorkflow::TITLE, RunWorkflow::DESCRIPTION;
    doors: RunWorkflow::DOORS;
    run: start_run(Writer, Request) -> RunView;
    example: {"workflow_id": "refund-order", "inputs": {"order_id": "1001"}};
}

async fn start_run(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    if request.dry_run {
        let hint = "preview the workflow's requests instead";
        return Err(Problem::new(Code::ParamsInvalid, "`dry_run` cannot be used here", hint));
    }
    masked_values::refuse_in_map("inputs", &request.inputs)?;
    masked_values::refuse("manifest", request.manifest.as_ref())?;
    let runs = writer.runs()?;
    let patience = Duration::from_secs(request.wait_s.min(limits::RUN_WAIT_MAX_S));
    // What a person runs at a terminal, they have looked at.
    let looked_at = request.workflow_id.clone().filter(|_| !request.mock);
    let prepared = prepare::run(writer, call, request).await?;
    let run = runs.start(prepared).await.or_problem()?;
    if let Some(id) = looked_at {
        review::note(writer, call, &id)?;
    }
    super::follow(runs, call, &run, patience).await
}

/// The result of `workflow.run`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Response {
    /// The run that was started.
    Run(Box<RunView>),
    /// What a run would do.
    Dry(DryRun),
}

/// The status of a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DryStatus {
    /// Nothing was started.
    DryRun,
}

/// What a run would send and display; none was started.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DryRun {
    /// The workflow.
    pub workflow: String,
    /// `dry_run`.
    #[schemars(with = "String")]
    pub status: DryStatus,
    /// Its steps in order, with what is known.
    pub steps: Vec<RenderedStep>,
    /// Required inputs that have no value yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<InputViolation>,
    /// What the run can change, and which origins it reads from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can_change: Vec<String>,
}

operation! {
    /// Starts a run, or shows what it would do.
    RunWorkflow: "workflow.run", "Run a workflow", include_str!("start.md");
    doors: [
        Door::Tool(Tool { calls_out: true, task: Task::Optional, ..Tool::WORK }),
        Door::Command("run"),
    ];
    run: run_workflow(Writer, Request) -> Response;
    example: {"workflow_id": "refund-order", "inputs": {"order_id": "1001"}};
}

async fn run_workflow(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    if !request.dry_run {
        let run = StartRun::run(writer, call, request).await?;
        return Ok(Response::Run(Box::new(run)));
    }
    let wish = preview_rendered::Request {
        manifest: request.manifest,
        workflow_id: request.workflow_id,
        inputs: request.inputs,
    };
    let seen = PreviewRequests::run(&writer.reader, call, wish).await?;
    Ok(Response::Dry(DryRun {
        workflow: seen.workflow_id,
        status: DryStatus::DryRun,
        steps: seen.steps,
        missing: seen.missing,
        can_change: seen.can_change,
    }))
}
