//! A project to begin with: a configuration, an API, and a workflow that runs on the mock of it.
//! What is there already stays as it is. What its files say is for the door to write: they are
//! read by people who use it.

use std::path::{Path, PathBuf};

use milepost_model::problem::Problem;
use milepost_store::{FileError, health, write_atomic};

use crate::problems;

/// The workflow of a new project.
pub const WORKFLOW: &str = "order-report";
/// The catalog that its workflow calls.
pub const CATALOG: &str = "shop-api";
/// The folder of a project, below its own.
pub const FOLDER: &str = ".milepost";
/// The document of the catalog, below that.
pub const DOCUMENT: &str = "shop.yaml";

/// What became of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Laid {
    /// Those that are new.
    pub made: Vec<PathBuf>,
    /// Those that were there, and are as they were.
    pub kept: Vec<PathBuf>,
}

/// Writes the files of a project into a folder, which is made if there is none: each by its path
/// below [`FOLDER`] and its text, the configuration last. A folder without it is no project.
pub fn lay(folder: &Path, files: &[(&str, &str)]) -> Result<Laid, Problem> {
    let of_file = |error: FileError| problems::of_file(&error);
    let root = folder.join(FOLDER);
    let mut laid = Laid::default();
    for (name, text) in files {
        let path = root.join(name);
        health::make(path.parent().unwrap_or(&root), false).map_err(of_file)?;
        match write_atomic(&path, text.as_bytes(), false) {
            Ok(()) => laid.made.push(path),
            Err(FileError::Exists { .. }) => laid.kept.push(path),
            Err(error) => return Err(of_file(error)),
        }
    }
    Ok(laid)
}
