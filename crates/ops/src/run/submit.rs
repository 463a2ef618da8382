//! `workflow.submit`: an agent hands in what it did.

use milepost_driver::SignalRequest;
use milepost_engine::signal::{Reply, Signal, SubmissionSignal};

use super::errors::refused;
use super::prepare;
use super::view::{IssueView, RunView};
use crate::author::no_secrets;
use crate::prelude::*;

/// What was done.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run.
    pub run_id: String,
    /// The one that is due unless given.
    pub step_id: Option<String>,
    /// A text, or a value that fits the step's schema.
    pub output: Option<Value>,
    /// Variables to add to the run's.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// Which try this is; a late submission of an earlier one is then refused.
    #[schemars(extend("x-rare" = true))]
    pub attempt: Option<u32>,
}

/// What became of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Whether it will do. Absent while it is still being checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// Everything that is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueView>,
    /// Tries that are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_left: Option<u32>,
    /// The run as it stands now, with the next step.
    pub run: RunView,
}

operation! {
    /// Hands in what an agent did.
    SubmitStep: "workflow.submit", "Hand in a step", include_str!("submit.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::WORK }), Door::Command("submit")];
    run: submit_step(Writer, Request) -> Response;
    example: {
        "run_id": "run_00000000000000000000000001",
        "step_id": "decide",
        "output": {"refund": true, "why": "it arrived broken"},
    };
}

async fn submit_step(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    let runs = writer.runs()?;
    let run = super::find(runs, &request.run_id).await?;
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
    // What follows at once belongs into the answer: it spares the caller a call.
    let run = super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await?;
    Ok(Response { accepted, issues, attempts_left, run })
}
