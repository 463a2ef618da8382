//! Purges finished runs, with everything that only they refer to.
//!
//! A run that was started by a step belongs to its parent run: it is removed together with the
//! parent and never before, and neither is removed while one of them is unfinished. A run that can
//! be resumed therefore never loses anything it needs.

use std::collections::{HashMap, HashSet};

use crate::documents::BLOBS;
use crate::{Digest, limits};
use milepost_engine::ports::{PurgeFilter, PurgeReport, RunStatus};
use milepost_model::document::hex;
use milepost_model::id::WorkflowId;
use rusqlite::params;

use super::{Db, RunsError, kept_files};

/// Selects the runs that match a filter and have no parent. All conditions are always present, so
/// that one statement serves all filters.
const MEANT: &str = "SELECT key, id FROM runs r WHERE ended_ms IS NOT NULL \
                     AND ended_ms < coalesce(?1, 9223372036854775807) \
                     AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR workflow = ?3) \
                     AND (?4 IS NULL OR workspace = ?4) AND (parent IS NULL \
                     OR NOT EXISTS (SELECT 1 FROM runs p WHERE p.id = r.parent))";

/// Adds the descendants of these runs, leaving out every tree with an unfinished run.
const TREES: &str = "tree(root, key, id) AS (SELECT key, key, id FROM roots UNION \
                     SELECT t.root, r.key, r.id FROM tree t JOIN runs r ON r.parent = t.id), \
                     meant(key) AS MATERIALIZED (SELECT key FROM tree WHERE root NOT IN \
                     (SELECT t.root FROM tree t JOIN runs r ON r.key = t.key \
                      WHERE r.ended_ms IS NULL))";

/// The values for the conditions in `MEANT`.
type Values<'f> = (Option<u64>, Option<&'f str>, Option<&'f str>, Option<&'f str>);

fn values(filter: &PurgeFilter) -> Values<'_> {
    let workflow = filter.workflow.as_ref().map(WorkflowId::as_str);
    let status = filter.status.map(RunStatus::name);
    (filter.ended_before_ms, status, workflow, filter.workspace.as_deref())
}

pub(super) fn count(db: Db<'_>, filter: &PurgeFilter) -> Result<PurgeReport, RunsError> {
    let number = |select: &str| -> Result<u64, RunsError> {
        let sql = format!("WITH RECURSIVE roots(key, id) AS ({MEANT}), {TREES} {select}");
        let found = db.first(&sql, values(filter), |row| row.get(0))?;
        Ok(found.unwrap_or_default())
    };
    Ok(PurgeReport {
        runs: number("SELECT count(*) FROM meant")?,
        projects: number("SELECT count(DISTINCT workspace) FROM runs WHERE key IN meant")?,
        events: number("SELECT count(*) FROM events WHERE run IN meant")?,
        blobs: number(
            "SELECT count(DISTINCT blob) FROM events e WHERE run IN meant AND blob IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM events o WHERE o.blob = e.blob AND o.run NOT IN meant)",
        )?,
        texts: number(
            "SELECT count(DISTINCT text) FROM runs r WHERE key IN meant \
             AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.text = r.text AND o.key NOT IN meant)",
        )?,
        ..PurgeReport::default()
    })
}

/// Hashes mentioned by purged runs, with the latest end time of those runs.
pub(super) type MentionedHashes = HashMap<String, u64>;

/// Purges a batch of runs with keys greater than `after`. Also returns the last key examined, if
/// there may be more.
pub(super) fn some(
    db: Db<'_>,
    filter: &PurgeFilter,
    after: u64,
    named: &mut MentionedHashes,
) -> Result<(PurgeReport, Option<u64>), RunsError> {
    let mut report = PurgeReport::default();
    let sql = format!("SELECT key FROM ({MEANT}) WHERE key > ?5 ORDER BY key LIMIT ?6");
    let (ended, status, workflow, workspace) = values(filter);
    let values = params![ended, status, workflow, workspace, after, limits::RUNS_PURGED_AT_ONCE];
    let roots: Vec<u64> = db.all(&sql, values, |row| row.get(0))?;
    for root in &roots {
        for key in tree(db, *root)? {
            report.add(one(db, key, named)?);
        }
    }
    Ok((report, roots.last().copied()))
}

/// A run and its descendants; empty while one of them is unfinished.
fn tree(db: Db<'_>, root: u64) -> Result<Vec<u64>, RunsError> {
    let sql = format!(
        "WITH RECURSIVE roots(key, id) AS (SELECT key, id FROM runs WHERE key = ?1), {TREES} \
         SELECT key FROM meant"
    );
    db.all(&sql, [root], |row| row.get(0))
}

fn one(db: Db<'_>, key: u64, named: &mut MentionedHashes) -> Result<PurgeReport, RunsError> {
    let sql = "SELECT text, coalesce(ended_ms, 0) FROM runs WHERE key = ?1";
    let found: Option<(Vec<u8>, u64)> =
        db.first(sql, [key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((text, ended_ms)) = found else { return Ok(PurgeReport::default()) };
    // Sources are removed later, by `sweep`, because runs created by earlier versions mention some
    // of them only in their events.
    let refs: Vec<Vec<u8>> =
        db.all("SELECT hash FROM run_refs WHERE run = ?1", [key], |row| row.get(0))?;
    for hash in refs.iter().chain([&text]) {
        let at = named.entry(hex(hash)).or_default();
        *at = ended_ms.max(*at);
    }
    let sql = "SELECT e.data, b.bytes FROM events e LEFT JOIN blobs b ON b.hash = e.blob \
               WHERE e.run = ?1";
    db.each(sql, [key], |row| {
        let (data, kept): (Option<Vec<u8>>, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
        each_hash(&data.or(kept).unwrap_or_default(), |hash| {
            let at = named.entry(hash.to_owned()).or_default();
            *at = ended_ms.max(*at);
        });
        Ok(true)
    })?;
    let kept = "SELECT DISTINCT blob FROM events WHERE run = ?1 AND blob IS NOT NULL";
    let kept: Vec<Vec<u8>> = db.all(kept, [key], |row| row.get(0))?;
    let events = db.execute("DELETE FROM events WHERE run = ?1", [key])? as u64;
    // Recorded so that the run is not reported as lost because of its progress notes.
    let noted = "INSERT INTO purged_runs(run) SELECT id FROM runs WHERE key = ?1 \
                 ON CONFLICT DO NOTHING";
    db.execute(noted, [key])?;
    // The run's other rows are deleted by cascade.
    let runs = db.execute("DELETE FROM runs WHERE key = ?1", [key])? as u64;
    let mut report = PurgeReport { runs, events, ..PurgeReport::default() };
    let unused = "DELETE FROM blobs WHERE hash = ?1 \
                  AND NOT EXISTS (SELECT 1 FROM events WHERE blob = ?1)";
    for hash in kept {
        report.blobs += db.execute(unused, [hash])? as u64;
    }
    Ok(report)
}

/// Removes sources and files that were mentioned by purged runs and are no longer mentioned
/// anywhere. Nothing else is written in the meantime. A file that was stored again after those runs
/// ended is kept for now, because the event that mentions it may be about to be written.
pub(super) fn sweep(
    db: Db<'_>,
    directory: &std::path::Path,
    named: &MentionedHashes,
    now_ms: u64,
) -> Result<PurgeReport, RunsError> {
    let mut texts: Vec<Digest> = Vec::new();
    for digest in named.keys().filter_map(|hash| Digest::parse(hash)) {
        let sql = "SELECT 1 FROM texts WHERE hash = ?1 \
                   AND NOT EXISTS (SELECT 1 FROM runs WHERE text = ?1) \
                   AND NOT EXISTS (SELECT 1 FROM run_refs WHERE hash = ?1)";
        if db.any(sql, [digest.bytes()])? {
            texts.push(digest);
        }
    }
    // Catalog documents are cleaned up separately.
    let mut files = kept_files::list(directory, &[BLOBS]);
    files.retain(|file| match named.get(&file.name) {
        Some(ended_ms) if file.kept_ms <= *ended_ms => true,
        _ => file.kept_ms.saturating_add(limits::KEPT_UNNAMED_MS) < now_ms,
    });
    if texts.is_empty() && files.is_empty() {
        return Ok(PurgeReport::default());
    }
    let named = still_named(db)?;
    let mut report = PurgeReport::default();
    for digest in texts.iter().filter(|digest| !named.contains(&digest.to_string())) {
        let sql = "DELETE FROM texts WHERE hash = ?1";
        report.texts += db.execute(sql, [digest.bytes()])? as u64;
    }
    for file in files.into_iter().filter(|file| !named.contains(&file.name)) {
        if std::fs::remove_file(&file.path).is_ok() {
            report.files += 1;
            report.bytes += file.bytes;
        }
    }
    Ok(report)
}

/// Every hash mentioned in an event or a message.
fn still_named(db: Db<'_>) -> Result<HashSet<String>, RunsError> {
    let mut named = HashSet::new();
    for sql in ["SELECT data FROM events", "SELECT bytes FROM blobs", "SELECT data FROM inbox"] {
        db.each(sql, [], |row| {
            let data: Option<Vec<u8>> = row.get(0)?;
            each_hash(&data.unwrap_or_default(), |hash| named.extend([hash.to_owned()]));
            Ok(true)
        })?;
    }
    Ok(named)
}

/// Calls `found` with every string in the bytes that could be a SHA-256 hash in hexadecimal.
fn each_hash(bytes: &[u8], mut found: impl FnMut(&str)) {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    for digits in bytes.split(|byte| !is_digit(byte)) {
        if digits.len() == kept_files::NAME_CHARS
            && let Ok(hash) = std::str::from_utf8(digits)
        {
            found(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::each_hash;

    #[test]
    fn hashes_are_found_whatever_stands_around_them() {
        let hash = "0123456789abcdef".repeat(4);
        let text =
            format!("{{\"path\":\"/x/blobs/{hash}\",\"longer\":\"{hash}0\",\"no\":\"{}\"}}", 1);
        let mut found = Vec::new();
        each_hash(text.as_bytes(), |hash| found.push(hash.to_owned()));
        assert_eq!(found, [hash]);
    }
}
