//! `workflow.cancel`: a run is stopped.

use milepost_engine::signal::Signal;
use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::begin;
use super::view::RunView;
use crate::call::{Alone, Call};
use crate::later::Later;
use crate::limits;
use crate::operation::Door;
use crate::tool::Tool;
use crate::writer::Writer;

/// Stops a run.
#[derive(Debug)]
pub struct Cancel;

/// Which run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run.
    #[schemars(extend("x-also" = "operation_id"))]
    pub run_id: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Later for Cancel {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = "workflow.cancel";
    const TITLE: &'static str = "Cancel a run";
    const DESCRIPTION: &'static str = include_str!("cancel.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL.repeats()), Door::Command("cancel")];

    async fn loss(writer: &Writer, request: &Request) -> Result<Option<String>, Problem> {
        let runs = writer.reader.runs();
        let run = super::find(runs, &request.run_id).await?;
        let ended = super::view(runs, &run).await?.next.is_none();
        Ok((!ended).then(|| format!("This stops run `{run}` where it is.")))
    }

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        let runs = writer.runs()?;
        let run = super::find(runs, &request.run_id).await?;
        let by = begin::actor(call);
        let signal = Signal::Cancel { by, reason: request.reason };
        super::tell(runs, &run, signal).await?;
        super::follow(runs, &Alone, &run, limits::CANCEL_WAIT).await
    }

    fn example() -> Request {
        let run_id = "run_00000000000000000000000001".to_owned();
        Request { run_id, reason: Some("no longer needed".to_owned()) }
    }
}
