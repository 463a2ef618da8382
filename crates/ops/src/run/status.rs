//! `workflow.status`: the state of a run; without an id, the open runs in this workspace.

use std::time::Duration;

use milepost_driver::RunReader;
use milepost_engine::StepKey;
use milepost_engine::event::Event;
use milepost_engine::ports::RunFilter;
use milepost_model::id::RunId;

use super::list::{ListedRun, listed};
use super::sent_request::SentView;
use super::view::{RunStatus, RunView};
use crate::prelude::*;

/// The run to show.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's id, or a prefix of it.
    pub run_id: Option<String>,
    /// One of its steps, with the requests sent for it.
    #[schemars(extend("x-rare" = true))]
    pub step_id: Option<String>,
    /// Seconds to wait; at most 25.
    #[serde(default)]
    pub wait_s: u64,
    /// The last known event: waiting ends as soon as there is a newer one.
    #[schemars(extend("x-rare" = true))]
    pub after_seq: Option<u64>,
    /// Values up to this many bytes are inlined; default 8,192, at most 262,144. Larger ones are
    /// resources.
    #[schemars(extend("x-rare" = true))]
    pub inline_max: Option<u64>,
}

/// The run, or the open runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Response {
    /// One run.
    Run(Box<RunView>),
    /// The open runs in this workspace.
    Open {
        /// Newest first.
        runs: Vec<ListedRun>,
    },
}

operation! {
    /// Shows the state of a run.
    GetRunStatus: "workflow.status", "Look at a run", include_str!("status.md");
    doors: [Door::Tool(Tool::WORK), Door::Command("show")];
    run: get_run_status(Reader, Request) -> Response;
    example: {};
}

async fn get_run_status(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let runs = reader.runs();
    let Some(named) = &request.run_id else {
        let workspace = Some(reader.workspace().display().to_string());
        let filter = RunFilter { workspace, open_only: true, ..super::visible(call) };
        let page = runs.list(&filter, limits::STATUS_RUNS).await.or_problem()?;
        return Ok(Response::Open { runs: listed(runs, &page.runs).await? });
    };
    let run = super::find(runs, call, named).await?;
    let patience = Duration::from_secs(request.wait_s.min(limits::RUN_WAIT_MAX_S));
    let mut view = match request.after_seq {
        _ if patience.is_zero() => super::view(runs, &run).await?,
        Some(after) => {
            super::next_event(runs, &run, after, patience).await?;
            super::view(runs, &run).await?
        }
        None => super::follow(runs, call, &run, patience).await?,
    };
    if let Some(step) = &request.step_id {
        only(runs, &run, step, &mut view).await?;
    }
    // A waiting run need not be driven, so its world may be missing without anyone noticing. Report
    // it here.
    if view.status == RunStatus::Waiting {
        view.lacks(reader, &run).await;
    }
    Ok(Response::Run(Box::new(view)))
}

/// Reduces a view to one step, with its executions and the requests sent for each.
async fn only(runs: &dyn RunReader, run: &RunId, step: &str, view: &mut RunView) -> Result<()> {
    let is_meant = |id: &str| id == step || StepKey::of_walk(id).top() == step;
    view.steps.retain(|one| is_meant(&one.id));
    if view.steps.is_empty() {
        let look = Invocation::of("workflow.status").with("run_id", run.as_str());
        let hint = Hint::text("see its steps with ").call(look);
        let message = format!("run `{run}` has no step `{step}`");
        return Err(Problem::new(Code::StepNotFound, message, hint).context("step_id", step));
    }
    let news = runs.events(run, 0).await.or_problem()?;
    for entry in &news.entries {
        let Event::AttemptStarted(attempt) = &entry.event else { continue };
        let of = view.steps.iter_mut().find(|one| one.id == attempt.key.as_str());
        if let Some(of) = of {
            of.sent.push(SentView::of(attempt, entry.at_ms));
        }
    }
    Ok(())
}
