//! `workflow.status`: how a run stands; without an id, the open runs of this workspace.

use std::time::Duration;

use milepost_model::problem::Problem;
use milepost_store::runs::RunFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::{Listed, listed};
use super::view::RunView;
use super::{begin, journal};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::writer::Writer;

/// Open runs that are listed at most.
const OPEN_MAX: usize = 50;

/// Tells how a run stands.
#[derive(Debug)]
pub struct Status;

/// Which run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run, or the beginning of its id; the open runs of this workspace when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Seconds to wait for something to happen; at most 25.
    #[serde(default)]
    pub wait_s: u64,
    /// The last event that is known: waiting ends as soon as there is a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seq: Option<u64>,
}

/// The run, or the open runs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Response {
    /// One run.
    Run(Box<RunView>),
    /// The open runs of this workspace.
    Open {
        /// Newest first.
        runs: Vec<Listed>,
    },
}

impl Later for Status {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "workflow.status";
    const TITLE: &'static str = "Look at a run";
    const DESCRIPTION: &'static str = include_str!("status.md");
    const DOORS: &'static [Door] = &[Door::Command("show")];

    async fn run(writer: &Writer, _: &dyn Call, request: Request) -> Result<Response, Problem> {
        let drive = writer.drive()?;
        let runs = &drive.inner.runs;
        let Some(named) = &request.run_id else {
            let workspace = Some(begin::workspace(writer));
            let filter = RunFilter { workspace, open_only: true, ..RunFilter::default() };
            let page = runs.list(&filter, OPEN_MAX).map_err(|error| journal::of_runs(&error))?;
            return Ok(Response::Open { runs: listed(runs, &page.runs)? });
        };
        let run = super::find(runs, named)?;
        let patience = Duration::from_secs(request.wait_s.min(super::WAIT_MAX_S));
        if let Some(after) = request.after_seq.filter(|_| !patience.is_zero()) {
            drive.beyond(&run, after, patience).await?;
        } else if !patience.is_zero() {
            return super::follow(&drive, &run, patience)
                .await
                .map(|run| Response::Run(Box::new(run)));
        }
        super::shown(runs, &run).map(|run| Response::Run(Box::new(run)))
    }

    fn example() -> Request {
        Request::default()
    }
}
