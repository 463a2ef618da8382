//! A run's journal: events in order, each bound to the previous one.
//!
//! This module does not interpret events: it returns the bytes that were written, or an error.

use milepost_engine::ports::{Durability, JournalError, Lease, MessageId, RunSummary};
use milepost_model::id::RunId;
use rusqlite::{Row, params};

use super::chain::{ChainKey, Mac, MacInput, ORIGIN};
use super::pins::{self, Pins};
use super::progress::ProgressUpdate;
use super::run::{self, RunRow};
use super::{Db, RunsError, inbox, lease};
use crate::{Digest, limits};

/// An event to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub at_ms: u64,
    pub kind: String,
    pub data: Vec<u8>,
}

/// An event in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its sequence number in the run, starting at 1.
    pub seq: u64,
    pub at_ms: u64,
    pub kind: String,
    pub data: Vec<u8>,
}

/// A page of consecutive events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventRows {
    pub events: Vec<EventRow>,
    pub more: bool,
}

/// A run's events and related changes, written atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendRows {
    /// The lease held by the writer, which another holder may have taken over in the meantime.
    pub lease: Lease,
    /// The sequence number of the last event known to the writer.
    pub after_seq: u64,
    pub events: Vec<NewEvent>,
    pub standing: Option<RunSummary>,
    /// Messages that were handled, with their replies.
    pub answers: Vec<(MessageId, Vec<u8>)>,
    pub at_ms: u64,
    /// What may be lost in a power failure.
    pub durability: Durability,
    /// What the run refers to from now on.
    pub pins: Pins,
}

/// The result of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub last_seq: u64,
}

/// The end of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    pub(super) run: u64,
    pub(super) seq: u64,
    pub(super) mac: Mac,
}

impl Last {
    /// The start of the chain, for a run without events.
    pub(super) fn origin(run: u64) -> Last {
        Last { run, seq: 0, mac: ORIGIN }
    }
}

/// Appends events to a run, and applies the related changes.
pub(super) fn write(db: Db<'_>, key: &ChainKey, what: AppendRows) -> Result<Appended, RunsError> {
    let run = &what.lease.run;
    let mut row = run::writable(db, key, run)?;
    lease::check(db, row.key, &what.lease)?;
    let last = last(db, row.key).map_err(|error| error.of_run(run, what.after_seq))?;
    if last.seq != what.after_seq {
        return Err(JournalError::OutOfOrder { run: run.clone(), last: last.seq }.into());
    }
    let last = append(db, key, run, last, &what.events)?;
    if let Some(standing) = what.standing {
        run::stand(db, key, &mut row, standing, &last)?;
    }
    for (id, answer) in &what.answers {
        inbox::answer(db, key, (row.key, id), answer, what.at_ms)?;
    }
    pins::keep(db, run, &what.pins)?;
    Ok(Appended { last_seq: last.seq })
}

fn last(db: Db<'_>, run: u64) -> Result<Last, RunsError> {
    let sql = "SELECT seq, mac FROM events WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
    let found = db.first(sql, [run], |row| Ok(Last { run, seq: row.get(0)?, mac: row.get(1)? }))?;
    Ok(found.unwrap_or(Last::origin(run)))
}

/// Appends events to a chain.
pub(super) fn append(
    db: Db<'_>,
    key: &ChainKey,
    run: &RunId,
    mut last: Last,
    events: &[NewEvent],
) -> Result<Last, RunsError> {
    let sql = "INSERT INTO events(run, seq, at_ms, kind, data, blob, mac) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for NewEvent { at_ms, kind, data } in events {
        let data = &*key.rows().seal(data);
        let body = Body::of(data);
        let head = Head { run, seq: last.seq + 1, at_ms: *at_ms, kind };
        let mac = message(key, &last.mac, head, &body).mac();
        if let Body::Kept(hash) = &body {
            let keep = "INSERT INTO blobs(hash, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            db.execute(keep, params![hash.bytes(), data])?;
        }
        let (data, blob) = body.columns();
        db.execute(sql, params![last.run, last.seq + 1, at_ms, kind, data, blob, mac])?;
        last = Last { run: last.run, seq: last.seq + 1, mac };
    }
    db.wrote(ProgressUpdate::Events { run: run.clone(), seq: last.seq, mac: last.mac });
    Ok(last)
}

/// Rejects events that are too large, before waiting for anything.
pub(super) fn check_size(events: &[NewEvent]) -> Result<(), RunsError> {
    let too_large = |bytes, limit| Err(RunsError::Journal(JournalError::TooLarge { bytes, limit }));
    if let Some(large) = events.iter().find(|event| event.data.len() > limits::EVENT_BYTES) {
        return too_large(large.data.len(), limits::EVENT_BYTES);
    }
    let bytes = events.iter().map(|event| event.data.len() + event.kind.len()).sum();
    if bytes > limits::APPEND_BYTES {
        return too_large(bytes, limits::APPEND_BYTES);
    }
    Ok(())
}

/// Where an event's data is stored.
enum Body<'d> {
    Inline(&'d [u8]),
    /// Separately, under its hash.
    Kept(Digest),
}

impl<'d> Body<'d> {
    fn of(data: &'d [u8]) -> Body<'d> {
        if data.len() > limits::EVENT_INLINE_BYTES {
            Body::Kept(Digest::of(data))
        } else {
            Body::Inline(data)
        }
    }

    fn columns(&self) -> (Option<&[u8]>, Option<&[u8]>) {
        match self {
            Body::Inline(data) => (Some(data), None),
            Body::Kept(hash) => (None, Some(hash.bytes())),
        }
    }
}

/// An event's metadata.
#[derive(Clone, Copy)]
struct Head<'e> {
    run: &'e RunId,
    seq: u64,
    at_ms: u64,
    kind: &'e str,
}

/// The authenticated message. Large data is represented by its hash, which readers verify.
fn message(key: &ChainKey, before: &Mac, head: Head<'_>, body: &Body<'_>) -> MacInput {
    let message = key
        .over("event")
        .bytes(before)
        .text(head.run.as_str())
        .number(head.seq)
        .number(head.at_ms)
        .text(head.kind);
    match body {
        Body::Inline(data) => message.number(0).bytes(data),
        Body::Kept(hash) => message.number(1).bytes(hash.bytes()),
    }
}

/// The range of events to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRange {
    pub(super) after_seq: u64,
    pub(super) limit: usize,
}

const READ: &str = "SELECT e.seq, e.at_ms, e.kind, e.data, e.blob, e.mac, b.bytes \
                    FROM events e LEFT JOIN blobs b ON b.hash = e.blob \
                    WHERE e.run = ?1 AND e.seq > ?2 ORDER BY e.seq";

/// Reads events and verifies the position of each in the chain, and the end of the chain against
/// the index.
pub(super) fn read(
    db: Db<'_>,
    key: &ChainKey,
    row: &RunRow,
    wanted: EventRange,
) -> Result<EventRows, RunsError> {
    let mut reading = Reading::from(db, key, row, wanted)?;
    let outcome = db.each(READ, params![row.key, wanted.after_seq], |line| reading.take(line));
    outcome.map_err(|error| error.of_run(&row.record.id, reading.last.seq + 1))?;
    if !reading.found.more && reading.last.seq < row.record.last_seq {
        // The end is missing: the index refers to later events.
        return Err(reading.corrupt());
    }
    Ok(reading.found)
}

struct Reading<'r> {
    key: &'r ChainKey,
    row: &'r RunRow,
    wanted: EventRange,
    last: Last,
    bytes: usize,
    found: EventRows,
}

impl<'r> Reading<'r> {
    fn from(
        db: Db<'_>,
        key: &'r ChainKey,
        row: &'r RunRow,
        wanted: EventRange,
    ) -> Result<Reading<'r>, RunsError> {
        let mut last = Last { seq: wanted.after_seq, ..Last::origin(row.key) };
        if wanted.after_seq > 0 {
            let sql = "SELECT mac FROM events WHERE run = ?1 AND seq = ?2";
            let mac = db.first(sql, params![row.key, wanted.after_seq], |line| line.get(0));
            match mac.map_err(|error| error.of_run(&row.record.id, wanted.after_seq))? {
                Some(mac) => last.mac = mac,
                None if wanted.after_seq <= row.record.last_seq => {
                    let (run, seq) = (row.record.id.clone(), wanted.after_seq);
                    return Err(JournalError::Corrupt { run, seq }.into());
                }
                // The event has not been written yet, so no events follow it.
                None => {}
            }
        }
        Ok(Reading { key, row, wanted, last, bytes: 0, found: EventRows::default() })
    }

    fn corrupt(&self) -> RunsError {
        let (run, seq) = (self.row.record.id.clone(), self.last.seq + 1);
        JournalError::Corrupt { run, seq }.into()
    }

    /// Reads an event and returns whether to continue with the next one.
    fn take(&mut self, line: &Row<'_>) -> Result<bool, RunsError> {
        let full = self.bytes > limits::EVENTS_BYTES && !self.found.events.is_empty();
        if full || self.found.events.len() >= self.wanted.limit {
            self.found.more = true;
            return Ok(false);
        }
        let (seq, at_ms, kind): (u64, u64, String) = (line.get(0)?, line.get(1)?, line.get(2)?);
        let (data, blob): (Option<Vec<u8>>, Option<[u8; 32]>) = (line.get(3)?, line.get(4)?);
        let (mac, kept): (Mac, Option<Vec<u8>>) = (line.get(5)?, line.get(6)?);
        let hash = blob.map(Digest::from_bytes);
        let body = match (&data, hash, &kept) {
            (Some(data), None, _) => Body::Inline(data),
            (None, Some(hash), Some(kept)) if Digest::of(kept) == hash => Body::Kept(hash),
            _ => return Err(self.corrupt()),
        };
        let head = Head { run: &self.row.record.id, seq, at_ms, kind: &kind };
        if seq != self.last.seq + 1
            || !message(self.key, &self.last.mac, head, &body).fits(&mac)
            || (seq == self.row.record.last_seq && mac != self.row.head)
        {
            return Err(self.corrupt());
        }
        let data = self.key.rows().open(data.or(kept).unwrap_or_default());
        let data = data.ok_or_else(|| self.corrupt())?;
        self.bytes += data.len();
        self.last = Last { seq, mac, ..self.last };
        self.found.events.push(EventRow { seq, at_ms, kind, data });
        Ok(true)
    }
}
