//! Caches recently compiled workflows, so that a source is not parsed and checked again for every
//! run.
//!
//! An entry is valid only as long as everything that the source was checked against is unchanged. A
//! source that was checked against anything other than catalog commands is not cached.

use std::sync::Arc;

use milepost_engine::Flow;
use milepost_model::document::Document;
use milepost_model::pinned::{self, Pinned};
use milepost_model::plan;
use milepost_model::workflow::Workflow;
use milepost_store::Digest;
use milepost_store::catalogs::CatalogRecord;
use milepost_syntax::source::Format;

use crate::lru_cache::LruCache;
use crate::prelude::*;

/// A workflow without errors, and what its runs are pinned to.
#[derive(Debug)]
pub(crate) struct CompiledWorkflow {
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) flow: Flow,
    pub(crate) text: String,
    pub(crate) text_hash: String,
    pub(crate) plan_hash: String,
}

impl CompiledWorkflow {
    /// Compiles a document; `None` if it contains no workflow.
    pub(crate) fn of(document: Document) -> Option<CompiledWorkflow> {
        let plan_hash = plan::hash(&document).unwrap_or_default();
        let workflow = document.workflow?;
        Some(CompiledWorkflow::new(workflow, document.source?.text(), plan_hash))
    }

    /// Compiles a source that a run is pinned to. It was checked when it was pinned, and is not
    /// checked again.
    pub(crate) fn pinned(text: &str, language: u32) -> Option<CompiledWorkflow> {
        let Pinned { workflow, plan_hash } = pinned::decode(text, language).ok()?;
        Some(CompiledWorkflow::new(workflow, text, plan_hash))
    }

    fn new(workflow: Workflow, text: &str, plan_hash: String) -> CompiledWorkflow {
        let (workflow, text) = (Arc::new(workflow), text.to_owned());
        let flow = Flow::of(Arc::clone(&workflow));
        let text_hash = Digest::of(text.as_bytes()).to_string();
        CompiledWorkflow { workflow, flow, text, text_hash, plan_hash }
    }
}

/// The recently compiled workflows.
#[derive(Debug)]
pub(crate) struct CompiledCache(LruCache<GivenText, Arc<CheckedWorkflow>>);

/// A workflow, and what it was checked against.
#[derive(Debug)]
struct CheckedWorkflow {
    env_allow: Vec<String>,
    catalogs: Vec<Arc<CatalogRecord>>,
    compiled: Arc<CompiledWorkflow>,
}

/// A source as given, before decoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GivenText {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Option<Format>,
}

impl Default for CompiledCache {
    fn default() -> CompiledCache {
        CompiledCache(LruCache::new(limits::COMPILED_KEPT))
    }
}

impl CompiledCache {
    /// The compiled workflow for a source, if cached and still valid.
    pub(crate) fn find(
        &self,
        reader: &Reader,
        given: &GivenText,
        env_allow: &[String],
    ) -> Option<Arc<CompiledWorkflow>> {
        let checked = self.0.find(|known, _| known == given)?;
        let same = |record: &Arc<CatalogRecord>| {
            let now = reader.shelf.known(&record.id).ok().flatten();
            now.is_some_and(|now| Arc::ptr_eq(&now, record))
        };
        let stands = checked.env_allow == env_allow && checked.catalogs.iter().all(same);
        stands.then(|| Arc::clone(&checked.compiled))
    }

    /// Caches a workflow for the next run of the same source.
    pub(crate) fn keep(
        &self,
        given: GivenText,
        env_allow: Vec<String>,
        catalogs: Vec<Arc<CatalogRecord>>,
        compiled: &Arc<CompiledWorkflow>,
    ) {
        if given.bytes.len() <= limits::COMPILED_TEXT_BYTES {
            let compiled = Arc::clone(compiled);
            self.0.keep(given, Arc::new(CheckedWorkflow { env_allow, catalogs, compiled }));
        }
    }
}
