//! Messages to a run from processes that are not driving it. Each message is delivered once and
//! answered once.

use milepost_engine::ports::{JournalError, MessageId, Sent};
use milepost_model::id::RunId;
use rusqlite::params;

use super::chain::{ChainKey, MacInput};
use super::progress::ProgressUpdate;
use super::{Db, RunsError, run};
use crate::limits;

/// A message to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    pub id: MessageId,
    pub run: RunId,
    pub at_ms: u64,
    pub data: Vec<u8>,
}

/// The unanswered messages to a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingMessages {
    /// The messages in order of arrival.
    pub messages: Vec<InboxRow>,
    /// The number of messages that were left out because their MAC is not valid.
    pub forged: usize,
}

/// Adds a message to a run's inbox.
pub(super) fn send(db: Db<'_>, key: &ChainKey, message: &InboxRow) -> Result<Sent, RunsError> {
    let run = run::number(db, &message.run)?;
    let there = "SELECT run, data FROM inbox WHERE id = ?1";
    let there: Option<(u64, Vec<u8>)> =
        db.first(there, [message.id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match there {
        Some((other, _)) if other != run => {
            return Err(JournalError::OtherRun { run: message.run.clone() }.into());
        }
        Some((_, row)) => {
            let is_same = key.rows().open(row).as_ref() == Some(&message.data);
            return Ok(if is_same { Sent::Same } else { Sent::Other });
        }
        None => {}
    }
    let sql = "INSERT INTO inbox(id, run, at_ms, data, mac) VALUES (?1, ?2, ?3, ?4, ?5)";
    let data = key.rows().seal(&message.data);
    let mac = signed(key, message, &data).mac();
    db.execute(sql, params![message.id.as_str(), run, message.at_ms, data, mac])?;
    db.wrote(ProgressUpdate::message(&message.run, message.id.as_str()));
    Ok(Sent::New)
}

/// Rejects a message that is too large, before waiting for anything.
pub(super) fn check_size(data: &[u8]) -> Result<(), RunsError> {
    let (bytes, limit) = (data.len(), limits::MESSAGE_BYTES);
    if bytes > limit {
        Err(RunsError::Journal(JournalError::TooLarge { bytes, limit }))
    } else {
        Ok(())
    }
}

/// The authenticated message, with its data as it is stored.
fn signed(key: &ChainKey, message: &InboxRow, data: &[u8]) -> MacInput {
    key.over("inbox")
        .text(message.id.as_str())
        .text(message.run.as_str())
        .number(message.at_ms)
        .bytes(data)
}

fn signed_answer(key: &ChainKey, id: &MessageId, answer: &[u8]) -> MacInput {
    key.over("answer").text(id.as_str()).bytes(answer)
}

/// Answers a message to a run. Only the first answer is kept.
pub(super) fn answer(
    db: Db<'_>,
    key: &ChainKey,
    (run, id): (u64, &MessageId),
    answer: &[u8],
    at_ms: u64,
) -> Result<(), RunsError> {
    let sql = "UPDATE inbox SET answer = ?3, answer_mac = ?4, answered_ms = ?5 \
               WHERE id = ?1 AND run = ?2 AND answer IS NULL";
    let answer = &*key.rows().seal(answer);
    let mac = signed_answer(key, id, answer).mac();
    db.execute(sql, params![id.as_str(), run, answer, mac, at_ms]).map(drop)
}

/// The unanswered messages to a run, and the keys of the forged ones.
pub(super) fn pending(
    db: Db<'_>,
    key: &ChainKey,
    run: &RunId,
) -> Result<(PendingMessages, Vec<u64>), RunsError> {
    let sql = "SELECT i.key, i.id, i.at_ms, i.data, i.mac FROM inbox i JOIN runs r \
               ON r.key = i.run WHERE r.id = ?1 AND i.answer IS NULL ORDER BY i.key";
    let (mut pending, mut forged, mut bytes) = (PendingMessages::default(), Vec::new(), 0);
    db.each(sql, [run.as_str()], |row| {
        let (id, at_ms): (String, u64) = (row.get(1)?, row.get(2)?);
        let (data, mac): (Vec<u8>, Vec<u8>) = (row.get(3)?, row.get(4)?);
        bytes += data.len();
        let message = MessageId::parse(&id).ok().and_then(|id| {
            let row = InboxRow { id, run: run.clone(), at_ms, data: Vec::new() };
            signed(key, &row, &data).fits(&mac).then_some(())?;
            Some(InboxRow { data: key.rows().open(data)?, ..row })
        });
        match message {
            Some(message) => pending.messages.push(message),
            None => forged.push(row.get(0)?),
        }
        Ok(pending.messages.len() < limits::MESSAGES && bytes < limits::EVENTS_BYTES)
    })?;
    pending.forged = forged.len();
    Ok((pending, forged))
}

/// Discards forged messages by marking them as answered; the empty answer has no MAC and is never
/// returned.
pub(super) fn discard(db: Db<'_>, forged: &[u64]) -> Result<(), RunsError> {
    let sql = "UPDATE inbox SET answer = x'' WHERE key = ?1 AND answer IS NULL";
    forged.iter().try_for_each(|key| db.execute(sql, [key]).map(drop))
}

/// The answer to a message, if there is one with a valid MAC.
pub(super) fn answer_of(
    db: Db<'_>,
    key: &ChainKey,
    id: &MessageId,
) -> Result<Option<Vec<u8>>, RunsError> {
    let sql = "SELECT answer, answer_mac FROM inbox WHERE id = ?1 AND answer IS NOT NULL";
    let found: Option<(Vec<u8>, Option<Vec<u8>>)> =
        db.first(sql, [id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.and_then(|(answer, mac)| {
        let own = signed_answer(key, id, &answer).fits(&mac.unwrap_or_default());
        own.then(|| key.rows().open(answer)).flatten()
    }))
}
