//! Run worlds: the catalogs, workflow sources and configuration that a run uses, regardless of the
//! folder that this process was started in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use milepost_engine::effect_bound::EffectBound;
use milepost_engine::event::RunCreated;
use milepost_engine::ports::{PinnedText, WorldPin};
use milepost_engine::world::{MissingWorld, RunWorld, WORLD_VERSION};
use milepost_model::id::CatalogId;
use milepost_model::pinned::{self, LANGUAGE_VERSION};
use milepost_model::step::Action;
use milepost_model::target::Target;
use milepost_model::workflow::Workflow;
use milepost_store::catalogs::{CatalogRecord, Catalogs};
use milepost_store::{Digest, LibraryEntry, Locations};

use super::request_sender::DraftedRequest;
use crate::catalog_cache::PinsById;
use crate::catalog_pin::CatalogPin;
use crate::compiled_workflow::CompiledWorkflow;
use crate::lru_cache::LruCache;
use crate::prelude::*;
use crate::trust::UsedCatalog;

/// A world that is ready for use.
#[derive(Debug)]
pub(crate) struct OpenedWorld {
    /// The writer for the run's workspace, with the catalog versions that the run is pinned to.
    pub(crate) writer: Writer,
    /// Its description; `None` for work that this process does on its own behalf.
    pub(crate) world: Option<RunWorld>,
    pins: PinsById,
    texts: TextsById,
    /// Recently drafted requests, by digest, so that each is drafted once and sent as recorded even
    /// if its catalog has changed in the meantime.
    pub(crate) drafts: LruCache<String, Arc<DraftedRequest>>,
    /// What one run of each workflow can change.
    pub(crate) bounds: LruCache<String, EffectBound>,
}

/// The source of a workflow that a run is pinned to.
#[derive(Debug)]
pub(crate) struct PinnedWorkflow {
    text: PinnedText,
    language: u32,
    /// The library entry with the same source, if there is one; it has already been read.
    entry: Option<Arc<LibraryEntry>>,
    compiled: OnceLock<Option<Arc<CompiledWorkflow>>>,
}

impl PinnedWorkflow {
    fn new(text: &str, language: u32, entry: Option<Arc<LibraryEntry>>) -> PinnedWorkflow {
        let text = PinnedText { hash: Digest::of(text.as_bytes()), text: text.into() };
        PinnedWorkflow { text, language, entry, compiled: OnceLock::new() }
    }

    fn hash(&self) -> String {
        self.text.hash.to_string()
    }

    fn named(&self) -> Option<WorkflowReferences> {
        match &self.entry {
            Some(entry) => entry.document.workflow.as_ref().map(WorkflowReferences::of),
            None => self.compiled().map(|compiled| WorkflowReferences::of(&compiled.workflow)),
        }
    }

    /// The compiled workflow. It had no errors when it was pinned, and is not checked again.
    pub(crate) fn compiled(&self) -> Option<Arc<CompiledWorkflow>> {
        let compile = || CompiledWorkflow::pinned(&self.text.text, self.language).map(Arc::new);
        self.compiled.get_or_init(compile).clone()
    }
}

/// What a workflow refers to: the catalogs it may call, and the workflows it runs.
struct WorkflowReferences {
    catalogs: BTreeSet<CatalogId>,
    workflows: BTreeSet<String>,
}

impl WorkflowReferences {
    fn of(workflow: &Workflow) -> WorkflowReferences {
        let (mut catalogs, mut workflows) = (BTreeSet::new(), BTreeSet::new());
        let mut add = |target: &Target| match target {
            Target::Command(command) => drop(catalogs.insert(command.group().clone())),
            Target::Workflow(id) => drop(workflows.insert(id.to_string())),
        };
        for step in workflow.all_steps() {
            match &step.action {
                Action::Run(run) => add(&run.target.value),
                Action::Prompt(prompt) => {
                    prompt.verify.iter().for_each(|verify| add(&verify.run.value));
                }
                _ => {}
            }
        }
        let providers = workflow.inputs.0.iter().filter_map(|(_, input)| input.provider.as_ref());
        catalogs.extend(providers.map(|provider| provider.command.group().clone()));
        WorkflowReferences { catalogs, workflows }
    }
}

/// Which versions a run continues with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionChoice {
    /// The pinned ones; anything that did not exist when the run started is pinned now.
    Pinned,
    /// The newest catalogs, with the pinned workflow sources.
    LatestCatalogs,
    /// The newest version of everything.
    Latest,
}

/// Pinned workflow sources, by id.
type TextsById = BTreeMap<String, Arc<PinnedWorkflow>>;

impl OpenedWorld {
    /// The world for work that this process does on its own behalf: the current version of
    /// everything.
    pub(crate) fn live(writer: Writer) -> OpenedWorld {
        OpenedWorld::new(writer, None, BTreeMap::new(), BTreeMap::new())
    }

    /// The world for a run that starts now in the writer's workspace.
    pub(crate) fn newest(writer: &Writer, workflow: &Workflow) -> OpenedWorld {
        OpenedWorld::gather(writer, workflow, &BTreeMap::new(), &BTreeMap::new())
    }

    /// The part of this world that a workflow needs, with the newest version of anything missing.
    pub(crate) fn part(&self, workflow: &Workflow) -> OpenedWorld {
        OpenedWorld::gather(&self.writer, workflow, &self.texts, &self.pins)
    }

    /// The world that a run in this world continues in, given its workflow and the choice of
    /// versions.
    pub(crate) fn moved(&self, workflow: &Workflow, versions: VersionChoice) -> OpenedWorld {
        match versions {
            VersionChoice::Pinned => self.part(workflow),
            VersionChoice::LatestCatalogs => {
                OpenedWorld::gather(&self.writer, workflow, &self.texts, &BTreeMap::new())
            }
            VersionChoice::Latest => OpenedWorld::newest(&self.writer, workflow),
        }
    }

    /// Collects everything that a workflow and the workflows it runs refer to: the known versions,
    /// and the newest version of everything else. Anything missing is not pinned: a step that needs
    /// it fails as if it had never existed.
    fn gather(
        writer: &Writer,
        workflow: &Workflow,
        known_texts: &TextsById,
        known_pins: &PinsById,
    ) -> OpenedWorld {
        let mut texts = BTreeMap::new();
        let WorkflowReferences { mut catalogs, workflows } = WorkflowReferences::of(workflow);
        let mut open: Vec<String> = workflows.into_iter().collect();
        while let Some(id) = open.pop() {
            if texts.contains_key(&id) || texts.len() >= limits::WORLD_WORKFLOWS {
                continue;
            }
            let known = known_texts.get(&id).cloned();
            let Some(found) = known.or_else(|| newest_text(writer, &id)) else { continue };
            if let Some(named) = found.named() {
                catalogs.extend(named.catalogs);
                open.extend(named.workflows);
            }
            texts.insert(id, found);
        }
        let pins = catalogs.into_iter().filter_map(|id| {
            let known = known_pins.get(&id).cloned();
            Some((id.clone(), known.or_else(|| newest_pin(writer, &id))?))
        });
        let pins: PinsById = pins.collect();
        let config = writer.reader.locations.config.display().to_string();
        let world = RunWorld {
            version: WORLD_VERSION,
            language: LANGUAGE_VERSION,
            config: Some(config),
            workflows: texts.iter().map(|(id, text)| (id.clone(), text.hash())).collect(),
            catalogs: pins.iter().map(|(id, pin)| (id.to_string(), pin.pinned())).collect(),
        };
        OpenedWorld::new(writer.pinned(pins.clone()), Some(world), pins, texts)
    }

    fn new(
        writer: Writer,
        world: Option<RunWorld>,
        pins: PinsById,
        texts: TextsById,
    ) -> OpenedWorld {
        let drafts = LruCache::new(limits::DRAFTED_REQUESTS);
        let bounds = LruCache::new(limits::BOUNDS_KEPT);
        OpenedWorld { writer, world, pins, texts, drafts, bounds }
    }

    /// Whether the workflow calls catalogs or runs other workflows.
    pub(crate) fn refers(&self) -> bool {
        !self.pins.is_empty() || !self.texts.is_empty()
    }

    /// The catalog versions that the run may call.
    pub(crate) fn used_catalogs(&self) -> Vec<UsedCatalog> {
        let pins = self.pins.values();
        pins.map(|pin| (Arc::clone(&pin.record), pin.document)).collect()
    }

    /// The pinned source of a workflow.
    pub(crate) fn text(&self, workflow: &str) -> Option<&Arc<PinnedWorkflow>> {
        self.texts.get(workflow)
    }

    /// The sources that this world refers to, to be stored with the run.
    pub(crate) fn pinned_texts(&self) -> Vec<PinnedText> {
        let records = self.pins.values().map(|pin| &pin.text);
        self.texts.values().map(|text| &text.text).chain(records).cloned().collect()
    }

    /// A workflow and all workflows it runs, as far as they exist.
    pub(crate) fn workflows_below(&self, workflow: &str) -> Vec<Arc<CompiledWorkflow>> {
        let ids = self.texts_below(workflow).into_keys();
        ids.filter_map(|id| {
            let live = || self.world.is_none().then(|| newest_text(&self.writer, &id)).flatten();
            self.texts.get(&id).cloned().or_else(live)?.compiled()
        })
        .collect()
    }

    /// The sources of a workflow and of all workflows it runs, by id; `None` for a missing one.
    pub(crate) fn texts_below(&self, workflow: &str) -> BTreeMap<String, Option<Arc<str>>> {
        let (mut known, mut open) = (BTreeMap::new(), vec![workflow.to_owned()]);
        while let Some(id) = open.pop() {
            if known.contains_key(&id) {
                continue;
            }
            let text = self.texts.get(&id).cloned();
            let text = text
                .or_else(|| self.world.is_none().then(|| newest_text(&self.writer, &id)).flatten());
            if let Some(named) = text.as_ref().and_then(|text| text.named()) {
                open.extend(named.workflows);
            }
            known.insert(id, text.map(|text| Arc::clone(&text.text.text)));
        }
        known
    }
}

fn newest_text(writer: &Writer, id: &str) -> Option<Arc<PinnedWorkflow>> {
    let entry = writer.reader.workflow(id).ok()?;
    entry.document.workflow.as_ref()?;
    let source = entry.document.source.as_ref()?;
    let text = PinnedWorkflow::new(source.text(), LANGUAGE_VERSION, Some(Arc::clone(&entry)));
    Some(Arc::new(text))
}

fn newest_pin(writer: &Writer, id: &CatalogId) -> Option<Arc<CatalogPin>> {
    let shelf = &writer.reader.shelf;
    let record = shelf.known(id).ok()??;
    shelf.newest_pin(&record).ok()
}

/// The worlds that this process has open, limited to the most recently used.
#[derive(Debug)]
pub(crate) struct WorldCache {
    /// The writer of this process.
    root: Writer,
    workspaces: LruCache<Locations, Writer>,
    /// Open worlds by workspace and pinned world.
    opened: LruCache<(String, RunWorld), Arc<OpenedWorld>>,
}

impl WorldCache {
    pub(crate) fn new(root: Writer) -> WorldCache {
        let workspaces = LruCache::new(limits::WORKSPACES_OPEN);
        WorldCache { root, workspaces, opened: LruCache::new(limits::WORLDS_OPEN) }
    }

    /// The writer for a workspace, with the given configuration file.
    fn workspace(&self, folder: &str, config: Option<&str>) -> Writer {
        let (folder, config) = (Path::new(folder), config.map(Path::new));
        let own = &self.root.reader.locations;
        let is_own = |config: &Path| config == own.config;
        if folder == self.root.reader.workspace() && config.is_none_or(is_own) {
            return self.root.clone();
        }
        let locations = own.of_workspace(folder, config);
        self.workspaces.find(|known, _| *known == locations).unwrap_or_else(|| {
            let fresh = self.root.of_workspace(locations.clone());
            self.workspaces.keep(locations, fresh.clone());
            fresh
        })
    }

    /// Caches the world of a run that is about to start; returns an equal one if it is already
    /// open.
    pub(crate) fn keep(&self, workspace: &str, world: OpenedWorld) -> Arc<OpenedWorld> {
        let Some(pinned) = world.world.clone() else { return Arc::new(world) };
        self.find(workspace, &pinned).unwrap_or_else(|| {
            let world = Arc::new(world);
            self.opened.keep((workspace.to_owned(), pinned), Arc::clone(&world));
            world
        })
    }

    fn find(&self, workspace: &str, world: &RunWorld) -> Option<Arc<OpenedWorld>> {
        self.opened.find(|(folder, pinned), _| folder == workspace && pinned == world)
    }

    /// The current state of a run's workspace, for a run whose own world is incomplete.
    pub(crate) fn live(&self, head: &RunCreated) -> OpenedWorld {
        let config = head.world.as_ref().and_then(|world| world.config.as_deref());
        OpenedWorld::live(self.workspace(&head.workspace, config))
    }

    /// Opens the world of a run. A run that started without one gets the current state of its
    /// workspace, which must then be recorded.
    pub(crate) async fn open(
        &self,
        head: &RunCreated,
    ) -> Result<(Arc<OpenedWorld>, Option<WorldPin>), MissingWorld> {
        if let Some(missing) = unusable(head) {
            return Err(missing);
        }
        let Some(world) = head.world.as_deref() else {
            let opened = self.first(head).await?;
            let pin = opened.world.clone();
            let pin = pin.map(|world| WorldPin { world, texts: opened.pinned_texts() });
            return Ok((opened, pin));
        };
        if let Some(opened) = self.find(&head.workspace, world) {
            opened.has_documents()?;
            return Ok((opened, None));
        }
        let writer = self.workspace(&head.workspace, world.config.as_deref());
        let opened = read(&writer, world).await?;
        opened.has_documents()?;
        Ok((self.keep(&head.workspace, opened), None))
    }

    /// The first world of a run that started without one.
    async fn first(&self, head: &RunCreated) -> Result<Arc<OpenedWorld>, MissingWorld> {
        let missing = || MissingWorld::Workflow { workflow: head.workflow.clone() };
        let own = text_of(&self.root.reader, &head.text_hash).await?.ok_or_else(missing)?;
        let own = pinned::decode(&own, LANGUAGE_VERSION).map_err(|_| missing())?;
        let writer = self.workspace(&head.workspace, None);
        Ok(self.keep(&head.workspace, OpenedWorld::newest(&writer, &own.workflow)))
    }
}

/// Why a run's world cannot be opened, if that can be determined without reading it.
fn unusable(head: &RunCreated) -> Option<MissingWorld> {
    // The workspace is empty if the process that started the run had no working directory.
    if !head.workspace.is_empty() && !Path::new(&head.workspace).is_dir() {
        return Some(MissingWorld::Workspace { path: head.workspace.clone() });
    }
    let newer =
        |world: &RunWorld| world.version > WORLD_VERSION || world.language > LANGUAGE_VERSION;
    head.world.as_deref().is_some_and(newer).then_some(MissingWorld::Newer)
}

/// The first part of a run's world that is missing, determined without opening the world.
pub(crate) async fn missing(reader: &Reader, head: &RunCreated) -> Option<MissingWorld> {
    if let Some(missing) = unusable(head) {
        return Some(missing);
    }
    let world = head.world.as_deref()?;
    for (workflow, hash) in &world.workflows {
        if text_of(reader, hash).await.is_ok_and(|text| text.is_none()) {
            return Some(MissingWorld::Workflow { workflow: workflow.clone() });
        }
    }
    let (folder, config) = (Path::new(&head.workspace), world.config.as_deref().map(Path::new));
    let catalogs = Catalogs::open(&reader.locations.of_workspace(folder, config));
    for (catalog, pinned) in &world.catalogs {
        let Ok(Some(text)) = text_of(reader, &pinned.record).await else {
            return Some(MissingWorld::Record { catalog: catalog.clone() });
        };
        let document = Digest::parse(&pinned.document);
        let kept = |hash: &Digest| reader.shelf.documents.has(*hash);
        let there =
            |hash| Some(catalogs.document_with(&CatalogRecord::of_pinned(&text)?, hash).is_some());
        if !document.is_some_and(|hash| kept(&hash) || there(hash) == Some(true)) {
            return Some(MissingWorld::Document { catalog: catalog.clone() });
        }
    }
    None
}

async fn text_of(reader: &Reader, hash: &str) -> Result<Option<String>, MissingWorld> {
    let Some(hash) = Digest::parse(hash) else { return Ok(None) };
    reader.ports.journal.text(hash).await.map_err(|error| unreadable(&error))
}

fn unreadable(error: &impl ToString) -> MissingWorld {
    MissingWorld::Unreadable { reason: error.to_string() }
}

/// Reads a world from what is stored for runs.
async fn read(writer: &Writer, world: &RunWorld) -> Result<OpenedWorld, MissingWorld> {
    let (mut pins, mut texts) = (BTreeMap::new(), BTreeMap::new());
    for (id, hash) in &world.workflows {
        let text = text_of(&writer.reader, hash).await?;
        let text = text.ok_or_else(|| MissingWorld::Workflow { workflow: id.clone() })?;
        texts.insert(id.clone(), Arc::new(PinnedWorkflow::new(&text, world.language, None)));
    }
    for (name, pinned) in &world.catalogs {
        let missing = || MissingWorld::Record { catalog: name.clone() };
        let id = CatalogId::parse(name).map_err(|_| missing())?;
        let text = text_of(&writer.reader, &pinned.record).await?.ok_or_else(missing)?;
        let document = Digest::parse(&pinned.document).ok_or_else(missing)?;
        let pin = CatalogPin::of_kept(&text, document).ok_or_else(missing)?;
        pins.insert(id, Arc::new(pin));
    }
    let writer = writer.pinned(pins.clone());
    Ok(OpenedWorld::new(writer, Some(world.clone()), pins, texts))
}

impl OpenedWorld {
    /// Stores the sources it refers to, for a run that already exists.
    pub(crate) async fn keep_texts(&self) -> Result<(), MissingWorld> {
        for PinnedText { text, .. } in self.pinned_texts() {
            let kept = self.writer.reader.ports.journal.keep_text(text.to_string()).await;
            kept.map_err(|error| unreadable(&error))?;
        }
        Ok(())
    }

    /// Checks that every document is present. A document that is missing from those kept for runs
    /// is copied from its catalog, if the catalog still has it.
    fn has_documents(&self) -> Result<(), MissingWorld> {
        let catalogs = &self.writer.reader.shelf;
        for (id, pin) in &self.pins {
            if catalogs.documents.has(pin.document) {
                continue;
            }
            let there = catalogs.catalogs.document_with(&pin.record, pin.document);
            let there = there.ok_or_else(|| MissingWorld::Document { catalog: id.to_string() })?;
            let kept = catalogs.documents.keep(pin.document, &there.bytes);
            kept.map_err(|error| unreadable(&error))?;
        }
        Ok(())
    }
}

/// The problem for a catalog that was added after the run started.
pub(crate) fn came_later(catalog: &str) -> Problem {
    let message = format!("catalog `{catalog}` was added after this run started");
    let hint = Hint::text("continue the run with ").call(Invocation::of("workflow.resume"));
    Problem::new(Code::CatalogNotFound, message, hint)
}
