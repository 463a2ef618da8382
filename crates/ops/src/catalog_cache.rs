//! The catalogs, loaded on demand: the table first, then the part of the document that a command
//! needs, and the whole document only if necessary.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use milepost_catalog::command::ApiCommand;
use milepost_catalog::document::ParsedDocument;
use milepost_catalog::excerpt::Places;
use milepost_catalog::import::Inspection;
use milepost_catalog::openapi::Api;
use milepost_catalog::provider::{self, InferredProvider};
use milepost_catalog::request::PreparedCommand;
use milepost_catalog::table::Row;
use milepost_model::id::CatalogId;
use milepost_model::suggest;
use milepost_model::target::CommandId;
use milepost_store::catalogs::{
    CatalogListing, CatalogRecord, Catalogs, DerivedCache, DerivedKey, DocumentMark, StoredDocument,
};
use milepost_store::{Config, Digest, KeptDocuments, Locations};
use milepost_syntax::source::Format;

use crate::catalog_client::CatalogClient;
use crate::catalog_pin::{CatalogPin, pinned_document};
use crate::prelude::*;

/// The layout version of derived data. Data with any other version is treated as unreadable and
/// rebuilt.
const DERIVED_VERSION: u32 = 2;

/// Pinned versions by catalog.
pub(crate) type PinsById = BTreeMap<CatalogId, Arc<CatalogPin>>;

/// All catalogs available to a process.
#[derive(Debug, Clone)]
pub(crate) struct CatalogCache {
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) derived: Arc<DerivedCache>,
    pub(crate) documents: KeptDocuments,
    loaded: Arc<Mutex<HashMap<CatalogId, Arc<LoadedCatalog>>>>,
    /// The versions that new runs are pinned to, by catalog.
    pub(crate) newest: Arc<Mutex<PinsById>>,
    /// The versions that a run is pinned to; commands in these catalogs are looked up only there.
    pins: PinsById,
}

/// A catalog in memory.
#[derive(Debug)]
pub(crate) struct LoadedCatalog {
    pub(crate) record: Arc<CatalogRecord>,
    pub(crate) table: Arc<CommandTable>,
    catalogs: Arc<Catalogs>,
    derived: Arc<DerivedCache>,
    /// For a pinned version: its own document, regardless of the catalog's current one.
    pub(crate) pinned: Option<(Digest, KeptDocuments)>,
    api: OnceLock<Arc<Api>>,
    /// The hash of the document, if all of it was read.
    sha256: OnceLock<Digest>,
    /// The API-wide part of the document, without its operations.
    face: OnceLock<Arc<Api>>,
    cuts: Option<Arc<DocumentIndex>>,
    prepared: Mutex<HashMap<String, Arc<PreparedCommand>>>,
    /// The client for its requests, and what it was built from.
    pub(crate) sender: Mutex<Option<CachedClient>>,
}

/// The client for a catalog's requests, valid while the live settings stay the same.
#[derive(Debug)]
pub(crate) struct CachedClient {
    pub(crate) live: Arc<CatalogRecord>,
    pub(crate) config: Arc<Config>,
    pub(crate) client: Arc<CatalogClient>,
}

/// Data derived from a document and stored next to it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct CommandTable {
    pub(crate) rows: Vec<Row>,
    pub(crate) providers: Vec<InferredProvider>,
    /// Byte ranges of the document's parts. Stored separately, because few readers of the table
    /// need them.
    #[serde(skip)]
    places: Option<Places>,
}

impl CommandTable {
    /// Derives the table from the document, keeping the names that commands already have.
    pub(crate) fn of(
        api: &Api,
        inspection: Inspection,
        kept: &BTreeMap<String, String>,
    ) -> CommandTable {
        let rows = inspection.into_rows(kept);
        let providers = provider::infer(api, &rows);
        CommandTable { rows, providers, places: Places::of(api.document()) }
    }
}

/// What is needed to read parts of an unmodified document.
#[derive(Debug)]
pub(crate) struct DocumentIndex {
    /// The byte ranges, in their stored form.
    places: String,
    mark: Option<DocumentMark>,
}

impl DocumentIndex {
    /// Parses the stored form: one line each for the table, the byte ranges and the mark.
    fn read(kept: Vec<u8>) -> Option<(CommandTable, Option<DocumentIndex>)> {
        let kept = String::from_utf8(kept).ok()?;
        let (table, rest) = kept.split_once('\n')?;
        let (places, mark) = rest.split_once('\n')?;
        let table = serde_json::from_str(table).ok()?;
        let mark = serde_json::from_str(mark).ok()?;
        let cuts = (places != "null").then(|| DocumentIndex { places: places.to_owned(), mark });
        Some((table, cuts))
    }

    /// The same index with the document's current mark.
    pub(crate) fn marked(
        self: Arc<DocumentIndex>,
        mark: Option<DocumentMark>,
    ) -> Arc<DocumentIndex> {
        if mark.is_none() || self.mark == mark {
            return self;
        }
        Arc::new(DocumentIndex { places: self.places.clone(), mark })
    }

    fn write(
        table: &CommandTable,
        format: Format,
        mark: Option<DocumentMark>,
    ) -> serde_json::Result<String> {
        // Byte ranges refer to JSON, and a YAML document would have to be converted first.
        let places = table.places.as_ref().filter(|_| format == Format::Json);
        let (places, mark) = (serde_json::to_string(&places)?, serde_json::to_string(&mark)?);
        Ok([serde_json::to_string(table)?, places, mark].join("\n"))
    }
}

/// A document that was read in full.
pub(crate) struct WholeDocument {
    pub(crate) api: Arc<Api>,
    /// Whether it was changed after the import.
    edited: bool,
    sha256: Digest,
    mark: Option<DocumentMark>,
}

impl CatalogCache {
    /// The catalogs in the given directories. Reads nothing yet.
    pub(crate) fn open(locations: &Locations) -> CatalogCache {
        CatalogCache {
            catalogs: Arc::new(Catalogs::open(locations)),
            derived: Arc::new(DerivedCache::open(locations)),
            documents: KeptDocuments::at(&locations.data),
            loaded: Arc::default(),
            newest: Arc::default(),
            pins: BTreeMap::new(),
        }
    }

    /// The same catalogs, with the versions that a run is pinned to instead of the newest.
    pub(crate) fn pinned(&self, pins: PinsById) -> CatalogCache {
        CatalogCache { pins, ..self.clone() }
    }

    /// Every record, and every file that should be one but is unreadable.
    pub(crate) fn listing(&self) -> Result<CatalogListing> {
        self.catalogs.list().or_problem()
    }

    /// Finds a record by id, title, or unique prefix of an id.
    pub(crate) fn record(&self, text: &str) -> Result<Arc<CatalogRecord>> {
        if let Some(record) = self.exact(text)? {
            return Ok(record);
        }
        let found = self.begun(text)?.map(|id| self.exact(id.as_str())).transpose()?;
        found.flatten().ok_or_else(|| self.no_group(text))
    }

    /// Finds a record by exact id or title.
    pub(crate) fn exact(&self, text: &str) -> Result<Option<Arc<CatalogRecord>>> {
        self.catalogs.find(text).or_problem()
    }

    /// Finds the only id with this prefix. Unreadable records count as matches, so that no other
    /// catalog is used by mistake.
    pub(crate) fn begun(&self, text: &str) -> Result<Option<CatalogId>> {
        let listing = self.listing()?;
        let broken = listing.unreadable.iter().filter_map(|file| file.id.as_ref());
        let ids = listing.records.iter().map(|record| &record.id).chain(broken);
        let fit = ids.filter(|id| !text.is_empty() && id.as_str().starts_with(text));
        let mut found: Vec<&CatalogId> = fit.collect();
        found.sort();
        match found.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some((*only).clone())),
            several => Err(problems::ambiguous_catalog(text, several)),
        }
    }

    /// The record with this id, if it exists; fails if it is unreadable.
    pub(crate) fn known(&self, id: &CatalogId) -> Result<Option<Arc<CatalogRecord>>> {
        self.catalogs.get(id).or_problem()
    }

    /// Whether there is an unreadable record with this id.
    pub(crate) fn is_unreadable(&self, id: &CatalogId) -> bool {
        let listing = self.catalogs.list().unwrap_or_default();
        listing.unreadable.iter().any(|file| file.id.as_ref() == Some(id))
    }

    /// Every enabled catalog, loaded.
    pub(crate) fn enabled(&self) -> Result<Vec<Arc<LoadedCatalog>>> {
        let listing = self.listing()?;
        let enabled = listing.records.iter().filter(|record| record.enabled);
        // A broken catalog is reported by `catalog.list` and does not affect the others.
        Ok(enabled.filter_map(|record| self.load(record).ok()).collect())
    }

    /// Loads a catalog from disk, unless this version of its record is already loaded.
    pub(crate) fn load(&self, record: &Arc<CatalogRecord>) -> Result<Arc<LoadedCatalog>> {
        let mut loaded = locked(&self.loaded);
        if let Some(there) =
            loaded.get(&record.id).filter(|there| Arc::ptr_eq(&there.record, record))
        {
            return Ok(Arc::clone(there));
        }
        let fresh = Arc::new(self.read(record)?);
        loaded.insert(record.id.clone(), Arc::clone(&fresh));
        Ok(fresh)
    }

    fn read(&self, record: &Arc<CatalogRecord>) -> Result<LoadedCatalog> {
        let kept = self.derived.read(&key(record)).and_then(DocumentIndex::read);
        let (api, mut sha256) = (OnceLock::new(), None);
        let (table, cuts) = if let Some(kept) = kept {
            kept
        } else {
            let whole = whole(record, self.catalogs.document(&record.id).or_problem()?)?;
            let table = CommandTable::of(&whole.api, Inspection::of(&whole.api), &record.names);
            // Derived data is keyed by the document that was imported.
            if !whole.edited {
                self.keep(record, &table, whole.mark);
            }
            sha256 = Some(whole.sha256);
            // Cannot fail: the cell was just created.
            let _ = api.set(whole.api);
            (table, None)
        };
        let loaded = self.of_parts(record, (Arc::new(table), cuts.map(Arc::new)), api, None);
        let sha256 = sha256.map_or_else(OnceLock::new, OnceLock::from);
        Ok(LoadedCatalog { sha256, ..loaded })
    }

    pub(crate) fn of_parts(
        &self,
        record: &Arc<CatalogRecord>,
        (table, cuts): (Arc<CommandTable>, Option<Arc<DocumentIndex>>),
        api: OnceLock<Arc<Api>>,
        pinned: Option<(Digest, KeptDocuments)>,
    ) -> LoadedCatalog {
        LoadedCatalog {
            record: Arc::clone(record),
            table,
            catalogs: Arc::clone(&self.catalogs),
            derived: Arc::clone(&self.derived),
            pinned,
            api,
            face: OnceLock::new(),
            cuts,
            prepared: Mutex::default(),
            sha256: OnceLock::new(),
            sender: Mutex::default(),
        }
    }

    /// The data derived from a record and its imported document, if available.
    pub(crate) fn derived_parts(
        &self,
        record: &Arc<CatalogRecord>,
    ) -> Option<(Arc<CommandTable>, Option<Arc<DocumentIndex>>)> {
        let loaded = locked(&self.loaded);
        if let Some(there) = loaded.get(&record.id)
            && Arc::ptr_eq(&there.record, record)
            && there.cuts.is_some()
        {
            return Some((Arc::clone(&there.table), there.cuts.clone()));
        }
        drop(loaded);
        let (table, cuts) = self.derived.read(&key(record)).and_then(DocumentIndex::read)?;
        Some((Arc::new(table), cuts.map(Arc::new)))
    }

    /// The path of a catalog's derived data, if it is damaged.
    pub(crate) fn damaged(&self, record: &CatalogRecord) -> Option<std::path::PathBuf> {
        let key = key(record);
        self.derived.is_damaged(&key).then(|| self.derived.path_of(&key))
    }

    /// Stores derived data. Best effort: a failure only costs time later.
    pub(crate) fn keep(
        &self,
        record: &CatalogRecord,
        table: &CommandTable,
        mark: Option<DocumentMark>,
    ) {
        if let Ok(text) = DocumentIndex::write(table, record.format, mark) {
            let _ = self.derived.write(&key(record), text.as_bytes());
        }
    }

    /// Finds a command by `group name`, `group operationId`, or an unambiguous operationId.
    pub(crate) fn command(&self, text: &str) -> Result<(Arc<LoadedCatalog>, usize)> {
        let text = text.trim();
        if let Some((group, name)) = text.split_once(' ')
            && let Ok(id) = CatalogId::parse(group)
        {
            let found = self.catalogs.get(&id).or_problem()?;
            let Some(record) = found else { return Err(self.no_group(group)) };
            // This also applies to runs that are pinned to another version.
            if !record.enabled {
                return Err(problems::catalog_disabled(&record.id));
            }
            let loaded = match self.pins.get(&id) {
                Some(pin) => self.load_pinned(pin)?,
                None => self.load(&record)?,
            };
            return loaded.row(name.trim());
        }
        self.bare(text)
    }

    /// Finds a command in the version that a run is pinned to, even if its catalog is disabled:
    /// that does not affect the request. `None` if the catalog is not pinned.
    pub(crate) fn pinned_command(&self, text: &str) -> Option<Result<(Arc<LoadedCatalog>, usize)>> {
        let (group, name) = text.trim().split_once(' ')?;
        let pin = self.pins.get(&CatalogId::parse(group).ok()?)?;
        Some(self.load_pinned(pin).and_then(|loaded| loaded.row(name.trim())))
    }

    fn no_group(&self, group: &str) -> Problem {
        let listing = self.catalogs.list().unwrap_or_default();
        let ids = listing.records.iter().map(|record| record.id.as_str());
        let near = suggest::closest(group, ids.clone());
        problems::no_catalog(group, near.or_else(|| suggest::nearest_word(group, ids)))
    }

    fn bare(&self, text: &str) -> Result<(Arc<LoadedCatalog>, usize)> {
        let enabled = self.enabled()?;
        let found: Vec<(&Arc<LoadedCatalog>, usize)> =
            enabled.iter().filter_map(|loaded| Some((loaded, loaded.find(text)?))).collect();
        match found[..] {
            [(loaded, row)] => Ok((Arc::clone(loaded), row)),
            [] => Err(nowhere(text, &enabled)),
            _ => {
                let spellings = found.iter().map(|(loaded, row)| loaded.spelling(*row));
                let spellings: Vec<String> = spellings.collect();
                Err(problems::ambiguous_command(text, &spellings))
            }
        }
    }
}

/// The problem for a name that does not identify exactly one command.
fn nowhere(text: &str, enabled: &[Arc<LoadedCatalog>]) -> Problem {
    let has = |loaded: &&Arc<LoadedCatalog>| {
        loaded.table.rows.iter().any(|row| row.operation_id.as_deref() == Some(text))
    };
    if let Some(loaded) = enabled.iter().find(has) {
        return loaded.no_command(text);
    }
    let names = enabled.iter().flat_map(|loaded| &loaded.table.rows);
    let ids = names.filter_map(|row| row.operation_id.as_deref());
    problems::no_command(text, suggest::closest(text, ids))
}

fn key(record: &CatalogRecord) -> DerivedKey {
    DerivedKey::of(record, record.source_sha256, DERIVED_VERSION)
}

/// Stores the document's mark along with the derived data.
pub(crate) fn keep_mark(derived: &DerivedCache, record: &CatalogRecord, mark: DocumentMark) {
    let (key, mark) = (key(record), serde_json::to_string(&mark));
    let Some((mut kept, mark)) = derived.read(&key).zip(mark.ok()) else { return };
    if let Some(end) = kept.iter().rposition(|byte| *byte == b'\n') {
        kept.truncate(end + 1);
        kept.extend(mark.as_bytes());
        let _ = derived.write(&key, &kept);
    }
}

/// Parses a stored document.
pub(crate) fn whole(record: &CatalogRecord, stored: StoredDocument) -> Result<WholeDocument> {
    let broken = |why: String| {
        let again = Invocation::of("catalog.import_openapi").with("overwrite", true);
        let hint = Hint::text("import it again with ").call(again);
        Problem::new(
            Code::CatalogInvalid,
            format!("the document for `{}` cannot be used: {why}", record.id),
            hint,
        )
        .context("path", stored.path.display().to_string())
    };
    let reading =
        ParsedDocument::read_owned(stored.bytes).map_err(|error| broken(error.to_string()))?;
    let api = Api::new(reading).map(Arc::new).map_err(|error| broken(error.to_string()))?;
    let StoredDocument { edited, sha256, mark, .. } = stored;
    Ok(WholeDocument { api, edited, sha256, mark })
}

impl LoadedCatalog {
    /// The row with this name or operationId.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        let rows = &self.table.rows;
        let named = rows.iter().position(|row| row.name == text);
        named.or_else(|| {
            let is = |row: &&Row| row.operation_id.as_deref() == Some(text);
            let first = rows.iter().position(|row| is(&row))?;
            (rows.iter().filter(is).count() == 1).then_some(first)
        })
    }

    /// The catalog and the row of a command; fails if there is no such command.
    fn row(self: Arc<LoadedCatalog>, name: &str) -> Result<(Arc<LoadedCatalog>, usize)> {
        let row = self.find(name).ok_or_else(|| self.no_command(name))?;
        Ok((self, row))
    }

    fn no_command(&self, name: &str) -> Problem {
        let rows = self.table.rows.iter().enumerate();
        let same = rows.filter(|(_, row)| row.operation_id.as_deref() == Some(name));
        let same: Vec<String> = same.map(|(row, _)| self.spelling(row)).collect();
        if !same.is_empty() {
            return problems::ambiguous_command(name, &same);
        }
        let names = self.table.rows.iter().map(|row| &*row.name);
        let near = suggest::closest(name, names);
        let near = near.map(|near| format!("{} {near}", self.record.id));
        problems::no_command(&format!("{} {name}", self.record.id), near.as_deref())
    }

    /// `group name`.
    pub(crate) fn spelling(&self, row: usize) -> String {
        format!("{} {}", self.record.id, self.table.rows[row].name)
    }

    /// The mark that identifies its document without reading it.
    pub(crate) fn mark(&self) -> Option<DocumentMark> {
        self.cuts.as_ref()?.mark
    }

    /// The whole document.
    pub(crate) fn api(&self) -> Result<Arc<Api>> {
        if let Some(api) = self.api.get() {
            return Ok(Arc::clone(api));
        }
        let whole = match &self.pinned {
            Some((hash, documents)) => {
                pinned_document(&self.catalogs, &self.record, *hash, documents)?
            }
            None => whole(&self.record, self.catalogs.document(&self.record.id).or_problem()?)?,
        };
        if let Some(mark) = whole.mark.filter(|_| !whole.edited)
            && self.cuts.as_ref().is_some_and(|cuts| cuts.mark != Some(mark))
        {
            keep_mark(&self.derived, &self.record, mark);
        }
        self.sha256.get_or_init(|| whole.sha256);
        Ok(Arc::clone(self.api.get_or_init(|| whole.api)))
    }

    /// The hash of the document that its commands come from.
    pub(crate) fn document_hash(&self) -> Result<Digest> {
        if let Some((pinned, _)) = &self.pinned {
            return Ok(*pinned);
        }
        // Reads all of the document unless it is certainly the one that was imported.
        self.face()?;
        Ok(self.sha256.get().copied().unwrap_or(self.record.source_sha256))
    }

    /// The API-wide part of the document: servers and security schemes.
    pub(crate) fn face(&self) -> Result<Arc<Api>> {
        if let Some(face) = self.api.get().or_else(|| self.face.get()) {
            return Ok(Arc::clone(face));
        }
        match self.excerpt(None) {
            Some(face) => Ok(Arc::clone(self.face.get_or_init(|| Arc::new(face)))),
            None => self.api(),
        }
    }

    /// Reads only the part of the document that an operation needs. `None` unless the document is
    /// the imported one and has not been modified since it was last read in full.
    fn excerpt(&self, operation: Option<&str>) -> Option<Api> {
        let DocumentIndex { places, mark } = self.cuts.as_deref()?;
        let mut parts = self.catalogs.parts(&self.record, (*mark)?)?;
        let places: Places = serde_json::from_str(places).ok()?;
        // A byte order mark is not part of the parsed document and would shift all ranges.
        if places.length() != parts.length() {
            return None;
        }
        // The path item contains what its operations have in common.
        let path = operation.and_then(|pointer| pointer.rsplit_once('/')).map(|(path, _)| path);
        let text = places.excerpt(path, |range| parts.read(range))?;
        Api::new(ParsedDocument::read_owned(text.into_bytes()).ok()?).ok()
    }

    /// A command, ready to be called; prepared once.
    pub(crate) fn prepared(&self, row: usize) -> Result<Arc<PreparedCommand>> {
        let name = &self.table.rows[row].name;
        let known = locked(&self.prepared).get(name).cloned();
        if let Some(prepared) = known {
            return Ok(prepared);
        }
        let prepared = Arc::new(PreparedCommand::new(Arc::new(self.whole(row)?)));
        let mut all = locked(&self.prepared);
        Ok(Arc::clone(all.entry(name.clone()).or_insert(prepared)))
    }

    /// A command in full.
    pub(crate) fn whole(&self, row: usize) -> Result<ApiCommand> {
        let (spelling, row) = (self.spelling(row), &self.table.rows[row]);
        let excerpt = match self.api.get() {
            Some(_) => None,
            None => self.excerpt(Some(&row.pointer)).map(Arc::new),
        };
        let api = excerpt.map_or_else(|| self.api(), Ok)?;
        let command = CommandId::parse(&spelling).and_then(|id| api.command(id, row));
        // Cannot fail as long as the table matches the document.
        command.ok_or_else(|| problems::no_command(&spelling, None))
    }
}
