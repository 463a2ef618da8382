//! What an operation that changes things may use.

use std::path::PathBuf;
use std::sync::Arc;

use milepost_model::problem::Problem;
use milepost_store::Blobs;
use milepost_store::catalogs::{Catalogs, Derived};
use milepost_store::secrets::{Environment, Vault};
use milepost_store::workflows::Workflows;

use crate::choices::Choices;
use crate::problems;
use crate::reader::Reader;

/// The write side of the product, with the read side beside it.
#[derive(Debug)]
pub struct Writer {
    pub(crate) reader: Reader,
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) derived: Arc<Derived>,
    pub(crate) choices: Choices,
    pub(crate) workflows: Workflows,
    blobs: Blobs,
    environment: Environment,
}

impl Writer {
    /// Over the directories of a process. Nothing is read yet.
    pub fn open(reader: Reader, environment: Environment) -> Writer {
        let catalogs = reader.shelf().catalogs();
        let derived = reader.shelf().derived();
        let blobs = Blobs::open(reader.locations());
        let workflows = Workflows::open(reader.locations());
        let choices = Choices::default();
        Writer { reader, catalogs, derived, choices, workflows, blobs, environment }
    }

    /// Where secrets are kept.
    pub(crate) fn vault(&self) -> Result<Vault, Problem> {
        let config = self.reader.config()?;
        let vault = Vault::open(self.reader.locations(), config.secrets, self.environment.clone());
        vault.map_err(|error| problems::of_secret(&error))
    }

    /// Keeps bytes that are no text, and says where.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<PathBuf, Problem> {
        self.blobs.keep(bytes).map_err(|error| problems::of_file(&error))
    }
}
