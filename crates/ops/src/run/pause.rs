//! `workflow.pause`: nothing new begins until the run is resumed.

use milepost_engine::signal::Signal;
use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::begin;
use super::view::RunView;
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::writer::Writer;

/// Pauses a run.
#[derive(Debug)]
pub struct Pause;

/// Which run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run.
    pub run_id: String,
}

impl Later for Pause {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = "workflow.pause";
    const TITLE: &'static str = "Pause a run";
    const DESCRIPTION: &'static str =
        "Pause a run: what is on its way comes to its end, nothing new begins until it is resumed.";
    const DOORS: &'static [Door] = &[Door::Command("pause")];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        let runs = writer.runs()?;
        let run = super::find(runs, &request.run_id).await?;
        let by = begin::actor(call);
        super::tell(runs, &run, Signal::Pause { by }).await?;
        super::view(runs, &run).await
    }

    fn example() -> Request {
        Request { run_id: "run_00000000000000000000000001".to_owned() }
    }
}
