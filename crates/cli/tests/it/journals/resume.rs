//! Brings every unfinished run of a stored journal to its end: supplies everything it is waiting
//! for, and checks that nothing is sent twice.

use serde_json::{Value, json};

use super::{Journal, fixtures};
use crate::Ran;
use crate::rogue::typed;
use crate::server::{Server, json as answer};

const PIN: &str = "tr0mbone-7";
/// Longer than the timers of the runs, which take an hour.
const LATER_MS: i64 = 2 * 60 * 60 * 1000;
const MONTH_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The files that agents and people submit.
const FILES: [(&str, &str); 6] = [
    ("done.txt", "done"),
    ("line.txt", "a named argument"),
    ("word.json", r#"{"word": "p1"}"#),
    ("count.json", r#"{"n": 3}"#),
    ("name.json", r#"{"name": "Ada"}"#),
    (
        "draft.json",
        r#"{"manifest": "workflow: a\ninputs: {name: {}}\nsteps: [{id: a, set: {b: 1}}]"}"#,
    ),
];

/// How to bring a run to its end.
#[derive(Clone, Copy)]
struct Case {
    /// The run's workflow, with the waiting step if the workflow has several runs.
    run: &'static str,
    /// How long after the journal was written the run continues.
    later_ms: i64,
    acts: &'static [Act],
    ends: &'static str,
    /// The expected writes, each as step and body.
    sent: &'static [&'static str],
}

/// A command, the keys to type at a terminal if it needs one, and its exit code. `RUN` stands for
/// the run, and `CHILD` for the child run it is waiting for.
type Act = (&'static str, &'static [&'static str], i32);

const fn case(
    run: &'static str,
    acts: &'static [Act],
    ends: &'static str,
    sent: &'static [&'static str],
) -> Case {
    Case { run, later_ms: 0, acts, ends, sent }
}

const fn later(case: Case) -> Case {
    Case { later_ms: LATER_MS, ..case }
}

const RESUME: Act = ("resume RUN", &[], 0);
const APPROVE: Act = ("approve RUN", &["y"], 0);
/// The API has a different address from the one shown to the person.
const APPROVE_IN_VAIN: Act = ("approve RUN", &["y"], 4);
const AFTER: &str = r#"after {"name":"after"}"#;

const CALLS: &[Case] = &[
    case("call-failed", &[RESUME], "succeeded", &[AFTER]),
    later(case("call-backoff", &[RESUME], "succeeded", &[])),
    case(
        "call-killed-write",
        &[("resume RUN", &[], 4), ("decide RUN --outcome did-not-happen", &["y"], 0)],
        "succeeded",
        &[r#"cut {"name":"silent"}"#, AFTER],
    ),
    case("call-killed-read", &[RESUME], "succeeded", &[AFTER]),
    case(
        "call-unknown",
        &[(r#"decide RUN --outcome happened --output {"id":"p9"}"#, &["y"], 0)],
        "succeeded",
        &[r#"after {"of":"p9"}"#],
    ),
    later(case("call-polling", &[RESUME], "succeeded", &[])),
    case(
        "list-failed",
        &[RESUME],
        "succeeded",
        &[r#"each@1~1 {"name":"refused"}"#, r#"each@2 {"name":"third"}"#, AFTER],
    ),
];

const STANDING: &[Case] = &[
    case("decided-did-not-happen", &[("decide RUN --outcome give-up", &["y"], 1)], "failed", &[]),
    case(
        "decided-give-up",
        &[("resume RUN --yes", &["y"], 0)],
        "succeeded",
        &[r#"lost~1 {"name":"hangs-up"}"#, r#"after {"of":"p1"}"#],
    ),
    case(
        "call-budget",
        &[("resume RUN --budget writes=9", &["y"], 0)],
        "succeeded",
        &[r#"c {"name":"third"}"#],
    ),
    case(
        "secret-missing",
        &[("resume RUN -i token=opensesame", &[], 0)],
        "succeeded",
        &[r#"use {"token":"key opensesame"}"#],
    ),
    case(
        "secret-default",
        &[("submit RUN look done.txt", &[], 0)],
        "succeeded",
        &[r#"use {"token":"from the environment"}"#],
    ),
    case(
        "call-canceled",
        &[("resume RUN --yes", &[], 5), ("submit RUN ask done.txt", &[], 0)],
        "succeeded",
        &[r#"tidy~1 {"tidy":true}"#],
    ),
    case(
        "paused",
        &[("resume RUN", &[], 5), ("submit RUN ask done.txt", &[], 0)],
        "succeeded",
        &[AFTER],
    ),
    case("failed", &[("resume RUN --set b=1 --reason settled", &["y"], 0)], "succeeded", &[]),
    case("timed-out", &[("resume RUN --set rest=1 --reason slept", &["y"], 0)], "succeeded", &[]),
    later(case("sleeping", &[RESUME], "succeeded", &[AFTER])),
    case("told-to-cancel", &[("resume RUN", &[], 1)], "canceled", &[]),
];

const PEOPLE: &[Case] = &[
    case("asked-open", &[APPROVE_IN_VAIN, APPROVE], "succeeded", &[r#"make {"name":"bolt"}"#]),
    case(
        "asked-rejected",
        &[("resume RUN", &[], 4), APPROVE],
        "succeeded",
        &[r#"make {"name":"bolt"}"#],
    ),
    case("asked-voided", &[APPROVE_IN_VAIN, APPROVE], "succeeded", &[r#"make {"name":"bolt"}"#]),
    case(
        "form-open",
        &[("approve RUN --answer count.json", &["y"], 0)],
        "succeeded",
        &[r#"make {"n":3}"#],
    ),
    case(
        "went-back-open",
        &[("submit RUN draft done.txt", &[], 4), APPROVE],
        "succeeded",
        &[r#"send {"line":"done"}"#],
    ),
    case(
        "lapsed-open",
        &[("resume RUN", &[], 1), ("resume RUN", &[], 4), APPROVE],
        "succeeded",
        &[AFTER],
    ),
    case("lapsed-failed", &[("resume RUN", &[], 4), APPROVE], "succeeded", &[AFTER]),
];

const WORD: Act = ("submit RUN first word.json", &[], 0);
const WORD_SENT: &[&str] = &[r#"after {"word":"p1"}"#];

const AGENTS: &[Case] = &[
    case("work-open", &[WORD], "succeeded", WORD_SENT),
    case("work-refused", &[WORD], "succeeded", WORD_SENT),
    case(
        "work-exhausted",
        &[("decide RUN --outcome did-not-happen", &["y"], 5), WORD],
        "succeeded",
        WORD_SENT,
    ),
    case("work-given-up", &[("resume RUN", &["y"], 5), WORD], "succeeded", WORD_SENT),
    case("confirm-open", &[APPROVE], "succeeded", &[r#"send {"line":"Hello\n"}"#]),
    case("loop-open", &[("submit RUN each@1::look done.txt", &[], 0)], "succeeded", &[]),
    case(
        "guide-open",
        &[
            (r#"submit RUN survey line.txt --context {"changes":["a"],"risk":"low"}"#, &[], 5),
            ("submit RUN each@0::adapt done.txt", &[], 0),
        ],
        "succeeded",
        &[],
    ),
    case("guide-variable", &[(r#"submit RUN --context {"risk":"low"}"#, &[], 0)], "succeeded", &[]),
    case(
        "list-offered",
        &[("submit RUN each@1 done.txt", &[], 5), ("submit RUN each@0 done.txt", &[], 0)],
        "succeeded",
        &[],
    ),
];

const FAMILIES: &[Case] = &[
    case("parent-asks", &[APPROVE], "succeeded", &[AFTER]),
    case("parent-works", &[("submit CHILD look done.txt", &[], 0)], "succeeded", &[AFTER]),
    case("parent-failed", &[RESUME], "succeeded", &[AFTER]),
    case("nested", &[APPROVE], "succeeded", &[r#"after {"name":"middle"}"#, AFTER]),
    case("parent-canceled", &[("resume RUN", &[], 4), APPROVE], "succeeded", &[AFTER]),
    case("parent-budget", &[("resume RUN --budget writes=9", &["y"], 0)], "succeeded", &[AFTER]),
    case("parent-cut", &[RESUME], "succeeded", &[AFTER]),
];

const NAMED: Act = ("submit RUN inputs name.json", &[], 0);

const AUTHORED: &[Case] = &[
    case(
        "milepost.author-and-run draft",
        &[("submit RUN draft draft.json", &[], 5), NAMED],
        "succeeded",
        &[],
    ),
    case("milepost.author-and-run inputs", &[NAMED], "succeeded", &[]),
];

const SIGNED: &[Case] = &[
    case(
        "signed-open",
        &[("approve RUN", &[PIN], 4), ("approve RUN", &[PIN], 0)],
        "succeeded",
        &[r#"make {"name":"bolt"}"#],
    ),
    case("signed-unknown", &[("decide RUN --outcome give-up", &[PIN], 1)], "failed", &[]),
];

const LARGE: &[Case] = &[case(
    "large",
    &[("submit RUN look done.txt", &[], 0)],
    "succeeded",
    &[r#"after {"of":"p1"}"#],
)];

/// A journal whose API is a server that accepts everything.
struct Stage {
    journal: Journal,
    server: Server,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let journal = Journal::open(name);
        let server = Server::start(|request| {
            let status = if request.method == "POST" { 201 } else { 200 };
            answer(status, &json!({"id": "p1", "items": [1, 2, 3], "ready": true}))
        });
        for (name, text) in FILES {
            journal.place.put(name, text);
        }
        let document = fixtures().join("depot.yaml");
        let (document, url) = (document.to_str().expect("text"), server.url.clone());
        let words = ["catalog", "import", document, "--overwrite", "--base-url", &url];
        let (line, is_signed) = (words.join(" "), name == "signed");
        let stage = Stage { journal, server };
        if is_signed {
            // Where a PIN is set, only a terminal counts as the person.
            let said = stage.at_terminal(&line, &[PIN], 0);
            assert_eq!(said.code, 0, "{}", said.out);
        } else {
            stage.journal.place.run(words).ends(0);
        }
        stage
    }

    /// A run as recorded when the journal was written.
    fn find(&self, name: &str) -> &Value {
        let (workflow, step) = name.split_once(' ').unwrap_or((name, ""));
        let is_meant = |run: &&Value| {
            let waits = || run["waiting"][0]["step"] == step;
            run["workflow"] == workflow && run["parent"].is_null() && (step.is_empty() || waits())
        };
        self.journal.runs().find(is_meant).unwrap_or_else(|| unreachable!("no {name}"))
    }

    /// A run that was started without a world gets one before anything is sent.
    fn has_got_its_world(&self, run: &Value) {
        let id = run["run_id"].as_str().expect("an id");
        let logs = self.journal.say(&format!("logs {id} --json")).ends(0).out;
        let events = logs.lines().map(|line| serde_json::from_str(line).expect("is JSON"));
        let mut later = events.filter(|event: &Value| event["seq"].as_u64() > run["seq"].as_u64());
        let first = later.find(|event| {
            assert_ne!(event["event"], "attempt_started", "{id}: {event}");
            event["event"] == "world_pinned" || event["world"].is_object()
        });
        assert!(first.is_some(), "{id} has got no world");
    }

    fn act(&self, run: &Value, (line, answers, code): Act, later_ms: i64) {
        let own = run["run_id"].as_str().expect("an id");
        let child = run["waiting"][0]["run_id"].as_str().unwrap_or_default();
        let line = line.replace("RUN", own).replace("CHILD", child);
        let mut command = self.journal.command(later_ms);
        let ran = if answers.is_empty() {
            command.env("TOKEN", "from the environment");
            crate::finish(command.args(line.split(' ')), "")
        } else {
            self.at_terminal(&line, answers, later_ms)
        };
        ran.ends(code);
    }

    fn at_terminal(&self, line: &str, answers: &[&str], later_ms: i64) -> Ran {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let line = format!("{} {}", env!("CARGO_BIN_EXE_milepost"), words.join(" "));
        let place = &self.journal.place;
        let mut command = crate::program("script");
        command.env("MILEPOST_ARRIVES_MS", "0");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(place.path(""))
            .env("HOME", place.root.path().join("home"))
            .env("NO_COLOR", "1")
            .env("MILEPOST_CLOCK", self.journal.clock(later_ms));
        if self.journal.has_added_rule {
            command.env("MILEPOST_ADDED_RULE", "1");
        }
        typed(&mut command, answers)
    }

    /// The writes that the server received, each as step and body.
    fn writes(&self) -> Vec<String> {
        let writes = self.server.seen().into_iter().filter(|request| request.method != "GET");
        let told = writes.map(|request| {
            let key = request.header("idempotency-key").expect("a key");
            let (_, step) = key.split_once('/').expect("a run and a step");
            format!("{step} {}", request.body)
        });
        told.collect()
    }

    fn show(&self, run: &Value) -> Value {
        let id = run["run_id"].as_str().expect("an id");
        self.journal.say(&format!("show {id} --json")).ends(0).json()
    }
}

fn are_brought_to_their_ends(stage: &Stage, cases: &[Case]) {
    for case in cases {
        let (run, before) = (stage.find(case.run), stage.writes().len());
        for act in case.acts {
            stage.act(run, *act, case.later_ms);
        }
        let shown = stage.show(run);
        assert_eq!(shown["status"], case.ends, "{}: {shown}", case.run);
        assert_eq!(stage.writes()[before..], *case.sent, "{}", case.run);
        stage.has_got_its_world(run);
    }
    let is_open = |run: &&Value| run["status"] != "succeeded" && run["parent"].is_null();
    let open = stage.journal.runs().filter(is_open).count();
    assert_eq!(cases.len(), open, "every run that has not succeeded has a case");
}

/// One test per journal, so that they run in parallel.
macro_rules! ends {
    ($($name:ident: $cases:ident;)*) => {
        $(#[test] fn $name() {
            are_brought_to_their_ends(&Stage::new(stringify!($name)), $cases);
        })*
    };
}

ends! {
    calls: CALLS;
    standing: STANDING;
    people: PEOPLE;
    agents: AGENTS;
    families: FAMILIES;
    authored: AUTHORED;
    signed: SIGNED;
    large: LARGE;
}

/// A run continues with the text it was started with, even if that text breaks a rule added since.
#[test]
fn a_rule_added_later_stops_no_run() {
    let mut stage = Stage::new("calls");
    stage.journal.has_added_rule = true;
    are_brought_to_their_ends(&stage, CALLS);
}

/// A run that is resumed after its deadline sends nothing. If it has to ask a person about an
/// unknown outcome first, it times out once that is answered: only the time after the question
/// does not count.
#[test]
fn a_run_past_its_deadline_sends_nothing() {
    let stage = Stage::new("calls");
    let decide = ("decide RUN --outcome did-not-happen", &["y"][..], 1);
    for (name, question) in
        [("call-backoff", None), ("call-killed-write", Some(decide)), ("call-killed-read", None)]
    {
        let run = stage.find(name);
        if let Some(decide) = question {
            stage.act(run, ("resume RUN", &[], 4), MONTH_MS);
            let shown = stage.show(run);
            assert_eq!(shown["waiting"][0]["kind"], "decision", "{name}: {shown}");
            assert_eq!(stage.writes(), [""; 0], "{name}");
            stage.act(run, decide, MONTH_MS + LATER_MS);
        } else {
            stage.act(run, ("resume RUN", &[], 1), MONTH_MS);
        }
        let shown = stage.show(run);
        assert_eq!(shown["problem"]["code"], "RUN_TIMEOUT", "{name}: {shown}");
    }
    assert_eq!(stage.writes(), [""; 0]);
}

/// The remaining runs do not depend on the purged ones.
#[test]
fn the_remaining_runs_continue_after_a_purge() {
    let stage = Stage::new("families");
    stage.journal.say("runs purge --yes").ends(0);
    let run = stage.find("parent-budget");
    stage.act(run, ("resume RUN --budget writes=9", &["y"], 0), 0);
    assert_eq!(stage.show(run)["status"], "succeeded");
    assert_eq!(stage.writes(), [AFTER]);
}
