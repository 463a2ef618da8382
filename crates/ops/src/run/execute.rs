//! `workflow.execute`: a run that its client follows as a task.

use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::start::{self, Start};
use super::view::RunView;
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::tool::{Task, Tool};
use crate::writer::Writer;

/// Starts a run for a client that knows tasks.
#[derive(Debug)]
pub struct Execute;

/// What to run, and with what. A task is answered at once: there is nothing to wait for.
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
    /// The same key twice starts one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub idempotency_key: Option<String>,
}

impl Later for Execute {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = "workflow.execute";
    const TITLE: &'static str = "Run a workflow as a task";
    const DESCRIPTION: &'static str = include_str!("execute.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL.calls_out().task(Task::Required))];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        let Request { workflow_id, manifest, inputs, mock, relaxed, idempotency_key } = request;
        let wait_s = 0;
        let request = start::Request {
            workflow_id,
            manifest,
            inputs,
            mock,
            relaxed,
            wait_s,
            idempotency_key,
            dry_run: false,
        };
        Start::run(writer, call, request).await
    }

    fn example() -> Request {
        let start::Request { workflow_id, inputs, .. } = Start::example();
        Request { workflow_id, inputs, ..Request::default() }
    }
}
