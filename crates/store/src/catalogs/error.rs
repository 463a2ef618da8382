//! What goes wrong with catalogs on disk, as data.

use std::path::PathBuf;
use std::sync::Arc;

use milepost_model::id::CatalogId;

use crate::file::FileError;
use crate::settings::Fault;

/// A file that should be a record and is none.
#[derive(Debug)]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// The id its name says.
    pub id: Option<CatalogId>,
    /// Why.
    pub fault: RecordFault,
}

/// Why a file is no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordFault {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it says.
    #[error(transparent)]
    Text(#[from] Fault),
    /// Its name is that of no catalog.
    #[error("its name is not a catalog id: rename it to `<id>.toml`")]
    FileName,
    /// Its id is not that of its name.
    #[error("it says `id = \"{found}\"`: rename the file or change the id")]
    OtherId {
        /// The id it says.
        found: CatalogId,
    },
}

/// Why a catalog could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// There is none.
    #[error("there is no catalog `{id}`")]
    NotFound {
        /// Its id.
        id: CatalogId,
    },
    /// Its record cannot be read.
    #[error("`{}`: {}", .0.path.display(), .0.fault)]
    Unreadable(Arc<Unreadable>),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a new catalog has in common with one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The id: overwriting replaces it.
    Id,
    /// The title, under another id: overwriting would leave two of one title, so even then it is a
    /// conflict.
    Title,
}

/// Why a catalog was not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// There is one of the same id or title.
    #[error("catalog `{id}` is there already")]
    Exists {
        /// Its id.
        id: CatalogId,
        /// Its title; none when its record cannot be read.
        title: Option<String>,
        /// What they have in common.
        by: Conflict,
    },
    /// The record could not be read again.
    #[error("the catalog cannot be written down: {fault}")]
    Unfit {
        /// What is wrong with its text.
        fault: Fault,
    },
    /// The catalog to change could not be had, or a file could not be written.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl From<FileError> for SaveError {
    fn from(error: FileError) -> SaveError {
        SaveError::Catalog(CatalogError::File(error))
    }
}
