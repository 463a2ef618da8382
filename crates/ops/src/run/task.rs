//! Driving one run: what was decided is written down, then done; what comes back is decided on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use milepost_engine::pilot::{Act, Input, Outcome, Pilot, Work};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{Phase, State, Status};
use milepost_engine::{Failure, Flow, Key, Trouble};
use milepost_model::id::RunId;
use milepost_model::problem::Code;
use milepost_store::runs::{Append, Durability, InboxId, Lease, RunsError};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::caller::Context;
use super::clock::Clock;
use super::drive::{Child, Drive, ended, wait};
use super::journal;
use super::sealed::Sealed;
use super::sight::Active;
use super::trace;

/// Ends of requests that wait to be looked at.
const OUTCOMES: usize = 64;
/// How often a run looks for messages and for the runs its steps started, should a wake-up be
/// lost.
const NET: Duration = Duration::from_secs(5);
/// A run that goes on by itself within this time is not let go of.
const SOON_MS: u64 = 60_000;
/// How long a run waits before it writes again on a disk that is full.
const FULL: Duration = Duration::from_secs(2);

/// A run that is being driven.
pub(super) struct Task {
    drive: Drive,
    lease: Lease,
    pilot: Pilot,
    durability: Durability,
    active: Arc<Active>,
    clock: Clock,
    /// How it stood when that was last told.
    told: Option<Status>,
    calls: HashMap<Key, AbortHandle>,
    sender: mpsc::Sender<(Key, Outcome)>,
    outcomes: mpsc::Receiver<(Key, Outcome)>,
}

impl Task {
    pub(super) fn new(
        drive: Drive,
        lease: Lease,
        pilot: Pilot,
        durability: Durability,
        active: Arc<Active>,
    ) -> Task {
        let (sender, outcomes) = mpsc::channel(OUTCOMES);
        let calls = HashMap::new();
        let clock = Clock::of(pilot.state().now_ms);
        let told = None;
        Task { drive, lease, pilot, durability, active, clock, told, calls, sender, outcomes }
    }

    /// Drives until the run ends, waits for somebody, or belongs to another process. What is
    /// returned is the run as it is on disk, unless it is another's now.
    pub(super) async fn drive(mut self, work: Work) -> Option<(Flow, State)> {
        if self.commit(work).await.is_err() || self.hear().await.is_err() {
            return self.give_up();
        }
        while !self.is_done() {
            if self.drive.ends() {
                self.hold();
                if self.calls.is_empty() {
                    break;
                }
            }
            let nap = self.nap();
            let step = tokio::select! {
                Some((key, outcome)) = self.outcomes.recv() => {
                    self.calls.remove(&key);
                    let mut done = self.handle(Input::Called { key, outcome }).await;
                    while done.is_ok() && let Ok((key, outcome)) = self.outcomes.try_recv() {
                        self.calls.remove(&key);
                        done = self.handle(Input::Called { key, outcome }).await;
                    }
                    done
                }
                () = self.active.told.notified() => self.hear().await,
                () = tokio::time::sleep(nap) => self.look().await,
            };
            if step.is_err() {
                return self.give_up();
            }
        }
        Some(self.leave().await)
    }

    /// Whether nothing is left to do here for now.
    fn is_done(&self) -> bool {
        let status = self.pilot.status();
        if status.has_ended() {
            return true;
        }
        let soon = self.pilot.wakes_at().is_some_and(|at| at < self.clock.now_ms() + SOON_MS);
        let idle = self.calls.is_empty() && matches!(status, Status::Waiting | Status::Paused);
        idle && !soon && self.children().is_empty()
    }

    /// Begins nothing new. What may be sent again is given up: whoever goes on sends it.
    fn hold(&mut self) {
        self.pilot.hold();
        let state = self.pilot.state();
        self.calls.retain(|key, call| {
            let repeats = matches!(state.phase(key), Phase::Calling(one) if one.repeatable);
            if repeats {
                call.abort();
            }
            !repeats
        });
    }

    /// How long until something happens by itself.
    fn nap(&self) -> Duration {
        if self.drive.ends() {
            return NET;
        }
        let until = self.pilot.wakes_at().map(|at| at.saturating_sub(self.clock.now_ms()));
        let until = until.map_or(NET, Duration::from_millis);
        until.min(NET)
    }

    async fn look(&mut self) -> Result<(), RunsError> {
        for (key, run) in self.children() {
            let child = self.child(key, run, String::new());
            let drive = self.drive.clone();
            self.drive.errand(async move { drive.child(child).await });
        }
        self.handle(Input::Tick).await?;
        self.hear().await
    }

    fn children(&self) -> Vec<(Key, RunId)> {
        let open = self.pilot.state().open().filter_map(|(key, step)| match &step.phase {
            Phase::Child(run) => Some((key.clone(), RunId::parse(run).ok()?)),
            _ => None,
        });
        open.collect()
    }

    fn child(&self, key: Key, run: RunId, workflow: String) -> Child {
        let parent = self.lease.run.clone();
        let step = self.pilot.state().step(&key);
        let inner = step.and_then(|step| step.child.as_deref());
        let inner = inner.filter(|inner| inner.run == run.as_str());
        let again = step.filter(|_| inner.is_some_and(|inner| inner.continues));
        let again = again.map(|step| step.generation);
        let rest = inner.map(|inner| inner.rest.clone()).unwrap_or_default();
        Child { parent, key, run, workflow, inputs: serde_json::Map::new(), rest, again }
    }

    /// Takes in what others told the run.
    async fn hear(&mut self) -> Result<(), RunsError> {
        let pending = self.drive.inner.runs.pending(&self.lease.run)?;
        for message in pending.messages {
            let id = message.id.as_str().to_owned();
            if self.pilot.is_waited_for(&id) {
                continue;
            }
            match serde_json::from_slice::<Signal>(&message.data) {
                Ok(signal) => {
                    if let Signal::Resume { seq, resumption } = &signal
                        && *seq == self.pilot.state().seq
                        && resumption.text_hash != self.pilot.state().head.text_hash
                    {
                        let hash = &resumption.text_hash;
                        let flow = journal::flow(&self.drive.inner.runs, &self.lease.run, hash);
                        let Ok(flow) = flow else { continue };
                        self.pilot.set_flow(flow);
                    }
                    self.handle(Input::Signal { id, signal }).await?;
                }
                Err(error) => {
                    let hint = "say it with the same version of the program";
                    let failure = Failure::new(Code::ParamsInvalid, error.to_string(), hint);
                    let answers = vec![(id, Reply::Refused { failure })];
                    self.commit(Work { answers, ..Work::default() }).await?;
                }
            }
        }
        Ok(())
    }

    async fn handle(&mut self, input: Input) -> Result<(), RunsError> {
        let caller = &self.drive.inner.caller;
        let after_read = matches!(&input, Input::Called { key, .. } if self.reads(key));
        match self.pilot.handle(input, self.clock.now_ms(), caller) {
            Ok(mut work) => {
                if after_read {
                    self.send_reads(&mut work).await;
                }
                self.commit(work).await
            }
            // What the pilot decides always fits; a run that disagrees is not driven on.
            Err(_) => Err(RunsError::Quarantined { run: self.lease.run.clone() }),
        }
    }

    /// Whether the request of a step is under way, or about to be, and only reads.
    fn reads(&self, key: &Key) -> bool {
        let phase = self.pilot.state().phase(key);
        matches!(phase, Phase::Calling(one) if one.repeatable && !one.write)
    }

    /// In a relaxed run, sends what only reads while what led to it is written down, when that is
    /// the answer of a request that only read as well. Should the process end before it is, nothing
    /// is lost but two requests that are sent again. They are not counted then, which no budget
    /// would allow.
    async fn send_reads(&mut self, work: &mut Work) {
        let relaxed = self.durability == Durability::Relaxed && work.answers.is_empty();
        if !relaxed || !self.pilot.state().head.budget.is_empty() {
            return;
        }
        let reads = |act: &mut Act| matches!(act, Act::Call { key, .. } if self.reads(key));
        let reads: Vec<Act> = work.acts.extract_if(.., reads).collect();
        if !reads.is_empty() {
            reads.into_iter().for_each(|act| self.act(act));
            // They are on their way before this thread has something else to do.
            tokio::task::yield_now().await;
        }
    }

    /// Writes down what was decided, then does it.
    async fn commit(&mut self, work: Work) -> Result<(), RunsError> {
        {
            let active = Arc::clone(&self.active);
            let _writing = active.writing.lock().await;
            if !work.entries.is_empty() || !work.answers.is_empty() {
                self.write(&work).await?;
            }
            trace::happened(&work.entries);
            if !work.entries.is_empty() {
                self.active.show(self.pilot.flow(), self.pilot.state(), work.entries);
            }
        }
        let status = self.pilot.status();
        if self.told != Some(status) {
            trace::stands(self.told, status);
            self.told = Some(status);
            self.active.turned.notify_waiters();
        }
        for act in work.acts {
            self.act(act);
        }
        self.active.moved.notify_waiters();
        Ok(())
    }

    fn append(&self, work: &Work) -> Result<Append, RunsError> {
        let Ok(events) = journal::written(&work.entries) else { return Err(RunsError::Failed) };
        let answers = work.answers.iter().filter_map(|(id, reply)| {
            Some((InboxId::parse(id).ok()?, serde_json::to_vec(reply).ok()?))
        });
        let first = work.entries.first().map(|entry| entry.seq - 1);
        Ok(Append {
            lease: self.lease.clone(),
            after_seq: first.unwrap_or(self.pilot.state().seq),
            events,
            standing: Some(journal::standing(&self.pilot)),
            answers: answers.collect(),
            at_ms: self.clock.now_ms(),
            durability: self.durability,
        })
    }

    async fn write(&self, work: &Work) -> Result<(), RunsError> {
        loop {
            let append = self.append(work)?;
            match wait(|done| self.drive.inner.runs.append(append, done)).await {
                // Nothing was done that changes anything, so the run stands still until there is
                // room.
                Err(RunsError::Full) => {
                    self.active.stalled.store(true, Ordering::Relaxed);
                    self.active.moved.notify_waiters();
                    tokio::time::sleep(FULL).await;
                }
                Err(RunsError::Busy) => tokio::time::sleep(FULL).await,
                written => {
                    self.active.stalled.store(false, Ordering::Relaxed);
                    return written.map(drop);
                }
            }
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Call { key, call, idempotency_key, ready } => {
                let context = self.context(&key, idempotency_key);
                let (drive, sender) = (self.drive.clone(), self.sender.clone());
                let own = key.clone();
                let span = trace::step(&key, &call.command, context.attempt);
                // In a box of its own: what is spawned is moved, and a request is large.
                let task = Box::pin(async move {
                    let caller = &drive.inner.caller;
                    let outcome = caller.call(&context, &call, &ready).await;
                    trace::called(&outcome, context.mock);
                    // Without a receiver nobody drives the run here any more.
                    let _ = sender.send((own, outcome)).await;
                });
                let task = tokio::spawn(task.instrument(span));
                self.calls.insert(key, task.abort_handle());
            }
            Act::Abort { key } => {
                if let Some(call) = self.calls.remove(&key) {
                    call.abort();
                    let sender = self.sender.clone();
                    tokio::spawn(async move {
                        let _ = sender.send((key, aborted())).await;
                    });
                }
            }
            Act::StartChild { key, run, workflow, inputs, rest } => {
                let Ok(run) = RunId::parse(&run) else { return };
                let child = Child { inputs, rest, ..self.child(key, run, workflow) };
                let drive = self.drive.clone();
                self.drive.errand(async move { drive.child(child).await });
            }
            Act::CancelChild { run } => {
                let by = milepost_engine::engine("parent");
                self.tell_child(
                    &run,
                    &format!("cancel:{run}"),
                    Signal::Cancel { by, reason: None },
                );
            }
            Act::PauseChild { run, resume, seq } => {
                let by = milepost_engine::engine("parent");
                let signal = if resume { Signal::Unpause { by } } else { Signal::Pause { by } };
                self.tell_child(&run, &format!("pause:{run}:{seq}"), signal);
            }
        }
    }

    /// Tells the run of a step something; the same message is taken in once.
    fn tell_child(&self, run: &str, message: &str, signal: Signal) {
        let (Ok(run), Ok(id)) = (RunId::parse(run), InboxId::parse(message)) else { return };
        let drive = self.drive.clone();
        self.drive.errand(async move {
            let _ = drive.tell(&run, &id, &signal, Duration::from_secs(5)).await;
        });
    }

    fn context(&self, key: &Key, idempotency_key: String) -> Context {
        let head = &self.pilot.state().head;
        let attempt = match self.pilot.state().phase(key) {
            Phase::Calling(attempt) => attempt.attempt,
            _ => 1,
        };
        let (run, sealed) = (head.run.clone(), Sealed(head.seal.clone()));
        Context { run, sealed, mock: head.mock, attempt, idempotency_key }
    }

    /// Lets go of a run that has ended or waits, and tells the run above it.
    async fn leave(self) -> (Flow, State) {
        let state = self.pilot.state();
        let above = state.head.parent.clone().zip(ended(state));
        let seq = state.seq;
        if self.pilot.status().has_ended() {
            self.drive.inner.caller.forget(self.lease.run.as_str());
        }
        let lease = self.lease.clone();
        // A lease that is not given back runs out.
        let _ = wait(|done| self.drive.inner.runs.release(lease, done)).await;
        if let Some((parent, end)) = above
            && let Ok(run) = RunId::parse(&parent.run)
        {
            let key = parent.key;
            let child = Child {
                parent: run,
                again: None,
                ..self.child(key, self.lease.run.clone(), String::new())
            };
            let drive = self.drive.clone();
            self.drive.errand(async move { drive.child_ended(&child, seq, end).await });
        }
        self.pilot.into_parts()
    }

    /// Another process drives it now, or the disk failed: nothing more is done here.
    fn give_up(self) -> Option<(Flow, State)> {
        self.calls.values().for_each(AbortHandle::abort);
        None
    }
}

fn aborted() -> Outcome {
    let message = "the request was given up because the run was canceled";
    let failure = Failure::new(Code::RunCanceled, message, "find out whether it took effect");
    Outcome::Failed { failure, trouble: Trouble::Timeout, unsent: false, retry_after_ms: None }
}
