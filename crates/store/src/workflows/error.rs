//! Why a workflow was not changed, as data.

use std::path::PathBuf;

use milepost_model::id::WorkflowId;
use milepost_model::violation::Violation;

use crate::{Digest, FileError};

/// Why a workflow could not be changed, or a version of it could not be had. Each variant is
/// another thing to do about it.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The directory that is written has none of this id.
    #[error("there is no workflow `{id}` to change")]
    NotFound { id: WorkflowId },
    /// There is one already, and nobody said that it may be replaced.
    #[error("workflow `{id}` is there already")]
    Exists { id: WorkflowId, version: Digest, path: PathBuf },
    /// It is not the version that the caller has seen; nothing is `found` when nothing is there.
    #[error("workflow `{id}` is not the version that was expected")]
    Conflict { id: WorkflowId, expected: Digest, found: Option<Digest> },
    /// The name of the file that the id would have is in use by something else.
    #[error("`{}`, the file of workflow `{id}`, is something else", path.display())]
    Taken { id: WorkflowId, path: PathBuf },
    #[error("the text is that of workflow `{found}`, not of `{id}`")]
    OtherId { id: WorkflowId, found: String },
    /// The id cannot be changed in the text without changing more than it.
    #[error("the id of workflow `{id}` is written in a way that cannot be changed alone")]
    NoHold { id: WorkflowId },
    /// With the new id the workflow would not be valid.
    #[error("workflow `{id}` would not be valid")]
    Unfit { id: WorkflowId, violations: Vec<Violation> },
    /// No version of the workflow is known by this hash.
    #[error("workflow `{id}` has no version `{version}`")]
    NoVersion { id: WorkflowId, version: Digest },
    /// What was kept is not what it was.
    #[error("`{}` is damaged: it does not have the hash it is named after", path.display())]
    Damaged { path: PathBuf },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}
