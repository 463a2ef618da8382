//! Finds commands and workflows by what they do, among everything that is enabled.

use std::sync::Arc;

use milepost_catalog::command::Method;
use milepost_catalog::search::{Filter, SearchEntry, SearchIndex};

use crate::catalog_cache::LoadedCatalog;

/// The index of everything that is enabled, and what it was built from.
#[derive(Debug)]
pub(crate) struct CommandIndex {
    pub(crate) loaded: Vec<Arc<LoadedCatalog>>,
    pub(crate) workflows: Vec<(String, String, String)>,
    places: Vec<IndexEntry>,
    index: SearchIndex,
}

/// An index entry: a command, given by its catalog and row, or a workflow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IndexEntry {
    Command(usize, usize),
    Workflow(usize),
}

impl CommandIndex {
    pub(crate) fn new(
        loaded: Vec<Arc<LoadedCatalog>>,
        workflows: Vec<(String, String, String)>,
    ) -> CommandIndex {
        let mut places = Vec::new();
        let mut entries = Vec::new();
        for (number, catalog) in loaded.iter().enumerate() {
            for (row, entry) in catalog.table.rows.iter().enumerate() {
                places.push(IndexEntry::Command(number, row));
                let catalog = catalog.record.id.as_str();
                entries.push(SearchEntry::Command { catalog, row: entry });
            }
        }
        for (number, (id, title, description)) in workflows.iter().enumerate() {
            places.push(IndexEntry::Workflow(number));
            entries.push(SearchEntry::Workflow { id, title, description });
        }
        let index = SearchIndex::new(entries);
        CommandIndex { loaded, workflows, places, index }
    }

    /// Whether the index was built from these catalogs and workflows.
    pub(crate) fn is_of(
        &self,
        loaded: &[Arc<LoadedCatalog>],
        workflows: &[(String, String, String)],
    ) -> bool {
        self.loaded.len() == loaded.len()
            && self.loaded.iter().zip(loaded).all(|(one, other)| Arc::ptr_eq(one, other))
            && self.workflows == workflows
    }

    /// The matches, best first. Without a query, all commands, sorted by name.
    pub(crate) fn find(
        &self,
        query: Option<&str>,
        group: Option<&str>,
        method: Option<Method>,
    ) -> Vec<IndexEntry> {
        let query = query.map(str::trim).filter(|query| !query.is_empty());
        let Some(query) = query else { return self.all(group, method) };
        let hits = self.index.search(query, &Filter { catalog: group, method }, usize::MAX);
        hits.into_iter().map(|hit| self.places[hit.entry]).collect()
    }

    fn all(&self, group: Option<&str>, method: Option<Method>) -> Vec<IndexEntry> {
        let fits = |place: &&IndexEntry| match place {
            IndexEntry::Command(catalog, row) => {
                let catalog = &self.loaded[*catalog];
                group.is_none_or(|group| catalog.record.id.as_str() == group)
                    && method.is_none_or(|method| catalog.table.rows[*row].method == method)
            }
            IndexEntry::Workflow(_) => false,
        };
        let mut places: Vec<IndexEntry> = self.places.iter().filter(fits).copied().collect();
        places.sort_by_cached_key(|place| match place {
            IndexEntry::Command(catalog, row) => self.loaded[*catalog].spelling(*row),
            IndexEntry::Workflow(number) => self.workflows[*number].0.clone(),
        });
        places
    }
}
