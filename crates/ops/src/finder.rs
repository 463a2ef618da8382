//! Finding commands and workflows by what they do, over everything that is enabled.

use std::sync::Arc;

use milepost_catalog::command::Method;
use milepost_catalog::search::{Entry, Filter, Index};

use crate::shelf::Loaded;

/// The index over everything that is enabled, with what it was made from.
#[derive(Debug)]
pub(crate) struct Finder {
    pub(crate) loaded: Vec<Arc<Loaded>>,
    pub(crate) workflows: Vec<(String, String, String)>,
    places: Vec<Place>,
    index: Index,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Command(usize, usize),
    Workflow(usize),
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Found {
    Command(Arc<Loaded>, usize),
    Workflow { id: String, title: String },
}

impl Finder {
    pub(crate) fn new(
        loaded: Vec<Arc<Loaded>>,
        workflows: Vec<(String, String, String)>,
    ) -> Finder {
        let mut places = Vec::new();
        let mut entries = Vec::new();
        for (number, catalog) in loaded.iter().enumerate() {
            for (row, entry) in catalog.table.rows.iter().enumerate() {
                places.push(Place::Command(number, row));
                entries.push(Entry::Command { catalog: catalog.record.id.as_str(), row: entry });
            }
        }
        for (number, (id, title, description)) in workflows.iter().enumerate() {
            places.push(Place::Workflow(number));
            entries.push(Entry::Workflow { id, title, description });
        }
        let index = Index::new(entries);
        Finder { loaded, workflows, places, index }
    }

    /// Whether it still stands for these.
    pub(crate) fn is_of(
        &self,
        loaded: &[Arc<Loaded>],
        workflows: &[(String, String, String)],
    ) -> bool {
        self.loaded.len() == loaded.len()
            && self.loaded.iter().zip(loaded).all(|(one, other)| Arc::ptr_eq(one, other))
            && self.workflows == workflows
    }

    /// What fits, best first; everything, in order of names, without a query.
    pub(crate) fn find(
        &self,
        query: Option<&str>,
        group: Option<&str>,
        method: Option<Method>,
    ) -> Vec<Found> {
        let query = query.map(str::trim).filter(|query| !query.is_empty());
        let places: Vec<Place> = match query {
            Some(query) => {
                let filter = Filter { catalog: group, method };
                let hits = self.index.search(query, &filter, usize::MAX);
                hits.into_iter().map(|hit| self.places[hit.entry]).collect()
            }
            None => self.all(group, method),
        };
        places.into_iter().map(|place| self.found(place)).collect()
    }

    fn all(&self, group: Option<&str>, method: Option<Method>) -> Vec<Place> {
        let fits = |place: &&Place| match place {
            Place::Command(catalog, row) => {
                let catalog = &self.loaded[*catalog];
                group.is_none_or(|group| catalog.record.id.as_str() == group)
                    && method.is_none_or(|method| catalog.table.rows[*row].method == method)
            }
            Place::Workflow(_) => false,
        };
        let mut places: Vec<Place> = self.places.iter().filter(fits).copied().collect();
        places.sort_by_cached_key(|place| match place {
            Place::Command(catalog, row) => self.loaded[*catalog].spelling(*row),
            Place::Workflow(number) => self.workflows[*number].0.clone(),
        });
        places
    }

    fn found(&self, place: Place) -> Found {
        match place {
            Place::Command(catalog, row) => Found::Command(Arc::clone(&self.loaded[catalog]), row),
            Place::Workflow(number) => {
                let (id, title, _) = &self.workflows[number];
                Found::Workflow { id: id.clone(), title: title.clone() }
            }
        }
    }
}
