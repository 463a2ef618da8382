//! Loads runs from a journal.

use std::sync::Arc;

use milepost_engine::Flow;
use milepost_engine::event::{JournalEntry, Resumption, RunCreated};
use milepost_engine::interpreter::Interpreter;
use milepost_engine::ports::{Journal, RunRecord, RunStatus, RunSummary};
use milepost_engine::state::{State, Status};
use milepost_engine::view::{self, Waiting};
use milepost_model::digest::Digest;
use milepost_model::id::RunId;
use milepost_model::pinned::{self, LANGUAGE_VERSION, PinnedError};

use crate::{RunError, limits};

/// A run as recorded in its journal.
#[derive(Debug, Clone)]
pub struct LoadedRun {
    /// Its index record.
    pub record: RunRecord,
    /// The state after its last event.
    pub state: State,
    /// The workflow that it is pinned to.
    pub flow: Flow,
}

/// Loads a run.
pub async fn load(journal: &dyn Journal, run: &RunId) -> Result<LoadedRun, RunError> {
    let record = journal.run(run).await?;
    let entries = entries(journal, run, 0).await?;
    let state = State::fold(&entries).map_err(|error| damaged(run, error.to_string()))?;
    let state = state.ok_or_else(|| damaged(run, "its journal is empty".to_owned()))?;
    let flow = flow(journal, run, &Pin::of(&state.head)).await?;
    Ok(LoadedRun { record, state, flow })
}

/// A run's events after a sequence number.
pub(crate) async fn entries(
    journal: &dyn Journal,
    run: &RunId,
    mut after: u64,
) -> Result<Vec<JournalEntry>, RunError> {
    let mut entries: Vec<JournalEntry> = Vec::new();
    loop {
        let page = journal.events(run, after, limits::EVENTS_PAGE).await?;
        entries.extend(page.entries);
        match entries.last() {
            Some(last) if page.more => after = last.seq,
            _ => return Ok(entries),
        }
    }
}

/// The workflow source and plan that a run is pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    text_hash: String,
    plan_hash: String,
    language: u32,
}

impl Pin {
    /// A run's current pin.
    pub(crate) fn of(head: &RunCreated) -> Pin {
        let (text_hash, plan_hash) = (head.text_hash.clone(), head.plan_hash.clone());
        Pin { text_hash, plan_hash, language: language(head) }
    }

    /// The pin after a resumption. A new source is written in the current version of the language.
    pub(crate) fn after(resumption: &Resumption) -> Pin {
        let (text_hash, plan_hash) = (resumption.text_hash.clone(), resumption.plan_hash.clone());
        Pin { text_hash, plan_hash, language: LANGUAGE_VERSION }
    }
}

/// The language version of a run's source. Runs without a world were started when only one version
/// existed.
fn language(head: &RunCreated) -> u32 {
    head.world.as_ref().map_or(FIRST_LANGUAGE_VERSION, |world| world.language)
}

/// The language version of the first release.
const FIRST_LANGUAGE_VERSION: u32 = 1;

/// Loads the workflow that a run is pinned to.
pub(crate) async fn flow(journal: &dyn Journal, run: &RunId, pin: &Pin) -> Result<Flow, RunError> {
    let digest = Digest::parse(&pin.text_hash);
    let digest =
        digest.ok_or_else(|| damaged(run, "the hash of its workflow is not valid".to_owned()))?;
    let text = journal.text(digest).await?;
    let text = text.ok_or_else(|| damaged(run, "its workflow is missing".to_owned()))?;
    let pinned = pinned::decode(&text, pin.language).map_err(|error| match error {
        PinnedError::Newer { found, known } => {
            RunError::NewerLanguage { run: run.clone(), found, known }
        }
        PinnedError::Unreadable => damaged(run, error.to_string()),
    })?;
    if pinned.plan_hash != pin.plan_hash {
        return Err(RunError::TextReadOtherwise { run: run.clone() });
    }
    Ok(Flow::of(Arc::new(pinned.workflow)))
}

/// A run's state for the index.
pub(crate) fn standing(interpreter: &Interpreter) -> RunSummary {
    let (state, status) = (interpreter.state(), interpreter.status());
    RunSummary {
        status: match status {
            // Nobody has to drive a sleeping run before it is due.
            Status::Running if interpreter.is_asleep() => RunStatus::Waiting,
            Status::Running => RunStatus::Running,
            Status::Waiting | Status::Paused => RunStatus::Waiting,
            Status::Succeeded => RunStatus::Succeeded,
            Status::Failed => RunStatus::Failed,
            Status::Canceled => RunStatus::Canceled,
        },
        waiting: match status {
            Status::Paused => Some(status.name().to_owned()),
            Status::Waiting => Some(waits(interpreter.flow(), state)),
            _ => None,
        },
        wake_ms: interpreter.wakes_at(),
        ended_ms: status.has_ended().then_some(state.now_ms),
        updated_ms: state.now_ms,
    }
}

/// What a run is waiting for, in a few words.
fn waits(flow: &Flow, state: &State) -> String {
    let words = view::waiting(flow, state).into_iter().map(|waiting| {
        let kind = waiting.kind();
        match waiting {
            Waiting::Approval(request) => format!("{kind} {}", request.key),
            Waiting::Unknown { key, .. } | Waiting::Exhausted { key, .. } | Waiting::Agent(key) => {
                format!("{kind} {key}")
            }
            Waiting::Budget(_) => kind.name().to_owned(),
            Waiting::Variable { variable, .. } => format!("{kind} {variable}"),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

pub(crate) fn damaged(run: &RunId, reason: String) -> RunError {
    RunError::Damaged { run: run.clone(), reason }
}
