//! Places where runs are stored, and processes that come and go there.
//!
//! The suites only know a service as `&dyn RunService`; a [`Backend`] opens it for a process. To
//! test another driver, add another backend.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use milepost_driver::clock::{MonotonicClock, WallClock, monotonic, now_ms};
use milepost_driver::{Driver, DriverPorts, RunService, RunWatcher};
use milepost_engine::ports::{Dispatch, Journal, RequestSender};
use milepost_model::id::RunId;
use milepost_store::runs::{JournalOptions, SqliteJournal};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::life::Life;
use crate::memory::{MemoryJournal, MemoryStore};
use crate::mortal::Mortal;
use crate::world::{Caller, Servers, Start};

/// The simulated time at the start.
const START_MS: u64 = 1_800_000_000_000;
/// How often a process looks for undriven runs.
const SWEEP: Duration = Duration::from_secs(5);

/// A store that outlives processes, and a way to open a service over it.
pub(crate) trait Backend {
    /// Opens the service of a process. Once the process has died, the service no longer reaches the
    /// store and answers nothing. Dropping the service earlier is an orderly exit.
    fn open(&self, process: &Process) -> Arc<dyn RunService>;
}

/// The dependencies of a service.
pub(crate) struct Process {
    pub(crate) sender: Arc<dyn RequestSender>,
    pub(crate) clock: WallClock,
    pub(crate) monotonic: MonotonicClock,
    pub(crate) life: Life,
}

/// The embedded driver over an in-memory journal.
#[derive(Default)]
pub(crate) struct InMemory {
    store: Arc<MemoryStore>,
}

impl InMemory {
    pub(crate) fn store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.store)
    }
}

impl Backend for InMemory {
    fn open(&self, process: &Process) -> Arc<dyn RunService> {
        let (clock, monotonic) = (Arc::clone(&process.clock), Arc::clone(&process.monotonic));
        driver(MemoryJournal::new(Arc::clone(&self.store), clock, monotonic), process)
    }
}

/// The embedded driver over `SQLite`.
pub(crate) struct OnDisk {
    root: PathBuf,
    /// Removes the directory at the end, unless it is shared.
    _own: Option<TempDir>,
}

impl OnDisk {
    pub(crate) fn new() -> OnDisk {
        let own = tempfile::tempdir().expect("makes a directory");
        OnDisk { root: own.path().to_owned(), _own: Some(own) }
    }

    /// Uses a directory that several real processes share.
    pub(crate) fn at(root: &Path) -> OnDisk {
        OnDisk { root: root.to_owned(), _own: None }
    }
}

impl Backend for OnDisk {
    fn open(&self, process: &Process) -> Arc<dyn RunService> {
        CLOCK.set(Some(Arc::clone(&process.clock)));
        MONOTONIC.set(Some(Arc::clone(&process.monotonic)));
        let options = JournalOptions {
            clock: Some(told_time),
            monotonic: Some(told_monotonic),
            ..JournalOptions::default()
        };
        let journal = SqliteJournal::at(self.root.clone(), options);
        let own = journal.clone();
        process.life.at_the_end(move || own.die());
        driver(journal, process)
    }
}

thread_local! {
    /// The clock of the simulated process on this thread, for a journal that takes a plain
    /// function.
    static CLOCK: RefCell<Option<WallClock>> = const { RefCell::new(None) };
    static MONOTONIC: RefCell<Option<MonotonicClock>> = const { RefCell::new(None) };
}

fn told_monotonic() -> Duration {
    MONOTONIC.with_borrow(|clock| clock.as_ref().map_or_else(monotonic, |clock| clock()))
}

fn told_time() -> u64 {
    // Only real processes have threads without a simulated clock.
    CLOCK.with_borrow(|clock| clock.as_ref().map_or_else(now_ms, |clock| clock()))
}

pub(crate) fn driver(
    journal: impl Journal + Dispatch + 'static,
    process: &Process,
) -> Arc<dyn RunService> {
    let journal = Arc::new(Mortal::new(journal, process.life.clone()));
    let watched = Arc::clone(&journal) as Arc<dyn Journal>;
    let driver = Driver::new(DriverPorts {
        journal: Arc::clone(&watched),
        dispatch: journal,
        sender: Arc::clone(&process.sender),
        watcher: Arc::new(RunWatcher::new(watched)),
        clock: Arc::clone(&process.clock),
        monotonic: Arc::clone(&process.monotonic),
    });
    Arc::new(driver.expect("there are random numbers"))
}

/// Both backends, by name.
pub(crate) fn backends() -> [(&'static str, Box<dyn Backend>); 2] {
    [("in memory", Box::new(InMemory::default())), ("on disk", Box::new(OnDisk::new()))]
}

/// A store, the servers around it, and its simulated time.
pub(crate) struct Place {
    backend: Box<dyn Backend>,
    pub(crate) servers: Arc<Servers>,
    now_ms: Cell<u64>,
}

impl Place {
    pub(crate) fn new(backend: Box<dyn Backend>, servers: Servers) -> Place {
        Place { backend, servers: Arc::new(servers), now_ms: Cell::new(START_MS) }
    }

    /// Starts at the real time.
    pub(crate) fn today(self) -> Place {
        Place { now_ms: Cell::new(now_ms()), ..self }
    }

    /// Moves the machine's clock.
    pub(crate) fn set_clock(&self, by_ms: i64) {
        self.now_ms.set(self.now_ms.get().saturating_add_signed(by_ms));
    }

    /// Runs one process from start to end; returns `None` if it died. Time passes only when there
    /// is nothing to do, so hours take no real time.
    pub(crate) fn live<T>(&self, life: &Life, body: impl AsyncFnOnce(Here<'_>) -> T) -> Option<T> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("starts");
        let began_ms = self.now_ms.get();
        runtime.block_on(async {
            let began = Instant::now();
            let clock: WallClock = Arc::new(move || {
                began_ms + u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
            });
            // Shared by all processes at this place, which run one after the other.
            let monotonic: MonotonicClock =
                Arc::new(move || Duration::from_millis(began_ms) + began.elapsed());
            let here = Here::open(self, life, &(clock.clone(), monotonic));
            let done = tokio::select! {
                biased;
                () = life.ended() => None,
                done = body(here) => Some(done),
            };
            self.now_ms.set(clock());
            done
        })
    }

    /// Runs a real process in real time until it is killed.
    pub(crate) fn live_for_real(&self, body: impl AsyncFnOnce(Here<'_>)) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_time().build().expect("starts");
        let clock: WallClock = Arc::new(now_ms);
        runtime.block_on(async {
            let monotonic: MonotonicClock = Arc::new(monotonic);
            body(Here::open(self, &Life::new(None, None), &(clock, monotonic))).await;
        });
    }

    /// Runs an undisturbed process.
    pub(crate) fn visit<T>(&self, body: impl AsyncFnOnce(Here<'_>) -> T) -> T {
        let done = self.live(&Life::new(None, None), body);
        done.expect("nothing happens to it")
    }
}

/// The wall clock and the monotonic clock of a process.
type Clocks = (WallClock, MonotonicClock);

/// The view from inside a process.
#[derive(Clone)]
pub(crate) struct Here<'p> {
    place: &'p Place,
    clocks: Clocks,
    pub(crate) caller: Arc<Caller>,
    pub(crate) life: Life,
    runs: Arc<dyn RunService>,
}

impl<'p> Here<'p> {
    fn open(place: &'p Place, life: &Life, clocks: &Clocks) -> Here<'p> {
        let (clock, monotonic) = clocks;
        let (servers, life) = (Arc::clone(&place.servers), life.clone());
        let caller = Arc::new(Caller { servers, life: life.clone(), clock: Arc::clone(clock) });
        let process = Process {
            sender: Arc::clone(&caller) as Arc<dyn RequestSender>,
            clock: Arc::clone(clock),
            monotonic: Arc::clone(monotonic),
            life: life.clone(),
        };
        let runs = place.backend.open(&process);
        Here { place, clocks: clocks.clone(), caller, life, runs }
    }

    /// Another process at the same place and time.
    pub(crate) fn beside(&self, life: &Life) -> Here<'p> {
        Here::open(self.place, life, &self.clocks)
    }

    pub(crate) fn runs(&self) -> &dyn RunService {
        &*self.runs
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.place.servers
    }

    pub(crate) fn now_ms(&self) -> u64 {
        (self.clocks.0)()
    }

    /// Adopts undriven runs from now on.
    pub(crate) fn tend(&self) {
        let runs = Arc::clone(&self.runs);
        tokio::spawn(async move {
            loop {
                runs.adopt_orphans().await.expect("looks");
                tokio::time::sleep(SWEEP).await;
            }
        });
    }

    pub(crate) async fn start(&self, start: Start) -> RunId {
        let prepared = start.prepared(self.now_ms());
        self.runs.start(prepared).await.expect("starts")
    }
}

/// A deterministic run id.
pub(crate) fn run_id(number: u64) -> RunId {
    RunId::from_bytes(u128::from(number).to_be_bytes())
}
