//! Workflows that were read lately, ready to run: a text is not read and checked again for every
//! run of it.
//!
//! What is kept counts only while everything stands that the text was checked against. A text that
//! was checked against anything but commands of catalogs is not kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use milepost_engine::Flow;
use milepost_model::document::Document;
use milepost_model::pinned::{self, Pinned};
use milepost_model::plan;
use milepost_model::workflow::Workflow;
use milepost_store::Digest;
use milepost_store::catalogs::CatalogRecord;
use milepost_syntax::source::Format;

use crate::prelude::*;

/// A workflow without errors, and what a run is pinned to.
#[derive(Debug)]
pub(crate) struct CompiledWorkflow {
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) flow: Flow,
    pub(crate) text: String,
    pub(crate) text_hash: String,
    pub(crate) plan_hash: String,
}

impl CompiledWorkflow {
    /// Of a document; nothing when it is no workflow.
    pub(crate) fn of(document: Document) -> Option<CompiledWorkflow> {
        let plan_hash = plan::hash(&document).unwrap_or_default();
        let workflow = Arc::new(document.workflow?);
        let text = document.source?.text().to_owned();
        let text_hash = Digest::of(text.as_bytes()).to_string();
        let flow = Flow::of(Arc::clone(&workflow));
        Some(CompiledWorkflow { workflow, flow, text, text_hash, plan_hash })
    }

    /// Of a text that a run is pinned to. It was checked when it was pinned, and is not again.
    pub(crate) fn pinned(text: &str, language: u32) -> Option<CompiledWorkflow> {
        let Pinned { workflow, plan_hash } = pinned::decode(text, language).ok()?;
        let workflow = Arc::new(workflow);
        Some(CompiledWorkflow {
            flow: Flow::of(Arc::clone(&workflow)),
            workflow,
            text: text.to_owned(),
            text_hash: Digest::of(text.as_bytes()).to_string(),
            plan_hash,
        })
    }
}

/// What was read lately; the last one used is the last one.
#[derive(Debug, Default)]
pub(crate) struct CompiledCache(Mutex<VecDeque<CachedWorkflow>>);

#[derive(Debug)]
struct CachedWorkflow {
    given: GivenText,
    /// What it was checked against.
    env_allow: Vec<String>,
    catalogs: Vec<Arc<CatalogRecord>>,
    compiled: Arc<CompiledWorkflow>,
}

/// A text as it is given, before it is decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GivenText {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Option<Format>,
}

impl CachedWorkflow {
    /// Whether it was checked against what there is now.
    fn stands(&self, reader: &Reader, env_allow: &[String]) -> bool {
        let same = |record: &Arc<CatalogRecord>| {
            let now = reader.shelf.known(&record.id).ok().flatten();
            now.is_some_and(|now| Arc::ptr_eq(&now, record))
        };
        self.env_allow == env_allow && self.catalogs.iter().all(same)
    }
}

impl CompiledCache {
    /// The workflow of a text, if it was read lately and nothing has changed since.
    pub(crate) fn find(
        &self,
        reader: &Reader,
        given: &GivenText,
        env_allow: &[String],
    ) -> Option<Arc<CompiledWorkflow>> {
        let mut all = locked(&self.0);
        let index = all.iter().position(|kept| kept.given == *given)?;
        let kept = all.remove(index)?;
        if !kept.stands(reader, env_allow) {
            return None;
        }
        let compiled = Arc::clone(&kept.compiled);
        all.push_back(kept);
        Some(compiled)
    }

    /// Keeps a workflow for the next run of the same text.
    pub(crate) fn keep(
        &self,
        given: GivenText,
        env_allow: Vec<String>,
        catalogs: Vec<Arc<CatalogRecord>>,
        compiled: &Arc<CompiledWorkflow>,
    ) {
        if given.bytes.len() > limits::COMPILED_TEXT_BYTES {
            return;
        }
        let mut all = locked(&self.0);
        all.retain(|kept| kept.given != given);
        if all.len() >= limits::COMPILED_KEPT {
            all.pop_front();
        }
        let compiled = Arc::clone(compiled);
        all.push_back(CachedWorkflow { given, env_allow, catalogs, compiled });
    }
}
