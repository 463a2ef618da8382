//! Records the progress of each run next to the database, to detect a log that lost its end.
//!
//! `SQLite` stops its recovery at the first invalid frame in the log, and a log that was truncated
//! or removed looks as if it had never been longer. Therefore each process keeps a file in which it
//! notes the last event and the last message of every run it wrote to, after each commit and before
//! the commit is acknowledged. The file is not synced: after a power failure it may be outdated or
//! empty, so some losses may go undetected. A note is a lower bound. It is never ahead of what was
//! committed, and a note about a synced commit is never ahead of the disk; a note about an unsynced
//! commit is valid only until the machine restarts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Digest, limits};
use milepost_model::digest::unhex;
use milepost_model::document::hex;
use milepost_model::id::RunId;
use rusqlite::params;

use super::chain::{ChainKey, Mac, ORIGIN};
use super::{Db, RunsError, schema};
use crate::file::{self, FileError, FileMode};

const FOLDER: &str = "progress";
/// Placeholder for a missing message or boot id.
const NONE: &str = "-";
/// The size of a note about one run, padded with spaces. Each run has a fixed slot, which later
/// notes overwrite.
const NOTE_BYTES: usize = 192;

/// What a write did to a run, to be noted once it is committed.
#[derive(Debug, Clone)]
pub(super) enum ProgressUpdate {
    /// Appended events; the fields describe the last one.
    Events { run: RunId, seq: u64, mac: Mac },
    /// Sent a message.
    Message { run: RunId, code: String },
}

impl ProgressUpdate {
    /// The update for a message with this id.
    pub(super) fn message(run: &RunId, id: &str) -> ProgressUpdate {
        ProgressUpdate::Message { run: run.clone(), code: message_code(id) }
    }
}

fn message_code(id: &str) -> String {
    hex(&Digest::of(id.as_bytes()).bytes()[..16])
}

/// The updates in the current transaction.
pub(super) type PendingUpdates = RefCell<Vec<ProgressUpdate>>;

/// A note about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgressNote {
    pub(super) run: RunId,
    /// The sequence number and MAC of its last event; 0 while only messages are known.
    pub(super) seq: u64,
    mac: Mac,
    /// The last message that this process sent to the run.
    message: Option<String>,
    /// Whether the commit was on disk when this was noted.
    synced: bool,
}

impl ProgressNote {
    fn line(&self, key: &ChainKey, boot: &str) -> Vec<u8> {
        let said = self.said(boot);
        let code = hex(&key.over("progress").text(&said).mac());
        let mut line = format!("{said} {code}").into_bytes();
        line.resize(NOTE_BYTES - 1, b' ');
        line.push(b'\n');
        line
    }

    fn said(&self, boot: &str) -> String {
        let synced = if self.synced { "synced" } else { "written" };
        let message = self.message.as_deref().unwrap_or(NONE);
        format!("{} {} {} {message} {synced} {boot}", self.run, self.seq, hex(&self.mac))
    }

    /// Parses a line with a valid MAC, and returns it with its boot id. Anything else is ignored:
    /// the file may be outdated or partially written.
    fn read(line: &str, key: &ChainKey) -> Option<(ProgressNote, String)> {
        let (said, code) = line.trim_end().rsplit_once(' ')?;
        if hex(&key.over("progress").text(said).mac()) != code {
            return None;
        }
        let words: Vec<&str> = said.split(' ').collect();
        let [run, seq, mac, message, synced, boot] = words[..] else { return None };
        let note = ProgressNote {
            run: RunId::parse(run).ok()?,
            seq: seq.parse().ok()?,
            mac: unhex(mac)?.try_into().ok()?,
            message: (message != NONE).then(|| message.to_owned()),
            synced: synced == "synced",
        };
        Some((note, boot.to_owned()))
    }
}

/// This process's progress file, created with the first note.
pub(super) struct ProgressFile {
    directory: PathBuf,
    key: ChainKey,
    boot: String,
    open: Option<Open>,
}

/// The open file, locked for the lifetime of the process.
struct Open {
    file: File,
    path: PathBuf,
    /// The note about each run, with its slot.
    notes: HashMap<RunId, (usize, ProgressNote)>,
    /// The run in each slot; the oldest note is dropped when all slots are in use.
    places: Vec<RunId>,
    next: usize,
}

impl ProgressFile {
    pub(super) fn of(directory: &Path, key: ChainKey) -> ProgressFile {
        let boot = boot().unwrap_or_else(|| NONE.to_owned());
        ProgressFile { directory: directory.to_owned(), key, boot, open: None }
    }

    /// Notes what was committed. If this fails, a later loss goes undetected, but that does not
    /// justify rejecting the commit.
    pub(super) fn note(&mut self, written: Vec<ProgressUpdate>, synced: bool) {
        if !written.is_empty() && self.try_note(written, synced).is_err() {
            tracing::debug!(target: "milepost::store", "could not record the progress of runs");
        }
    }

    fn try_note(&mut self, written: Vec<ProgressUpdate>, synced: bool) -> Result<(), RunsError> {
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Open::make(&self.directory)?),
        };
        for written in written {
            let (place, note) = open.changed(written, synced);
            let line = note.line(&self.key, &self.boot);
            let at = SeekFrom::Start((place * NOTE_BYTES) as u64);
            let done = open.file.seek(at).and_then(|_| open.file.write_all(&line));
            done.map_err(|error| FileError::of(&open.path, error))?;
        }
        Ok(())
    }

    /// The files left by dead processes. They may be removed once everything committed so far is in
    /// the database file itself.
    pub(super) fn ended(&self) -> Vec<PathBuf> {
        let own = self.open.as_ref().map(|open| open.path.as_path());
        let others = files(&self.directory).into_iter().filter(|path| Some(path.as_path()) != own);
        others.filter(|path| is_ended(path)).collect()
    }
}

impl Open {
    fn make(directory: &Path) -> Result<Open, RunsError> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|_| RunsError::NoRandomness)?;
        let folder = directory.join(FOLDER);
        file::make_directory(&folder, FileMode::Owner)?;
        let path = folder.join(hex(&name));
        let fail = |error: io::Error| FileError::of(&path, error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        file::owner_only(&mut options);
        let file = options.open(&path).or_else(|_| {
            // The last process to leave may have just removed the folder.
            drop(file::make_directory(&folder, FileMode::Owner));
            options.open(&path)
        });
        let file = file.map_err(fail)?;
        // Without the lock, others treat this file as one left by a dead process and may remove it;
        // until then its notes are valid.
        drop(file.try_lock());
        Ok(Open { file, path, notes: HashMap::new(), places: Vec::new(), next: 0 })
    }

    /// Updates the note about a run and returns it with its slot.
    fn changed(&mut self, written: ProgressUpdate, synced: bool) -> (usize, &ProgressNote) {
        let run = match &written {
            ProgressUpdate::Events { run, .. } | ProgressUpdate::Message { run, .. } => run.clone(),
        };
        let place = self.notes.get(&run).map(|(place, _)| *place);
        let place = place.unwrap_or_else(|| self.place_for(&run));
        let (_, note) = self.notes.entry(run.clone()).or_insert_with(|| {
            (place, ProgressNote { run, seq: 0, mac: ORIGIN, message: None, synced })
        });
        note.synced = synced;
        match written {
            ProgressUpdate::Events { seq, mac, .. } => (note.seq, note.mac) = (seq, mac),
            ProgressUpdate::Message { code, .. } => note.message = Some(code),
        }
        (place, note)
    }

    fn place_for(&mut self, run: &RunId) -> usize {
        if self.places.len() < limits::PROGRESS_NOTES {
            self.places.push(run.clone());
            return self.places.len() - 1;
        }
        let place = self.next;
        self.next = (place + 1) % limits::PROGRESS_NOTES;
        self.notes.remove(&self.places[place]);
        self.places[place].clone_from(run);
        place
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return Vec::new() };
    entries.take(limits::PROGRESS_FILES).flatten().map(|entry| entry.path()).collect()
}

/// Whether the process that wrote a file is gone.
fn is_ended(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Removes the files left by dead processes.
pub(super) fn remove(files: &[PathBuf]) {
    for path in files {
        // A file that remains is read again, which is harmless.
        drop(fs::remove_file(path));
    }
}

/// Removes the progress files left by dead processes.
pub(super) fn remove_ended(directory: &Path) {
    let ended: Vec<PathBuf> = files(directory).into_iter().filter(|path| is_ended(path)).collect();
    remove(&ended);
    // Only succeeds if the folder is empty; it is created again when needed.
    drop(fs::remove_dir(directory.join(FOLDER)));
}

/// The valid notes from all processes. They must be read before the database, because a run that
/// continues in the meantime is ahead of its note.
pub(super) fn read(directory: &Path, key: &ChainKey) -> Vec<ProgressNote> {
    let now = boot();
    let mut notes = Vec::new();
    for path in files(directory) {
        let Ok(bytes) = file::read_document(&path, limits::PROGRESS_FILE_BYTES) else { continue };
        for line in bytes.chunks(NOTE_BYTES) {
            let Ok(line) = std::str::from_utf8(line) else { continue };
            if let Some((note, boot)) = ProgressNote::read(line, key)
                && (note.synced || now.as_ref() == Some(&boot))
            {
                notes.push(note);
            }
        }
    }
    notes
}

/// The id of the machine's current boot, if the system provides one.
pub(super) fn boot() -> Option<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let told = String::from_utf8(file::read_document(path, limits::BOOT_ID_BYTES).ok()?).ok()?;
    let told = told.trim();
    let plain = told.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (plain && !told.is_empty() && told != NONE).then(|| told.to_owned())
}

/// The runs that lag behind their notes, each with the sequence number of its last known event.
pub(super) fn behind(db: Db<'_>, notes: &[ProgressNote]) -> Result<Vec<(RunId, u64)>, RunsError> {
    let mut found: Vec<(RunId, u64)> = Vec::new();
    for note in notes {
        let there = match is_there(db, note) {
            // The next reader detects the damage and quarantines the run.
            Err(error) if error.is_damage() => true,
            there => there?,
        };
        if !there && !found.iter().any(|(run, _)| *run == note.run) {
            found.push((note.run.clone(), note.seq));
        }
    }
    Ok(found)
}

fn is_there(db: Db<'_>, note: &ProgressNote) -> Result<bool, RunsError> {
    let sql = "SELECT key FROM runs WHERE id = ?1";
    let Some(key) = db.first(sql, [note.run.as_str()], |row| row.get::<_, u64>(0))? else {
        // A missing run was lost, unless it was purged since the notes were last checked.
        return schema::lists(db, "purged_runs", &note.run);
    };
    if note.seq > 0 {
        let sql = "SELECT mac FROM events WHERE run = ?1 AND seq = ?2";
        let mac: Option<Vec<u8>> = db.first(sql, params![key, note.seq], |row| row.get(0))?;
        if mac.is_none_or(|mac| mac != note.mac) {
            return Ok(false);
        }
    }
    let Some(message) = &note.message else { return Ok(true) };
    let mut there = false;
    db.each("SELECT id FROM inbox WHERE run = ?1 ORDER BY key DESC", [key], |row| {
        there = message_code(&row.get::<_, String>(0)?) == *message;
        Ok(!there)
    })?;
    Ok(there)
}
