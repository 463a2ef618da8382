//! Runs on disk through the public API: what is acknowledged is there, in order and once,
//! regardless of what happens to the process, the disk or the file.

mod damage;
mod faults;
mod inputs;
mod journal;
mod leases;
mod lists;
mod log_damage;
mod looks;
mod messages;
mod opening;
mod pins;
mod processes;
mod secrets;
mod stale_writes;
mod torn;
mod upkeep;
mod versions;
mod waking;

use std::path::Path;
use std::sync::mpsc;

use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};
use milepost_store::runs::{
    AppendRows, Appended, CheckReport, Created, Durability, EventRow, HeartbeatRow, HolderId,
    InboxRow, Lease, LivenessQuery, NewEvent, NewRunRow, OpenOptions, Pins, RunRecord, RunStatus,
    RunSummary, Runs, RunsError, Sent, WriteDone,
};
use tempfile::TempDir;

/// The runs in a new directory.
fn fresh() -> (TempDir, Runs) {
    let root = tempfile::tempdir().expect("makes a directory");
    let runs = open(root.path());
    (root, runs)
}

fn open(root: &Path) -> Runs {
    Runs::open(root, OpenOptions::default()).expect("opens")
}

fn id() -> RunId {
    RunId::from_bytes(random())
}

/// A single liveness query.
fn glance() -> LivenessQuery {
    let takeover = milepost_store::runs::Takeover::Silent;
    LivenessQuery { at: std::time::Duration::ZERO, takeover }
}

fn holder() -> HolderId {
    HolderId::from_bytes(random())
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("is random");
    bytes
}

/// Writes that wait for their outcome.
trait Now {
    fn create_now(&self, new: NewRunRow, holder: Option<HolderId>) -> Result<Created, RunsError>;
    fn append_now(&self, what: AppendRows) -> Result<Appended, RunsError>;
    fn send_now(&self, message: InboxRow) -> Result<Sent, RunsError>;
    fn beat_now(&self, beat: HeartbeatRow) -> Result<(), RunsError>;
    fn take_now(
        &self,
        run: RunId,
        holder: HolderId,
        glance: LivenessQuery,
    ) -> Result<Option<Lease>, RunsError>;
    fn release_now(&self, lease: Lease) -> Result<(), RunsError>;
    fn check(&self) -> Result<CheckReport, RunsError>;
}

impl Now for Runs {
    fn create_now(&self, new: NewRunRow, holder: Option<HolderId>) -> Result<Created, RunsError> {
        wait(|done| self.create(new, holder, done))
    }

    fn append_now(&self, what: AppendRows) -> Result<Appended, RunsError> {
        wait(|done| self.append(what, done))
    }

    fn send_now(&self, message: InboxRow) -> Result<Sent, RunsError> {
        wait(|done| self.send(message, done))
    }

    fn beat_now(&self, beat: HeartbeatRow) -> Result<(), RunsError> {
        wait(|done| self.beat(beat, done))
    }

    fn take_now(
        &self,
        run: RunId,
        holder: HolderId,
        glance: LivenessQuery,
    ) -> Result<Option<Lease>, RunsError> {
        wait(|done| self.take(run, holder, glance, done))
    }

    fn release_now(&self, lease: Lease) -> Result<(), RunsError> {
        wait(|done| self.release(lease, done))
    }

    fn check(&self) -> Result<CheckReport, RunsError> {
        Ok(self.examine(0)?.report)
    }
}

fn wait<T: Send + 'static>(submit: impl FnOnce(Box<dyn WriteDone<T>>)) -> Result<T, RunsError> {
    let (sender, outcome) = mpsc::sync_channel(1);
    submit(Box::new(move |found| sender.send(found).expect("is waited for")));
    outcome.recv().expect("is answered")
}

fn workflow(id: &str) -> WorkflowId {
    WorkflowId::parse(id).expect("is an id")
}

fn event(text: &str) -> NewEvent {
    NewEvent { at_ms: 7, kind: "noted".to_owned(), data: text.as_bytes().to_vec() }
}

fn standing(status: RunStatus) -> RunSummary {
    let ended = [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Canceled].contains(&status);
    RunSummary {
        status,
        waiting: None,
        wake_ms: None,
        ended_ms: ended.then_some(20),
        updated_ms: 10,
    }
}

/// A run with one event.
fn record(id: &RunId) -> RunRecord {
    RunRecord {
        id: id.clone(),
        workflow: workflow("tidy-inbox"),
        title: "Tidy the inbox".to_owned(),
        text: Digest::of(b""),
        actor: "ada".to_owned(),
        workspace: "/home/ada/mail".to_owned(),
        parent: None,
        durability: Durability::Full,
        created_ms: 5,
        standing: standing(RunStatus::Running),
        last_seq: 0,
        quarantined: false,
    }
}

fn new_of(record: RunRecord) -> NewRunRow {
    let text = "workflow: tidy-inbox\n".to_owned();
    NewRunRow { record, text, events: vec![event("created")], pins: Pins::default() }
}

fn new_run(id: &RunId) -> NewRunRow {
    new_of(record(id))
}

/// Creates a run, and returns the lease to write to it.
fn begun(runs: &Runs) -> Lease {
    let created = runs.create_now(new_run(&id()), Some(holder())).expect("creates");
    created.lease.expect("was asked for")
}

fn append(lease: &Lease, after_seq: u64, texts: &[&str]) -> AppendRows {
    AppendRows {
        lease: lease.clone(),
        after_seq,
        events: texts.iter().map(|text| event(text)).collect(),
        standing: None,
        answers: Vec::new(),
        at_ms: 8,
        durability: Durability::Full,
        pins: Pins::default(),
    }
}

/// Ends a run after this event.
fn end(runs: &Runs, lease: &Lease, after_seq: u64, status: RunStatus) {
    let ended =
        AppendRows { standing: Some(standing(status)), ..append(lease, after_seq, &["ended"]) };
    runs.append_now(ended).expect("appends");
}

fn events(runs: &Runs, run: &RunId) -> Vec<EventRow> {
    let found = runs.events(run, 0, 10_000).expect("reads");
    assert!(!found.more, "all of them");
    found.events
}

/// The events of a run as strings, in order.
fn texts(runs: &Runs, run: &RunId) -> Vec<String> {
    let text = |event: EventRow| String::from_utf8(event.data).expect("is text");
    events(runs, run).into_iter().map(text).collect()
}
