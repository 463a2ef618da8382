//! What an operation that changes things has access to.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use milepost_driver::clock::{monotonic, now_ms};
use milepost_driver::{Driver, DriverPorts, RunService};
use milepost_engine::ports::RequestSender;
use milepost_store::catalogs::{Catalogs, DerivedCache};
use milepost_store::secrets::{Environment, Vault};
use milepost_store::workflows::WorkflowStore;
use milepost_store::{Blobs, Locations, SecretsBackend};

use crate::catalog_cache::PinsById;
use crate::fetched_choices::FetchedChoices;
use crate::prelude::*;
use crate::run::person::UnsignedRuns;
use crate::run::request_sender::CatalogSender;
use crate::trust::KnownSecretsCache;

/// The write side of the product, together with the read side.
#[derive(Debug, Clone)]
pub struct Writer {
    pub(crate) reader: Reader,
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) derived: Arc<DerivedCache>,
    pub(crate) choices: Arc<FetchedChoices>,
    pub(crate) workflows: Arc<WorkflowStore>,
    blobs: Blobs,
    /// The run service, created on first use; a process has only one.
    service: Arc<OnceLock<Service>>,
    /// Runs known to require no signature.
    pub(crate) unsigned: Arc<UnsignedRuns>,
    vault: Arc<Mutex<Option<OpenedVault>>>,
    /// Every secret of the user, with a mask that finds it.
    pub(crate) known_secrets: Arc<KnownSecretsCache>,
}

/// The secret store of a backend.
type OpenedVault = (SecretsBackend, Arc<Vault>);

/// The run service, and the sender for its requests.
#[derive(Debug)]
struct Service {
    runs: Driver,
    sender: Arc<CatalogSender>,
}

impl Writer {
    /// Creates a writer for a process's directories. Reads nothing yet.
    pub fn open(reader: Reader, environment: Environment) -> Writer {
        Writer {
            catalogs: Arc::clone(&reader.shelf.catalogs),
            derived: Arc::clone(&reader.shelf.derived),
            choices: Arc::new(FetchedChoices::open(&reader.locations)),
            workflows: Arc::new(WorkflowStore::open(&reader.locations)),
            blobs: Blobs::open(&reader.locations),
            reader: reader.with_environment(environment),
            service: Arc::default(),
            unsigned: Arc::default(),
            vault: Arc::default(),
            known_secrets: Arc::default(),
        }
    }

    /// The read side.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// A writer for another workspace's runs, with its catalogs, workflows and configuration.
    pub(crate) fn of_workspace(&self, locations: Locations) -> Writer {
        let reader = self.reader.of_workspace(locations);
        let unsigned = Arc::clone(&self.unsigned);
        Writer { unsigned, ..Writer::open(reader, (*self.reader.environment).clone()) }
    }

    /// The same writer with the catalog versions that a run is pinned to.
    pub(crate) fn pinned(&self, pins: PinsById) -> Writer {
        // The clone must not keep alive the service that caches it.
        Writer { reader: self.reader.pinned(pins), service: Arc::default(), ..self.clone() }
    }

    /// The secret store, opened once for each backend that is configured.
    pub(crate) fn vault(&self) -> Result<Arc<Vault>> {
        let backend = self.reader.live_config()?.secrets;
        let mut vault = locked(&self.vault);
        if let Some((_, vault)) = vault.as_ref().filter(|(known, _)| *known == backend) {
            return Ok(Arc::clone(vault));
        }
        let environment = (*self.reader.environment).clone();
        let opened = Vault::open(&self.reader.locations, backend, environment).or_problem()?;
        let opened = Arc::new(opened);
        *vault = Some((backend, Arc::clone(&opened)));
        Ok(opened)
    }

    pub(crate) fn runs(&self) -> Result<&dyn RunService> {
        Ok(&self.service()?.runs)
    }

    /// The sender for requests made by runs.
    pub(crate) fn sender(&self) -> Result<&CatalogSender> {
        Ok(&self.service()?.sender)
    }

    fn service(&self) -> Result<&Service> {
        if let Some(service) = self.service.get() {
            return Ok(service);
        }
        // The sender must not keep the service alive.
        let hands = Writer { service: Arc::default(), ..self.clone() };
        let sender = Arc::new(CatalogSender::new(hands));
        let ports = &self.reader.ports;
        let runs = Driver::new(DriverPorts {
            journal: Arc::clone(&ports.journal),
            dispatch: Arc::clone(&ports.dispatch),
            sender: Arc::clone(&sender) as Arc<dyn RequestSender>,
            watcher: Arc::clone(&ports.watcher),
            clock: Arc::new(now_ms),
            monotonic: Arc::new(monotonic),
        })
        .or_problem()?;
        Ok(self.service.get_or_init(|| Service { runs, sender }))
    }

    /// The run service, if it has been created.
    pub(crate) fn opened_runs(&self) -> Option<&dyn RunService> {
        self.service.get().map(|service| &service.runs as &dyn RunService)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.reader.environment.variable(name).map(|value| value.reveal().to_owned())
    }

    /// Stores bytes that are not text, and returns their path.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<PathBuf> {
        self.blobs.keep(bytes).or_problem()
    }
}
