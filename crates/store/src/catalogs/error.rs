//! Errors from reading and writing catalogs.

use std::path::PathBuf;
use std::sync::Arc;

use milepost_model::id::CatalogId;

use crate::file::FileError;
use crate::settings::TomlError;

/// A file that should be a catalog record but is not a valid one.
#[derive(Debug)]
pub struct UnreadableRecord {
    pub path: PathBuf,
    pub id: Option<CatalogId>,
    pub fault: RecordFault,
}

/// Why a file is not a valid record.
#[derive(Debug, thiserror::Error)]
pub enum RecordFault {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Text(#[from] TomlError),
    /// Its file name is not a catalog id.
    #[error("its name is not a catalog id: rename it to `<id>.toml`")]
    FileName,
    /// Its id differs from its file name.
    #[error("its id is `{found}`: rename the file or change the id")]
    OtherId { found: CatalogId },
}

/// Why a catalog could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("there is no catalog `{id}`")]
    NotFound { id: CatalogId },
    #[error("`{}`: {}", .0.path.display(), .0.fault)]
    Unreadable(Arc<UnreadableRecord>),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a new catalog has in common with an existing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogConflict {
    /// The id; overwriting replaces the existing catalog.
    Id,
    /// The title, under another id. Overwriting does not resolve this conflict, because it would
    /// leave two catalogs with the same title.
    Title,
}

/// Why a catalog was not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// A catalog with the same id or title exists. Its title is unknown if its record cannot be
    /// read.
    #[error("catalog `{id}` already exists")]
    Exists { id: CatalogId, title: Option<String>, by: CatalogConflict },
    /// The record could not be read back.
    #[error("the catalog cannot be saved: {fault}")]
    Unfit { fault: TomlError },
    /// The catalog to change could not be read, or a file could not be written.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl From<FileError> for SaveError {
    fn from(error: FileError) -> SaveError {
        SaveError::Catalog(CatalogError::File(error))
    }
}
