//! What was last given for the inputs of a workflow, per folder.

use milepost_model::id::{InputName, WorkflowId};
use rusqlite::params;

use super::db::Db;
use super::error::RunsError;

/// Values of inputs to remember. Whoever remembers leaves secrets out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The folder.
    pub workspace: String,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The inputs and their values as JSON.
    pub values: Vec<(InputName, String)>,
    /// When they were given.
    pub at_ms: u64,
}

pub(super) fn remember(db: Db<'_>, what: &Remembered) -> Result<(), RunsError> {
    let sql = "INSERT INTO input_history(workspace, workflow, input, value, at_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE \
               SET value = excluded.value, at_ms = excluded.at_ms WHERE at_ms <= excluded.at_ms";
    what.values.iter().try_for_each(|(input, value)| {
        let workflow = what.workflow.as_str();
        let values = params![what.workspace, workflow, input.as_str(), value, what.at_ms];
        db.execute(sql, values).map(drop)
    })
}

pub(super) fn last(
    db: Db<'_>,
    workspace: &str,
    workflow: &WorkflowId,
    input: &InputName,
) -> Result<Option<String>, RunsError> {
    let sql = "SELECT value FROM input_history \
               WHERE workspace = ?1 AND workflow = ?2 AND input = ?3";
    db.first(sql, params![workspace, workflow.as_str(), input.as_str()], |row| row.get(0))
}

/// Forgets the values of a workflow, or all of them; how many.
pub(super) fn forget(db: Db<'_>, workflow: Option<&WorkflowId>) -> Result<usize, RunsError> {
    match workflow {
        Some(workflow) => {
            db.execute("DELETE FROM input_history WHERE workflow = ?1", [workflow.as_str()])
        }
        None => db.execute("DELETE FROM input_history", []),
    }
}
