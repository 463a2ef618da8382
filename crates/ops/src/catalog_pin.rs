//! Catalog versions that runs are pinned to: a record and a document that stay the same even if the
//! catalog changes. Whether the catalog is enabled is not part of a version.

use std::sync::{Arc, OnceLock};

use milepost_catalog::import::Inspection;
use milepost_engine::ports::PinnedText;
use milepost_engine::world::PinnedCatalog;
use milepost_store::catalogs::{
    CatalogRecord, Catalogs, DocumentMark, ProfileName, StoredDocument,
};
use milepost_store::{Digest, KeptDocuments};

use crate::catalog_cache::{
    CatalogCache, CommandTable, LoadedCatalog, WholeDocument, keep_mark, whole,
};
use crate::prelude::*;

/// A version of a catalog.
#[derive(Debug)]
pub(crate) struct CatalogPin {
    pub(crate) record: Arc<CatalogRecord>,
    pub(crate) document: Digest,
    /// The record in the form stored for runs.
    pub(crate) text: PinnedText,
    /// The document's mark, if it is still the catalog's document.
    mark: Option<DocumentMark>,
    loaded: OnceLock<Arc<LoadedCatalog>>,
}

impl CatalogPin {
    fn new(record: Arc<CatalogRecord>, text: &str, document: Digest) -> CatalogPin {
        let text = PinnedText { hash: Digest::of(text.as_bytes()), text: text.into() };
        CatalogPin { record, document, text, mark: None, loaded: OnceLock::new() }
    }

    /// The version that a stored record describes; `None` if `text` is not a record.
    pub(crate) fn of_kept(text: &str, document: Digest) -> Option<CatalogPin> {
        Some(CatalogPin::new(Arc::new(CatalogRecord::of_pinned(text)?), text, document))
    }

    /// What a run records about this version.
    pub(crate) fn pinned(&self) -> PinnedCatalog {
        let profile = ProfileName::default();
        let names = self.record.credentials(&profile);
        PinnedCatalog {
            record: self.text.hash.to_string(),
            document: self.document.to_string(),
            environment: None,
            base_url: self.record.base_url.as_ref().map(|base| base.url.clone()),
            credentials: names.map(|name| name.as_str().to_owned()).collect(),
        }
    }
}

impl CatalogCache {
    /// The current version of a catalog. Its document is kept for runs from now on. The previous
    /// result is reused as long as the files are untouched.
    pub(crate) fn newest_pin(&self, record: &Arc<CatalogRecord>) -> Result<Arc<CatalogPin>> {
        let known = locked(&self.newest).get(&record.id).cloned();
        let known = known.filter(|pin| Arc::ptr_eq(&pin.record, record));
        if let Some(pin) = known.as_ref()
            && pin.mark.is_some_and(|mark| self.catalogs.is_untouched(record, mark))
            && self.documents.renew(pin.document)
        {
            return Ok(Arc::clone(pin));
        }
        let (document, mark) = self.document_version(record)?;
        if let Some(pin) = known.filter(|pin| pin.document == document && pin.mark == mark) {
            return Ok(pin);
        }
        let pin = CatalogPin::new(Arc::clone(record), &record.pinned_text(), document);
        let pin = Arc::new(CatalogPin { mark, ..pin });
        locked(&self.newest).insert(record.id.clone(), Arc::clone(&pin));
        Ok(pin)
    }

    /// The hash of a catalog's document, which is kept for runs from now on.
    fn document_version(
        &self,
        record: &Arc<CatalogRecord>,
    ) -> Result<(Digest, Option<DocumentMark>)> {
        let (catalogs, kept) = (&self.catalogs, &self.documents);
        // A document that has already been read in full need not be read again to compute its hash.
        let mark = self.load(record)?.mark();
        let mark = mark.filter(|mark| catalogs.is_untouched(record, *mark));
        if mark.is_some() && kept.renew(record.source_sha256) {
            return Ok((record.source_sha256, mark));
        }
        let now = catalogs.document_now(record).or_problem()?;
        if !kept.renew(now.sha256) {
            kept.keep(now.sha256, &now.bytes).or_problem()?;
        }
        let as_imported = now.sha256 == record.source_sha256;
        if let Some(mark) = now.mark.filter(|_| as_imported) {
            keep_mark(&self.derived, record, mark);
        }
        Ok((now.sha256, now.mark))
    }

    /// Loads a version into memory, once.
    pub(crate) fn load_pinned(&self, pin: &CatalogPin) -> Result<Arc<LoadedCatalog>> {
        if let Some(loaded) = pin.loaded.get() {
            return Ok(Arc::clone(loaded));
        }
        let fresh = Arc::new(self.read_pinned(pin)?);
        Ok(Arc::clone(pin.loaded.get_or_init(|| fresh)))
    }

    fn read_pinned(&self, pin: &CatalogPin) -> Result<LoadedCatalog> {
        let CatalogPin { record, document, .. } = pin;
        let pinned = Some((*document, self.documents.clone()));
        // Derived data belongs to the document that was imported.
        if *document == record.source_sha256
            && let Some((table, cuts)) = self.derived_parts(record)
        {
            let parts = (table, cuts.map(|cuts| cuts.marked(pin.mark)));
            return Ok(self.of_parts(record, parts, OnceLock::new(), pinned));
        }
        let read = pinned_document(&self.catalogs, record, *document, &self.documents)?;
        let table = CommandTable::of(&read.api, Inspection::of(&read.api), &record.names);
        Ok(self.of_parts(record, (Arc::new(table), None), OnceLock::from(read.api), pinned))
    }
}

/// The document that runs are pinned to: the copy kept for them, or the catalog's own if it is the
/// same.
pub(crate) fn pinned_document(
    catalogs: &Catalogs,
    record: &CatalogRecord,
    hash: Digest,
    kept: &KeptDocuments,
) -> Result<WholeDocument> {
    let bytes = kept.read(hash).or_problem()?;
    let stored = match bytes {
        Some(bytes) => Some(StoredDocument {
            path: kept.file(hash),
            format: record.format,
            bytes,
            sha256: hash,
            edited: false,
            mark: None,
        }),
        None => catalogs.document_with(record, hash),
    };
    let stored = stored.ok_or_else(|| {
        let message = format!("the run's pinned document for `{}` is missing", record.id);
        let again = Invocation::of("catalog.import_openapi").with("overwrite", true);
        let hint = Hint::text("import the same document again with ").call(again);
        Problem::new(Code::CatalogInvalid, message, hint)
    })?;
    whole(record, StoredDocument { mark: None, ..stored })
}
