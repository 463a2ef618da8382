//! `workflow.pause`: pauses a run, which then starts no new work until it is resumed.

use milepost_engine::signal::Signal;

use super::prepare;
use super::view::RunView;
use crate::prelude::*;

/// The run to pause.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Run id.
    pub run_id: String,
}

operation! {
    PauseRun: "workflow.pause", "Pause a run",
        "Pause a run: work in flight is completed, and nothing new starts until the run is \
         resumed.";
    doors: [Door::Command("pause")];
    run: pause_run(Writer, Request) -> RunView;
    example: {"run_id": "run_00000000000000000000000001"};
}

async fn pause_run(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    let runs = writer.runs()?;
    let run = super::find(runs, call, &request.run_id).await?;
    let by = prepare::actor(call);
    super::tell(runs, &run, Signal::Pause { by }).await?;
    super::view(runs, &run).await
}
