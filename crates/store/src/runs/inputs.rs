//! The values last used for a workflow's inputs, per folder and, with an identity, per caller.

use std::collections::BTreeMap;

use milepost_engine::ports::{Forgetting, Forgotten, RememberedInputs};
use milepost_model::id::{InputName, WorkflowId};
use rusqlite::{Row, params};

use super::chain::ChainKey;
use super::{Db, RunsError};

pub(super) fn remember(
    db: Db<'_>,
    key: &ChainKey,
    what: &RememberedInputs,
) -> Result<(), RunsError> {
    let sql = "INSERT INTO input_history(workspace, workflow, input, value, at_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE \
               SET value = excluded.value, at_ms = excluded.at_ms WHERE at_ms <= excluded.at_ms";
    what.values.iter().try_for_each(|(input, value)| {
        let workflow = what.workflow.as_str();
        let value = key.rows().seal(value.as_bytes());
        let value = String::from_utf8_lossy(&value);
        let values = params![what.workspace, workflow, input.as_str(), value, what.at_ms];
        db.execute(sql, values).map(drop)
    })
}

pub(super) fn last(
    db: Db<'_>,
    key: &ChainKey,
    workspace: &str,
    workflow: &WorkflowId,
    input: &InputName,
) -> Result<Option<String>, RunsError> {
    let sql = "SELECT value FROM input_history \
               WHERE workspace = ?1 AND workflow = ?2 AND input = ?3";
    let values = params![workspace, workflow.as_str(), input.as_str()];
    let row: Option<String> = db.first(sql, values, |row| row.get(0))?;
    Ok(row.and_then(|row| String::from_utf8(key.rows().open(row.into_bytes())?).ok()))
}

fn workflow_of(what: &Forgetting) -> Option<&str> {
    what.workflow.as_ref().map(WorkflowId::as_str)
}

/// Each named input, or a single `None` that represents all inputs.
fn each_input(what: &Forgetting) -> Vec<Option<&str>> {
    match &what.inputs[..] {
        [] => vec![None],
        some => some.iter().map(|input| Some(input.as_str())).collect(),
    }
}

/// Whether there is a value to forget. `caller` is what its place begins with.
pub(super) fn is_remembered(
    db: Db<'_>,
    caller: Option<&str>,
    what: &Forgetting,
) -> Result<bool, RunsError> {
    let sql = "SELECT 1 FROM input_history WHERE (?1 IS NULL OR workflow = ?1) \
               AND (?2 IS NULL OR input = ?2) \
               AND (?3 IS NULL OR substr(workspace, 1, length(?3)) = ?3) LIMIT 1";
    for input in each_input(what) {
        if db.any(sql, params![workflow_of(what), input, caller])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Forgets values and returns the workflows and inputs they belonged to, sorted.
pub(super) fn forget(
    db: Db<'_>,
    caller: Option<&str>,
    what: &Forgetting,
) -> Result<Vec<Forgotten>, RunsError> {
    let sql = "DELETE FROM input_history WHERE (?1 IS NULL OR workflow = ?1) \
               AND (?2 IS NULL OR input = ?2) \
               AND (?3 IS NULL OR substr(workspace, 1, length(?3)) = ?3) \
               RETURNING workflow, input";
    let mut counted: BTreeMap<(String, String), usize> = BTreeMap::new();
    for input in each_input(what) {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        for of in db.all(sql, params![workflow_of(what), input, caller], read)? {
            *counted.entry(of).or_default() += 1;
        }
    }
    let told = counted.into_iter();
    Ok(told.map(|((workflow, input), values)| Forgotten { workflow, input, values }).collect())
}
