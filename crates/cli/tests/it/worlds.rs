//! A run continues in the world it started in: with its own catalogs and workflow sources, wherever
//! the driving process was started and however the files have changed since.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::runs::{DEPOT, last};
use crate::server::{Server, json as answer};
use crate::{Place, Ran, finish};

/// The number of runs to kill; a soak test kills more.
const KILLS: usize = 5;
/// The timeout for something that must arrive. No test measures time with it.
const PATIENCE: Duration = Duration::from_mins(2);

const PAY: &str = "
workflow: pay
steps:
  - {id: first, run: depot parts:create, body: {name: first}, idempotent: true}
  - {id: rest, wait: 150ms, depends_on: [first]}
  - {id: inner, run: workflow helper, depends_on: [rest]}
  - {id: last, run: depot parts:create, body: {name: last}, idempotent: true, depends_on: [inner]}
";
const HELPER: &str = "
workflow: helper
steps: [{id: help, run: depot parts:create, body: {name: of NAME}, idempotent: true}]
";
const CHECKED: &str = "
workflow: checked
steps:
  - id: look
    prompt: Look
    verify: [{run: depot parts:get, with: {id: p1}, check: output.id == 'p1'}]
  - {id: make, run: depot parts:create, body: {name: made}, depends_on: [look]}
";
const ASKING: &str = "
workflow: asking
steps:
  - {id: ok, approve: Make it?}
  - {id: make, run: depot parts:create, body: {name: made}, depends_on: [ok]}
";

/// Two projects of one user, each with its own catalog `depot`.
struct Projects {
    place: Place,
    own: Server,
    other: Server,
}

impl Projects {
    fn new() -> Projects {
        let [own, other] =
            [(); 2].map(|()| Server::start(|_| answer(201, &json!({"id": "p1", "items": [1]}))));
        let place =
            Place::with(&[("a/.milepost/config.toml", ""), ("b/.milepost/config.toml", "")]);
        let projects = Projects { place, own, other };
        for (folder, url) in [("a", &projects.own.url), ("b", &projects.other.url)] {
            let place = &projects.place;
            place.put(&format!("{folder}/depot.yaml"), DEPOT);
            place.put(&format!("{folder}/pay.yaml"), PAY);
            place.put(&format!("{folder}/helper.yaml"), &HELPER.replace("NAME", folder));
            projects.import(folder, url);
            projects.say(folder, "workflow save helper.yaml").ends(0);
        }
        projects
    }

    fn import(&self, folder: &str, url: &str) {
        let line = format!("catalog import depot.yaml --overwrite --base-url {url}");
        self.say(folder, &line).ends(0);
    }

    fn command(&self, folder: &str) -> Command {
        let mut command = self.place.command();
        command.current_dir(self.place.path(folder));
        command
    }

    fn say(&self, folder: &str, line: &str) -> Ran {
        finish(self.command(folder).args(line.split(' ')), "")
    }

    /// Starts a run in the first project; the run is then waiting.
    fn waiting(&self, name: &str, text: &str, code: i32) -> String {
        self.place.put(&format!("a/{name}.yaml"), text);
        let ran = last(&self.say("a", &format!("run {name}.yaml --json")).ends(code));
        ran["run_id"].as_str().expect("an id").to_owned()
    }

    fn show(&self, run: &str) -> Value {
        self.say("b", &format!("show {run} --json")).json()
    }

    /// The requests that the run's own server received; asserts that the other server received
    /// none.
    fn sent(&self) -> Vec<String> {
        let other: Vec<String> = self.other.seen().into_iter().map(|one| one.target).collect();
        assert!(other.is_empty(), "the other server was sent {other:?}");
        let own = self.own.seen().into_iter();
        own.map(|request| format!("{} {} {}", request.method, request.target, request.body))
            .collect()
    }
}

/// Projects with a run in the first one that failed because its server does.
fn failed() -> (Projects, String) {
    let fails = Server::start(|_| answer(500, &json!({})));
    let projects = Projects { own: fails, ..Projects::new() };
    projects.import("a", &projects.own.url);
    let make = "workflow: w\nsteps: [{id: a, run: depot parts:list, retry: {max_attempts: 1}}]\n";
    let run = projects.waiting("w", make, 1);
    (projects, run)
}

fn typed(projects: &Projects, folder: &str, line: &str, typed: &str) -> Ran {
    let mut command = crate::program("script");
    let binary = env!("CARGO_BIN_EXE_milepost");
    command
        .args(["-qec", &format!("{binary} {line}"), "/dev/null"])
        .current_dir(projects.place.path(folder))
        .env("HOME", projects.place.root.path().join("home"))
        .env("NO_COLOR", "1");
    finish(&mut command, typed)
}

/// Kills a run this long after it reported its start, and returns its id.
fn killed(mut child: Child, after: Duration) -> String {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("is piped");
    BufReader::new(stdout).read_line(&mut line).expect("says that it began");
    std::thread::sleep(after);
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let began: Value = serde_json::from_str(&line).expect("is JSON");
    began["run"].as_str().expect("an id").to_owned()
}

fn server_in(projects: &Projects, folder: &str) -> Client {
    let mut command = projects.command(folder);
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = Client::of(&mut command);
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    client.ask("initialize", &params);
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

/// A killed run of one project is resumed by a process of the other, and still calls its own
/// server.
#[test]
fn a_process_of_another_project_takes_runs_up_in_their_own_world() {
    let projects = Projects::new();
    let kills = std::env::var("MILEPOST_WORLD_KILLS").ok().and_then(|count| count.parse().ok());
    let _server = server_in(&projects, "b");
    let mut runs = Vec::new();
    for number in 0..kills.unwrap_or(KILLS) {
        let mut command = projects.command("a");
        let command = command.args(["run", "pay.yaml", "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        let after = u64::try_from(number * 67 % 260).expect("is small");
        runs.push(killed(child, Duration::from_millis(after)));
    }
    let began = Instant::now();
    for run in &runs {
        let mut view = projects.show(run);
        while view["status"] != "succeeded" {
            assert_ne!(view["status"], "failed", "{view}");
            assert!(began.elapsed() < PATIENCE, "{view}");
            std::thread::sleep(Duration::from_millis(100));
            view = projects.show(run);
        }
    }
    let sent = projects.sent();
    assert!(sent.iter().any(|one| one.contains("of a")), "{sent:?}");
    assert!(!sent.iter().any(|one| one.contains("of b")), "{sent:?}");
}

/// A run with an inner workflow and a question is approved from another folder.
#[test]
fn an_approval_from_another_folder_continues_the_run_in_its_own() {
    let projects = Projects::new();
    let run = projects.waiting("asking", ASKING, 4);
    let inbox = projects.say("b", "inbox --json");
    assert!(inbox.out.contains(&run), "{}", inbox.out);
    assert_eq!(typed(&projects, "b", &format!("approve {run}"), "y\n").code, 0);
    assert_eq!(projects.sent(), [r#"POST /parts {"name":"made"}"#]);
}

#[test]
fn the_text_of_an_inner_workflow_is_the_one_that_the_run_began_with() {
    let projects = Projects::new();
    let asks = "workflow: outer\nsteps: [{id: look, prompt: Look}, \
                {id: inner, run: workflow helper, depends_on: [look]}]\n";
    let run = projects.waiting("outer", asks, 5);
    projects.place.put("a/helper.yaml", &HELPER.replace("NAME", "later"));
    projects.say("a", "workflow save helper.yaml --overwrite");
    projects.place.put("b/done.txt", "done");
    projects.say("b", &format!("submit {run} look done.txt")).ends(0);
    assert_eq!(projects.sent(), [r#"POST /parts {"name":"of a"}"#]);
}

/// An edit of the files that a run was started with.
type Edit<'e> = &'e dyn Fn(&Projects);

/// Neither an import nor an edit of the record or the document affects the requests or the checks
/// of a run that has started.
#[test]
fn editing_a_catalog_changes_nothing_for_a_run() {
    let moved = DEPOT.replace("/parts", "/moved");
    let edits: [(&str, Edit<'_>); 3] = [
        ("import", &|projects| {
            projects.place.put("a/depot.yaml", &moved);
            projects.import("a", &projects.other.url);
        }),
        ("record", &|projects| {
            let file = projects.place.path("a/.milepost/catalogs/depot.toml");
            let text = fs::read_to_string(&file).expect("reads");
            let edited = text.replace(&projects.own.url, &projects.other.url);
            assert_ne!(text, edited);
            fs::write(&file, edited).expect("writes");
        }),
        ("document", &|projects| {
            let file = projects.place.path("a/.milepost/catalogs/depot.source.yaml");
            assert!(file.is_file());
            fs::write(&file, &moved).expect("writes");
        }),
    ];
    for (what, edit) in edits {
        let projects = Projects::new();
        let run = projects.waiting("checked", CHECKED, 5);
        edit(&projects);
        projects.place.put("b/done.txt", "done");
        let ran = projects.say("b", &format!("submit {run} look done.txt"));
        assert_eq!(ran.code, 0, "{what}: {}", ran.err);
        let sent = projects.sent();
        assert_eq!(sent, ["GET /parts/p1 ", r#"POST /parts {"name":"made"}"#], "{what}");
    }
}

#[test]
fn disabling_a_catalog_stops_a_run_until_it_is_enabled() {
    let projects = Projects::new();
    let run = projects.waiting("asking", ASKING, 4);
    projects.say("a", "catalog disable depot").ends(0);
    assert_eq!(typed(&projects, "b", &format!("approve {run}"), "y\n").code, 1);
    let view = projects.show(&run);
    assert_eq!(view["problem"]["code"], "CATALOG_DISABLED", "{view}");
    assert!(projects.sent().is_empty());
    projects.say("a", "catalog enable depot").ends(0);
    projects.say("b", &format!("resume {run}")).ends(0);
    assert_eq!(projects.sent(), [r#"POST /parts {"name":"made"}"#]);
}

#[test]
fn repairing_a_credential_helps_a_run() {
    let server = Server::start(|request| match request.header("x-key") {
        Some("right-right") => answer(200, &json!({"items": []})),
        _ => answer(401, &json!({})),
    });
    let secured = DEPOT.replacen(
        "paths:",
        "components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}\n\
         security: [{key: []}]\npaths:",
        1,
    );
    let list = "workflow: w\nsteps: [{id: a, run: depot parts:list}]\n";
    let place = Place::with(&[("depot.yaml", &secured), ("w.yaml", list)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    let keep = |value: &str| {
        finish(place.command().args(["secret", "set", "KEY"]), value).ends(0);
    };
    keep("wrong-wrong");
    place.run(["catalog", "auth", "depot", "--scheme", "key", "--key", "KEY"]).ends(0);
    let ran = last(&place.run(["run", "w.yaml", "--json"]).ends(1));
    let run = ran["run_id"].as_str().expect("an id");
    keep("right-right");
    place.run(["resume", run]).ends(0);
}

/// The new addresses of requests are shown before anything is sent, and `--yes` confirms them.
#[test]
fn resuming_with_latest_catalogs_shows_every_changed_address() {
    let (projects, run) = failed();
    projects.import("a", &projects.other.url);
    projects.say("b", &format!("resume {run}")).ends(1);
    assert_eq!(projects.sent().len(), 2, "it goes where it went");
    for flag in ["--latest-catalogs", "--latest"] {
        if flag == "--latest" {
            projects.say("a", "workflow save w.yaml").ends(0);
        }
        let plan = projects.say("b", &format!("resume {run} {flag} --plan")).ends(0).out;
        let told = format!("{}/ -> {}/", projects.own.url, projects.other.url);
        assert!(plan.contains("address of depot") && plan.contains(&told), "{flag}: {plan}");
        let asked = projects.say("b", &format!("resume {run} {flag}"));
        assert!(asked.err.contains("CONFIRMATION_REQUIRED"), "{flag}: {}", asked.err);
        assert!(asked.err.contains(&told), "{flag}: {}", asked.err);
    }
    assert_eq!(projects.sent().len(), 2, "nothing went anywhere meanwhile");
    projects.say("b", &format!("resume {run} --latest-catalogs --yes")).ends(0);
    assert_eq!((projects.own.seen().len(), projects.other.seen().len()), (2, 1));
}

/// A run is not stuck when its original world is lost: a person may move it to what exists now.
#[test]
fn a_run_whose_document_is_lost_can_move_to_another() {
    let (projects, run) = failed();
    projects.place.put("a/depot.yaml", &format!("{DEPOT}\nx-newer: true\n"));
    projects.import("a", &projects.other.url);
    let kept = projects.place.root.path().join("home/.local/share/milepost/documents");
    fs::remove_dir_all(&kept).expect("is lost");
    let stays = projects.say("a", &format!("resume {run}"));
    assert!(stays.err.contains("RUN_WORLD_MISSING"), "{}", stays.err);
    let plan = projects.say("a", &format!("resume {run} --latest-catalogs --plan")).ends(0).out;
    assert!(plan.contains("address of depot"), "{plan}");
    projects.say("a", &format!("resume {run} --latest-catalogs --yes")).ends(0);
    let sent: Vec<String> = projects.other.seen().into_iter().map(|one| one.target).collect();
    assert_eq!(sent, ["/parts"]);
}

/// If a folder is gone, its runs are left alone and report this; other runs are not affected.
#[test]
fn a_run_whose_folder_is_gone_is_left_alone_and_says_so() {
    let projects = Projects::new();
    let run = projects.waiting("asking", ASKING, 4);
    let lost = projects.waiting("asking", ASKING, 4);
    let (there, away) = (projects.place.path("a"), projects.place.path("away"));
    fs::rename(&there, &away).expect("is moved");
    let view = projects.show(&run);
    assert_eq!(view["problem"]["code"], "RUN_WORLD_MISSING", "{view}");
    let ran = typed(&projects, "b", &format!("approve {run}"), "y\n");
    assert!(ran.out.contains("RUN_WORLD_MISSING"), "{}", ran.out);
    projects.say("b", "run pay.yaml").ends(0);
    assert!(projects.own.seen().is_empty());
    let unwanted = projects.other.seen().len();
    projects.say("b", &format!("cancel {lost} --yes")).ends(0);
    assert_eq!(projects.show(&lost)["status"], "canceled");
    assert_eq!(projects.other.seen().len(), unwanted);
    fs::rename(&away, &there).expect("is moved back");
    assert_eq!(typed(&projects, "b", &format!("approve {run}"), "y\n").code, 0);
    assert_eq!(projects.own.seen().len(), 1);
}
