//! Data that runs refer to besides their own workflow source, kept as long as a run refers to it.

use std::collections::BTreeSet;

use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::ports::PinnedText;
use milepost_model::digest::Digest;
use milepost_model::id::RunId;
use rusqlite::params;

use super::{Db, RunsError, schema};

/// Additional tables. They do not change the existing ones, so earlier versions of the program keep
/// working.
pub(super) const TABLES: &str = include_str!("pins.sql");

/// What a run refers to from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    /// Sources to store, unless they are already stored.
    pub texts: Vec<PinnedText>,
    /// The hashes of everything the run refers to.
    pub hashes: Vec<Digest>,
}

impl Pins {
    /// Everything that these entries refer to.
    pub(super) fn of(entries: &[JournalEntry], texts: Vec<PinnedText>) -> Pins {
        let worlds = entries.iter().filter_map(|entry| entry.event.world());
        let mut hashes: BTreeSet<Digest> =
            worlds.flat_map(milepost_engine::world::RunWorld::hashes).collect();
        hashes.extend(entries.iter().filter_map(|entry| match &entry.event {
            Event::RunResumedFrom(resumption) => Digest::parse(&resumption.text_hash),
            _ => None,
        }));
        Pins { texts, hashes: hashes.into_iter().collect() }
    }
}

/// Stores what a run refers to.
pub(super) fn keep(db: Db<'_>, run: &RunId, pins: &Pins) -> Result<(), RunsError> {
    for PinnedText { hash, text } in &pins.texts {
        if !db.any("SELECT 1 FROM texts WHERE hash = ?1", [hash.bytes()])? {
            let keep = "INSERT INTO texts(hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            db.execute(keep, params![hash.bytes(), &**text])?;
        }
    }
    let refer = "INSERT INTO run_refs(run, hash) SELECT key, ?2 FROM runs WHERE id = ?1 \
                 ON CONFLICT DO NOTHING";
    for hash in &pins.hashes {
        db.execute(refer, params![run.as_str(), hash.bytes()])?;
    }
    Ok(())
}

/// Everything that runs refer to.
pub(super) fn all(db: Db<'_>) -> Result<BTreeSet<Digest>, RunsError> {
    if !schema::has(db, "texts_referenced")? {
        return Ok(BTreeSet::new());
    }
    let read = db.all("SELECT DISTINCT hash FROM run_refs", [], |row| row.get::<_, [u8; 32]>(0))?;
    Ok(read.into_iter().map(Digest::from_bytes).collect())
}
