//! Interrupts every scenario after every commit of every process involved, and in the middle of
//! every request. Each must still end the same way, with the same side effects.
//!
//! A process dies of an injected fault right after a commit (test builds only), or is killed by the
//! server it calls, before or after the request took effect.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

use crate::Place;
use crate::server::{Reply, Request, Server, json as answer};

pub(crate) const THINGS: &str = r"
openapi: 3.1.0
info: {title: Things, version: 1.0.0}
servers: [{url: 'https://things.example'}]
paths:
  /things:
    post:
      operationId: createThing
      tags: [things]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'201': {description: ok, content: {application/json: {schema: {type: object}}}}}
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      operationId: getThing
      tags: [things]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
    put:
      operationId: updateThing
      tags: [things]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
    delete:
      operationId: deleteThing
      tags: [things]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
";

/// How many times a run may be polled before it must have ended.
const LOOKS: usize = 40;

/// How a participant dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    None,
    /// Kills a process right after a commit.
    Commit {
        process: usize,
        number: u64,
    },
    /// Kills the sender of a request while the request is in flight.
    Call {
        number: usize,
        effect: bool,
    },
}

/// State of the test server.
#[derive(Default)]
struct World {
    /// The number of requests in this play.
    seen: usize,
    /// The requests of this play, counted by method, target and key.
    tried: BTreeMap<String, usize>,
    /// Side effects, counted by the idempotency key of their request.
    ledger: BTreeMap<String, usize>,
    /// The process running now.
    player: Option<u32>,
    death: Option<(usize, bool)>,
    killed: bool,
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().expect("nobody panics")
}

/// The process running inside a terminal, rather than the terminal itself.
fn innermost(process: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let child = children.ok().and_then(|all| all.split_whitespace().next()?.parse().ok());
    child.map_or(process, innermost)
}

fn kill(process: u32) {
    let process = i32::try_from(innermost(process)).ok().and_then(Pid::from_raw);
    kill_process(process.expect("is a process"), Signal::KILL).expect("is killed");
}

/// The key by which the server tells requests apart.
fn name_of(request: &Request) -> String {
    match request.header("idempotency-key") {
        Some(key) => key.to_owned(),
        None => format!("{} {}", request.method, request.target),
    }
}

/// Answers by path: `flaky` fails once, `slow` is ready at the third poll, `bad` is always
/// rejected.
fn serve(world: &Mutex<World>, request: &Request) -> Reply {
    let mut world = lock(world);
    world.seen += 1;
    let name = name_of(request);
    let tried = world.tried.entry(name.clone()).or_default();
    *tried += 1;
    let tried = *tried;
    let about = format!("{} {}", request.target, request.body);
    let fails = about.contains("flaky") && tried == 1;
    let refused = about.contains("bad");
    let due = world.death.filter(|(number, _)| *number == world.seen && !world.killed);
    let effect = due.is_none_or(|(_, effect)| effect) && !fails && !refused;
    if effect && request.method != "GET" {
        *world.ledger.entry(name.clone()).or_default() += 1;
    }
    if due.is_some() {
        world.killed = true;
        kill(world.player.expect("somebody sent it"));
        return Reply::Silence;
    }
    if fails {
        return answer(503, &json!({"why": "not now"}));
    }
    if refused {
        return answer(422, &json!({"why": "never"}));
    }
    answer(200, &output(&name, tried.min(3)))
}

fn output(name: &str, tried: usize) -> Value {
    if name.contains("slow") { json!({"look": tried}) } else { json!({"id": "t1"}) }
}

/// A workflow and the actions of its participants.
struct Scenario {
    text: &'static str,
    /// Whether the person rejects the approval.
    cancels: bool,
}

/// A folder with a server, in which one scenario is played over and over.
struct Stage {
    place: Place,
    world: Arc<Mutex<World>>,
    scenario: Scenario,
    known: Vec<String>,
}

/// The outcome of one play.
#[derive(Debug, PartialEq)]
struct End {
    run: Value,
    effects: Vec<String>,
}

/// One play of a scenario.
struct Play<'s> {
    stage: &'s mut Stage,
    death: Death,
    /// The number of processes involved.
    processes: usize,
    /// Whether any process died.
    died: bool,
    run: String,
    /// Acknowledged actions by kind, run and step, which must never be requested again.
    acknowledged: Vec<[String; 3]>,
}

impl Stage {
    fn new(scenario: Scenario) -> Stage {
        let world: Arc<Mutex<World>> = Arc::default();
        let own = Arc::clone(&world);
        let server = Server::start(move |request| serve(&own, request));
        let place = Place::with(&[("things.yaml", THINGS), ("main.yaml", scenario.text)]);
        place.put("done.txt", "done");
        place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
        for (name, text) in
            [("child.yaml", CHILD), ("asking.yaml", ASKING), ("working.yaml", WORKING)]
        {
            place.put(name, text);
            place.run(["workflow", "save", name]).ends(0);
        }
        Stage { place, world, scenario, known: Vec::new() }
    }

    fn play(&mut self, death: Death) -> (End, bool, usize, usize) {
        let call = match death {
            Death::Call { number, effect } => Some((number, effect)),
            Death::None | Death::Commit { .. } => None,
        };
        *lock(&self.world) = World { death: call, ..World::default() };
        let (run, acknowledged) = (String::new(), Vec::new());
        let mut play = Play { stage: self, death, processes: 0, died: false, run, acknowledged };
        play.begin();
        let run = play.play_out();
        let (died, processes) = (play.died, play.processes);
        let world = lock(&self.world);
        for (key, times) in &world.ledger {
            // Requests that may be repeated have `again` in their name.
            assert!(*times == 1 || key.contains("again"), "{death:?}: {key} {times} times");
        }
        // Drops the run id, which differs in every play.
        let steps = world.ledger.keys().filter_map(|key| Some(key.split_once('/')?.1.to_owned()));
        let mut effects: Vec<String> = steps.collect();
        effects.sort();
        (End { run, effects }, died || world.killed, processes, world.seen)
    }
}

impl Play<'_> {
    /// Starts the run, and starts it again if the process died before the run was on disk.
    fn begin(&mut self) {
        for _ in 0..3 {
            let told = self.act(&["run", "main.yaml", "--json"], None);
            let told = told.first().map(|event| event["run"].as_str().expect("an id").to_owned());
            let listed = self.stage.place.run(["runs", "--json"]).ends(0).json();
            let runs = listed["runs"].as_array().expect("a list").iter();
            let tops = runs.filter(|run| run.get("parent").is_none());
            let ids = tops.map(|run| run["run_id"].as_str().expect("an id").to_owned());
            let new = ids.filter(|id| !self.stage.known.contains(id)).collect::<Vec<_>>();
            if let Some(told) = told {
                assert!(new.contains(&told), "{:?}: {told} was told and is lost", self.death);
            }
            if let Some(id) = new.into_iter().next() {
                self.stage.known.push(id.clone());
                self.run = id;
                return;
            }
        }
        unreachable!("{:?}: no run begins", self.death);
    }

    /// Does everything that the run is waiting for until it ends, and returns its final view.
    fn play_out(&mut self) -> Value {
        for _ in 0..LOOKS {
            let view = self.stage.place.run(["show", &self.run, "--json"]).ends(0).json();
            match view["status"].as_str().expect("a status") {
                "waiting" => self.answer(&view),
                "running" => unreachable!("{:?}: nobody drives it: {view}", self.death),
                _ => return told(&view),
            }
        }
        let shown = self.stage.place.run(["show", &self.run]).ends(0);
        unreachable!("{:?}: it does not end: {}{}", self.death, shown.out, shown.err);
    }

    fn answer(&mut self, view: &Value) {
        let waiting = &view["waiting"][0];
        let own = waiting["run_id"].as_str().unwrap_or(&self.run);
        let run = own.to_owned();
        let step = waiting["step"].as_str().unwrap_or_default().to_owned();
        let kind = waiting["kind"].as_str().expect("a kind");
        let asked = [kind.to_owned(), run.clone(), step.clone()];
        assert!(!self.acknowledged.contains(&asked), "{:?}: {asked:?} again", self.death);
        let told = match kind {
            "adrift" => return drop(self.act(&["resume", &run], None)),
            "approval" if self.stage.scenario.cancels => {
                self.act(&["cancel", &run, "--yes", "--json"], None)
            }
            "approval" => self.act(&["approve", &run, "--json"], Some("y\n")),
            "agent" => self.act(&["submit", &run, &step, "done.txt", "--json"], None),
            "decision" => {
                let key = format!("{run}/{step}");
                let happened = lock(&self.stage.world).ledger.contains_key(&key);
                let outcome = if happened { "happened" } else { "did-not-happen" };
                let output = output(&step, 1).to_string();
                let mut words = vec!["decide", &run, "--step", &step, "--outcome", outcome];
                words.push("--json");
                words.extend(happened.then_some(["--output", &output]).into_iter().flatten());
                self.act(&words, Some("y\n"))
            }
            other => unreachable!("{:?}: {other} {view}", self.death),
        };
        if !told.is_empty() {
            self.acknowledged.push(asked);
        }
    }

    /// Runs one process, which may die. If there is something to type, the process gets a terminal.
    /// Returns the complete lines of JSON it printed.
    fn act(&mut self, words: &[&str], typed: Option<&str>) -> Vec<Value> {
        let mut command = self.stage.place.command();
        if typed.is_some() {
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            let line = format!("{} {}", env!("CARGO_BIN_EXE_milepost"), words.join(" "));
            command = crate::program("script");
            command.env("MILEPOST_ARRIVES_MS", "0");
            command.args(["-qec", &line, "/dev/null"]).current_dir(self.stage.place.path(""));
            command.env("HOME", self.stage.place.root.path().join("home")).env("NO_COLOR", "1");
        } else {
            command.args(words);
        }
        let process = self.processes;
        self.processes += 1;
        if let Death::Commit { process: own, number } = self.death
            && own == process
        {
            command.env("MILEPOST_FAIL", format!("dies-after@commit:{number}"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        lock(&self.stage.world).player = Some(child.id());
        let mut stdin = child.stdin.take().expect("is piped");
        // A dead process no longer reads its input, so a failed write is fine.
        drop(stdin.write_all(typed.unwrap_or_default().as_bytes()));
        drop(stdin);
        let ended = child.wait_with_output().expect("ends");
        let code = ended.status.code();
        let killed = !matches!(code, Some(0..=75));
        self.died |= killed;
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(!told.contains("panicked"), "{:?}: {told}", self.death);
        whole_lines(&ended.stdout)
    }
}

/// Parses complete lines only: a truncated line does not count.
pub(crate) fn whole_lines(bytes: &[u8]) -> Vec<Value> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
    // On a terminal, the question precedes the answer on the same line.
    let json = |line: &str| serde_json::from_str(&line[line.find('{')?..]).ok();
    text.lines().filter_map(json).collect()
}

/// The part that must be the same in every play: how the run and its steps ended, and their
/// outputs.
fn told(view: &Value) -> Value {
    let steps = view["steps"].as_array().expect("a list").iter().map(|step| {
        let kept = ["id", "status", "output"].map(|name| (name.to_owned(), step[name].clone()));
        Value::Object(kept.into_iter().collect::<Map<_, _>>())
    });
    json!({
        "status": view["status"],
        "steps": steps.collect::<Vec<_>>(),
        "final_output": view["final_output"],
        "code": view["problem"]["code"],
    })
}

/// Plays a scenario once undisturbed, and then with a crash at every possible point.
fn check(text: &'static str, cancels: bool) {
    let mut stage = Stage::new(Scenario { text, cancels });
    let (whole, died, processes, calls) = stage.play(Death::None);
    assert!(!died && calls > 0, "{whole:?}");
    for process in 0..processes {
        let mut number = 1;
        loop {
            let death = Death::Commit { process, number };
            let (end, died, ..) = stage.play(death);
            assert_eq!(end, whole, "{death:?}");
            if !died {
                break;
            }
            number += 1;
        }
        assert!(number > 1, "process {process} commits nothing");
    }
    for number in 1..=calls {
        for effect in [true, false] {
            let death = Death::Call { number, effect };
            let (end, died, ..) = stage.play(death);
            assert!(died, "{death:?}");
            assert_eq!(end, whole, "{death:?}");
        }
    }
}

/// The workflow run by a step of another workflow.
const CHILD: &str = "
workflow: child
inputs: {n: {type: integer}}
steps:
  - {id: c, run: things things:create, body: {n: '${{ inputs.n }}'}}
final_output: {id: '${{ steps.c.output.id }}', n: '${{ inputs.n }}'}
";

/// An inner workflow that waits for a person.
const ASKING: &str = "
workflow: asking
steps:
  - {id: ok, approve: Go on?}
  - {id: c, run: things things:create, body: {}, depends_on: [ok]}
final_output: '${{ steps.c.output.id }}'
";

/// An inner workflow that waits for an agent.
const WORKING: &str = "
workflow: working
steps:
  - {id: look, prompt: Look}
  - {id: c, run: things things:create, body: {of: '${{ steps.look.output }}'}}
final_output: '${{ steps.c.output.id }}'
";

/// One test per scenario, so that they run in parallel.
macro_rules! scenarios {
    ($($name:ident: $cancels:literal $text:literal;)*) => {
        $(#[test] fn $name() { check($text, $cancels); })*
    };
}

scenarios! {
    sequence: false "
workflow: main
steps:
  - {id: a, run: things things:get, with: {id: a}}
  - {id: again, run: things things:update, with: {id: '${{ steps.a.output.id }}'}, body: {}}
  - {id: c, set: {n: '${{ steps.again.output.id }}'}}
final_output: '${{ steps.c.output }}'
";
    parallel: false "
workflow: main
concurrency: 3
steps:
  - {id: a, run: things things:get, with: {id: a}}
  - {id: b, run: things things:create, body: {}}
  - {id: again, run: things things:update, with: {id: c}, body: {}}
  - {id: d, run: things things:create, body: {}, depends_on: [a, b, again]}
";
    list: false "
workflow: main
steps:
  - id: a
    for_each: [x, y]
    concurrency: 2
    run: things things:create
    body: {name: '${{ item }}'}
final_output: '${{ steps.a.output }}'
";
    looped: false "
workflow: main
inputs: {names: {type: array, default: {from: literal, value: [x, y]}}}
steps:
  - id: l
    type: loop
    loop: {type: forEach, items: names, itemVar: name, maxIterations: 5}
    body:
      - {id: a, run: things things:create, body: {name: '${{ name }}'}}
      - {id: b, prompt: 'Look at ${{ name }}'}
final_output: '${{ steps.l.output }}'
";
    retried: false "
workflow: main
steps:
  - {id: a, run: things things:get, with: {id: flaky}, retry: {max_attempts: 3, initial: 10ms}}
  - id: b
    run: things things:create
    body: {name: flaky}
    retry: {max_attempts: 3, initial: 10ms, on: [503]}
";
    repeated: false "
workflow: main
steps:
  - id: a
    run: things things:get
    with: {id: slow}
    repeat: {until: output.look > 2, every: 20ms}
final_output: '${{ steps.a.output.look }}'
";
    approval: false "
workflow: main
steps:
  - {id: a, run: things things:get, with: {id: a}}
  - {id: ok, approve: 'Send ${{ steps.a.output.id }}?'}
  - {id: b, run: things things:create, depends_on: [ok], body: {n: '${{ steps.a.output.id }}'}}
final_output: {yes: '${{ steps.ok.output.approved }}'}
";
    verified: false "
workflow: main
steps:
  - id: a
    prompt: Do it
    verify:
      - {run: things things:get, with: {id: '${{ steps.self.output }}'}, check: output.id == 't1'}
      - {run: things things:get, with: {id: b}, check: steps.self.output == 'done'}
  - {id: b, run: things things:create, body: {of: '${{ steps.a.output }}'}}
";
    child: false "
workflow: main
steps:
  - {id: a, run: workflow child, with: {n: 1}}
  - {id: b, run: things things:create, body: {}, depends_on: [a]}
final_output: '${{ steps.a.output }}'
";
    child_that_asks: false "
workflow: main
steps:
  - {id: a, run: workflow asking}
  - {id: b, run: things things:create, body: {}, depends_on: [a]}
final_output: '${{ steps.a.output }}'
";
    child_for_an_agent: false "
workflow: main
steps:
  - {id: a, run: workflow working}
  - {id: b, run: things things:create, body: {}, depends_on: [a]}
final_output: '${{ steps.a.output }}'
";
    canceled: true "
workflow: main
concurrency: 2
steps:
  - {id: a, run: things things:create, body: {}}
  - {id: ok, approve: Go?, depends_on: [a]}
  - {id: b, run: things things:create, body: {}, depends_on: [ok]}
finally:
  - id: z
    run: things things:create
    body: {a: '${{ steps.a.status }}', b: '${{ steps.b.status }}'}
";
    at_the_end: false "
workflow: main
steps:
  - {id: a, run: things things:create, body: {name: bad}}
  - {id: b, run: things things:get, with: {id: b}}
finally:
  - {id: again, run: things things:delete, with: {id: y}}
  - {id: z, if: \"steps.a.status == 'failed'\", run: things things:create, body: {}}
";
    timer: false "
workflow: main
steps:
  - {id: a, wait: 20ms}
  - {id: b, run: things things:create, body: {}}
  - {id: c, wait: 10ms}
";
    at_most_once: false "
workflow: main
steps:
  - {id: a, run: things things:create, body: {}}
  - {id: b, run: things things:create, body: {a: '${{ steps.a.output.id }}'}}
final_output: '${{ steps.b.output }}'
";
}
