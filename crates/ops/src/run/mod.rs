//! Durable runs: the engine of this process, and its operations, one file each.

pub(crate) mod again;
pub(crate) mod begin;
pub(crate) mod caller;
pub mod cancel;
pub(crate) mod clock;
pub mod decide;
pub(crate) mod drive;
pub mod events;
pub mod execute;
#[cfg(debug_assertions)]
pub(crate) mod fail;
pub(crate) mod journal;
pub mod keep;
pub mod list;
pub mod next;
pub mod overview;
mod past;
pub mod pause;
pub(crate) mod person;
pub mod pin;
pub mod resume;
mod sealed;
pub mod settle;
pub(crate) mod sight;
pub mod start;
pub mod status;
pub mod submit;
mod task;
mod trace;
pub mod view;

use std::time::Duration;

use milepost_engine::Failure;
use milepost_engine::signal::{Reply, Signal};
use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};
use milepost_store::runs::{InboxId, Runs};

use drive::Drive;
use journal::of_runs;

/// Seconds that an answer may be waited for.
const WAIT_MAX_S: u64 = 25;
/// What follows from something within this time is part of its answer.
pub(crate) const AFTER: Duration = Duration::from_millis(500);
/// How long a run has to take in what it is told.
const TAKES: Duration = Duration::from_secs(10);

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
