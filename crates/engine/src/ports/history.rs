//! What is kept from earlier runs, and how it is removed.

use std::fmt;
use std::path::Path;

use milepost_model::id::{InputName, RunId, WorkflowId};

use super::{JournalFuture, RunStatus};

/// The history in a journal: remembered inputs, old runs, backups.
pub trait History: Send + Sync + fmt::Debug {
    /// Remembers the values that were given for inputs.
    fn remember_inputs(&self, what: RememberedInputs) -> JournalFuture<'_, ()>;

    /// The value that was last given for an input, as JSON.
    fn last_input<'a>(
        &'a self,
        workspace: &'a str,
        workflow: &'a WorkflowId,
        input: &'a InputName,
    ) -> JournalFuture<'a, Option<String>>;

    /// Whether [`History::forget_inputs`] would forget anything.
    fn remembers_inputs<'a>(
        &'a self,
        caller: Option<&'a str>,
        what: Forgetting,
    ) -> JournalFuture<'a, bool>;

    /// Forgets remembered inputs, of one caller or of everybody, and returns what was forgotten.
    fn forget_inputs<'a>(
        &'a self,
        caller: Option<&'a str>,
        what: Forgetting,
    ) -> JournalFuture<'a, Vec<Forgotten>>;

    /// The most recent successful run of a workflow, by this actor if one is given.
    fn newest_succeeded<'a>(
        &'a self,
        workflow: &'a WorkflowId,
        actor: Option<&'a str>,
    ) -> JournalFuture<'a, Option<RunId>>;

    /// What [`History::purge`] would remove.
    fn purgeable(&self, filter: PurgeFilter) -> JournalFuture<'_, PurgeReport>;

    /// Removes runs that have ended.
    fn purge(&self, filter: PurgeFilter) -> JournalFuture<'_, PurgeReport>;

    /// Copies all runs, as they are at one point in time, into a new directory.
    fn backup<'a>(&'a self, to: &'a Path) -> JournalFuture<'a, ()>;

    /// Restores a backup into a journal that has no runs, after checking all of it.
    fn restore<'a>(&'a self, from: &'a Path) -> JournalFuture<'a, RestoreReport>;
}

/// Where the values of a caller with an identity are remembered: apart from those of every other
/// caller, and from those of the local user.
pub fn remembered_in(workspace: &str, caller: Option<&str>) -> String {
    match caller {
        Some(caller) => format!("{}{workspace}", remembered_prefix(caller)),
        None => workspace.to_owned(),
    }
}

/// What all places begin with where a caller's values are remembered. No folder begins like this,
/// because its path is absolute.
pub fn remembered_prefix(caller: &str) -> String {
    format!("{}:{caller}:", caller.len())
}

/// Values that later runs use as defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedInputs {
    /// The folder in which they were given, as [`remembered_in`] returns it.
    pub workspace: String,
    pub workflow: WorkflowId,
    /// The values, as JSON.
    pub values: Vec<(InputName, String)>,
    pub at_ms: u64,
}

/// Which remembered inputs to forget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgetting {
    /// Only those of this workflow; if absent, those of every workflow.
    pub workflow: Option<WorkflowId>,
    /// Only these inputs; if empty, every input.
    pub inputs: Vec<InputName>,
}

/// One input whose values were forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    pub workflow: String,
    pub input: String,
    /// The number of values; there is one for each folder in which the input was given.
    pub values: usize,
}

/// Which runs to purge: those that have ended and meet every condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeFilter {
    /// Only runs that ended before this time.
    pub ended_before_ms: Option<u64>,
    /// Only runs that ended with this status.
    pub status: Option<RunStatus>,
    /// Only runs of this workflow.
    pub workflow: Option<WorkflowId>,
    /// Only runs that belong to this folder.
    pub workspace: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoreReport {
    pub runs: u64,
    pub events: u64,
    /// The files that the runs refer to.
    pub files: u64,
}

/// What was purged, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeReport {
    pub runs: u64,
    pub events: u64,
    /// Large data that no other event uses.
    pub blobs: u64,
    /// Workflow sources that no other run uses.
    pub texts: u64,
    /// Projects that the runs belong to.
    pub projects: u64,
    /// Files that no run refers to any more.
    pub files: u64,
    /// The number of bytes freed.
    pub bytes: u64,
}

impl PurgeReport {
    /// Adds what another part of the same purge removed.
    pub fn add(&mut self, other: PurgeReport) {
        self.runs += other.runs;
        self.events += other.events;
        self.blobs += other.blobs;
        self.texts += other.texts;
        self.projects += other.projects;
        self.files += other.files;
        self.bytes += other.bytes;
    }
}
