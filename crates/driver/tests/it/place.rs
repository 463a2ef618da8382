//! Places where runs are kept, and processes that come and go there.
//!
//! The suites know a service as `&dyn RunService`, and of what stands behind it only this: a
//! [`Backend`] opens it for a process. Another driver is put under them by another backend.

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

/// When everything begins.
const START_MS: u64 = 1_800_000_000_000;
/// How often a process looks for runs that nobody drives.
const SWEEP: Duration = Duration::from_secs(5);

/// A store that outlives processes, and how they open the service over it.
pub(crate) trait Backend {
    /// The service of a process. Once the life of the process has ended, nothing that the service
    /// does reaches the store any more, and nothing is answered: that is how it dies. Dropping the
    /// service before that is the end of a process in order.
    fn open(&self, process: &Process) -> Arc<dyn RunService>;
}

/// What a service is opened with.
pub(crate) struct Process {
    pub(crate) sender: Arc<dyn RequestSender>,
    pub(crate) clock: WallClock,
    pub(crate) monotonic: MonotonicClock,
    pub(crate) life: Life,
}

/// The embedded driver over a journal in memory.
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
    /// Removes the directory in the end, where it is nobody else's.
    _own: Option<TempDir>,
}

impl OnDisk {
    pub(crate) fn new() -> OnDisk {
        let own = tempfile::tempdir().expect("makes a directory");
        OnDisk { root: own.path().to_owned(), _own: Some(own) }
    }

    /// In a directory that system processes share.
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
    /// The clock of the process that lives on this thread, for a journal that takes a function.
    static CLOCK: RefCell<Option<WallClock>> = const { RefCell::new(None) };
    static MONOTONIC: RefCell<Option<MonotonicClock>> = const { RefCell::new(None) };
}

fn told_monotonic() -> Duration {
    MONOTONIC.with_borrow(|clock| clock.as_ref().map_or_else(monotonic, |clock| clock()))
}

fn told_time() -> u64 {
    // Only a real process has threads that nobody told.
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

/// Both, by name.
pub(crate) fn backends() -> [(&'static str, Box<dyn Backend>); 2] {
    [("in memory", Box::new(InMemory::default())), ("on disk", Box::new(OnDisk::new()))]
}

/// A store, the servers around it, and the time there.
pub(crate) struct Place {
    backend: Box<dyn Backend>,
    pub(crate) servers: Arc<Servers>,
    now_ms: Cell<u64>,
}

impl Place {
    pub(crate) fn new(backend: Box<dyn Backend>, servers: Servers) -> Place {
        Place { backend, servers: Arc::new(servers), now_ms: Cell::new(START_MS) }
    }

    /// The same place where its time is the real one.
    pub(crate) fn today(self) -> Place {
        Place { now_ms: Cell::new(now_ms()), ..self }
    }

    /// Sets the clock of the machine.
    pub(crate) fn set_clock(&self, by_ms: i64) {
        self.now_ms.set(self.now_ms.get().saturating_add_signed(by_ms));
    }

    /// One process from its beginning to its end; nothing when it died. Its time passes only when
    /// there is nothing to do, so that hours take none.
    pub(crate) fn live<T>(&self, life: &Life, body: impl AsyncFnOnce(Here<'_>) -> T) -> Option<T> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("starts");
        let began_ms = self.now_ms.get();
        runtime.block_on(async {
            let began = Instant::now();
            let clock: WallClock = Arc::new(move || {
                began_ms + u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
            });
            // Of all processes at this place, which live one after the other.
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

    /// What a real process does, in real time, until it is killed.
    pub(crate) fn live_for_real(&self, body: impl AsyncFnOnce(Here<'_>)) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_time().build().expect("starts");
        let clock: WallClock = Arc::new(now_ms);
        runtime.block_on(async {
            let monotonic: MonotonicClock = Arc::new(monotonic);
            body(Here::open(self, &Life::new(None, None), &(clock, monotonic))).await;
        });
    }

    /// A process that nothing happens to.
    pub(crate) fn visit<T>(&self, body: impl AsyncFnOnce(Here<'_>) -> T) -> T {
        let done = self.live(&Life::new(None, None), body);
        done.expect("nothing happens to it")
    }
}

/// Both clocks of a process.
type Clocks = (WallClock, MonotonicClock);

/// The inside of a process.
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

    /// Takes up runs that nobody drives, from now on.
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

/// The id of a run, the same for the same number.
pub(crate) fn run_id(number: u64) -> RunId {
    RunId::from_bytes(u128::from(number).to_be_bytes())
}
