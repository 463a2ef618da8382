//! Runs as those see them who look: what this process drives is looked at where it is, and of
//! others no more is read than what is new since the last look.
//!
//! What is seen is on disk: a run that is driven is shown as far as it was written down.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use milepost_engine::event::Entry;
use milepost_engine::state::{Phase, State, Status};
use milepost_engine::{Flow, Key, view};
use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};
use milepost_store::runs::{
    Durability, Page, RunFilter, RunRow, RunStatus, Runs, RunsError, RunsReader, Tally,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::clock::now_ms;
use super::journal::{self, of_runs};
use super::view::RunView;
use crate::call::{Alone, Call};

/// How often whoever waits for another process looks.
const LOOK: Duration = Duration::from_millis(60);
/// How often whoever is about to end looks whether there is something left to do, besides whenever
/// something has been done.
const REST: Duration = Duration::from_millis(5);
/// How long whoever looks waits for the driver of a run that has ended; without it, there is more
/// to do and the same to see.
const HAND_OVER: Duration = Duration::from_millis(50);
/// Events of a driven run that are kept for those who follow it; who falls behind reads the disk.
const RECENT: usize = 512;
/// Runs of other processes, or that came to rest, that are kept for the next look.
const SEEN: usize = 16;
/// Ids that are offered when a beginning fits several runs.
const OFFERED: usize = 5;

/// The runs of a data directory, for those who look.
#[derive(Debug)]
pub(crate) struct Sight {
    directory: PathBuf,
    store: OnceLock<RunsReader>,
    /// What this process writes with, once it drives runs.
    writer: OnceLock<Runs>,
    driven: Mutex<HashMap<RunId, Arc<Active>>>,
    errands: Errands,
    /// A run was let go of, or an errand is done.
    done: Notify,
    /// The last one looked at is the last one.
    seen: Mutex<VecDeque<(RunId, Seen)>>,
}

/// A run of another process, or one that came to rest.
#[derive(Debug)]
enum Seen {
    /// As it was when somebody looked.
    Scene(Box<Scene>),
    /// As its driver left it. Those who followed it have it too, and it is copied for nobody.
    Left(Arc<Active>),
}

impl Seen {
    fn into_scene(self) -> Scene {
        match self {
            Seen::Scene(scene) => *scene,
            Seen::Left(active) => match Arc::try_unwrap(active) {
                Ok(active) => {
                    active.shown.into_inner().unwrap_or_else(PoisonError::into_inner).scene
                }
                Err(active) => active.shown().scene.clone(),
            },
        }
    }
}

/// What is on its way between two runs that this process drives, or is to drive: until it has
/// arrived, neither of them shows that there is more to do.
#[derive(Debug, Default)]
struct Errands {
    begun: AtomicU64,
    done: AtomicU64,
}

/// One of them; it is done when this goes.
#[derive(Debug)]
pub(crate) struct Errand(Arc<Sight>);

impl Drop for Errand {
    fn drop(&mut self) {
        self.0.errands.done.fetch_add(1, Ordering::SeqCst);
        self.0.done.notify_waiters();
    }
}

/// A run that this process drives.
#[derive(Debug)]
pub(crate) struct Active {
    /// There is something in its inbox.
    pub(crate) told: Notify,
    /// It went on.
    pub(crate) moved: Notify,
    /// It came to stand differently, or is driven no longer.
    pub(crate) turned: Notify,
    /// It stands still because there is no room on the disk.
    pub(crate) stalled: AtomicBool,
    /// Held while something is written down and not shown yet.
    pub(crate) writing: tokio::sync::Mutex<()>,
    shown: Mutex<Shown>,
}

/// A driven run as it is shown. Most of those who follow it want no more than how it stands, so
/// what happens is not taken into a state of its own before somebody looks.
#[derive(Debug)]
struct Shown {
    scene: Scene,
    /// How many of the last events are not in the state of the scene yet.
    unseen: usize,
    stand: Stand,
    /// Its driver is done with it, and this is all that is on disk.
    left: bool,
}

/// How a run stands, in short.
#[derive(Debug, Clone)]
struct Stand {
    seq: u64,
    status: Status,
    /// The runs of its steps, when nothing else is going on.
    children: Vec<RunId>,
    /// Whether a request is under way: in a run that is paused there may be one too.
    calls: bool,
    /// Where it is, and what that does.
    at: Option<(Key, &'static str)>,
}

/// What whoever follows a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Something happens in it.
    News,
    /// That, or it has come to rest.
    Rest,
}

/// A run as far as it is on disk.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) flow: Flow,
    pub(crate) state: State,
    pub(crate) relaxed: bool,
    /// The last events, those of a driven run.
    recent: VecDeque<Arc<Entry>>,
}

/// What happened in a run behind an event, and how it stands.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) seal: String,
    pub(crate) status: Status,
}

impl Scene {
    pub(crate) fn of(flow: Flow, state: State, durability: Durability) -> Scene {
        let relaxed = durability == Durability::Relaxed;
        Scene { flow, state, relaxed, recent: VecDeque::new() }
    }

    /// With the events that led to it.
    pub(crate) fn with(mut self, entries: Vec<Entry>) -> Scene {
        self.keep(entries.into_iter().map(Arc::new));
        self
    }

    fn keep(&mut self, entries: impl Iterator<Item = Arc<Entry>>) {
        self.recent.extend(entries);
        let over = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..over);
    }

    /// Takes in the last events that are kept.
    fn catch_up(&mut self, last: usize) {
        let known = self.recent.len().saturating_sub(last);
        for entry in self.recent.iter().skip(known) {
            // They were taken in before they were written: they fit.
            drop(self.state.apply(entry));
        }
    }

    /// The events behind one of them; nothing when not all of them are kept.
    fn behind(&self, seq: u64) -> Option<Vec<Arc<Entry>>> {
        let first = self.recent.front().map_or(self.state.seq + 1, |entry| entry.seq);
        let known = usize::try_from((seq + 1).checked_sub(first)?).ok()?;
        Some(self.recent.iter().skip(known).cloned().collect())
    }

    fn view(&self) -> RunView {
        RunView::of(&self.flow, &self.state, self.relaxed)
    }
}

impl Stand {
    fn of(flow: &Flow, state: &State) -> Stand {
        let at = state.open().next().map(|(key, step)| (key.clone(), step.phase.status()));
        let status = view::status(flow, state);
        let calls = state.open().any(|(_, step)| matches!(step.phase, Phase::Calling(_)));
        Stand { seq: state.seq, status, children: children(state), calls, at }
    }
}

/// The runs of a run's steps, when nothing else is going on.
fn children(state: &State) -> Vec<RunId> {
    let mut children = Vec::new();
    for (_, step) in state.open() {
        match &step.phase {
            Phase::Child(child) => children.extend(RunId::parse(child)),
            phase if phase.is_busy() || phase.wakes_at().is_some() => return Vec::new(),
            _ => {}
        }
    }
    children
}

impl Active {
    pub(crate) fn new(scene: Scene) -> Active {
        let (told, moved, turned) = (Notify::new(), Notify::new(), Notify::new());
        let (stalled, writing) = (AtomicBool::new(false), tokio::sync::Mutex::new(()));
        let stand = Stand::of(&scene.flow, &scene.state);
        let shown = Mutex::new(Shown { scene, unseen: 0, stand, left: false });
        Active { told, moved, turned, stalled, writing, shown }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all that was written down.
    fn look<T>(&self, look: impl FnOnce(&Scene) -> T) -> T {
        let mut shown = self.shown();
        let unseen = std::mem::take(&mut shown.unseen);
        shown.scene.catch_up(unseen);
        look(&shown.scene)
    }

    /// Shows what was written down, and how the run stands since.
    pub(crate) fn show(&self, flow: &Flow, state: &State, entries: Vec<Entry>) {
        let mut shown = self.shown();
        shown.stand = Stand::of(flow, state);
        shown.scene.flow = flow.clone();
        // What would no longer be kept has to be taken in now.
        if shown.unseen + entries.len() > RECENT {
            let unseen = std::mem::take(&mut shown.unseen);
            shown.scene.catch_up(unseen);
            for entry in &entries {
                drop(shown.scene.state.apply(entry));
            }
        } else {
            shown.unseen += entries.len();
        }
        shown.scene.keep(entries.into_iter().map(Arc::new));
    }

    /// Takes over what the driver of the run had of it, which is driven no longer.
    fn hand_over(&self, flow: Flow, state: State) {
        let mut shown = self.shown();
        shown.stand = Stand::of(&flow, &state);
        (shown.scene.flow, shown.scene.state) = (flow, state);
        (shown.unseen, shown.left) = (0, true);
    }

    /// The run at its end, once its driver is done with it.
    fn end(&self) -> Option<RunView> {
        let shown = self.shown();
        let ended = shown.left && shown.stand.status.has_ended();
        ended.then(|| shown.scene.view())
    }
}

impl Sight {
    /// Over a directory. Nothing is opened yet.
    pub(crate) fn of(directory: PathBuf) -> Sight {
        let (driven, seen, errands) = (Mutex::default(), Mutex::default(), Errands::default());
        let (store, writer) = (OnceLock::new(), OnceLock::new());
        Sight { directory, store, writer, driven, errands, done: Notify::new(), seen }
    }

    /// What this process drives is written with this.
    pub(crate) fn is_written_by(&self, runs: &Runs) {
        // The first one writes to the same place.
        drop(self.writer.set(runs.clone()));
    }

    /// The journal; nothing where there have never been runs.
    fn store(&self) -> Result<Option<&RunsReader>, Problem> {
        self.opened().map_err(|error| of_runs(&error))
    }

    fn opened(&self) -> Result<Option<&RunsReader>, RunsError> {
        if let Some(store) = self.store.get() {
            return Ok(Some(store));
        }
        let opened = match self.writer.get() {
            Some(runs) => Some(runs.reader()),
            None => RunsReader::open(&self.directory)?,
        };
        Ok(opened.map(|store| self.store.get_or_init(|| store)))
    }

    /// How many runs there are.
    pub(crate) fn tally(&self) -> Result<Tally, RunsError> {
        match self.opened()? {
            Some(store) => store.tally(),
            None => Ok(Tally::default()),
        }
    }

    /// Whether the journal answers; one that nobody has begun yet does.
    pub(crate) fn answers(&self) -> Result<(), RunsError> {
        if self.writer.get().is_some_and(Runs::has_failed) {
            return Err(RunsError::Failed);
        }
        self.opened()?.map_or(Ok(()), RunsReader::answers)
    }

    fn store_of(&self, run: &RunId) -> Result<&RunsReader, Problem> {
        let missing = || of_runs(&RunsError::NotFound { run: run.clone() });
        self.store()?.ok_or_else(missing)
    }

    /// A run by its id or the beginning of it.
    pub(crate) fn find(&self, named: &str) -> Result<RunId, Problem> {
        if let Ok(run) = RunId::parse(named) {
            return Ok(run);
        }
        let found = self.store()?.map(|store| store.find_prefix(named)).transpose();
        let found = found.map_err(|error| of_runs(&error))?.unwrap_or_default();
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => {
                let none = self.list(&RunFilter::default(), 1)?.runs.is_empty();
                let (message, hint) = if none {
                    ("there are no runs yet".to_owned(), "start one with `milepost run`")
                } else {
                    let message = format!("there is no run `{named}`");
                    (message, "list the runs with `milepost runs`")
                };
                Err(Problem::new(Code::RunNotFound, message, hint).context("run_id", named))
            }
            several => {
                let some: Vec<&str> = several.iter().take(OFFERED).map(RunId::as_str).collect();
                let message = format!("several runs begin with `{named}`");
                let hint = format!("give more of it: {}", some.join(", "));
                Err(Problem::new(Code::RunNotFound, message, hint).context("run_id", named))
            }
        }
    }

    /// Runs, newest first.
    pub(crate) fn list(&self, filter: &RunFilter, limit: usize) -> Result<Page, Problem> {
        let page = self.store()?.map(|store| store.list(filter, limit)).transpose();
        Ok(page.map_err(|error| of_runs(&error))?.unwrap_or_default())
    }

    /// A run as it stands on disk.
    pub(crate) fn view(&self, run: &RunId) -> Result<RunView, Problem> {
        let (mut view, children) =
            self.look(run, |scene| (scene.view(), children(&scene.state)))?;
        if view.status != Status::Running.name() {
            return Ok(view);
        }
        let waiting = self.waiting(&children)?;
        if !waiting.is_empty() {
            view.next = None;
            waiting.into_iter().for_each(|child| view.waits_with(child));
        } else if self.is_adrift(run)? {
            view.is_adrift();
        }
        Ok(view)
    }

    /// The runs of a run's steps, when all of them wait for somebody.
    fn waiting(&self, children: &[RunId]) -> Result<Vec<RunView>, Problem> {
        let mut views = Vec::new();
        for child in children {
            // One that is not there yet is about to begin.
            let Ok(row) = self.row(child) else { return Ok(Vec::new()) };
            if !matches!(row.standing.status, RunStatus::Waiting | RunStatus::Running) {
                return Ok(Vec::new());
            }
            let view = self.view(child)?;
            if view.status != Status::Waiting.name() || view.is_left() {
                return Ok(Vec::new());
            }
            views.push(view);
        }
        Ok(views)
    }

    /// Whether nobody alive drives a run that has something to do.
    pub(crate) fn is_adrift(&self, run: &RunId) -> Result<bool, Problem> {
        if self.active(run).is_some() {
            return Ok(false);
        }
        let driven = self.store_of(run)?.is_driven(run, now_ms());
        Ok(!driven.map_err(|error| of_runs(&error))?)
    }

    /// The workflow of a run whose secret input has the value of its default.
    pub(crate) fn defaults(&self, run: &RunId, input: &str) -> Option<Flow> {
        let found = self.look(run, |scene| {
            let defaulted = scene.state.head.defaulted.iter().any(|name| name == input);
            defaulted.then(|| scene.flow.clone())
        });
        found.ok().flatten()
    }

    /// What happened behind an event.
    pub(crate) fn news(&self, run: &RunId, seq: u64) -> Result<News, Problem> {
        // How it stands is told of no later moment than what happened.
        let (kept, seal, status) = match self.active(run) {
            Some(active) => {
                let Shown { scene, stand, .. } = &*active.shown();
                (scene.behind(seq), scene.state.head.seal.clone(), stand.status)
            }
            None => self.look(run, |scene| {
                let status = view::status(&scene.flow, &scene.state);
                (scene.behind(seq), scene.state.head.seal.clone(), status)
            })?,
        };
        let entries = if let Some(entries) = kept {
            entries
        } else {
            let read = journal::entries(self.store_of(run)?, run, seq)?;
            read.into_iter().map(Arc::new).collect()
        };
        let waits = status == Status::Running && self.waits_below(run)?;
        let status = if waits { Status::Waiting } else { status };
        Ok(News { entries, seal, status })
    }

    /// A run once it has ended or waits for somebody, at most after a time.
    pub(crate) async fn follow(&self, run: &RunId, patience: Duration) -> Result<RunView, Problem> {
        self.follow_for(&Alone, run, patience).await
    }

    /// The same for somebody who wants to know where it is until then.
    pub(crate) async fn follow_for(
        &self,
        call: &dyn Call,
        run: &RunId,
        patience: Duration,
    ) -> Result<RunView, Problem> {
        let deadline = Instant::now() + patience;
        let (mut told, mut followed) = (None, None);
        loop {
            // Many may end at once, and only few of those are kept: this one is held on to.
            followed = self.active(run).or(followed);
            if let Some(view) = followed.as_ref().and_then(|active| active.end()) {
                return Ok(view);
            }
            let Stand { seq, status, children, at, .. } = self.stand(run)?;
            if at.is_some() && told != at {
                if let Some((key, does)) = &at {
                    call.progress(&format!("`{key}` is {does}"));
                }
                told = at;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if status.has_ended() {
                self.let_go(run).await;
                if let Some(view) = followed.as_ref().and_then(|active| active.end()) {
                    return Ok(view);
                }
            }
            let rests = !self.waiting(&children)?.is_empty() || self.is_adrift(run)?;
            if status != Status::Running || rests || left.is_zero() {
                return self.view(run);
            }
            self.until(run, seq, left, Until::Rest).await?;
        }
    }

    /// Waits until the driver of a run that has ended hands over what it knows of it: that is all
    /// there is to see, and nobody has to put it together again.
    async fn let_go(&self, run: &RunId) {
        let Some(active) = self.active(run) else { return };
        let mut moved = std::pin::pin!(active.moved.notified());
        moved.as_mut().enable();
        if self.active(run).is_some() {
            let _ = tokio::time::timeout(HAND_OVER, moved).await;
        }
    }

    fn stand(&self, run: &RunId) -> Result<Stand, Problem> {
        match self.active(run) {
            Some(active) => Ok(active.shown().stand.clone()),
            None => self.look(run, |scene| Stand::of(&scene.flow, &scene.state)),
        }
    }

    /// Whether a run waits for what the runs of its steps wait for.
    fn waits_below(&self, run: &RunId) -> Result<bool, Problem> {
        Ok(!self.waiting(&self.stand(run)?.children)?.is_empty())
    }

    /// Waits until a run has gone beyond an event, at most for a time.
    pub(crate) async fn beyond(
        &self,
        run: &RunId,
        seq: u64,
        patience: Duration,
    ) -> Result<(), Problem> {
        self.until(run, seq, patience, Until::News).await
    }

    /// Waits until a run has gone beyond an event, or for nothing more by itself.
    pub(crate) async fn until(
        &self,
        run: &RunId,
        seq: u64,
        patience: Duration,
        until: Until,
    ) -> Result<(), Problem> {
        let deadline = Instant::now() + patience;
        loop {
            let active = self.active(run);
            let moved = active.as_ref().map(|active| active.moved.notified());
            self.writes(active.as_deref()).map_err(|error| unwritten(&error, run))?;
            let last = match &active {
                Some(active) => active.shown().stand.seq,
                None => self.row(run)?.last_seq,
            };
            if last > seq || Instant::now() >= deadline {
                return Ok(());
            }
            // What the runs of its steps wait for is no event of its own.
            let below = until == Until::Rest && !self.stand(run)?.children.is_empty();
            if below && self.waits_below(run)? {
                return Ok(());
            }
            // Whoever drove it elsewhere may be gone: then nothing more comes.
            if active.is_none() && is_moving(&self.row(run)?) && self.is_adrift(run)? {
                return Ok(());
            }
            match moved {
                Some(moved) => {
                    let look = if below { deadline.min(Instant::now() + LOOK) } else { deadline };
                    let _ = tokio::time::timeout_at(look, moved).await;
                }
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Waits for a moment while a run goes on here: who follows one that is quick need not be told
    /// of each step by itself.
    pub(crate) async fn gather(&self, run: &RunId, moment: Duration) {
        let Some(active) = self.active(run).filter(|_| !moment.is_zero()) else { return };
        let mut turned = std::pin::pin!(active.turned.notified());
        turned.as_mut().enable();
        if active.shown().stand.status == Status::Running {
            let _ = tokio::time::timeout(moment, turned).await;
        }
    }

    /// Whether what happens can be written down: waiting for more would be waiting for nothing.
    fn writes(&self, active: Option<&Active>) -> Result<(), RunsError> {
        if self.writer.get().is_some_and(Runs::has_failed) {
            return Err(RunsError::Failed);
        }
        let stalled = active.is_some_and(|active| active.stalled.load(Ordering::Relaxed));
        if stalled { Err(RunsError::Full) } else { Ok(()) }
    }

    fn row(&self, run: &RunId) -> Result<RunRow, Problem> {
        self.store_of(run)?.run(run).map_err(|error| of_runs(&error))
    }

    /// Looks at a run as it stands on disk.
    fn look<T>(&self, run: &RunId, look: impl FnOnce(&Scene) -> T) -> Result<T, Problem> {
        if let Some(active) = self.active(run) {
            return Ok(active.look(look));
        }
        let scene = self.caught_up(run, self.recall(run))?;
        let found = look(&scene);
        self.remember(run, Seen::Scene(Box::new(scene)));
        Ok(found)
    }

    /// A run with all that is on disk of it.
    fn caught_up(&self, run: &RunId, known: Option<Scene>) -> Result<Scene, Problem> {
        let store = self.store_of(run)?;
        let row = self.row(run)?;
        // What is behind the journal was taken back: by a loss of power, or a backup.
        let Some(mut scene) = known.filter(|scene| scene.state.seq <= row.last_seq) else {
            let loaded = journal::load(store, run)?;
            return Ok(Scene::of(loaded.flow, loaded.state, loaded.row.durability));
        };
        if scene.state.seq == row.last_seq {
            return Ok(scene);
        }
        let text = scene.state.head.text_hash.clone();
        for entry in journal::entries(store, run, scene.state.seq)? {
            let applied = scene.state.apply(&entry);
            applied.map_err(|error| journal::damaged(run, &error.to_string()))?;
        }
        // Others drive it now: what this process kept of its events has no end.
        scene.recent.clear();
        if scene.state.head.text_hash != text {
            scene.flow = journal::flow(store, run, &scene.state.head.text_hash)?;
        }
        Ok(scene)
    }

    fn seen(&self) -> MutexGuard<'_, VecDeque<(RunId, Seen)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recall(&self, run: &RunId) -> Option<Scene> {
        let mut seen = self.seen();
        let index = seen.iter().position(|(other, _)| other == run)?;
        let found = seen.remove(index);
        drop(seen);
        found.map(|(_, seen)| seen.into_scene())
    }

    fn remember(&self, run: &RunId, last: Seen) {
        let mut seen = self.seen();
        seen.retain(|(other, _)| other != run);
        let oldest = if seen.len() >= SEEN { seen.pop_front() } else { None };
        seen.push_back((run.clone(), last));
        drop(seen);
        // Letting go of it takes a while.
        drop(oldest);
    }

    fn driven(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Active>>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run, if this process drives it.
    pub(crate) fn active(&self, run: &RunId) -> Option<Arc<Active>> {
        self.driven().get(run).cloned()
    }

    /// Whether this process drives nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.driven().is_empty()
    }

    /// Something is on its way to a run, until the errand is dropped.
    pub(crate) fn errand(self: &Arc<Sight>) -> Errand {
        self.errands.begun.fetch_add(1, Ordering::SeqCst);
        Errand(Arc::clone(self))
    }

    /// Waits until nothing that this process drives goes on by itself: every run has ended, waits
    /// for somebody, or cannot be written down any further.
    pub(crate) async fn rest(&self) {
        self.until_quiet(Sight::rests).await;
    }

    /// Waits until whatever one run tells another has arrived.
    pub(crate) async fn arrived(&self) {
        self.until_quiet(|sight| sight.done_errands().is_some()).await;
    }

    async fn until_quiet(&self, is_quiet: impl Fn(&Sight) -> bool) {
        loop {
            let done = self.done.notified();
            if is_quiet(self) {
                return;
            }
            // What a run waits for may change without anything being done here.
            drop(tokio::time::timeout(REST, done).await);
        }
    }

    /// How many errands there have been, when none is under way.
    fn done_errands(&self) -> Option<u64> {
        let begun = self.errands.begun.load(Ordering::SeqCst);
        (self.errands.done.load(Ordering::SeqCst) == begun).then_some(begun)
    }

    fn rests(&self) -> bool {
        let Some(begun) = self.done_errands() else { return false };
        let driven: Vec<(RunId, Arc<Active>)> =
            self.driven().iter().map(|(run, active)| (run.clone(), Arc::clone(active))).collect();
        let moves = |(run, active): &(RunId, Arc<Active>)| {
            let Stand { status, calls, .. } = active.shown().stand.clone();
            let goes_on = status == Status::Running && !self.waits_below(run).unwrap_or(true);
            // One that has ended is about to tell the run above it.
            let moves = goes_on || calls;
            (moves || status.has_ended()) && self.writes(Some(active)).is_ok()
        };
        // What began while this looked may have come from a run that was looked at too early.
        !driven.iter().any(moves) && self.done_errands() == Some(begun)
    }

    /// Waits until this process drives nothing.
    pub(crate) async fn emptied(&self) {
        self.until_quiet(Sight::is_idle).await;
    }

    /// Says to all that are driven that there may be something in their inbox.
    pub(crate) fn wake(&self) {
        self.driven().values().for_each(|active| active.told.notify_one());
    }

    /// This process drives a run from now on.
    pub(crate) fn begin(&self, run: RunId, active: Arc<Active>) {
        self.driven().insert(run, active);
    }

    /// This process has let go of a run, unless it took it up again meanwhile. What its driver
    /// knew is all that is on disk, or nothing when it was taken away.
    pub(crate) fn leave(&self, run: &RunId, active: &Arc<Active>, last: Option<(Flow, State)>) {
        let mut driven = self.driven();
        if driven.get(run).is_some_and(|own| Arc::ptr_eq(own, active)) {
            driven.remove(run);
            if let Some((flow, state)) = last {
                active.hand_over(flow, state);
                self.remember(run, Seen::Left(Arc::clone(active)));
            }
        }
        drop(driven);
        active.turned.notify_waiters();
        active.moved.notify_waiters();
        self.done.notify_waiters();
    }
}

/// Whether there is something to do in a run, as the index has it.
fn is_moving(row: &RunRow) -> bool {
    matches!(row.standing.status, RunStatus::Pending | RunStatus::Running)
}

/// A run that cannot be written down any further: nothing of it is lost, and it goes on from there.
fn unwritten(error: &RunsError, run: &RunId) -> Problem {
    let before = match error {
        RunsError::Full => "make room on the disk",
        _ => "look at the disk",
    };
    let mut problem = of_runs(error).context("run_id", run.as_str());
    problem.hint = format!("{before}, then go on with `milepost resume {run}`");
    problem
}
