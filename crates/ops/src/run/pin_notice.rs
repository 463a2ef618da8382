//! Whether the PIN is still the one that the person set, shown wherever they look before they
//! decide.

use milepost_driver::clock::now_ms;
use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::ports::RunFilter;
use milepost_store::person::{Person, PersonError, PinState, PinnedKey};

use crate::prelude::*;

/// What a person has to know about their PIN before they decide; `None` if all is well.
pub async fn notice(reader: &Reader) -> Option<String> {
    told(&state(reader).await)
}

pub(crate) async fn state(reader: &Reader) -> Result<PinState, PersonError> {
    Person::of(&reader.locations.data).state(&used(reader).await, now_ms())
}

/// A state in words; `None` if all is well.
pub(crate) fn told(state: &Result<PinState, PersonError>) -> Option<String> {
    match state {
        Ok(PinState::Sound) => None,
        Ok(PinState::Missing) => {
            Some("a PIN was set, but `person.json` is missing, and with it the PIN".to_owned())
        }
        Ok(PinState::Replaced { at_ms }) => Some(format!(
            "another PIN was set at {} without the old one; if that was not you, somebody else \
             can decide in your name",
            crate::rfc3339(*at_ms)
        )),
        Err(error) => Some(error.to_string()),
    }
}

/// The keys that recent runs are pinned to. Runs that cannot be read prove nothing.
async fn used(reader: &Reader) -> Vec<PinnedKey> {
    let journal = &reader.ports.journal;
    let Ok(page) = journal.list(&RunFilter::default(), limits::PINNED_RUNS).await else {
        return Vec::new();
    };
    let mut used = Vec::new();
    for run in page.runs {
        if let Ok(first) = journal.events(&run.id, 0, 1).await {
            used.extend(first.entries.first().and_then(pinned));
        }
    }
    used
}

/// The key that a run's first event pins it to.
fn pinned(first: &JournalEntry) -> Option<PinnedKey> {
    let Event::RunCreated(head) = &first.event else { return None };
    Some(PinnedKey { key: head.person.clone()?, at_ms: first.at_ms })
}
