//! What a safe operation has access to: it can read everything but write nothing.

use std::path::Path;
use std::sync::{Arc, Mutex};

use milepost_driver::RunReader;
use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_store::secrets::Environment;
use milepost_store::{
    Config, Grants, Library, LibraryEntry, LibraryMatch, Listing, LiveConfig, LocalSource,
    Locations, SourceKind, Trust,
};

use crate::catalog_cache::{CatalogCache, PinsById};
use crate::command_index::CommandIndex;
use crate::compiled_workflow::CompiledCache;
use crate::prelude::*;
use crate::run::ports::RunPorts;

/// The read side of the product. Cheap to clone: everything in it is shared.
#[derive(Debug, Clone)]
pub struct Reader {
    library: Arc<Library>,
    /// A workflow from outside the library that takes precedence over those in it.
    given: Option<Arc<LibraryEntry>>,
    /// The directories of the process.
    pub(crate) locations: Arc<Locations>,
    pub(crate) shelf: Arc<CatalogCache>,
    finder: Arc<Mutex<Option<Arc<CommandIndex>>>>,
    /// The environment variables of the process; the configuration decides which ones may be read.
    pub(crate) environment: Arc<Environment>,
    /// The run storage.
    pub(crate) ports: RunPorts,
    pub(crate) compiled: Arc<CompiledCache>,
    live_config: Arc<LiveConfig>,
    /// What the person granted.
    pub(crate) grants: Arc<Grants>,
}

/// What documents are checked against if no catalogs are involved.
pub(crate) const WORLD: World<'static> = World { commands: &NoCommands, env_allow: None };

impl Reader {
    /// Creates a reader for a process's directories. Reads nothing yet.
    pub fn open(locations: Locations) -> Reader {
        let grants = Arc::new(Grants::of(&locations.data));
        Reader {
            library: Arc::new(Library::open(locations.clone())),
            given: None,
            shelf: Arc::new(CatalogCache::open(&locations)),
            ports: RunPorts::at(&locations.data),
            locations: Arc::new(locations),
            finder: Arc::default(),
            environment: Arc::default(),
            compiled: Arc::default(),
            live_config: Arc::new(LiveConfig::new(Arc::clone(&grants))),
            grants,
        }
    }

    /// A reader for another workspace, with the same runs and variables.
    pub(crate) fn of_workspace(&self, locations: Locations) -> Reader {
        let fresh = Reader::open(locations);
        let environment = Arc::clone(&self.environment);
        Reader { ports: self.ports.clone(), environment, ..fresh }
    }

    /// The same reader with the catalog versions that a run is pinned to.
    pub(crate) fn pinned(&self, pins: PinsById) -> Reader {
        Reader { shelf: Arc::new(self.shelf.pinned(pins)), ..self.clone() }
    }

    /// The same reader with the environment variables of the process.
    pub(crate) fn with_environment(self, environment: Environment) -> Reader {
        Reader { environment: Arc::new(environment), ..self }
    }

    /// Read-only access to runs.
    pub(crate) fn runs(&self) -> &dyn RunReader {
        &*self.ports.watcher
    }

    /// The workspace that runs belong to: the project, or else the working directory.
    pub(crate) fn workspace(&self) -> &Path {
        self.locations.project.as_deref().unwrap_or(&self.locations.working)
    }

    /// The same reader with one more workflow: a file that the caller named.
    #[must_use]
    pub fn with(self, entry: LibraryEntry) -> Reader {
        Reader { given: Some(Arc::new(entry)), ..self }
    }

    /// Finds a workflow by id.
    pub fn workflow(&self, id: &str) -> Result<Arc<LibraryEntry>> {
        match self.found(id)? {
            Some(LibraryMatch::Workflow(entry)) => Ok(entry),
            Some(LibraryMatch::Invalid(invalid)) => Err(problems::of_invalid(id, &invalid)),
            None => Err(self.no_workflow(id)),
        }
    }

    /// What an id refers to: a workflow, or an invalid file.
    pub(crate) fn found(&self, id: &str) -> Result<Option<LibraryMatch>> {
        if let Some(given) = self.given.as_ref().filter(|given| given.id == id) {
            return Ok(Some(LibraryMatch::Workflow(Arc::clone(given))));
        }
        self.library.get(id, WORLD).or_problem()
    }

    /// The kind of source that contains a file.
    pub(crate) fn source_of(&self, path: &Path) -> SourceKind {
        let mut sources = self.locations.directories.iter().rev();
        let source = sources.find(|(_, directory)| path.starts_with(directory));
        source.map_or(SourceKind::BuiltIn, |(kind, _)| *kind)
    }

    /// A value that changes when a workflow is added or removed.
    pub(crate) fn stamp(&self) -> u64 {
        self.library.stamp()
    }

    /// Every workflow and every invalid file.
    pub fn listing(&self) -> Result<Arc<Listing>> {
        self.library.listing(WORLD).or_problem()
    }

    /// The current configuration.
    pub(crate) fn config(&self) -> Result<Config> {
        Ok((*self.live_config()?).clone())
    }

    /// The current configuration, which is read again only if the file has changed, because every
    /// request that a run makes needs it.
    pub(crate) fn live_config(&self) -> Result<Arc<Config>> {
        self.live_config.read(&self.locations).or_problem()
    }

    /// Reads a file that a command's argument names; the kind of caller determines which files may
    /// be read.
    pub(crate) fn file(&self, path: &str, call: &dyn Caller) -> Result<Vec<u8>> {
        let trust = match call.kind() {
            CallerKind::Person => Trust::user(&self.locations, None),
            CallerKind::Agent => Trust::agent(&self.locations, &self.config()?),
        };
        let opened = LocalSource::open(path.as_ref(), &trust);
        opened.map(|opened| opened.bytes).or_problem()
    }

    /// The current index of everything that can be found.
    pub(crate) fn finder(&self) -> Result<Arc<CommandIndex>> {
        let loaded = self.shelf.enabled()?;
        let listing = self.listing()?;
        let workflows = listing.items.iter().map(|item| {
            let description = item.description.clone().unwrap_or_default();
            (item.id.clone(), item.title.clone(), description)
        });
        let workflows: Vec<_> = workflows.collect();
        let mut kept = locked(&self.finder);
        if let Some(finder) = kept.as_ref().filter(|finder| finder.is_of(&loaded, &workflows)) {
            return Ok(Arc::clone(finder));
        }
        let finder = Arc::new(CommandIndex::new(loaded, workflows));
        *kept = Some(Arc::clone(&finder));
        Ok(finder)
    }

    /// The problem for an unknown id.
    pub(crate) fn no_workflow(&self, id: &str) -> Problem {
        let listing = self.library.listing(WORLD).ok();
        let ids = listing.iter().flat_map(|listing| listing.items.iter().map(|item| &*item.id));
        let broken = listing.as_ref().map_or(0, |listing| listing.invalid.len());
        problems::no_workflow(id, broken, milepost_model::suggest::closest(id, ids))
    }
}
