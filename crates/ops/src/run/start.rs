//! `workflow.run`: a run, started once it is on disk.

use std::time::Duration;

use milepost_model::problem::{Code, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::begin::{self, StartOptions};
use super::errors::of_run;
use super::view::RunView;
use crate::call::Call;
use crate::inputs::Violation;
use crate::later::Later;
use crate::limits;
use crate::operation::Door;
use crate::preview::preview_rendered::{self, PreviewRendered, RenderedStep};
use crate::tool::{Task, Tool};
use crate::writer::Writer;

/// Starts a run.
#[derive(Debug)]
pub struct Start;

/// Starts a run, or shows what it would do.
#[derive(Debug)]
pub struct StartOrShow;

/// What to run, and with what.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A workflow of the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// Or the text of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Value>,
    /// Its inputs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// Mocks answer; nothing is sent.
    #[serde(default)]
    pub mock: bool,
    /// Shows it and runs nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The run need not survive a loss of power; it is acknowledged before it is on disk.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub relaxed: bool,
    /// Seconds to wait, at most 25.
    #[serde(default)]
    pub wait_s: u64,
    /// The same key twice starts one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub idempotency_key: Option<String>,
}

impl Later for Start {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = StartOrShow::NAME;
    const TITLE: &'static str = StartOrShow::TITLE;
    const DESCRIPTION: &'static str = StartOrShow::DESCRIPTION;
    const DOORS: &'static [Door] = StartOrShow::DOORS;

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        if request.dry_run {
            let hint = "ask for the requests of the workflow instead";
            return Err(Problem::new(Code::ParamsInvalid, "this starts runs", hint));
        }
        let runs = writer.runs()?;
        let wish = StartOptions {
            manifest: request.manifest,
            workflow_id: request.workflow_id,
            inputs: request.inputs,
            mock: request.mock,
            relaxed: request.relaxed,
            key: request.idempotency_key,
            own: false,
        };
        let prepared = begin::run(writer, call, wish).await?;
        let run = runs.start(prepared).await.map_err(|error| of_run(&error))?;
        let patience = Duration::from_secs(request.wait_s.min(limits::RUN_WAIT_MAX_S));
        super::follow(runs, call, &run, patience).await
    }

    fn example() -> Request {
        let inputs = [("order_id".to_owned(), Value::from("1001"))].into_iter().collect();
        let workflow_id = Some("refund-order".to_owned());
        Request { workflow_id, inputs, ..Request::default() }
    }
}

/// What `workflow.run` answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Response {
    /// The run that was started.
    Run(Box<RunView>),
    /// What one would do.
    Dry(DryRun),
}

/// What stands in the place of the status of a run that was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DryStatus {
    /// Nothing was started.
    DryRun,
}

/// What a run would send and say; there is none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DryRun {
    /// The workflow.
    pub workflow: String,
    /// `dry_run`.
    #[schemars(with = "String")]
    pub status: DryStatus,
    /// Its steps in order, as far as they are known.
    pub steps: Vec<RenderedStep>,
    /// Inputs that a run needs and that have no value yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Violation>,
}

impl Later for StartOrShow {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "workflow.run";
    const TITLE: &'static str = "Run a workflow";
    const DESCRIPTION: &'static str = include_str!("start.md");
    const DOORS: &'static [Door] =
        &[Door::Tool(Tool::WORK.calls_out().task(Task::Optional)), Door::Command("run")];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<Response, Problem> {
        if !request.dry_run {
            let run = Start::run(writer, call, request).await?;
            return Ok(Response::Run(Box::new(run)));
        }
        let wish = preview_rendered::Request {
            manifest: request.manifest,
            workflow_id: request.workflow_id,
            inputs: request.inputs,
        };
        let seen = PreviewRendered::run(&writer.reader, call, wish).await?;
        Ok(Response::Dry(DryRun {
            workflow: seen.workflow_id,
            status: DryStatus::DryRun,
            steps: seen.steps,
            missing: seen.missing,
        }))
    }

    fn example() -> Request {
        Start::example()
    }
}
