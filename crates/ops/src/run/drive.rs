//! The embedded engine: drives runs of this process, and tells those of others.
//!
//! One task drives a run while it holds the run's lease. A run that waits for somebody is let go
//! of, so that waiting costs a row and nothing else; whoever tells it something takes it up again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use milepost_engine::event::{Budget, ChildOutcome, Entry, Event, Parent, RunCreated};
use milepost_engine::pilot::{Pilot, Work};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{End, State};
use milepost_engine::{Flow, Key, Spent};
use milepost_model::id::{RunId, WorkflowId};
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;
use milepost_store::runs::{
    Alive, Beat, Created, Durability, HolderId, InboxId, InboxRow, Lease, Listener, NewRun, Runs,
    RunsError,
};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tracing::Instrument;

use super::caller::Caller;
use super::clock::{Clock, now_ms};
use super::journal::{self, of_runs};
use super::person::Unsigned;
use super::sight::{Active, Scene, Sight};
use super::task::Task;
use super::trace;

/// For how long a process counts as alive without a sign of life.
const TTL: Duration = Duration::from_secs(6);
/// How often it gives one while it drives something.
const BEAT: Duration = Duration::from_secs(2);
/// How often whoever waits for an answer of another process looks for it.
const LOOK: Duration = Duration::from_millis(15);
/// How long whoever has an answer waits until its consequences can be seen.
const SHOWN: Duration = Duration::from_secs(1);
/// Runs that are taken up at a time.
const SWEPT: usize = 32;

/// The runs of a data directory, as one process drives them. A clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Drive {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) runs: Runs,
    pub(crate) caller: Caller,
    pub(crate) holder: HolderId,
    pub(crate) sight: Arc<Sight>,
    /// Whether others can wake it already.
    listens: AtomicBool,
    /// Whether this process is about to end, so that nothing new begins in it.
    ends: AtomicBool,
    /// When it gave the last sign of life.
    beaten_ms: AtomicU64,
    /// What tells others at once when this process has ended, where the system has such a thing.
    alive: OnceLock<Option<Alive>>,
    pub(crate) unsigned: Arc<Unsigned>,
}

impl Drop for Inner {
    /// A process that ends in order leaves nothing behind that others have to look at.
    fn drop(&mut self) {
        if *self.listens.get_mut() {
            self.runs.withdraw(self.holder.clone());
        }
    }
}

/// A run that is to begin.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) id: RunId,
    pub(crate) workflow: WorkflowId,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) flow: Flow,
    pub(crate) created: RunCreated,
    pub(crate) secrets: BTreeMap<String, Secret>,
    pub(crate) durability: Durability,
}

/// A workflow that a step runs.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) parent: RunId,
    pub(crate) key: Key,
    pub(crate) run: RunId,
    pub(crate) workflow: String,
    pub(crate) inputs: Map<String, Value>,
    /// What it may spend from now on.
    pub(crate) rest: BTreeMap<Budget, u64>,
    /// The run did not succeed and is to go on: how often its step was begun again.
    pub(crate) again: Option<u32>,
}

impl Drive {
    /// Over the runs of a directory. Listening begins when the first run is driven.
    pub(crate) fn open(runs: Runs, caller: Caller) -> Result<Drive, Problem> {
        let holder = HolderId::random().map_err(|error| of_runs(&error))?;
        let sight = caller.writer().reader.runs();
        sight.is_written_by(&runs);
        let (listens, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        let (beaten_ms, alive, unsigned) = (AtomicU64::new(0), OnceLock::new(), Arc::default());
        let inner =
            Inner { runs, caller, holder, sight, listens, ends, beaten_ms, alive, unsigned };
        Ok(Drive { inner: Arc::new(inner) })
    }

    /// Starts a run: when this returns it is on disk, and under way.
    pub(crate) async fn start(&self, beginning: Beginning) -> Result<RunId, Problem> {
        let inner = &self.inner;
        self.listen();
        let now = now_ms();
        inner.caller.keep(beginning.id.as_str(), beginning.secrets);
        let event = Event::RunCreated(Box::new(beginning.created));
        let first = Entry { seq: 1, at_ms: now, event };
        let state = State::begin(&first).map_err(|error| internal(&error.to_string()))?;
        let parent = state.head.parent.clone();
        let opened = Pilot::open(beginning.flow, state, now, &inner.caller);
        let (pilot, work) = opened.map_err(|error| internal(&error.to_string()))?;
        let mut entries = vec![first];
        entries.extend(work.entries.iter().cloned());
        let head = &pilot.state().head;
        let new = NewRun {
            id: beginning.id.clone(),
            workflow: beginning.workflow,
            title: beginning.title,
            text: beginning.text,
            actor: milepost_engine::view::who(&head.actor),
            workspace: head.workspace.clone(),
            parent: parent.and_then(|parent| RunId::parse(&parent.run).ok()),
            durability: beginning.durability,
            created_ms: now,
            standing: journal::standing(&pilot),
            events: journal::written(&entries)?,
        };
        self.beat();
        let signed = head.person.is_some();
        let created = self.create(new, signed).await;
        let Created { already, lease } = created.map_err(|error| of_runs(&error))?;
        trace::started(&beginning.id, &pilot.state().head.workflow, already);
        if let Some(lease) = lease.filter(|_| !already) {
            trace::happened(&entries);
            let written = Work { entries: Vec::new(), answers: Vec::new(), acts: work.acts };
            let (flow, state) = (pilot.flow().clone(), pilot.state().clone());
            let scene = Scene::of(flow, state, beginning.durability).with(entries);
            self.spawn(lease, pilot, written, scene);
        }
        Ok(beginning.id)
    }

    /// Records a run. That it needs no signatures is noted as soon as others can see it.
    async fn create(&self, new: NewRun, signed: bool) -> Result<Created, RunsError> {
        let (holder, unsigned) = (self.inner.holder.clone(), Arc::clone(&self.inner.unsigned));
        let run = new.id.clone();
        let create = |done: Box<dyn FnOnce(_) + Send>| {
            self.inner.runs.create(new, Some(holder), move |created| {
                if !signed && matches!(created, Ok(Created { already: false, .. })) {
                    unsigned.add(run);
                }
                done(created);
            });
        };
        wait(create).await
    }

    /// Drives a run if nobody does; whether this process drives it now.
    pub(crate) async fn take_up(&self, run: &RunId) -> Result<bool, Problem> {
        if self.active(run).is_some() {
            return Ok(true);
        }
        if self.ends() {
            return Ok(false);
        }
        self.listen();
        self.beat();
        let (id, holder) = (run.clone(), self.inner.holder.clone());
        let lease = wait(|done| self.inner.runs.take(id, holder, now_ms(), done)).await;
        let Some(lease) = lease.map_err(|error| of_runs(&error))? else { return Ok(false) };
        let loaded = match journal::load(&self.inner.runs, run) {
            Ok(loaded) => loaded,
            Err(problem) => {
                self.inner.runs.release(lease, drop);
                return Err(problem);
            }
        };
        let caller = &self.inner.caller;
        let (flow, state) = (loaded.flow.clone(), loaded.state.clone());
        let scene = Scene::of(flow, state, loaded.row.durability);
        let now = Clock::of(loaded.state.now_ms).now_ms();
        let opened = Pilot::open(loaded.flow, loaded.state, now, caller);
        let (pilot, work) = opened.map_err(|error| internal(&error.to_string()))?;
        self.spawn(lease, pilot, work, scene);
        Ok(true)
    }

    fn spawn(&self, lease: Lease, pilot: Pilot, work: Work, scene: Scene) {
        let durability = if scene.relaxed { Durability::Relaxed } else { Durability::Full };
        let active = Arc::new(Active::new(scene));
        let run = lease.run.clone();
        let span = trace::run(&run, &pilot.state().head.workflow);
        self.inner.sight.begin(run.clone(), Arc::clone(&active));
        let drive = self.clone();
        let driven = async move {
            let task = Task::new(drive.clone(), lease, pilot, durability, Arc::clone(&active));
            let last = task.drive(work).await;
            drive.inner.sight.leave(&run, &active, last);
        };
        tokio::spawn(driven.instrument(span));
    }

    /// The run, if this process drives it.
    pub(crate) fn active(&self, run: &RunId) -> Option<Arc<Active>> {
        self.inner.sight.active(run)
    }

    /// Tells a run something and waits for its answer, at most for a time. The message is on disk
    /// before anything else happens.
    pub(crate) async fn tell(
        &self,
        run: &RunId,
        id: &InboxId,
        signal: &Signal,
        patience: Duration,
    ) -> Result<Option<Reply>, Problem> {
        let data = serde_json::to_vec(signal).map_err(|error| internal(&error.to_string()))?;
        let row = InboxRow { id: id.clone(), run: run.clone(), at_ms: now_ms(), data };
        let sent = wait(|done| self.inner.runs.send(row, done)).await;
        sent.map_err(|error| of_runs(&error))?;
        let deadline = tokio::time::Instant::now() + patience;
        let mut woken = false;
        loop {
            if let Some(answer) = self.answer(id)? {
                // What was answered is on disk; whoever looks next is to see what came of it.
                if let Some(active) = self.active(run) {
                    let _ = tokio::time::timeout(SHOWN, active.writing.lock()).await;
                }
                return Ok(Some(answer));
            }
            match self.active(run) {
                Some(active) => {
                    active.told.notify_one();
                    let moved = active.moved.notified();
                    let _ = tokio::time::timeout(LOOK, moved).await;
                }
                None if self.take_up(run).await? => {}
                None => {
                    if !woken {
                        woken = true;
                        self.inner.runs.wake_all().map_err(|error| of_runs(&error))?;
                    }
                    tokio::time::sleep(LOOK).await;
                }
            }
            if tokio::time::Instant::now() >= deadline {
                return self.answer(id);
            }
        }
    }

    fn answer(&self, id: &InboxId) -> Result<Option<Reply>, Problem> {
        let answer = self.inner.runs.answer(id).map_err(|error| of_runs(&error))?;
        let reply = answer.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        reply.map_err(|error| internal(&error.to_string()))
    }

    /// Lets go of every run, for a process that ends: nothing new begins, and a request that may
    /// not be sent again is seen through first, so that nobody has to be asked what became of it.
    pub(crate) async fn finish(&self) {
        self.inner.ends.store(true, Ordering::SeqCst);
        self.inner.sight.wake();
        self.inner.sight.emptied().await;
    }

    /// Whether nothing new is to begin here.
    pub(crate) fn ends(&self) -> bool {
        self.inner.ends.load(Ordering::SeqCst)
    }

    /// Does something that leads from one run to another, beside both.
    pub(super) fn errand(&self, work: impl Future<Output = ()> + Send + 'static) {
        let errand = self.inner.sight.errand();
        tokio::spawn(async move {
            work.await;
            drop(errand);
        });
    }

    /// Gives every run back at once, for a process that cannot wait: whoever comes next need not
    /// wait until it is known to be gone.
    pub(crate) fn leave(&self) -> Result<(), Problem> {
        let holder = self.inner.holder.clone();
        self.inner.runs.leave_now(holder).map_err(|error| of_runs(&error))
    }

    /// Starts the workflow of a step, or goes on with it, or tells its end.
    pub(crate) async fn child(&self, child: Child) {
        let outcome = match self.inner.runs.run(&child.run) {
            Ok(_) => self.go_on(&child).await,
            Err(RunsError::NotFound { .. }) => self.begin_child(&child).await,
            Err(error) => Err(of_runs(&error)),
        };
        if let Err(problem) = outcome {
            let failure = super::caller::failure(&problem);
            let end =
                ChildEnd { outcome: ChildOutcome::Failed { failure }, spent: Spent::default() };
            self.child_ended(&child, 0, end).await;
        }
    }

    async fn go_on(&self, child: &Child) -> Result<(), Problem> {
        let loaded = journal::load(&self.inner.runs, &child.run)?;
        let Some(end) = ended(&loaded.state) else {
            return self.take_up(&child.run).await.map(drop);
        };
        let succeeded = matches!(end.outcome, ChildOutcome::Succeeded { .. });
        if let Some(generation) = child.again.filter(|_| !succeeded) {
            let id = format!("again:{}:{generation}", child.run);
            let id = InboxId::parse(&id).map_err(|error| internal(&error.to_string()))?;
            // Who has gone on already has ended anew since.
            if self.answer(&id)?.is_none() {
                return super::again::go_on(self, child, &loaded, &id).await;
            }
        }
        self.child_ended(child, loaded.state.seq, end).await;
        Ok(())
    }

    async fn begin_child(&self, child: &Child) -> Result<(), Problem> {
        let parent = journal::load(&self.inner.runs, &child.parent)?;
        let head = &parent.state.head;
        let depth = head.parent.as_ref().map_or(0, |parent| parent.depth) + 1;
        let above = Parent { run: head.run.clone(), key: child.key.clone(), depth };
        let beginning = super::begin::child(self, child, above, &parent).await?;
        self.start(beginning).await.map(drop)
    }

    /// Tells a run that one of its steps' runs has ended.
    pub(crate) async fn child_ended(&self, child: &Child, seq: u64, end: ChildEnd) {
        // The same end is news to a step that was begun again.
        let again = child.again.map(|again| format!(":{again}")).unwrap_or_default();
        let text = format!("child:{}:{seq}{again}", child.run);
        let Ok(id) = InboxId::parse(&text) else { return };
        let run = child.run.as_str().to_owned();
        let ChildEnd { outcome, spent } = end;
        let signal = Signal::ChildEnded { key: child.key.clone(), run, outcome, spent };
        // A message that does not arrive is sent again when the parent is taken up.
        let _ = self.tell(&child.parent, &id, &signal, Duration::from_secs(1)).await;
    }

    /// Gives a sign of life, unless the last one is fresh. It need not survive a loss of power, so
    /// nobody waits for it.
    fn beat(&self) {
        let millis = |period: Duration| u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
        let (now_ms, ttl_ms) = (now_ms(), millis(TTL));
        let last = self.inner.beaten_ms.load(Ordering::Relaxed);
        // A clock that was set back says nothing about how fresh it is.
        if last <= now_ms && now_ms - last < millis(BEAT) / 2 {
            return;
        }
        self.inner.beaten_ms.store(now_ms, Ordering::Relaxed);
        let holder = self.inner.holder.clone();
        let beat = Beat { holder, pid: std::process::id(), now_ms, ttl_ms };
        self.inner.runs.beat(beat, drop);
    }

    /// Listens for others, and gives signs of life while something is driven.
    fn listen(&self) {
        if self.inner.listens.swap(true, Ordering::Relaxed) {
            return;
        }
        // Without it, a process that ends is believed to be alive for some seconds.
        let claimed = self.inner.runs.claim(&self.inner.holder, now_ms());
        self.inner.alive.get_or_init(|| claimed.ok());
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            while let Some(inner) = inner.upgrade() {
                let drive = Drive { inner };
                if !drive.inner.sight.is_idle() {
                    drive.beat();
                }
                drop(drive);
                tokio::time::sleep(BEAT).await;
            }
        });
        let (directory, holder) =
            (self.inner.runs.directory().to_owned(), self.inner.holder.clone());
        let Ok(listener) = Listener::bind(&directory, &holder) else { return };
        let weak = Arc::downgrade(&self.inner);
        std::thread::spawn(move || hear(&listener, &weak));
    }

    /// Takes up runs that nobody drives.
    pub(crate) async fn sweep(&self) {
        let adrift = self.inner.runs.adrift(now_ms(), SWEPT).unwrap_or_default();
        for run in adrift {
            // A run that cannot be taken up is told of when somebody asks for it.
            let _ = self.take_up(&run).await;
        }
    }
}

/// Wakes the runs of this process when another process has told one something.
fn hear(listener: &Listener, inner: &Weak<Inner>) {
    loop {
        let woken = listener.recv(Duration::from_mins(1));
        let Some(inner) = inner.upgrade() else { return };
        if woken {
            inner.sight.wake();
        }
    }
}

/// The end of a run that a step started.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    outcome: ChildOutcome,
    spent: Spent,
}

/// How a run that a step started ended.
pub(crate) fn ended(state: &State) -> Option<ChildEnd> {
    let outcome = match state.end.as_ref()? {
        End::Succeeded(output) => {
            ChildOutcome::Succeeded { output: output.clone().unwrap_or_default() }
        }
        End::Failed(failure) => ChildOutcome::Failed { failure: (**failure).clone() },
        End::Canceled => ChildOutcome::Canceled,
    };
    Some(ChildEnd { outcome, spent: state.spent })
}

/// Hands a write to the store and waits for its end without blocking.
pub(crate) async fn wait<T: Send + 'static>(
    write: impl FnOnce(Box<dyn FnOnce(Result<T, RunsError>) + Send>),
) -> Result<T, RunsError> {
    let (done, outcome) = oneshot::channel();
    write(Box::new(move |result| drop(done.send(result))));
    outcome.await.unwrap_or(Err(RunsError::Failed))
}

pub(crate) fn internal(why: &str) -> Problem {
    Problem::new(Code::Internal, why, "report this with the workflow and its journal")
}
