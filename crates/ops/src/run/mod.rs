//! Durable runs: the engine of this process, and its operations, one file each.

pub(crate) mod begin;
pub(crate) mod caller;
pub mod cancel;
pub(crate) mod clock;
pub mod decide;
pub(crate) mod drive;
pub mod events;
#[cfg(debug_assertions)]
pub(crate) mod fail;
pub(crate) mod journal;
pub mod keep;
pub mod list;
mod past;
pub mod pause;
pub(crate) mod person;
pub mod pin;
pub mod resume;
mod sealed;
pub mod settle;
pub mod start;
pub mod status;
pub mod submit;
mod task;
pub mod view;

use std::time::Duration;

use milepost_engine::Failure;
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{Phase, State, Status};
use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};
use milepost_store::runs::{Durability, InboxId, RunStatus, Runs};

use clock::now_ms;
use drive::Drive;
use journal::of_runs;
use view::RunView;

/// Seconds that an answer may be waited for.
const WAIT_MAX_S: u64 = 25;
/// What follows from something within this time is part of its answer.
const AFTER: Duration = Duration::from_millis(500);
/// How long a run has to take in what it is told.
const TAKES: Duration = Duration::from_secs(10);
/// Ids that are offered when a beginning fits several runs.
const OFFERED: usize = 5;

/// A run by its id or the beginning of it.
pub(crate) fn find(runs: &Runs, named: &str) -> Result<RunId, Problem> {
    if let Ok(run) = RunId::parse(named) {
        return Ok(run);
    }
    let found = runs.find_prefix(named).map_err(|error| of_runs(&error))?;
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let message = format!("there is no run `{named}`");
            let hint = "list the runs with `milepost runs`";
            Err(Problem::new(Code::RunNotFound, message, hint).context("run_id", named))
        }
        several => {
            let some: Vec<&str> = several.iter().take(OFFERED).map(RunId::as_str).collect();
            let message = format!("several runs begin with `{named}`");
            let hint = format!("give more of it: {}", some.join(", "));
            Err(Problem::new(Code::RunNotFound, message, hint).context("run_id", named))
        }
    }
}

/// A run as it stands on disk.
pub(crate) fn shown(runs: &Runs, run: &RunId) -> Result<RunView, Problem> {
    let loaded = journal::load(runs, run)?;
    let relaxed = loaded.row.durability == Durability::Relaxed;
    let mut view = RunView::of(&loaded.flow, &loaded.state, relaxed);
    if view.status != Status::Running.name() {
        return Ok(view);
    }
    match waiting_children(runs, &loaded.state)? {
        children if !children.is_empty() => {
            view.next = None;
            children.into_iter().for_each(|child| view.waits_with(child));
        }
        _ if is_adrift(runs, run)? => view.is_adrift(),
        _ => {}
    }
    Ok(view)
}

/// The runs of a run's steps, when nothing goes on but that they wait for somebody.
fn waiting_children(runs: &Runs, state: &State) -> Result<Vec<RunView>, Problem> {
    let mut views = Vec::new();
    for (_, step) in state.open() {
        match &step.phase {
            Phase::Child(child) => {
                // One that is not there yet is about to begin.
                let Ok(child) = RunId::parse(child) else { return Ok(Vec::new()) };
                let waits = runs.run(&child).is_ok_and(|row| {
                    matches!(row.standing.status, RunStatus::Waiting | RunStatus::Running)
                });
                let view = if waits { Some(shown(runs, &child)?) } else { None };
                let waits = |view: &RunView| view.status == Status::Waiting.name();
                let Some(view) = view.filter(|view| waits(view) && !view.is_left()) else {
                    return Ok(Vec::new());
                };
                views.push(view);
            }
            phase if phase.is_busy() || phase.wakes_at().is_some() => return Ok(Vec::new()),
            _ => {}
        }
    }
    Ok(views)
}

/// Whether nobody alive drives a run that has something to do.
pub(crate) fn is_adrift(runs: &Runs, run: &RunId) -> Result<bool, Problem> {
    let driven = runs.is_driven(run, now_ms()).map_err(|error| of_runs(&error))?;
    Ok(!driven)
}

/// A run once it has ended or waits for somebody, at most after a time.
pub(crate) async fn follow(
    drive: &Drive,
    run: &RunId,
    patience: Duration,
) -> Result<RunView, Problem> {
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        let view = shown(&drive.inner.runs, run)?;
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        if view.status != Status::Running.name() || left.is_zero() {
            return Ok(view);
        }
        drive.beyond(run, view.seq, left).await?;
    }
}

/// Tells a run something that it takes in at once.
pub(crate) async fn tell(drive: &Drive, run: &RunId, signal: &Signal) -> Result<(), Problem> {
    let id = message_id("signal")?;
    match drive.tell(run, &id, signal, TAKES).await? {
        Some(Reply::Refused { failure }) => Err(refused(&failure, run)),
        Some(_) => Ok(()),
        None => {
            let message = format!("run `{run}` has not taken it in yet");
            let hint =
                "it will when the process that drives it has time; look with `milepost show`";
            Err(Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str()))
        }
    }
}

/// A message that is new.
pub(crate) fn message_id(kind: &str) -> Result<InboxId, Problem> {
    let random = Runs::new_id().map_err(|error| of_runs(&error))?;
    let text = format!("{kind}:{random}");
    InboxId::parse(&text).map_err(|error| drive::internal(&error.to_string()))
}

/// What a run does not take in, as a problem.
pub(crate) fn refused(failure: &Failure, run: &RunId) -> Problem {
    let code =
        Code::ALL.iter().copied().find(|code| failure.is(*code)).unwrap_or(Code::RunConflict);
    let mut problem = Problem::new(code, &failure.message, &failure.hint);
    for (name, value) in failure.context.iter().flat_map(|context| context.iter()) {
        problem = problem.context(name, value.clone());
    }
    problem.context("run_id", run.as_str())
}
