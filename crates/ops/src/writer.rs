//! What an operation that changes things may use.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use milepost_model::problem::Problem;
use milepost_store::Blobs;
use milepost_store::catalogs::{Catalogs, Derived};
use milepost_store::runs::{OpenOptions, Runs};
use milepost_store::secrets::{Environment, Vault};
use milepost_store::workflows::Workflows;

use crate::choices::Choices;
use crate::problems;
use crate::reader::Reader;
use crate::run::caller::Caller;
use crate::run::drive::Drive;
use crate::run::journal;

/// The write side of the product, with the read side beside it.
#[derive(Debug, Clone)]
pub struct Writer {
    pub(crate) reader: Reader,
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) derived: Arc<Derived>,
    pub(crate) choices: Arc<Choices>,
    pub(crate) workflows: Arc<Workflows>,
    blobs: Blobs,
    environment: Environment,
    /// What drives runs, from the first one on.
    drive: Arc<OnceLock<Drive>>,
}

impl Writer {
    /// Over the directories of a process. Nothing is read yet.
    pub fn open(reader: Reader, environment: Environment) -> Writer {
        let catalogs = reader.shelf().catalogs();
        let derived = reader.shelf().derived();
        let blobs = Blobs::open(reader.locations());
        let choices = Arc::new(Choices::open(reader.locations()));
        let workflows = Arc::new(Workflows::open(reader.locations()));
        let reader = reader.with_environment(environment.clone());
        let drive = Arc::default();
        Writer { reader, catalogs, derived, choices, workflows, blobs, environment, drive }
    }

    /// Where secrets are kept.
    pub(crate) fn vault(&self) -> Result<Vault, Problem> {
        let config = self.reader.config()?;
        let vault = Vault::open(self.reader.locations(), config.secrets, self.environment.clone());
        vault.map_err(|error| problems::of_secret(&error))
    }

    /// What drives the runs of this user.
    pub(crate) fn drive(&self) -> Result<Drive, Problem> {
        if let Some(drive) = self.drive.get() {
            return Ok(drive.clone());
        }
        let directory = &self.reader.locations().data;
        let runs = Runs::open(directory, self.open_options());
        let runs = runs.map_err(|error| journal::of_runs(&error))?;
        // What it calls with must not keep it alive.
        let hands = Writer { drive: Arc::default(), ..self.clone() };
        let drive = Drive::open(runs, Caller::new(hands))?;
        Ok(self.drive.get_or_init(|| drive).clone())
    }

    /// The same, if it was needed already.
    pub(crate) fn driven(&self) -> Option<&Drive> {
        self.drive.get()
    }

    /// How the runs are opened: as they are, but for tests.
    #[cfg(not(debug_assertions))]
    #[expect(clippy::unused_self, reason = "a build for tests asks the environment")]
    fn open_options(&self) -> OpenOptions {
        OpenOptions::default()
    }

    #[cfg(debug_assertions)]
    fn open_options(&self) -> OpenOptions {
        let wanted = self.variable("MILEPOST_FAIL");
        let faults = wanted.as_deref().and_then(crate::run::fail::faults);
        OpenOptions { faults, ..OpenOptions::default() }
    }

    /// Whether there have ever been runs.
    pub(crate) fn has_runs(&self) -> bool {
        self.reader.locations().data.join(milepost_store::runs::FILE).is_file()
    }

    /// A variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.variable(name).map(|value| value.reveal().to_owned())
    }

    /// Keeps bytes that are no text, and says where.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<PathBuf, Problem> {
        self.blobs.keep(bytes).map_err(|error| problems::of_file(&error))
    }
}
