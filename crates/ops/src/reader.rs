//! What a safe operation may use: it can look at everything and write nothing.

use std::sync::Arc;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::problem::Problem;
use milepost_store::{Entry, Found, Library, Listing};

use crate::problems;

/// The read side of the product.
#[derive(Debug)]
pub struct Reader {
    library: Library,
    /// A workflow from elsewhere that counts as one of the library, and wins.
    given: Option<Arc<Entry>>,
}

/// What the documents are checked against.
const WORLD: World<'static> = World { commands: &NoCommands, env_allow: None };

impl Reader {
    /// Over the workflows of this library. Nothing is read yet.
    pub fn new(library: Library) -> Reader {
        Reader { library, given: None }
    }

    /// The same with one more workflow: a file that somebody named.
    #[must_use]
    pub fn with(self, entry: Entry) -> Reader {
        Reader { given: Some(Arc::new(entry)), ..self }
    }

    /// The workflow of an id.
    pub fn workflow(&self, id: &str) -> Result<Arc<Entry>, Problem> {
        if let Some(given) = self.given.as_ref().filter(|given| given.id == id) {
            return Ok(Arc::clone(given));
        }
        match self.library.get(id, WORLD).map_err(|error| problems::of_file(&error))? {
            Some(Found::Workflow(entry)) => Ok(entry),
            Some(Found::Invalid(invalid)) => Err(problems::of_invalid(id, &invalid)),
            None => Err(self.no_workflow(id)),
        }
    }

    /// Whatever is asked from here on was asked for before now, until this is told again.
    pub(crate) fn arrived(&self) {
        self.library.arrived();
    }

    /// Every workflow and every file that is none.
    pub fn listing(&self) -> Result<Arc<Listing>, Problem> {
        self.library.listing(WORLD).map_err(|error| problems::of_file(&error))
    }

    pub(crate) fn world() -> World<'static> {
        WORLD
    }

    fn no_workflow(&self, id: &str) -> Problem {
        let listing = self.library.listing(WORLD).ok();
        let ids = listing.iter().flat_map(|listing| listing.items.iter().map(|item| &*item.id));
        let broken = listing.as_ref().map_or(0, |listing| listing.invalid.len());
        problems::no_workflow(id, broken, milepost_model::suggest::closest(id, ids))
    }
}
