//! A process has one driver, regardless of what it serves: anything a call gives to a run, such as
//! a secret, is still available when another part of the process continues the run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Agent, client};
use crate::Place;
use crate::client::Client;
use crate::runs::depot;
use crate::server::{Server, json as answer};

/// Requests more than the usual number of runs.
const SOAK: &str = "MILEPOST_TEST_RUNS";
const RUNS: usize = 8;
const RUNS_MAX: usize = 50;
const LOOK: Duration = Duration::from_millis(100);

/// Nobody answers the question of this workflow, but it still continues with its secret. Its
/// timeout is long enough that the process releases the run in the meantime, which it does with
/// runs that wait for more than a second and a half, looks for orphaned runs at least once, and has
/// to acquire it again.
const HUSH: &str = "workflow: hush
inputs: {key: {type: string, secret: true}}
steps:
  - id: ok
    approve: {message: Go on?, expires: 5s}
    on_error: continue
  - id: make
    depends_on: [ok]
    run: depot parts:create
    body: {name: \"key ${{ inputs.key }}\"}
";
const WAITS: &str = "workflow: waits\nsteps: [{id: ok, approve: Go on?}]\n";

/// The surfaces of a process, each with the protocol revision of its client.
const SURFACES: [(&[&str], &str); 6] = [
    (&[], "2024-11-05"),
    (&[], "2025-06-18"),
    (&[], "2025-11-25"),
    (&["--surface", "workflows"], "2025-06-18"),
    (&["--surface", "workflowlookup"], "2024-11-05"),
    (&["--surface", "all"], "2025-06-18"),
];

fn count() -> usize {
    let asked = std::env::var(SOAK).ok().and_then(|asked| asked.parse().ok());
    asked.unwrap_or(RUNS).min(RUNS_MAX)
}

fn connect(place: &Place, arguments: &[&str], version: &str) -> Client {
    let mut client = client(place, arguments);
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let answer = client.ask("initialize", &params);
    assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

/// Calls a tool that succeeds. Dotted names mean the same on every surface.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let mut result = client.call("tools/call", &json!({"name": tool, "arguments": arguments}));
    assert_ne!(result["isError"], true, "{tool}: {result}");
    result["structuredContent"].take()
}

/// Starts runs that wait for nobody, and waits until all of them have ended.
fn all_go_on(client: &mut Client, sent: &Mutex<BTreeSet<String>>, runs: usize) {
    let run = |number: usize| {
        let inputs = json!({"key": format!("k{number}")});
        json!({"manifest": HUSH, "inputs": inputs})
    };
    let mut open: BTreeSet<String> = (0..runs)
        .map(|number| call(client, "workflow.run", &run(number)))
        .map(|run| run["run_id"].as_str().expect("an id").to_owned())
        .collect();
    let until = Instant::now() + Duration::from_mins(3);
    while !open.is_empty() {
        assert!(Instant::now() < until, "these do not end: {open:?}");
        for (number, id) in open.iter().enumerate() {
            let params = json!({"name": "workflow.status",
                "arguments": {"run_id": id}});
            let asked = format!("wait{number}");
            client.say(&json!({"jsonrpc": "2.0", "id": asked, "method": "tools/call",
                "params": params}));
        }
        for _ in 0..open.len() {
            let run = client.hear()["result"]["structuredContent"].take();
            assert_ne!(run["status"], "paused", "{run}");
            if run["status"] == "succeeded" {
                open.remove(run["run_id"].as_str().expect("an id"));
            }
        }
        // Reading does not drive the runs: the process has to do that by itself.
        std::thread::sleep(LOOK);
    }
    let wanted: BTreeSet<String> = (0..runs).map(|number| format!("key k{number}")).collect();
    assert_eq!(*sent.lock().expect("nobody panics"), wanted);
}

#[test]
fn a_run_keeps_its_secret_whichever_part_of_a_process_continues_it() {
    let go_on = |version: &str| {
        let sent: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let kept = Arc::clone(&sent);
        let server = Server::start(move |request| {
            let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
            let name = body["name"].as_str().unwrap_or_default().to_owned();
            kept.lock().expect("nobody panics").insert(name);
            answer(201, &json!({"id": "p1"}))
        });
        let place = depot(&server);
        let folder = place.root.path().join("home/.config/milepost");
        std::fs::create_dir_all(&folder).expect("makes a folder");
        let allows = "[policy]\nwrites = \"allow\"\n";
        std::fs::write(folder.join("config.toml"), allows).expect("writes");
        // A process that finds runs at startup drives runs from the beginning.
        place.put("quick.yaml", "workflow: quick\nsteps: [{id: a, set: {b: 1}}]\n");
        place.run(["run", "quick.yaml"]).ends(0);
        let mut client = connect(&place, &[], version);
        all_go_on(&mut client, &sent, count());
        assert_eq!(holders(&place), 1, "{version}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| go_on("2024-11-05"));
        scope.spawn(|| go_on("2025-06-18"));
    });
}

/// The number of processes that drive runs of a folder, each identified by its own file.
fn holders(place: &Place) -> usize {
    let wake = place.root.path().join("home/.local/share/milepost/wake");
    let files = std::fs::read_dir(wake).into_iter().flatten().flatten();
    files.filter(|file| file.path().extension().is_some_and(|is| is == "alive")).count()
}

/// The number of threads of a process that write runs.
fn writers(process: u32) -> usize {
    let threads =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let name = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm"));
    threads.filter_map(|thread| name(thread).ok()).filter(|name| name.trim() == "runs").count()
}

#[test]
fn a_process_has_one_driver_on_every_surface() {
    std::thread::scope(|scope| {
        for (arguments, version) in SURFACES {
            scope.spawn(move || has_one_driver(arguments, version));
        }
    });
}

fn has_one_driver(arguments: &[&str], version: &str) {
    let place = Place::new();
    let mut client = connect(&place, arguments, version);
    client.ping();
    assert_eq!(holders(&place), 0, "{arguments:?} {version}: nothing is to be driven yet");
    let run = call(&mut client, "workflow.run", &json!({"manifest": WAITS}));
    let status = json!({"run_id": run["run_id"]});
    // By then, every other component that drives runs has had its turn.
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        assert_eq!(holders(&place), 1, "{arguments:?} {version}");
        assert_eq!(writers(client.pid()), 1, "{arguments:?} {version}");
        let run = call(&mut client, "workflow.status", &status);
        assert_eq!(run["status"], "waiting", "{run}");
        std::thread::sleep(LOOK);
    }
}

#[test]
fn a_server_over_http_has_one_driver() {
    let place = Place::new();
    let server = crate::serve::Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    session.tool("workflow_run", &json!({"manifest": WAITS}));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(holders(&place), 1);
}

#[test]
fn a_server_that_only_guides_opens_no_runs() {
    let place = Place::new();
    let mut client = connect(&place, &[], "2024-11-05");
    client.call("tools/call", &json!({"name": "workflow_list", "arguments": {}}));
    let data = place.root.path().join("home/.local/share/milepost");
    assert!(!data.join("runs.db").exists() && !data.join("wake").exists());
    drop(Agent::connect(&place, &["--surface", "workflows"]));
    assert!(!data.join("runs.db").exists());
}
