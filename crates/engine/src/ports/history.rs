//! What is kept of earlier runs, and what is removed again.

use std::fmt;
use std::path::Path;

use milepost_model::id::{InputName, RunId, WorkflowId};

use super::{JournalFuture, RunStatus};

/// The past of a journal: remembered inputs, old runs, copies of everything.
pub trait History: Send + Sync + fmt::Debug {
    /// Remembers what was given for inputs.
    fn remember_inputs(&self, what: RememberedInputs) -> JournalFuture<'_, ()>;

    /// What was last given for an input, as JSON.
    fn last_input<'a>(
        &'a self,
        workspace: &'a str,
        workflow: &'a WorkflowId,
        input: &'a InputName,
    ) -> JournalFuture<'a, Option<String>>;

    /// Whether [`History::forget_inputs`] would forget anything.
    fn remembers_inputs(&self, what: Forgetting) -> JournalFuture<'_, bool>;

    /// Forgets what was given for inputs; returns what was forgotten.
    fn forget_inputs(&self, what: Forgetting) -> JournalFuture<'_, Vec<Forgotten>>;

    /// The run of a workflow that succeeded last.
    fn newest_succeeded<'a>(&'a self, workflow: &'a WorkflowId)
    -> JournalFuture<'a, Option<RunId>>;

    /// What [`History::purge`] would remove.
    fn purgeable(&self, filter: PurgeFilter) -> JournalFuture<'_, PurgeReport>;

    /// Removes runs that ended.
    fn purge(&self, filter: PurgeFilter) -> JournalFuture<'_, PurgeReport>;

    /// Copies all runs as they are at one moment into a new directory.
    fn backup<'a>(&'a self, to: &'a Path) -> JournalFuture<'a, ()>;

    /// Puts such a copy in the place of a journal that has no runs, after all of it was checked.
    fn restore<'a>(&'a self, from: &'a Path) -> JournalFuture<'a, RestoreReport>;
}

/// Values that later runs take as defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedInputs {
    /// The folder they were given in.
    pub workspace: String,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The values, as JSON.
    pub values: Vec<(InputName, String)>,
    /// When they were given.
    pub at_ms: u64,
}

/// Which remembered inputs are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgetting {
    /// Those of this workflow; of every workflow when absent.
    pub workflow: Option<WorkflowId>,
    /// Those of these inputs; of every input when empty.
    pub inputs: Vec<InputName>,
}

/// Values of one input that were forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// The workflow.
    pub workflow: String,
    /// The input.
    pub input: String,
    /// How many: one for each folder it was given in.
    pub values: usize,
}

/// Which runs are purged: those that ended and meet every condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeFilter {
    /// They ended before this.
    pub ended_before_ms: Option<u64>,
    /// They ended like this.
    pub status: Option<RunStatus>,
    /// They are of this workflow.
    pub workflow: Option<WorkflowId>,
    /// They belong to this folder.
    pub workspace: Option<String>,
}

/// What was restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Runs.
    pub runs: u64,
    /// Their events.
    pub events: u64,
    /// Files that they refer to.
    pub files: u64,
}

/// What was purged, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Runs.
    pub runs: u64,
    /// Their events.
    pub events: u64,
    /// Large data that no other event has.
    pub blobs: u64,
    /// Texts of workflows that no other run has.
    pub texts: u64,
    /// Projects whose runs they are.
    pub projects: u64,
    /// Files that no run refers to any more.
    pub files: u64,
    /// Bytes that are free again.
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
