//! `workflow.cancel`: stops a run.

use milepost_engine::event::ActorKind;
use milepost_engine::signal::Signal;

use super::prepare;
use super::view::RunView;
use crate::prelude::*;

/// The run to cancel.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Run id.
    #[schemars(extend("x-also" = "operation_id"))]
    pub run_id: String,
    /// Reason.
    pub reason: Option<String>,
}

operation! {
    /// Stops a run.
    CancelRun: "workflow.cancel", "Cancel a run", include_str!("cancel.md");
    doors: [Door::Tool(Tool { repeats: true, ..Tool::FULL }), Door::Command("cancel")];
    run: cancel_run(Writer, Request) -> RunView;
    loss: loss;
    example: {"run_id": "run_00000000000000000000000001", "reason": "no longer needed"};
}

async fn loss(writer: &Writer, call: &dyn Caller, request: &Request) -> Result<Option<String>> {
    let runs = writer.reader.runs();
    let run = super::find(runs, call, &request.run_id).await?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    // An agent may stop what an agent started: nothing is lost, because it can be resumed.
    if call.kind() == CallerKind::Agent && snapshot.state.head.actor.kind == ActorKind::Agent {
        return Ok(None);
    }
    let ended = super::view(runs, &run).await?.next.is_none();
    Ok((!ended).then(|| format!("this stops run `{run}` immediately")))
}

async fn cancel_run(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    let runs = writer.runs()?;
    let run = super::find(runs, call, &request.run_id).await?;
    let by = prepare::actor(call);
    let signal = Signal::Cancel { by, reason: request.reason };
    super::tell(runs, &run, signal).await?;
    super::follow(runs, &SilentCaller, &run, limits::CANCEL_WAIT).await
}
