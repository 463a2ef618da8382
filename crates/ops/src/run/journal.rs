//! A run of the engine as the store keeps it.

use std::sync::Arc;

use milepost_engine::Flow;
use milepost_engine::event::Entry;
use milepost_engine::pilot::Pilot;
use milepost_engine::state::{State, Status};
use milepost_engine::view::{self, Waiting};
use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};
use milepost_store::runs::{
    Events, NewEvent, RunRow, RunStatus, Runs, RunsError, RunsReader, Standing,
};
use milepost_store::{Digest, FileError};

/// Events that are read at a time.
const PAGE: usize = 1_000;

/// A run as its journal has it.
pub(crate) struct Loaded {
    pub(crate) row: RunRow,
    pub(crate) state: State,
    pub(crate) flow: Flow,
}

/// What journals are read from: by those who may set a damaged one aside, and by those who only
/// look.
pub(crate) trait Source {
    fn run(&self, run: &RunId) -> Result<RunRow, RunsError>;
    fn events(&self, run: &RunId, after: u64, limit: usize) -> Result<Events, RunsError>;
    fn text(&self, hash: Digest) -> Result<Option<String>, RunsError>;
}

macro_rules! source {
    ($($name:ident),*) => {$(
        impl Source for $name {
            fn run(&self, run: &RunId) -> Result<RunRow, RunsError> {
                $name::run(self, run)
            }

            fn events(&self, run: &RunId, after: u64, limit: usize) -> Result<Events, RunsError> {
                $name::events(self, run, after, limit)
            }

            fn text(&self, hash: Digest) -> Result<Option<String>, RunsError> {
                $name::text(self, hash)
            }
        }
    )*};
}
source!(Runs, RunsReader);

/// Reads a run.
pub(crate) fn load(runs: &impl Source, run: &RunId) -> Result<Loaded, Problem> {
    let row = runs.run(run).map_err(|error| of_runs(&error))?;
    let entries = entries(runs, run, 0)?;
    let state = State::fold(&entries).map_err(|error| damaged(run, &error.to_string()))?;
    let state = state.ok_or_else(|| damaged(run, "its journal is empty"))?;
    let flow = flow(runs, run, &state.head.text_hash)?;
    Ok(Loaded { row, state, flow })
}

/// The events of a run behind a number.
pub(crate) fn entries(runs: &impl Source, run: &RunId, after: u64) -> Result<Vec<Entry>, Problem> {
    let mut entries = Vec::new();
    let mut after = after;
    loop {
        let page = runs.events(run, after, PAGE).map_err(|error| of_runs(&error))?;
        for event in &page.events {
            let read = serde_json::from_slice(&event.data);
            let read = read.map_err(|error| damaged(run, &error.to_string()))?;
            entries.push(Entry { seq: event.seq, at_ms: event.at_ms, event: read });
            after = event.seq;
        }
        if !page.more {
            return Ok(entries);
        }
    }
}

/// The workflow that a run was pinned to.
pub(crate) fn flow(runs: &impl Source, run: &RunId, hash: &str) -> Result<Flow, Problem> {
    let digest = Digest::parse(hash).ok_or_else(|| damaged(run, "its text has no hash"))?;
    let text = runs.text(digest).map_err(|error| of_runs(&error))?;
    let text = text.ok_or_else(|| damaged(run, "its text is gone"))?;
    compiled(&text).ok_or_else(|| damaged(run, "its text no longer means what it meant"))
}

/// A text that was found to be without errors when it was pinned.
pub(crate) fn compiled(text: &str) -> Option<Flow> {
    let world = World { commands: &NoCommands, env_allow: None };
    let workflow = Document::read(text.as_bytes(), None, world).workflow?;
    Some(Flow::of(Arc::new(workflow)))
}

/// Entries as the store takes them.
pub(crate) fn written(entries: &[Entry]) -> Result<Vec<NewEvent>, Problem> {
    let events = entries.iter().map(|entry| {
        let data = serde_json::to_vec(&entry.event)?;
        Ok(NewEvent { at_ms: entry.at_ms, kind: entry.event.name().to_owned(), data })
    });
    events.collect::<Result<_, serde_json::Error>>().map_err(|error| {
        let message = format!("an event cannot be written: {error}");
        Problem::new(Code::Internal, message, "report this with the workflow")
    })
}

/// How a run stands, for the index.
pub(crate) fn standing(pilot: &Pilot) -> Standing {
    let state = pilot.state();
    let status = pilot.status();
    Standing {
        status: match status {
            Status::Running => RunStatus::Running,
            Status::Waiting | Status::Paused => RunStatus::Waiting,
            Status::Succeeded => RunStatus::Succeeded,
            Status::Failed => RunStatus::Failed,
            Status::Canceled => RunStatus::Canceled,
        },
        waiting: match status {
            Status::Paused => Some("paused".to_owned()),
            Status::Waiting => Some(waits(pilot.flow(), state)),
            _ => None,
        },
        wake_ms: pilot.wakes_at(),
        ended_ms: status.has_ended().then_some(state.now_ms),
        updated_ms: state.now_ms,
    }
}

/// What a run waits for, in a few words.
fn waits(flow: &Flow, state: &State) -> String {
    let words = view::waiting(flow, state).into_iter().map(|waiting| match waiting {
        Waiting::Approval(request) => format!("approval {}", request.key),
        Waiting::Unknown { key, .. } => format!("decision {key}"),
        Waiting::Exhausted { key, .. } => format!("person {key}"),
        Waiting::Budget(_) => "budget".to_owned(),
        Waiting::Agent(key) => format!("agent {key}"),
        Waiting::Variable { variable, .. } => format!("variable {variable}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

pub(crate) fn damaged(run: &RunId, why: &str) -> Problem {
    let message = format!("run `{run}` cannot be read: {why}");
    let hint = "the other runs are not affected; restore this one from a backup";
    Problem::new(Code::StorageFailed, message, hint).context("run_id", run.as_str())
}

/// An error of the store as a problem.
pub(crate) fn of_runs(error: &RunsError) -> Problem {
    let message = error.to_string();
    match error {
        RunsError::NotFound { run } => {
            let hint = "list the runs with `milepost runs`";
            Problem::new(Code::RunNotFound, message, hint).context("run_id", run.as_str())
        }
        RunsError::Fenced { run } | RunsError::OutOfOrder { run, .. } => {
            let hint = "look at the run again";
            Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
        }
        RunsError::Corrupt { run, .. } | RunsError::Quarantined { run } => {
            let hint = "the other runs are not affected; restore this one from a backup";
            Problem::new(Code::StorageFailed, message, hint).context("run_id", run.as_str())
        }
        RunsError::Full => {
            let hint = "make room on the disk, then say it again";
            Problem::new(Code::StorageFailed, message, hint)
        }
        RunsError::Busy => Problem::new(Code::StorageFailed, message, "say it again"),
        // Only a backup is put where nothing may be yet.
        RunsError::File(FileError::Exists { .. }) => {
            let hint = "name a folder that is not there yet";
            Problem::new(Code::FileRefused, message, hint)
        }
        _ => {
            let hint = "look at the disk, and run `milepost doctor`; then start the program anew";
            Problem::new(Code::StorageFailed, message, hint)
        }
    }
}
