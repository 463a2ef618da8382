//! Fixes everything that is safe to fix without asking. Nothing here can lose data.

use std::path::Path;

use milepost_driver::clock::now_ms;
use milepost_store::FileError;
use milepost_store::catalogs::DocumentStanding;
use milepost_store::health::{self, DirectoryState};
use milepost_store::runs::{OpenOptions, Runs, RunsReader};

use super::count;
use crate::prelude::*;

/// What was fixed, and what could not be.
#[derive(Default)]
struct Work {
    done: Vec<String>,
    failed: Vec<String>,
}

impl Work {
    fn take(&mut self, what: String, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.done.push(what),
            Err(why) => self.failed.push(format!("{what}: {why}")),
        }
    }

    /// Like [`Self::take`], for the outcome of a file operation.
    fn take_file(&mut self, what: String, outcome: Result<(), FileError>) {
        self.take(what, outcome.map_err(|error| problems::of_file(&error).message));
    }
}

/// Fixes everything that is safe to fix.
pub(super) fn all(writer: &Writer) -> (Vec<String>, Vec<String>) {
    let mut work = Work::default();
    directories(writer, &mut work);
    modes(writer, &mut work);
    leftovers(writer, &mut work);
    processes(writer, &mut work);
    catalogs(writer, &mut work);
    (work.done, work.failed)
}

fn directories(writer: &Writer, work: &mut Work) {
    let locations = &writer.reader.locations;
    let config = locations.config.parent().unwrap_or(Path::new("."));
    for (path, private) in [(config, false), (&*locations.data, true), (&*locations.cache, true)] {
        if matches!(health::directory(path), DirectoryState::ToBeMade) {
            work.take_file(format!("created {}", path.display()), health::make(path, private));
        }
    }
}

fn modes(writer: &Writer, work: &mut Work) {
    let exposed = health::exposed(&writer.reader.locations);
    for exposed in exposed.iter().filter(|exposed| exposed.closable) {
        let what = format!("made {} private", exposed.path.display());
        work.take_file(what, health::close(exposed));
    }
}

fn leftovers(writer: &Writer, work: &mut Work) {
    let left = health::leftovers(&writer.reader.locations);
    if !left.is_empty() {
        let what = format!("removed {} left by dead processes", count(left.len(), "file"));
        work.take_file(what, health::remove_leftovers(&left));
    }
}

/// Releases the runs of dead processes. Runs that cannot be opened are reported by another check.
fn processes(writer: &Writer, work: &mut Work) {
    let data = &*writer.reader.locations.data;
    let Ok(Some(reader)) = RunsReader::open(data) else { return };
    let now = now_ms();
    let Ok((left, ended)) = reader.left(now) else { return };
    if left.is_empty() && ended == 0 {
        return;
    }
    let what = format!(
        "released {} and removed {} left by dead processes",
        count(left.len(), "run"),
        count(ended, "file"),
    );
    let cleared = Runs::open(data, OpenOptions::default()).and_then(|runs| runs.clear_dead(now));
    work.take(what, cleared.map(drop).map_err(|error| error.to_string()));
}

fn catalogs(writer: &Writer, work: &mut Work) {
    let listing = writer.catalogs.list().unwrap_or_default();
    for record in &listing.records {
        let id = &record.id;
        if matches!(writer.catalogs.examine(record), DocumentStanding::Unfinished) {
            let ended = writer.catalogs.document(id).map(drop);
            let ended = ended.map_err(|error| error.to_string());
            work.take(format!("completed the import of catalog `{id}`"), ended);
        }
        let shelf = &writer.reader.shelf;
        if shelf.damaged(record).is_some() {
            let made = shelf.load(record).map(drop).map_err(|problem| problem.message);
            // If the data cannot be rebuilt, remove it rather than leave it damaged.
            let made = made.or_else(|why| writer.derived.forget(id).map_err(|_| why));
            work.take(format!("rebuilt the derived data for catalog `{id}`"), made);
        }
    }
}
