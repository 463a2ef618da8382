//! Converts errors about runs into problems.

use milepost_driver::RunError;
use milepost_engine::Failure;
use milepost_engine::ports::JournalError;
use milepost_engine::world::MissingWorld;
use milepost_model::id::RunId;

use crate::prelude::*;

/// Converts an error from the run service.
pub(crate) fn of_run(error: &RunError) -> Problem {
    let message = error.to_string();
    match error {
        RunError::Journal(error) => of_journal(error),
        RunError::Stalled { run, error } => stalled(run, error),
        RunError::Unknown { named, none_at_all: true } => {
            let start = Hint::text("start one with ").call(Invocation::of("workflow.run"));
            not_found("there are no runs yet".to_owned(), named, start)
        }
        RunError::Unknown { named, .. } => not_found(message, named, list()),
        RunError::Ambiguous { named, some } => {
            let some: Vec<&str> = some.iter().map(RunId::as_str).collect();
            not_found(message, named, format!("give a longer prefix: {}", some.join(", ")).into())
        }
        RunError::Damaged { run, .. } => damaged(message, run),
        RunError::NewerLanguage { run, .. } => newer(message, run),
        RunError::TextReadOtherwise { run } => {
            let hint = "continue it with the version that started it, or start a new run";
            Problem::new(Code::StorageFailed, message, hint).context("run_id", run.as_str())
        }
        RunError::WorldMissing { run, missing } => world_missing(run, missing),
        RunError::Refused { run, failure } => refused(failure, run),
        RunError::Illegal(_) => internal(&message),
        RunError::NoRandomness => {
            Problem::new(Code::StorageFailed, message, "check the system, then try again")
        }
    }
}

/// Converts an error from the journal.
pub(crate) fn of_journal(error: &JournalError) -> Problem {
    let message = error.to_string();
    match error {
        JournalError::NotFound { run } => not_found(message, run.as_str(), list()),
        JournalError::Fenced { run } | JournalError::OutOfOrder { run, .. } => {
            let hint = "check the current state of the run";
            Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
        }
        JournalError::Corrupt { run, .. }
        | JournalError::Undecodable { run, .. }
        | JournalError::Quarantined { run } => damaged(message, run),
        JournalError::NewerEvent { run, .. } => newer(message, run),
        JournalError::Newer { .. } => {
            let hint = "update this program; no runs are lost";
            Problem::new(Code::StorageFailed, message, hint)
        }
        JournalError::Full => {
            let hint = "free some disk space, then try again";
            Problem::new(Code::StorageFailed, message, hint)
        }
        JournalError::Busy => Problem::new(Code::StorageFailed, message, "try again"),
        JournalError::Exists { .. } => {
            let hint = "give a folder that does not exist yet";
            Problem::new(Code::FileRefused, message, hint)
        }
        JournalError::Failed => {
            let hint = "check the disk, then restart the program";
            Problem::new(Code::StorageFailed, message, hint)
        }
        JournalError::OtherRun { .. }
        | JournalError::TooLarge { .. }
        | JournalError::Unusable(_) => {
            let hint = Hint::text("run ").call(Invocation::of("doctor"));
            Problem::new(Code::StorageFailed, message, hint)
        }
    }
}

/// The problem for a run that this process cannot drive because part of its world is missing.
pub(crate) fn world_missing(run: &RunId, missing: &MissingWorld) -> Problem {
    let message = format!("run `{run}` cannot continue here: {missing}");
    let then = |what: String| {
        let resume = super::next_action::resume(run.as_str());
        Hint::text(what).then(", then continue with ").call(resume)
    };
    let hint = match missing {
        MissingWorld::Workspace { path } => then(format!("put `{path}` back where it was")),
        MissingWorld::Document { catalog } => {
            then(format!("import the document that `{catalog}` had when the run began"))
        }
        MissingWorld::Workflow { .. } | MissingWorld::Record { .. } => {
            Hint::text("restore the runs from a backup")
        }
        MissingWorld::Newer => Hint::text("update the program"),
        MissingWorld::Unreadable { .. } => Hint::text("check the disk, then try again"),
    };
    Problem::new(Code::RunWorldMissing, message, hint).context("run_id", run.as_str())
}

/// The problem for a run that does not exist, at least not for the caller.
pub(super) fn no_run(named: &str) -> Problem {
    not_found(format!("there is no run `{named}`"), named, list())
}

/// The problem for an id or a prefix that does not identify exactly one run.
fn not_found(message: String, named: &str, hint: Hint) -> Problem {
    Problem::new(Code::RunNotFound, message, hint).context("run_id", named)
}

fn list() -> Hint {
    Hint::text("list the runs with ").call(Invocation::of("runs.list"))
}

fn damaged(message: String, run: &RunId) -> Problem {
    let hint = "the other runs are not affected; restore this one from a backup";
    Problem::new(Code::StorageFailed, message, hint).context("run_id", run.as_str())
}

/// The problem for a run that was written by a newer version.
fn newer(message: String, run: &RunId) -> Problem {
    let hint = "update this program, then try again; the run is not lost";
    Problem::new(Code::StorageFailed, message, hint).context("run_id", run.as_str())
}

/// The problem for a run whose events can no longer be written. Nothing that was written is lost,
/// and the run can be resumed.
fn stalled(run: &RunId, error: &JournalError) -> Problem {
    let before = match error {
        JournalError::Full => "free some disk space",
        _ => "check the disk",
    };
    let mut problem = of_journal(error).context("run_id", run.as_str());
    let resume = super::next_action::resume(run.as_str());
    problem.hint = Hint::text(before).then(", then continue with ").call(resume);
    problem
}

/// The problem for a message that a run rejected.
pub(crate) fn refused(failure: &Failure, run: &RunId) -> Problem {
    let code =
        Code::ALL.iter().copied().find(|code| failure.is(*code)).unwrap_or(Code::RunConflict);
    let mut problem = Problem::new(code, failure.message(), failure.hint());
    for (name, value) in failure.context.iter().flat_map(|context| context.iter()) {
        problem = problem.context(name, value.clone());
    }
    problem.context("run_id", run.as_str())
}

/// Converts a problem to the form stored in the journal.
pub(crate) fn failure_of(problem: &Problem) -> Failure {
    let mut failure = Failure::new(problem.code, &problem.message, problem.hint.clone());
    for (name, value) in problem.context.iter() {
        failure = failure.with(name, value.clone());
    }
    if !problem.arguments.is_empty() {
        let told: Vec<String> =
            problem.arguments.iter().map(|fault| fault.message.clone()).collect();
        failure = failure.with("arguments", told);
    }
    failure
}

pub(crate) fn internal(why: &str) -> Problem {
    Problem::new(Code::Internal, why, "report this with the workflow and its journal")
}
