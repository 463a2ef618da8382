//! Why an action on a run failed.

use milepost_engine::Failure;
use milepost_engine::ports::JournalError;
use milepost_engine::state::IllegalEvent;
use milepost_engine::world::MissingWorld;
use milepost_model::id::RunId;

/// Why an action on a run failed; each variant calls for a different response.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunError {
    /// The journal returned an error.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run cannot be written at the moment. Nothing is lost, and it continues once writing is
    /// possible.
    #[error("{error}")]
    Stalled { run: RunId, error: JournalError },
    /// No run has this id or an id that starts with it; `none_at_all` means that there have never
    /// been any runs.
    #[error("there is no run `{named}`")]
    Unknown { named: String, none_at_all: bool },
    /// The ids of several runs start with this prefix; `some` lists a few of them.
    #[error("the ids of several runs start with `{named}`")]
    Ambiguous { named: String, some: Vec<RunId> },
    /// The run's journal or workflow is damaged or missing.
    #[error("run `{run}` cannot be read: {reason}")]
    Damaged { run: RunId, reason: String },
    /// The run was started by a newer version of this program.
    #[error(
        "run `{run}` was started by a newer version of this program: its workflow is written in \
         version {found} of the language, but this program supports only up to {known}"
    )]
    NewerLanguage { run: RunId, found: u32, known: u32 },
    /// The source of the run is intact, but this version interprets it differently from the version
    /// that pinned it.
    #[error(
        "this version interprets the workflow of run `{run}` differently from the version that \
         pinned it"
    )]
    TextReadOtherwise { run: RunId },
    /// The run's world is not available to this process, so it leaves the run alone.
    #[error("run `{run}` cannot continue here: {missing}")]
    WorldMissing { run: RunId, missing: MissingWorld },
    /// The run refused the message.
    #[error("{}", failure.message())]
    Refused { run: RunId, failure: Box<Failure> },
    /// A decision does not fit the run, which is a bug in this program.
    #[error(transparent)]
    Illegal(#[from] IllegalEvent),
    /// The system provides no random numbers.
    #[error("the system provided no random numbers")]
    NoRandomness,
}

impl RunError {
    /// Whether retrying a little later may succeed.
    pub(crate) fn passes(&self) -> bool {
        let of_journal = |error: &JournalError| {
            matches!(
                error,
                JournalError::Busy
                    | JournalError::Full
                    | JournalError::Fenced { .. }
                    | JournalError::OutOfOrder { .. }
            )
        };
        match self {
            RunError::Journal(error) | RunError::Stalled { error, .. } => of_journal(error),
            _ => false,
        }
    }
}
