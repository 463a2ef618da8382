//! Why something could not be done with a run, as data.

use milepost_engine::Failure;
use milepost_engine::ports::JournalError;
use milepost_engine::state::IllegalEvent;
use milepost_engine::world::MissingWorld;
use milepost_model::id::RunId;

/// Why something could not be done with a run; each variant is another thing to do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunError {
    /// The journal refused.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run cannot be written any further. Nothing of it is lost, and it goes on from there.
    #[error("{error}")]
    Stalled { run: RunId, error: JournalError },
    /// No run has this id, or begins with it; `none_at_all` where there have never been any.
    #[error("there is no run `{named}`")]
    Unknown { named: String, none_at_all: bool },
    /// Several runs begin with it, of which these are some.
    #[error("several runs begin with `{named}`")]
    Ambiguous { named: String, some: Vec<RunId> },
    /// The journal of the run is not one that this program could have written.
    #[error("run `{run}` cannot be read: {reason}")]
    Damaged { run: RunId, reason: String },
    /// A later version of this program started it.
    #[error(
        "run `{run}` was started by a newer version of this program: its workflow is written in \
         version {found} of the language, and this program knows {known}"
    )]
    NewerLanguage { run: RunId, found: u32, known: u32 },
    /// The text of the run is sound, and this version reads something else out of it than the one
    /// that pinned it.
    #[error("this version does not read the workflow of run `{run}` as the one that pinned it did")]
    TextReadOtherwise { run: RunId },
    /// This process cannot give the run the world that it runs in, and leaves it alone.
    #[error("run `{run}` cannot go on here: {missing}")]
    WorldMissing { run: RunId, missing: MissingWorld },
    /// The run does not take it in.
    #[error("{}", failure.message())]
    Refused { run: RunId, failure: Box<Failure> },
    /// What was decided does not fit the run: a bug of this program.
    #[error(transparent)]
    Illegal(#[from] IllegalEvent),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl RunError {
    /// Whether the same may be possible a little later.
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
