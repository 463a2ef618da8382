//! `workflow.execute`: starts a run that the client follows as a task.

use super::start::{self, StartRun};
use super::view::RunView;
use crate::prelude::*;

/// What to run. A task is returned at once, so there is no `wait_s`.
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
    /// The run need not survive a power loss; it is acknowledged before it is on disk.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub relaxed: bool,
    /// Repeating a key starts only one run.
    #[schemars(extend("x-rare" = true))]
    pub idempotency_key: Option<String>,
}

operation! {
    /// Starts a run for a client that supports tasks.
    ExecuteWorkflow: "workflow.execute", "Run a workflow as a task",
        include_str!("execute.md");
    doors: [Door::Tool(Tool { calls_out: true, task: Task::Required, ..Tool::FULL })];
    run: execute_workflow(Writer, Request) -> RunView;
    example: {"workflow_id": "refund-order", "inputs": {"order_id": "1001"}};
}

async fn execute_workflow(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    let Request { workflow_id, manifest, inputs, mock, relaxed, idempotency_key } = request;
    let started = start::Request { workflow_id, manifest, inputs, ..start::Request::default() };
    let request = start::Request { mock, relaxed, idempotency_key, ..started };
    StartRun::run(writer, call, request).await
}
