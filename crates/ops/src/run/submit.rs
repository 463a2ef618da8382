//! `workflow.submit`: an agent submits the output of a step.

use milepost_driver::SignalRequest;
use milepost_engine::signal::{Reply, Signal, SubmissionSignal};

use super::errors::refused;
use super::prepare;
use super::view::{IssueView, RunView};
use crate::author::no_secrets;
use crate::masked_values;
use crate::prelude::*;

/// What was done.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Run id.
    pub run_id: String,
    /// Defaults to the one that is due.
    pub step_id: Option<String>,
    /// A string, or a value that matches the schema.
    pub output: Option<Value>,
    /// Variables to add to the run.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// The attempt number; a late submission for an earlier one is rejected.
    #[schemars(extend("x-rare" = true))]
    pub attempt: Option<u32>,
}

/// The result of a submission.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Whether it was accepted; absent while being checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// Everything that is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueView>,
    /// Remaining attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_left: Option<u32>,
    /// The run's new state, with the next step.
    pub run: RunView,
}

operation! {
    /// Submits an agent's output.
    SubmitStep: "workflow.submit", "Submit a step", include_str!("submit.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::WORK }), Door::Command("submit")];
    run: submit_step(Writer, Request) -> Response;
    example: {
        "run_id": "run_00000000000000000000000001",
        "step_id": "decide",
        "output": {"refund": true, "why": "it arrived broken"},
    };
}

async fn submit_step(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    masked_values::refuse("output", request.output.as_ref())?;
    masked_values::refuse_in_map("context", &request.context)?;
    let runs = writer.runs()?;
    let run = super::find(runs, call, &request.run_id).await?;
    let view = super::view(runs, &run).await?;
    let context = Value::Object(request.context.clone());
    no_secrets(writer, &view, request.output.iter().chain([&context]))?;
    let submitted = SubmissionSignal {
        step: request.step_id,
        attempt: request.attempt,
        output: request.output,
        context: request.context,
        by: prepare::actor(call),
    };
    let (signal, patience) = (Signal::Submit(submitted), limits::SUBMIT_WAIT);
    let tell = SignalRequest { signal, id: None, text: None, patience };
    let reply = runs.send(&run, tell).await.or_problem()?;
    let (accepted, issues, attempts_left) = match reply {
        None => (None, Vec::new(), None),
        Some(Reply::Done | Reply::Accepted { .. } | Reply::Pausing { .. }) => {
            (Some(true), Vec::new(), None)
        }
        Some(Reply::Rejected { issues, attempts_left, .. }) => {
            let issues = issues.into_iter().map(IssueView::of).collect();
            (Some(false), issues, Some(attempts_left))
        }
        Some(Reply::Refused { failure }) => return Err(refused(&failure, &run)),
    };
    // Includes the immediate consequences in the response, which saves the caller a call.
    let run = super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await?;
    Ok(Response { accepted, issues, attempts_left, run })
}
