//! `workflow.run`: a run, started once it is on disk.

use std::time::Duration;

use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::begin::{self, Wish};
use super::view::RunView;
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::tool::{Task, Tool};
use crate::writer::Writer;

/// Starts a run.
#[derive(Debug)]
pub struct Start;

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

    const NAME: &'static str = "workflow.run";
    const TITLE: &'static str = "Run a workflow";
    const DESCRIPTION: &'static str = include_str!("start.md");
    const DOORS: &'static [Door] =
        &[Door::Tool(Tool::WORK.calls_out().task(Task::Optional)), Door::Command("run")];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        let drive = writer.drive()?;
        let wish = Wish {
            manifest: request.manifest,
            workflow_id: request.workflow_id,
            inputs: request.inputs,
            mock: request.mock,
            relaxed: request.relaxed,
            key: request.idempotency_key,
            own: false,
        };
        let beginning = begin::run(writer, &drive, call, wish).await?;
        let run = drive.start(beginning).await?;
        let patience = Duration::from_secs(request.wait_s.min(super::WAIT_MAX_S));
        drive.inner.sight.follow_for(call, &run, patience).await
    }

    fn example() -> Request {
        let inputs = [("order_id".to_owned(), Value::from("1001"))].into_iter().collect();
        let workflow_id = Some("refund-order".to_owned());
        Request { workflow_id, inputs, ..Request::default() }
    }
}
