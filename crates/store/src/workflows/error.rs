//! Errors from changing workflows.

use std::path::PathBuf;

use milepost_model::id::WorkflowId;
use milepost_model::violation::Violation;

use crate::{Digest, FileError};

/// Why a workflow could not be changed, or one of its versions could not be read. Each variant
/// calls for a different response.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The writable directory has no workflow with this id.
    #[error("there is no workflow `{id}` to change")]
    NotFound { id: WorkflowId },
    /// The workflow exists, and the caller did not allow replacing it.
    #[error("workflow `{id}` already exists")]
    Exists { id: WorkflowId, version: Digest, path: PathBuf },
    /// The current version is not the one the caller has seen; `found` is `None` if there is none.
    #[error("workflow `{id}` is not the expected version")]
    Conflict { id: WorkflowId, expected: Digest, found: Option<Digest> },
    /// The file name for this id is taken by something other than the workflow's file.
    #[error("cannot write workflow `{id}`: `{}` is not its file", path.display())]
    Taken { id: WorkflowId, path: PathBuf },
    #[error("the text has the id `{found}`, not `{id}`")]
    OtherId { id: WorkflowId, found: String },
    /// The id cannot be changed without changing other parts of the source.
    #[error("cannot change only the id of workflow `{id}`: edit the file")]
    NoHold { id: WorkflowId },
    /// The workflow would not be valid with the new id.
    #[error("the workflow would not be valid with the id `{id}`")]
    Unfit { id: WorkflowId, violations: Vec<Violation> },
    /// The workflow has no version with this hash.
    #[error("workflow `{id}` has no version `{version}`")]
    NoVersion { id: WorkflowId, version: Digest },
    /// A stored source no longer matches its hash.
    #[error("`{}` is damaged: its content does not match the hash in its name", path.display())]
    Damaged { path: PathBuf },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}
