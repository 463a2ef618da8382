//! Drives one run: decisions are recorded, then carried out; their results lead to new decisions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use milepost_engine::event::{Event, JournalEntry, RunCreated};
use milepost_engine::interpreter::{
    AttemptOutcome, Decision, Interpreter, InterpreterInput, RunEffect,
};
use milepost_engine::ports::{
    Append, Durability, JournalError, Lease, MessageId, OutgoingRequest, RequestSender, RunStatus,
};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{Phase, State, Status};
use milepost_engine::world::RunWorld;
use milepost_engine::{Failure, FailureKind, Flow, StepKey, engine_actor};
use milepost_model::id::RunId;
use milepost_model::problem::Code;
use tokio::sync::{RwLock, mpsc};
use tokio::task::AbortHandle;
use tracing::{Instrument, Span};

use crate::active::ActiveRun;
use crate::children::{self, Child, ChildEnd};
use crate::clock::RunClock;
use crate::driver::{Driver, leaves_world};
use crate::heartbeat::HeartbeatPermit;
use crate::load::Pin;
use crate::{limits, load, trace};

/// A run's world, and the request sender for it.
type World = (Option<Box<RunWorld>>, Arc<dyn RequestSender>);

/// A run that is being driven.
pub(crate) struct RunTask {
    driver: Driver,
    held: RunHold,
    interpreter: Interpreter,
    active: Arc<ActiveRun>,
    clock: RunClock,
    /// The status that was last reported.
    told: Option<Status>,
    /// Requests in flight, each with the sequence number of the event that started it.
    calls: HashMap<StepKey, (u64, AbortHandle)>,
    sender: mpsc::Sender<Ended>,
    outcomes: mpsc::Receiver<Ended>,
    /// Whether the disk is full. Outcomes of requests in flight are still recorded, but no new work
    /// is started until there is space.
    full: bool,
    /// Messages that are answered once all child runs have been notified.
    postponed: HashSet<String>,
    acknowledge: mpsc::Sender<(String, Reply)>,
    acknowledged: mpsc::Receiver<(String, Reply)>,
    /// Write-locked while child runs are being paused, so that anything started or sent earlier has
    /// arrived by then.
    telling: Arc<RwLock<()>>,
}

/// What a task needs to drive a run.
pub(crate) struct RunHold {
    pub(crate) lease: Lease,
    /// Limits what may be started under the lease.
    pub(crate) permit: HeartbeatPermit,
    /// The sender for the run's world.
    pub(crate) sender: Arc<dyn RequestSender>,
    pub(crate) durability: Durability,
    /// A lower bound for the run's time, which it has already reached.
    pub(crate) least_ms: u64,
    /// Whether the run's world is missing, so that it can only be canceled or moved to another
    /// world.
    pub(crate) lacks_world: bool,
}

/// A run that is no longer driven, as stored on disk.
pub(crate) struct ReleasedRun {
    pub(crate) flow: Flow,
    pub(crate) state: State,
    /// If it is sleeping: when it continues, and the run's current time.
    pub(crate) sleeps: Option<(u64, u64)>,
}

/// A request that has completed.
struct Ended {
    key: StepKey,
    attempt: u64,
    outcome: AttemptOutcome,
}

impl RunTask {
    pub(crate) fn new(
        driver: Driver,
        held: RunHold,
        interpreter: Interpreter,
        active: Arc<ActiveRun>,
    ) -> RunTask {
        let (sender, outcomes) = mpsc::channel(limits::OUTCOMES);
        let clock = driver.clock_of(interpreter.state().now_ms.max(held.least_ms));
        let (acknowledge, acknowledged) = mpsc::channel(limits::OUTCOMES);
        RunTask {
            driver,
            held,
            interpreter,
            active,
            clock,
            told: None,
            calls: HashMap::new(),
            sender,
            outcomes,
            full: false,
            postponed: HashSet::new(),
            acknowledge,
            acknowledged,
            telling: Arc::default(),
        }
    }

    /// Drives the run until it ends, waits for somebody, or belongs to another process. Returns the
    /// run as stored on disk, or `None` if it now belongs to another process.
    pub(crate) async fn drive(mut self, decision: Decision) -> Option<ReleasedRun> {
        let mut begun = self.commit(Some(self.held.permit.clone()), decision).await;
        if begun.is_ok() {
            begun = self.hear().await;
        }
        if let Err(error) = begun {
            return self.give_up(&error).await;
        }
        while !self.is_done() {
            if self.driver.ends() {
                self.hold();
                if self.calls.is_empty() {
                    break;
                }
            }
            let nap = self.nap();
            let step = tokio::select! {
                Some(ended) = self.outcomes.recv() => {
                    let mut done = self.called(ended).await;
                    while done.is_ok() && let Ok(ended) = self.outcomes.try_recv() {
                        done = self.called(ended).await;
                    }
                    done
                }
                Some((id, reply)) = self.acknowledged.recv() => self.answer(id, reply).await,
                () = self.active.told.notified() => self.hear().await,
                () = tokio::time::sleep(nap) => self.look().await,
            };
            if let Err(error) = step {
                return self.give_up(&error).await;
            }
        }
        Some(self.leave().await)
    }

    async fn called(&mut self, ended: Ended) -> Result<(), JournalError> {
        let Ended { key, attempt, outcome } = ended;
        if self.calls.get(&key).is_some_and(|(own, _)| *own == attempt) {
            self.calls.remove(&key);
        }
        self.handle(InterpreterInput::Called { key, attempt, outcome }).await
    }

    /// Whether there is nothing left to do here for now.
    fn is_done(&self) -> bool {
        let status = self.interpreter.status();
        if status.has_ended() || (self.held.lacks_world && self.calls.is_empty()) {
            return true;
        }
        let soon = self.clock.now_ms() + limits::SOON_MS;
        let soon = self.interpreter.wakes_at().is_some_and(|at| at < soon);
        let rests = matches!(status, Status::Waiting | Status::Paused);
        let idle = self.calls.is_empty() && (rests || self.interpreter.is_asleep());
        idle && !soon && !self.has_children()
    }

    /// Starts no new work. Requests that may be repeated are aborted, because the next driver of
    /// the run sends them again.
    fn hold(&mut self) {
        self.interpreter.hold();
        let state = self.interpreter.state();
        self.calls.retain(|key, (_, call)| {
            let repeats = matches!(state.phase(key), Phase::Calling(one) if one.repeatable);
            if repeats {
                call.abort();
            }
            !repeats
        });
    }

    /// The time until something happens without outside input.
    fn nap(&self) -> Duration {
        if self.full {
            return limits::WRITE_AGAIN;
        }
        if self.driver.ends() {
            return limits::RUN_POLL;
        }
        let until = self.interpreter.wakes_at().map(|at| at.saturating_sub(self.clock.now_ms()));
        let until = until.map_or(limits::RUN_POLL, Duration::from_millis);
        until.min(limits::RUN_POLL)
    }

    async fn look(&mut self) -> Result<(), JournalError> {
        if self.full {
            return self.find_room().await;
        }
        if self.has_children() {
            let Some(permit) = self.permit().await? else { return self.fall_back().await };
            for effect in self.interpreter.children() {
                self.perform(&permit, effect);
            }
        }
        self.handle(InterpreterInput::Tick).await?;
        self.hear().await
    }

    fn has_children(&self) -> bool {
        self.interpreter.state().children().next().is_some()
    }

    /// Answers a message.
    async fn answer(&mut self, id: String, reply: Reply) -> Result<(), JournalError> {
        self.postponed.remove(&id);
        let permit = self.permit().await?;
        self.commit(permit, Decision { answers: vec![(id, reply)], ..Decision::default() }).await
    }

    fn child(&self, key: StepKey, run: RunId, workflow: String) -> Child {
        let parent = self.held.lease.run.clone();
        let step = self.interpreter.state().step(&key);
        let inner = step.and_then(|step| step.child.as_deref());
        let inner = inner.filter(|inner| inner.run == run.as_str());
        let again = step.filter(|_| inner.is_some_and(|inner| inner.continues));
        let again = again.map(|step| step.generation);
        let rest = inner.map(|inner| inner.rest.clone()).unwrap_or_default();
        let writes = inner.map(|inner| inner.handed.clone()).unwrap_or_default();
        let (inputs, permit) = (serde_json::Map::new(), None);
        Child { parent, key, run, workflow, inputs, rest, writes, again, permit }
    }

    /// Handles the messages in the run's inbox.
    async fn hear(&mut self) -> Result<(), JournalError> {
        if self.full {
            // The messages stay in the inbox.
            return Ok(());
        }
        let mut pending = self.driver.inner.journal.pending(&self.held.lease.run).await?;
        if self.held.lacks_world {
            pending.sort_by_key(|message| !leaves_world(message));
        }
        for message in pending {
            if self.held.lacks_world && !self.has_ended() && !leaves_world(&message) {
                // The other messages stay in the inbox.
                break;
            }
            let id = message.id.as_str().to_owned();
            if self.interpreter.is_waited_for(&id) || self.postponed.contains(&id) {
                continue;
            }
            match message.signal {
                Ok(signal) => self.told(id, signal).await?,
                Err(reason) => {
                    let hint = "send the message from the same version of the program";
                    self.refuse(id, Failure::new(Code::ParamsInvalid, reason, hint)).await?;
                }
            }
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.interpreter.status().has_ended()
    }

    /// Handles one message. If the run does not accept it, its workflow and world stay as they
    /// were.
    async fn told(&mut self, id: String, signal: Signal) -> Result<(), JournalError> {
        let before = match self.moves(&signal).await {
            Ok(before) => before,
            Err(error) => return self.refuse(id, children::failure_of(&error)).await,
        };
        match self.pins_text(&signal).await {
            Ok(text) => {
                self.handle(InterpreterInput::Signal { id, signal }).await?;
                if let Some((text_hash, flow)) = text
                    && self.interpreter.state().head.text_hash == text_hash
                {
                    self.interpreter.set_flow(flow);
                }
            }
            Err(error) => self.refuse(id, children::failure_of(&error)).await?,
        }
        self.settle_world(before);
        Ok(())
    }

    async fn refuse(&mut self, id: String, failure: Failure) -> Result<(), JournalError> {
        self.answer(id, Reply::Refused { failure }).await
    }

    /// Opens the world that a resumption names, if it is a different one; returns the previous one.
    async fn moves(&mut self, signal: &Signal) -> Result<Option<World>, crate::RunError> {
        let state = self.interpreter.state();
        let Signal::Resume { seq, resumption } = signal else { return Ok(None) };
        if *seq != state.seq || resumption.world.is_none() || resumption.world == state.head.world {
            return Ok(None);
        }
        let head = RunCreated { world: resumption.world.clone(), ..state.head.clone() };
        let opened = self.driver.world(&self.held.lease.run, &head).await?;
        let before = std::mem::replace(&mut self.held.sender, opened.sender);
        Ok(Some((state.head.world.clone(), before)))
    }

    /// Returns to the previous world if the run did not continue in the new one.
    fn settle_world(&mut self, before: Option<World>) {
        let Some((world, sender)) = before else { return };
        match self.interpreter.state().head.world == world {
            true => self.held.sender = sender,
            false => self.held.lacks_world = false,
        }
    }

    /// Compiles the source that a resumption names, if it is a different one; returns the previous
    /// flow with its hash.
    async fn pins_text(
        &mut self,
        signal: &Signal,
    ) -> Result<Option<(String, Flow)>, crate::RunError> {
        let state = self.interpreter.state();
        let Signal::Resume { seq, resumption } = signal else { return Ok(None) };
        if *seq != state.seq || resumption.text_hash == state.head.text_hash {
            return Ok(None);
        }
        let before = (state.head.text_hash.clone(), self.interpreter.flow().clone());
        let (journal, run) = (&*self.driver.inner.journal, &self.held.lease.run);
        let flow = load::flow(journal, run, &Pin::after(resumption)).await?;
        self.interpreter.set_flow(flow);
        Ok(Some(before))
    }

    async fn handle(&mut self, input: InterpreterInput) -> Result<(), JournalError> {
        let after_read = matches!(&input, InterpreterInput::Called { key, .. } if self.reads(key));
        let now_ms = self.clock.now_ms();
        match self.interpreter.handle(input, now_ms, &*self.held.sender) {
            Ok(mut decision) => {
                let permit = self.permit().await?;
                if let Some(permit) = permit.as_ref().filter(|_| after_read) {
                    self.send_reads(permit, &mut decision).await;
                }
                self.commit(permit, decision).await
            }
            // A decision that does not fit the run is a bug: the run is not driven any further.
            Err(_) => Err(JournalError::Quarantined { run: self.held.lease.run.clone() }),
        }
    }

    /// Returns a permit for what is recorded from now on. It is tied to this incarnation of the
    /// process, regardless of when the work would start. `None` if the disk is full: no heartbeat
    /// can be written, so no new work may be started.
    async fn permit(&self) -> Result<Option<HeartbeatPermit>, JournalError> {
        loop {
            match self.driver.permit().await {
                Err(JournalError::Full) => return Ok(None),
                Err(JournalError::Busy) => tokio::time::sleep(limits::WRITE_AGAIN).await,
                permit => return permit.map(Some),
            }
        }
    }

    /// Whether a step has a read-only request in flight or about to be sent.
    fn reads(&self, key: &StepKey) -> bool {
        let phase = self.interpreter.state().phase(key);
        matches!(phase, Phase::Calling(one) if one.repeatable && !one.write)
    }

    /// In a relaxed run, sends read-only requests while the decision that led to them is still
    /// being written, if that decision follows from the answer to another read-only request. If the
    /// process ends before the write, nothing is lost: both requests are sent again. Runs with a
    /// budget are excluded, because the lost requests would not be counted.
    async fn send_reads(&mut self, permit: &HeartbeatPermit, decision: &mut Decision) {
        let relaxed = self.held.durability == Durability::Relaxed && decision.answers.is_empty();
        if !relaxed || !self.interpreter.state().head.budget.is_empty() {
            return;
        }
        let reads = |effect: &mut RunEffect| match effect {
            RunEffect::Call { key, .. } => self.reads(key),
            _ => false,
        };
        let reads: Vec<RunEffect> = decision.effects.extract_if(.., reads).collect();
        if !reads.is_empty() {
            reads.into_iter().for_each(|effect| self.perform(permit, effect));
            // Lets the requests start before this thread does anything else.
            tokio::task::yield_now().await;
        }
    }

    /// Records a decision, then carries it out. Without a permit, only what has already happened is
    /// recorded.
    async fn commit(
        &mut self,
        permit: Option<HeartbeatPermit>,
        decision: Decision,
    ) -> Result<(), JournalError> {
        let Decision { mut entries, mut answers, mut effects } = decision;
        let mut told = self.postpone(&mut answers, &effects);
        {
            let active = Arc::clone(&self.active);
            let _writing = active.writing.lock().await;
            let nothing = entries.is_empty() && answers.is_empty();
            if permit.is_none() || (!nothing && !self.write(&entries, &answers).await?) {
                // What has happened is recorded; the decisions that follow from it are made again
                // later.
                let happened = entries.iter().rposition(|entry| is_outcome(&entry.event));
                entries.truncate(happened.map_or(0, |last| last + 1));
                effects.clear();
                // A pause that was not recorded is handled again.
                for id in told.take().into_iter().flatten() {
                    self.postponed.remove(&id);
                }
                self.write_outcomes(&entries).await?;
                self.fall_back().await?;
            }
            trace::happened(&entries);
            if !entries.is_empty() {
                self.active.show(self.interpreter.flow(), self.interpreter.state(), entries);
            }
        }
        let status = self.interpreter.status();
        if self.told != Some(status) {
            trace::stands(self.told, status);
            self.told = Some(status);
            self.active.turned.notify_waiters();
        }
        if let Some(permit) = permit {
            effects.into_iter().for_each(|effect| self.perform(&permit, effect));
        }
        if let Some(told) = told {
            self.pause_children(told);
        }
        self.active.moved.notify_waiters();
        Ok(())
    }

    /// The messages that are acknowledged once all child runs are paused; `None` if this is not a
    /// pause, or there are no child runs.
    fn postpone(
        &mut self,
        answers: &mut Vec<(String, Reply)>,
        effects: &[RunEffect],
    ) -> Option<Vec<String>> {
        let pauses =
            |effect: &RunEffect| matches!(effect, RunEffect::PauseChild { resume: false, .. });
        effects.iter().any(pauses).then(|| {
            let done = answers.extract_if(.., |(_, reply)| *reply == Reply::Done);
            let told: Vec<String> = done.map(|(id, _)| id).collect();
            self.postponed.extend(told.iter().cloned());
            told
        })
    }

    /// Pauses all child runs, then acknowledges the pause.
    fn pause_children(&self, told: Vec<String>) {
        let (driver, parent) = (self.driver.clone(), self.held.lease.run.clone());
        let (telling, acknowledge) = (Arc::clone(&self.telling), self.acknowledge.clone());
        self.driver.deliver(async move {
            let runs = {
                let _alone = telling.write().await;
                driver.pause_children(&parent).await
            };
            for id in told {
                let runs: Vec<String> = runs.iter().map(ToString::to_string).collect();
                let reply = if runs.is_empty() { Reply::Done } else { Reply::Pausing { runs } };
                // Without a receiver, the run is no longer driven here: its next driver answers.
                let _ = acknowledge.send((id, reply)).await;
            }
        });
    }

    fn append(&self, entries: &[JournalEntry], answers: &[(String, Reply)]) -> Append {
        let answers = answers.iter().filter_map(|(id, reply)| {
            // A malformed id was never sent to the run.
            Some((MessageId::parse(id).ok()?, reply.clone()))
        });
        let first = entries.first().map(|entry| entry.seq - 1);
        Append {
            lease: self.held.lease.clone(),
            after_seq: first.unwrap_or(self.interpreter.state().seq),
            entries: entries.to_vec(),
            standing: load::standing(&self.interpreter),
            answers: answers.collect(),
            at_ms: self.clock.now_ms(),
            durability: self.held.durability,
        }
    }

    /// Writes a decision to the journal; returns false if the disk is full.
    async fn write(
        &self,
        entries: &[JournalEntry],
        answers: &[(String, Reply)],
    ) -> Result<bool, JournalError> {
        loop {
            let append = self.append(entries, answers);
            match self.driver.inner.journal.append(append).await {
                Err(JournalError::Full) => return Ok(false),
                Err(JournalError::Busy) => tokio::time::sleep(limits::WRITE_AGAIN).await,
                written => return written.map(|()| true),
            }
        }
    }

    /// Writes the outcomes of requests even though the disk is full. If the reserve is used up,
    /// retries until they are written.
    async fn write_outcomes(&self, entries: &[JournalEntry]) -> Result<(), JournalError> {
        while !entries.is_empty() {
            let mut append = self.append(entries, &[]);
            // What follows from the outcomes has not been decided yet.
            let standing = &mut append.standing;
            (standing.status, standing.waiting) = (RunStatus::Running, None);
            (standing.wake_ms, standing.ended_ms) = (None, None);
            match self.driver.inner.journal.append_from_reserve(append).await {
                Err(JournalError::Full) => {
                    self.say_stalled(true);
                    tokio::time::sleep(limits::WRITE_AGAIN).await;
                }
                Err(JournalError::Busy) => tokio::time::sleep(limits::WRITE_AGAIN).await,
                written => return written,
            }
        }
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), JournalError> {
        let run = &self.held.lease.run;
        let loaded = load::load(&*self.driver.inner.journal, run).await;
        let loaded = loaded.map_err(|_| JournalError::Quarantined { run: run.clone() })?;
        self.interpreter = Interpreter::load(loaded.flow, loaded.state);
        Ok(())
    }

    /// Reloads the run from disk and starts no new work until there is space.
    async fn fall_back(&mut self) -> Result<(), JournalError> {
        self.reload().await?;
        self.interpreter.hold();
        self.full = true;
        self.say_stalled(self.calls.is_empty());
        Ok(())
    }

    /// Continues once there is space: when all outcomes of requests in flight are written, and an
    /// empty write succeeds.
    async fn find_room(&mut self) -> Result<(), JournalError> {
        if !self.calls.is_empty() {
            return Ok(());
        }
        self.say_stalled(true);
        if self.driver.ends() || !self.write(&[], &[]).await? {
            return Ok(());
        }
        self.say_stalled(false);
        self.full = false;
        self.reload().await?;
        self.handle(InterpreterInput::Tick).await?;
        self.hear().await
    }

    /// Reports whether the run is stalled because nothing more can be written.
    fn say_stalled(&self, stalled: bool) {
        self.active.stalled.store(stalled, Ordering::Relaxed);
        self.active.moved.notify_waiters();
    }

    fn perform(&mut self, permit: &HeartbeatPermit, effect: RunEffect) {
        match effect {
            RunEffect::Call { key, attempt, number, call, idempotency_key, digest, approved } => {
                let span = trace::step(&key, &call.command, number);
                let state = self.interpreter.state();
                let context =
                    children::context(&self.held.lease.run, self.interpreter.flow(), state);
                let permit = permit.of_sending();
                let sending = OutgoingRequest {
                    context,
                    call,
                    digest,
                    approved,
                    attempt: number,
                    idempotency_key,
                    permit,
                };
                self.send(key, attempt, sending, span);
            }
            RunEffect::Abort { key, attempt } => {
                let is_own = |(own, _): &(u64, AbortHandle)| *own == attempt;
                if self.calls.get(&key).is_some_and(is_own)
                    && let Some((_, call)) = self.calls.remove(&key)
                {
                    call.abort();
                    let sender = self.sender.clone();
                    tokio::spawn(async move {
                        let _ = sender.send(Ended { key, attempt, outcome: aborted() }).await;
                    });
                }
            }
            RunEffect::StartChild { key, run, workflow, inputs, rest, writes } => {
                let Ok(run) = RunId::parse(&run) else { return };
                let permit = Some(permit.clone());
                let known = self.child(key, run, workflow);
                let child = Child { inputs, rest, writes, permit, ..known };
                let (driver, telling) = (self.driver.clone(), Arc::clone(&self.telling));
                self.driver.deliver(async move {
                    let _telling = telling.read().await;
                    driver.child(child).await;
                });
            }
            RunEffect::CancelChild { run } => {
                let signal = Signal::Cancel { by: engine_actor("parent"), reason: None };
                self.tell_child(permit, &run, &format!("cancel:{run}"), signal);
            }
            RunEffect::PauseChild { run, resume: true, seq } => {
                let signal = Signal::Unpause { by: engine_actor("parent") };
                self.tell_child(permit, &run, &format!("resume:{run}:{seq}"), signal);
            }
            // Child runs are paused all together by `pause_children`, before the pause is
            // acknowledged.
            RunEffect::PauseChild { resume: false, .. } => {}
        }
    }

    fn send(&mut self, key: StepKey, attempt: u64, sending: OutgoingRequest, span: Span) {
        let (requests, sender) = (Arc::clone(&self.held.sender), self.sender.clone());
        let own = key.clone();
        let task = async move {
            let mock = sending.context.mock;
            let outcome = match sending.permit.holds() {
                true => requests.send(sending).await,
                false => AttemptOutcome::lapsed(),
            };
            trace::called(&outcome, mock);
            // Without a receiver, the run is no longer driven here.
            let _ = sender.send(Ended { key: own, attempt, outcome }).await;
        };
        let task = tokio::spawn(task.instrument(span));
        self.calls.insert(key, (attempt, task.abort_handle()));
    }

    /// Sends a message to a child run; repeating the same message has no effect.
    fn tell_child(&self, permit: &HeartbeatPermit, run: &str, message: &str, signal: Signal) {
        let (Ok(run), Ok(id)) = (RunId::parse(run), MessageId::parse(message)) else { return };
        let (driver, telling) = (self.driver.clone(), Arc::clone(&self.telling));
        let permit = permit.clone();
        self.driver.deliver(async move {
            let _telling = telling.read().await;
            if !permit.holds() {
                // The current driver of the run sends its own messages to the child runs.
                return;
            }
            let _ = driver.tell(&run, &id, &signal, limits::CHILD_TOLD).await;
        });
    }

    /// Releases a run that has ended or is waiting, and tells its parent if it has ended.
    async fn leave(mut self) -> ReleasedRun {
        let sleeps = self.falls_asleep().await;
        let state = self.interpreter.state();
        let above = state.head.parent.clone().zip(ChildEnd::of(state));
        let seq = state.seq;
        if self.interpreter.status().has_ended() {
            self.held.sender.forget(&self.held.lease.run);
        }
        // A lease that is not released expires.
        let _ = self.driver.inner.journal.release(self.held.lease.clone()).await;
        if let Some((parent, end)) = above
            && let Ok(run) = RunId::parse(&parent.run)
        {
            let child = self.child(parent.key, self.held.lease.run.clone(), String::new());
            let child = Child { parent: run, again: None, ..child };
            let driver = self.driver.clone();
            self.driver.deliver(async move { driver.child_ended(&child, seq, end).await });
        }
        let (flow, state) = self.interpreter.into_parts();
        ReleasedRun { flow, state, sleeps }
    }

    /// If the run is only waiting until a certain time, returns when it continues and the run's
    /// current time. Updates the index if it does not show this yet.
    async fn falls_asleep(&mut self) -> Option<(u64, u64)> {
        let now_ms = self.clock.now_ms();
        if self.interpreter.is_held() && !self.full {
            let (flow, state) = (self.interpreter.flow().clone(), self.interpreter.state().clone());
            let mut probe = Interpreter::load(flow, state);
            let next = probe.handle(InterpreterInput::Tick, now_ms, &*self.held.sender).ok()?;
            if next.entries.is_empty() && next.effects.is_empty() {
                self.interpreter = probe;
            }
        }
        let wake_ms = self.interpreter.wakes_at().filter(|_| self.interpreter.is_asleep())?;
        let record = self.driver.inner.journal.run(&self.held.lease.run).await.ok()?;
        if !record.standing.is_asleep() {
            // If this fails, another driver acquires the run again and releases it.
            let _ = self.write(&[], &[]).await;
        }
        Some((wake_ms, now_ms))
    }

    /// Stops driving a run that now belongs to another process, or that cannot be written. Another
    /// process may continue it.
    async fn give_up(self, error: &JournalError) -> Option<ReleasedRun> {
        self.calls.values().for_each(|(_, call)| call.abort());
        if !matches!(error, JournalError::Fenced { .. } | JournalError::Failed) {
            // A lease that is not released expires.
            let _ = self.driver.inner.journal.release(self.held.lease).await;
        }
        None
    }
}

/// Whether an event records how a request ended, which cannot be determined again once it is lost.
fn is_outcome(event: &Event) -> bool {
    matches!(
        event,
        Event::AttemptSucceeded { .. } | Event::AttemptFailed { .. } | Event::AttemptUnknown { .. }
    )
}

fn aborted() -> AttemptOutcome {
    let message = "the request was abandoned because the run was canceled";
    let failure = Failure::new(Code::RunCanceled, message, "find out whether it took effect");
    AttemptOutcome::failed(failure, FailureKind::Timeout, false)
}
