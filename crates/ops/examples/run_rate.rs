//! Measures how fast a journal handles many runs: `cargo run --release -p milepost-ops --example
//! run_rate -- rate|fill <folder>`.
//!
//! `rate` concurrently runs a thousand workflows of ten requests each against a server on loopback.
//! The reference is the group commit limit of this disk: how fast the journal acknowledges the same
//! events when nothing is decided or sent, with one event per write and one write in flight per
//! run. Two more figures are reported: one for the writes exactly as the runs issue them, with
//! several events each, and one for those writes interleaved with the same requests, sent by the
//! same client. `fill` creates a hundred thousand finished runs for the user whose home directory
//! is the folder, and measures how long it takes to list a page of them. Both print one JSON
//! object.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use milepost_model::digest::Digest;
use milepost_model::id::WorkflowId;
use milepost_model::wording::Neutral;
use milepost_ops::catalog::import::{self, ImportOpenApi};
use milepost_ops::run::list::{self, ListRuns};
use milepost_ops::run::start::{self, StartRun};
use milepost_ops::run::status::{self, GetRunStatus};
use milepost_ops::run::view;
use milepost_ops::{Caller, CallerKind, Code, Operations, Problem, Reader, SilentCaller, Writer};
use milepost_outbound::{Client, Outgoing, Policy, SendOptions};
use milepost_store::Locations;
use milepost_store::runs::{
    AppendRows, Durability, HolderId, Lease, NewEvent, NewRunRow, OpenOptions, Pins, RunFilter,
    RunRecord, RunStatus, RunSummary, Runs, RunsError,
};
use milepost_store::secrets::Environment;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const RUNS: usize = 1_000;
const STEPS: usize = 10;
/// Only the best round counts, both for the runs and for the reference, because other work on the
/// machine can only add time.
const ROUNDS: usize = 3;
const FINISHED: usize = 100_000;
const PAGES: usize = 50;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    content-length: 30\r\n\r\n{\"id\":\"o-1042\",\"state\":\"paid\"}";

/// The same allocator as in the released program.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (what, folder) = (arguments.next(), arguments.next().ok_or("which folder?")?);
    let told = match what.as_deref() {
        Some("rate") => rate(Path::new(&folder))?,
        Some("fill") => fill(Path::new(&folder))?,
        _ => return Err("give `rate` or `fill`, and a folder".into()),
    };
    writeln!(std::io::stdout(), "{told}")?;
    Ok(())
}

/// A caller that is a person and may therefore import an API on this machine.
struct Person;

impl Caller for Person {
    fn progress(&self, message: &str) {
        SilentCaller.progress(message);
    }

    fn warn(&self, message: &str) {
        SilentCaller.warn(message);
    }

    fn ask(&self, question: &str) -> Option<bool> {
        SilentCaller.ask(question)
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }
}

/// The directories of a user with this home directory.
fn locations(home: &Path) -> Locations {
    let variable = |name: &str| (name == "HOME").then(|| home.display().to_string());
    Locations::resolve(&variable, home)
}

fn operations(home: &Path) -> Operations {
    Operations::new(Writer::open(Reader::open(locations(home)), Environment::default()))
}

fn words(problem: &Problem) -> String {
    format!("{}: {}", problem.message, problem.hint.worded(&Neutral))
}

fn rate(folder: &Path) -> Outcome<Value> {
    let address = serve()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let [mut own, mut limit, mut bare, mut alone] = [Duration::MAX; 4];
    let mut events = 0;
    for _ in 0..ROUNDS {
        let home = tempfile::tempdir_in(folder)?;
        let operations = Arc::new(operations(home.path()));
        runtime.block_on(import(&operations, home.path(), address))?;
        own = own.min(runtime.block_on(together(&operations))?);
        drop(operations);
        let load = Arc::new(Load::of(&locations(home.path()).data)?);
        let write = |load: &Arc<Load>, calls: Option<Calls>| {
            let place = tempfile::tempdir_in(folder)?;
            runtime.block_on(Arc::clone(load).write(place.path(), calls))
        };
        limit = limit.min(write(&Arc::new(load.one_by_one()), None)?);
        bare = bare.min(write(&load, Some(Calls::to(address)?))?);
        alone = alone.min(write(&load, None)?);
        events = load.events();
    }
    let [own, limit, bare, alone] = [own, limit, bare, alone].map(|time| time.as_secs_f64());
    Ok(json!({
        "runs": RUNS,
        "steps": STEPS,
        "events": RUNS * events,
        "runs_ms": own * 1e3,
        "one_by_one_ms": limit * 1e3,
        "same_writes_and_requests_ms": bare * 1e3,
        "same_writes_ms": alone * 1e3,
        "percent": 100.0 * limit / own,
    }))
}

async fn import(operations: &Operations, home: &Path, address: SocketAddr) -> Outcome<()> {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Bench", "version": "1"},
        "paths": {"/items/{id}": {"get": {
            "operationId": "getItem",
            "tags": ["items"],
            "parameters": [id],
            "responses": {"200": {
                "description": "An item",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }},
        }}},
    });
    let path = home.join("bench.json");
    fs::write(&path, document.to_string())?;
    let request = json!({"source": path, "base_url": format!("http://{address}")});
    let request: import::Request = serde_json::from_value(request)?;
    let imported = operations.run::<ImportOpenApi>(&Person, request).await;
    imported.map_err(|problem| words(&problem))?;
    Ok(())
}

/// Runs all workflows concurrently, and returns the time until the last one has ended.
async fn together(operations: &Arc<Operations>) -> Outcome<Duration> {
    let mut text = "workflow: chain\nsteps:\n".to_owned();
    for step in 0..STEPS {
        writeln!(text, "  - {{id: s{step}, run: bench items:get, with: {{id: i{step}}}}}")?;
    }
    let began = Instant::now();
    let runs: Vec<_> = (0..RUNS)
        .map(|_| {
            let (operations, manifest) = (Arc::clone(operations), Some(Value::from(&*text)));
            tokio::spawn(async move { one(&operations, manifest).await })
        })
        .collect();
    for run in runs {
        // A fast but wrong run must not count.
        assert_eq!(run.await?.map_err(|problem| words(&problem))?, view::RunStatus::Succeeded);
    }
    Ok(began.elapsed())
}

async fn one(operations: &Operations, manifest: Option<Value>) -> Result<view::RunStatus, Problem> {
    let request = start::Request { manifest, wait_s: 25, ..start::Request::default() };
    let mut run = operations.run::<StartRun>(&Person, request).await?;
    while run.status == view::RunStatus::Running {
        let request =
            status::Request { run_id: Some(run.run_id), wait_s: 25, ..status::Request::default() };
        match operations.run::<GetRunStatus>(&Person, request).await? {
            status::Response::Run(next) => run = *next,
            status::Response::Open { .. } => {
                return Err(Problem::new(Code::Internal, "a list came back", "report this"));
            }
        }
    }
    Ok(run.status)
}

/// The writes of one run.
struct Load {
    text: String,
    create: Vec<NewEvent>,
    appends: Vec<Vec<NewEvent>>,
}

impl Load {
    /// Extracts the writes of a finished run. A write ends when a request starts or when the run
    /// ends.
    fn of(directory: &Path) -> Outcome<Load> {
        let runs = Runs::open(directory, OpenOptions::default())?;
        // The directory may contain runs of other lengths.
        for row in runs.list(&RunFilter::default(), 1_000)?.runs {
            let mut writes = vec![Vec::new()];
            for event in runs.events(&row.id, 0, 10_000)?.events {
                let ends = event.kind == "attempt_started";
                let event = NewEvent { at_ms: event.at_ms, kind: event.kind, data: event.data };
                writes.last_mut().ok_or("no write")?.push(event);
                if ends {
                    writes.push(Vec::new());
                }
            }
            let create = writes.remove(0);
            if writes.len() == STEPS {
                let text = runs.text(row.text)?.ok_or("the run has no text")?;
                return Ok(Load { text, create, appends: writes });
            }
        }
        Err("there is no run of that length".into())
    }

    fn events(&self) -> usize {
        self.create.len() + self.appends.iter().map(Vec::len).sum::<usize>()
    }

    /// The same events, one per write.
    fn one_by_one(&self) -> Load {
        let (text, create) = (self.text.clone(), self.create.clone());
        let events = self.appends.iter().flatten();
        Load { text, create, appends: events.map(|event| vec![event.clone()]).collect() }
    }

    /// Issues the writes of all runs, either to the journal alone or interleaved with requests,
    /// which are sent by the same client as in real runs.
    async fn write(self: Arc<Load>, directory: &Path, calls: Option<Calls>) -> Outcome<Duration> {
        let runs = Runs::open(directory, OpenOptions::default())?;
        let holder = HolderId::from_bytes([7; 8]);
        let began = Instant::now();
        let all: Vec<_> = (0..RUNS)
            .map(|_| {
                let (load, runs) = (Arc::clone(&self), runs.clone());
                let (holder, calls) = (holder.clone(), calls.clone());
                tokio::spawn(async move { load.write_one(&runs, holder, calls).await })
            })
            .collect();
        for one in all {
            one.await?;
        }
        Ok(began.elapsed())
    }

    async fn write_one(&self, runs: &Runs, holder: HolderId, calls: Option<Calls>) {
        let new = self.run(RunStatus::Running, self.create.clone()).expect("random numbers");
        let created = wait(|done| runs.create(new, Some(holder), done)).await;
        let lease = created.lease.expect("a new run has a lease");
        for (written, events) in self.appends.iter().enumerate() {
            if let Some(calls) = &calls {
                calls.send(written).await;
            }
            let append = self.append(lease.clone(), written, events);
            wait(|done| runs.append(append, done)).await;
        }
        wait(|done| runs.release(lease, done)).await;
    }

    fn append(&self, lease: Lease, written: usize, events: &[NewEvent]) -> AppendRows {
        let before = self.appends[..written].iter().map(Vec::len).sum::<usize>();
        let last = written + 1 == self.appends.len();
        let status = if last { RunStatus::Succeeded } else { RunStatus::Running };
        AppendRows {
            lease,
            after_seq: (self.create.len() + before) as u64,
            events: events.to_vec(),
            standing: Some(standing(status)),
            answers: Vec::new(),
            at_ms: 1,
            durability: Durability::Full,
            pins: Pins::default(),
        }
    }

    fn run(&self, status: RunStatus, events: Vec<NewEvent>) -> Outcome<NewRunRow> {
        let record = RunRecord {
            id: milepost_driver::new_run_id()?,
            workflow: WorkflowId::parse("chain")?,
            title: "chain".to_owned(),
            text: Digest::of(self.text.as_bytes()),
            actor: "person".to_owned(),
            workspace: "/home/user/project".to_owned(),
            parent: None,
            durability: Durability::Full,
            created_ms: 1,
            standing: standing(status),
            last_seq: 0,
            quarantined: false,
        };
        Ok(NewRunRow { record, text: self.text.clone(), events, pins: Pins::default() })
    }
}

/// Sends the same requests as a run, built from their URLs alone.
#[derive(Clone)]
struct Calls {
    client: Arc<Client>,
    address: SocketAddr,
}

impl Calls {
    fn to(address: SocketAddr) -> Outcome<Calls> {
        let mut policy = Policy::public();
        policy.allow_private(&address.to_string())?;
        Ok(Calls { client: Arc::new(Client::new(policy)), address })
    }

    async fn send(&self, step: usize) {
        let url = format!("http://{}/items/i{step}", self.address);
        let request = Outgoing::get(url.parse().expect("the URL is valid"));
        let answer = self.client.send(&request, &SendOptions::default()).await;
        let answer = answer.expect("the server answers");
        drop(serde_json::from_slice::<Value>(&answer.body).expect("it answers with JSON"));
    }
}

/// Submits a write to the journal, and waits until it is on disk.
async fn wait<T: Send + 'static>(
    write: impl FnOnce(Box<dyn FnOnce(Result<T, RunsError>) + Send>),
) -> T {
    let (done, outcome) = oneshot::channel();
    write(Box::new(move |result| drop(done.send(result))));
    outcome.await.expect("the journal answers").expect("it is written")
}

fn standing(status: RunStatus) -> RunSummary {
    let ended_ms = (status != RunStatus::Running).then_some(2);
    let wake_ms = ended_ms.is_none().then_some(86_400_000);
    RunSummary { status, waiting: None, wake_ms, ended_ms, updated_ms: 2 }
}

/// Creates finished runs, and measures the median time to list a page of them.
fn fill(home: &Path) -> Outcome<Value> {
    let directory = locations(home).data;
    let load = Load::of(&directory)?;
    let all: Vec<NewEvent> =
        load.create.iter().chain(load.appends.iter().flatten()).cloned().collect();
    let runs = Runs::open(&directory, OpenOptions::default())?;
    let (sender, done) = mpsc::sync_channel::<()>(FINISHED);
    let began = Instant::now();
    for _ in 0..FINISHED {
        let new = load.run(RunStatus::Succeeded, all.clone())?;
        let sender = sender.clone();
        runs.create(new, None, move |created| {
            created.expect("a run is recorded");
            sender.send(()).expect("the receiver exists");
        });
    }
    done.iter().take(FINISHED).for_each(drop);
    let filled = began.elapsed();
    drop(runs);
    let operations = operations(home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut times = Vec::with_capacity(PAGES);
    let mut cursor = None;
    for _ in 0..PAGES {
        let began = Instant::now();
        let request = list::Request { all_workspaces: true, cursor, ..list::Request::default() };
        let page = runtime.block_on(operations.run::<ListRuns>(&Person, request));
        let page = page.map_err(|problem| words(&problem))?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        assert_eq!(page.runs.len(), 50);
        cursor = page.next_cursor;
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(json!({"runs": FINISHED, "fill_s": filled.as_secs_f64(), "page_ms": times[PAGES / 2]}))
}

/// Runs the server on its own thread.
fn serve() -> Outcome<SocketAddr> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream));
            }
        });
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    stream.set_nodelay(true).expect("the option can be set");
    // On loopback, a request without a body arrives in a single read.
    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
        if stream.write_all(ANSWER).await.is_err() {
            return;
        }
    }
}
