//! What was found for calls that arrived together: each id is looked for once among them.

use crate::library::Found;
use crate::limits;

/// What was found since the last calls arrived.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// None as long as nobody has told that calls arrive together: then every call looks.
    found: Option<Vec<(String, Found)>>,
    /// At how many changes of the index this was found.
    changes: u64,
}

impl Together {
    /// From now on, what is found counts for all calls until the next arrive.
    pub(crate) fn begin(&mut self) {
        self.found.get_or_insert_default().clear();
    }

    /// From now on every call looks.
    pub(crate) fn end(&mut self) {
        self.found = None;
    }

    /// What was found under an id. Nothing when a change was seen since, be it of another file: no
    /// call may tell of something older than a call before it did.
    pub(crate) fn get(&self, id: &str, changes: u64) -> Option<Found> {
        let found = self.found.as_ref().filter(|_| self.changes == changes)?;
        found.iter().find(|(known, _)| known == id).map(|(_, found)| found.clone())
    }

    pub(crate) fn put(&mut self, id: &str, found: &Found, changes: u64) {
        let Some(held) = &mut self.found else { return };
        if self.changes != changes || held.len() == limits::LOOKED_FOR {
            held.clear();
        }
        self.changes = changes;
        held.push((id.to_owned(), found.clone()));
    }
}
