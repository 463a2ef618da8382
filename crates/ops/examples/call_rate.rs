//! Measures how many times per second `command.run` can call a server on loopback over eight
//! connections, from the caller's request to the displayed answer: `cargo run --release -p
//! milepost-ops --example call_rate`.
//!
//! Eight callers use at most eight connections at a time. A few more are opened over time, because
//! the pool opens a new one if a caller needs a connection before the previous one has been
//! returned. Prints one JSON object: calls per second in the best round, the number of calls, and
//! the number of connections used.

use milepost_model::wording::Neutral;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use milepost_ops::catalog::import::{self, ImportOpenApi};
use milepost_ops::command::run::{self, CommandAnswer, RunCommand};
use milepost_ops::{Caller, CallerKind, Operations, Problem, Reader, SilentCaller, Writer};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CONNECTIONS: usize = 8;
/// Only the best round counts, because other work on the machine can only add time.
const ROUNDS: usize = 5;
const CALLS: usize = 20_000;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    content-length: 54\r\n\r\n{\"id\":\"o-1042\",\"state\":\"paid\",\"items\":[{\"sku\":\"a-7\"}]}";

fn main() -> Result<(), Box<dyn Error>> {
    let served = Arc::new(AtomicUsize::new(0));
    let address = serve(Arc::clone(&served))?;
    let folder = tempfile::tempdir()?;
    let operations = Arc::new(operations(folder.path()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(import(&operations, folder.path(), address))?;
    let mut best = 0;
    for _ in 0..ROUNDS {
        best = best.max(runtime.block_on(round(&operations))?);
    }
    let connections = served.load(Ordering::Relaxed);
    let calls = ROUNDS * CALLS;
    let answer = json!({"calls_per_s": best, "calls": calls, "connections": connections});
    writeln!(std::io::stdout(), "{answer}")?;
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

/// The operations of a user with this home directory.
fn operations(home: &Path) -> Operations {
    let variable = |name: &str| (name == "HOME").then(|| home.display().to_string());
    let reader = Reader::open(Locations::resolve(&variable, home));
    Operations::new(Writer::open(reader, Environment::default()))
}

async fn import(
    operations: &Operations,
    folder: &Path,
    address: SocketAddr,
) -> Result<(), Box<dyn Error>> {
    let text = |name: &str, place: &str| {
        let schema = json!({"type": "string"});
        json!({"name": name, "in": place, "required": true, "schema": schema})
    };
    let order = json!({"type": "object", "properties": {"id": {"type": "string"}}});
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/orders/{id}": {"get": {
            "operationId": "orders/get",
            "parameters": [text("id", "path"), text("expand", "query")],
            "responses": {"200": {
                "description": "An order",
                "content": {"application/json": {"schema": order}},
            }},
        }}},
    });
    let path = folder.join("shop.json");
    fs::write(&path, document.to_string())?;
    let request = json!({"source": path, "base_url": format!("http://{address}/v1")});
    let request: import::Request = serde_json::from_value(request)?;
    let imported = operations
        .run::<ImportOpenApi>(&Person, request)
        .await
        .map_err(|problem| words(&problem))?;
    assert_eq!(imported.command_count, 1);
    Ok(())
}

/// Runs eight callers, each of which waits for an answer before making its next call.
async fn round(operations: &Arc<Operations>) -> Result<u128, Box<dyn Error>> {
    let began = Instant::now();
    let callers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let operations = Arc::clone(operations);
            tokio::spawn(async move { call(&operations, CALLS / CONNECTIONS).await })
        })
        .collect();
    for caller in callers {
        caller.await?.map_err(|problem| words(&problem))?;
    }
    Ok(CALLS as u128 * 1_000_000 / began.elapsed().as_micros())
}

async fn call(operations: &Operations, times: usize) -> Result<(), Problem> {
    for number in 0..times {
        let mut request = run::Request { command: "orders/get".to_owned(), ..Default::default() };
        request.with.insert("id".to_owned(), json!(format!("o-{number}")));
        request.with.insert("expand".to_owned(), json!("items"));
        let answer = operations.run::<RunCommand>(&Person, request).await?;
        let CommandAnswer::Called(answer) = answer else { panic!("a person is not asked") };
        // A fast but wrong answer must not count.
        assert_eq!(answer.status, Some(200));
        assert_eq!(answer.body.expect("the answer has a body")["state"], "paid");
    }
    Ok(())
}

fn words(problem: &Problem) -> String {
    format!("{}: {}", problem.message, problem.hint.worded(&Neutral))
}

/// Runs the server on its own thread.
fn serve(served: Arc<AtomicUsize>) -> Result<SocketAddr, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((stream, _)) = listener.accept().await {
                served.fetch_add(1, Ordering::Relaxed);
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
