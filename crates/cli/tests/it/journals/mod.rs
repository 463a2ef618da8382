//! Journals written by released versions: this version loads, shows, resumes and purges them,
//! regardless of what has changed in the engine since.

mod resume;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::{Place, Ran, finish};

/// The size of a response that is stored outside its event; views show a placeholder.
const LONG_BYTES: usize = 66_000;

/// The folder that the runs of all journals belong to.
const WORKSPACE: &str = "/tmp/milepost-journals/work";

/// A copy of a journal, at the time when its views were recorded.
///
/// The clock is set back to that time, because deadlines and timers of the runs have passed since.
struct Journal {
    place: Place,
    now_ms: i64,
    views: Vec<View>,
    /// Whether to simulate a rule that was added later and that all its sources violate.
    has_added_rule: bool,
}

/// The recorded output of a command.
struct View {
    words: Vec<String>,
    code: i32,
    said: Vec<Value>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/journals")
}

/// Copies a folder with access for its owner only: a key that others can read is refused, and a
/// checkout does not preserve that mode.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("makes a folder");
    for entry in fs::read_dir(from).expect("reads").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
            continue;
        }
        fs::copy(entry.path(), &to).expect("copies");
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(&to, mode).expect("is restricted");
        }
    }
}

/// The time at which the views of a file were recorded, and the views.
fn read(text: &str) -> (i64, Vec<View>) {
    let mut lines = text.lines();
    let now = lines.next().and_then(|line| line.strip_prefix("now ")?.parse().ok());
    let mut views: Vec<View> = Vec::new();
    for line in lines {
        if let Some(words) = line.strip_prefix("$ milepost ") {
            let words = words.split(' ').map(str::to_owned).collect();
            views.push(View { words, code: 0, said: Vec::new() });
            continue;
        }
        let view = views.last_mut().expect("a command comes first");
        match line.strip_prefix("exit ") {
            Some(code) => view.code = code.parse().expect("a number"),
            None => view.said.push(serde_json::from_str(line).expect("JSON")),
        }
    }
    (now.expect("a time"), views)
}

impl Journal {
    fn open(name: &str) -> Journal {
        let journal = Journal::open_as_it_was(name);
        let file = journal.config();
        if let Ok(text) = fs::read_to_string(&file) {
            let kept: Vec<&str> =
                text.lines().filter(|line| !line.starts_with("unattended = ")).collect();
            fs::write(file, kept.join("\n")).expect("writes");
        }
        journal
    }

    fn config(&self) -> PathBuf {
        self.place.root.path().join("home/.config/milepost/config.toml")
    }

    /// With the configuration of that version, in which there may be a key that was replaced.
    fn open_as_it_was(name: &str) -> Journal {
        let from = fixtures().join("0.1.0").join(name);
        let place = Place::new();
        let home = place.root.path().join("home");
        copy(&from.join("data"), &home.join(".local/share/milepost"));
        copy(&from.join("config"), &home.join(".config/milepost"));
        // A run can only continue in its own folder.
        fs::create_dir_all(WORKSPACE).expect("makes the folder");
        let text = fs::read_to_string(from.join("views.txt")).expect("reads");
        let (now_ms, views) = read(&text);
        Journal { place, now_ms, views, has_added_rule: false }
    }

    /// The clock setting for the time of the views, or for this much later.
    fn clock(&self, later_ms: i64) -> String {
        let real = UNIX_EPOCH.elapsed().expect("a time").as_millis();
        let real = i64::try_from(real).expect("fits");
        (self.now_ms + later_ms - real).to_string()
    }

    fn command(&self, later_ms: i64) -> Command {
        let mut command = self.place.command();
        command.env("MILEPOST_CLOCK", self.clock(later_ms));
        if self.has_added_rule {
            command.env("MILEPOST_ADDED_RULE", "1");
        }
        command
    }

    fn say(&self, line: &str) -> Ran {
        finish(self.command(0).args(line.split(' ')), "")
    }

    fn bytes(&self) -> Vec<u8> {
        let file = self.place.root.path().join("home/.local/share/milepost/runs.db");
        fs::read(file).expect("reads")
    }

    /// The recorded view of every run.
    fn runs(&self) -> impl Iterator<Item = &Value> {
        self.views.iter().filter(|view| view.words[0] == "show").map(|view| &view.said[0])
    }

    /// Every event of every run.
    fn events(&self) -> impl Iterator<Item = &Value> {
        self.views.iter().filter(|view| view.words[0] == "logs").flat_map(|view| &view.said)
    }

    /// The rows of all runs, newest first.
    fn rows(&self) -> &[Value] {
        let listed = self.views.iter().find(|view| view.words[0] == "runs").expect("a list");
        listed.said[0]["runs"].as_array().expect("a list")
    }
}

/// Messages that have been reworded since, as pairs of the old and the new wording. The meaning is
/// the same.
const REWORDED: &[(&str, &str)] = &[
    // The old text named a tool where a command is typed.
    ("with `workflow.submit`", "with `milepost submit <run>`"),
    (
        "`milepost approve` or `milepost reject`",
        "`milepost approve <run>` or `milepost reject <run>`",
    ),
    ("an agent works on it", "waiting for an agent"),
    ("or resume from the start", "or resume from the start with `--from start`"),
    ("1 of 3 items are kept", "items kept: 1 of 3"),
    (
        "the run succeeded: no step of it failed",
        "the run succeeded, so there is no failed step to resume from",
    ),
    (
        "has no tries left, and waits for a person",
        "has no attempts left and is waiting for a person",
    ),
    ("decide what becomes of it first: see ", "decide how to continue first: see "),
    ("say what became of it first: see ", "decide its outcome first: see "),
    ("` waits for a person to decide", "` is waiting for a person to decide"),
    ("` waits for an agent", "` is waiting for an agent"),
    ("` waits for the variable `", "` is waiting for the variable `"),
    ("was under way when the process ended", "was in flight when the process ended"),
    ("it failed, and the run goes on without it", "it failed, and the run continues without it"),
    ("it is under way", "it is in progress"),
    ("nobody knows yet what became of `lost`", "the outcome of `lost` is unknown"),
    ("it runs at every end", "it always runs at the end"),
    ("nothing is driving this run", "no process is driving this run"),
    ("` goes on\"", "` continues\""),
];

/// Asserts that every read-only command prints what it printed in the version that wrote the
/// journal, and changes nothing.
fn is_told_as_it_was(journal: &Journal) {
    let (before, long) = (journal.bytes(), "x".repeat(LONG_BYTES));
    for view in &journal.views {
        let line = view.words.join(" ");
        let ran = journal.say(&line);
        let out = if ran.out.is_empty() { ran.err } else { ran.out }.replace(&long, "LONG");
        assert_eq!(ran.code, view.code, "milepost {line}: {out}");
        assert_eq!(out.lines().count(), view.said.len(), "milepost {line}: {out}");
        for (said, told) in out.lines().zip(&view.said) {
            let mut said: Value = serde_json::from_str(said).expect("JSON");
            without_additions(&mut said);
            assert_eq!(said, reworded(told), "milepost {line}");
        }
    }
    assert!(journal.bytes() == before, "whoever looks changes nothing");
}

/// Removes what questions now include: who asks, what was submitted, the possible answers, and the
/// time and key of a request with an unknown outcome.
fn without_additions(said: &mut Value) {
    match said {
        Value::Object(map) => {
            if map.contains_key("source") && map.contains_key("kind") {
                for added in ["source", "submitted", "faults", "choices", "unshown"] {
                    map.remove(added);
                }
            }
            // A failure uses the same key for whether its request left this machine.
            if map.get("sent").is_some_and(Value::is_object) {
                map.remove("sent");
            }
            map.values_mut().for_each(without_additions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_additions),
        _ => {}
    }
}

/// A recorded output in the current wording.
fn reworded(told: &Value) -> Value {
    let text =
        REWORDED.iter().fold(told.to_string(), |text, (before, after)| text.replace(before, after));
    serde_json::from_str(&text).expect("JSON")
}

/// One test per journal, so that they run in parallel.
macro_rules! journals {
    ($($name:ident)*) => {
        const JOURNALS: &[&str] = &[$(stringify!($name)),*];
        mod told {
            use super::{Journal, is_told_as_it_was};

            $(#[test] fn $name() { is_told_as_it_was(&Journal::open(stringify!($name))); })*
        }
    };
}

journals! { calls standing people agents families authored signed large }

const KINDS: [&str; 34] = [
    "approval_requested",
    "approval_voided",
    "approved",
    "attempt_failed",
    "attempt_started",
    "attempt_succeeded",
    "attempt_unknown",
    "budget_reached",
    "budget_warned",
    "cancel_requested",
    "child_finished",
    "child_started",
    "context_added",
    "outcome_decided",
    "paused",
    "prompt_offered",
    "rejected",
    "resumed",
    "run_canceled",
    "run_created",
    "run_failed",
    "run_resumed_from",
    "run_succeeded",
    "step_canceled",
    "step_failed",
    "step_scheduled",
    "step_skipped",
    "step_succeeded",
    "submission_accepted",
    "submission_received",
    "submission_rejected",
    "timer_fired",
    "timer_set",
    "went_back",
];

/// The states in which runs can stop: the status, and the kind of pending item.
const RESTS: [&str; 13] = [
    "canceled",
    "failed",
    "paused",
    "paused agent",
    "succeeded",
    "waiting adrift",
    "waiting agent",
    "waiting approval",
    "waiting budget",
    "waiting decision",
    "waiting lapsed",
    "waiting person",
    "waiting variable",
];

fn words<'v>(values: impl Iterator<Item = &'v Value>) -> BTreeSet<&'v str> {
    values.filter_map(Value::as_str).collect()
}

/// Stored journals stay readable: pinned sources are decoded, and new rules are not applied to
/// them.
#[test]
fn a_rule_added_later_changes_no_view() {
    let journal = Journal { has_added_rule: true, ..Journal::open("people") };
    journal.place.put("sound.yaml", crate::SOUND);
    journal.say("workflow validate sound.yaml").ends(3);
    journal.say("run sound.yaml").ends(3);
    is_told_as_it_was(&journal);
}

/// A configuration in which texts are still approved by their names stops every run, and the
/// message names what replaces the key.
#[test]
fn a_replaced_key_of_the_configuration_is_named() {
    let journal = Journal::open_as_it_was("signed");
    let text = fs::read_to_string(journal.config()).expect("reads");
    assert!(text.contains("unattended = "), "{text}");
    let before = journal.bytes();
    journal
        .place
        .put("asking.yaml", "workflow: signed-policy\nsteps: [{id: ok, approve: Go on?}]\n");
    let ran = journal.say("run asking.yaml");
    assert_ne!(ran.code, 0, "{}", ran.out);
    assert!(ran.err.contains("milepost workflow review --alone"), "{}", ran.err);
    assert!(journal.bytes() == before, "nothing is written");
}

#[test]
fn every_kind_of_event_and_every_state_is_kept() {
    let all: Vec<Journal> = JOURNALS.iter().map(|name| Journal::open(name)).collect();
    let events = || all.iter().flat_map(Journal::events);
    let runs = || all.iter().flat_map(Journal::runs);
    assert_eq!(words(events().map(|event| &event["event"])), BTreeSet::from(KINDS));
    let rests = runs().map(|run| {
        let kind = run["waiting"][0]["kind"].as_str().unwrap_or_default();
        format!("{} {kind}", run["status"].as_str().expect("a status")).trim_end().to_owned()
    });
    assert_eq!(rests.collect::<BTreeSet<_>>(), RESTS.map(str::to_owned).into());
    let verdicts = events().filter(|event| event["event"] == "approved");
    let ways = words(verdicts.map(|event| &event["presence"]));
    assert_eq!(ways, ["elicitation", "pin", "policy", "terminal"].into());
    let decided = words(events().map(|event| &event["decision"]["decision"]));
    assert_eq!(decided, ["did_not", "give_up", "happened"].into());
    for mark in ["relaxed", "mock"] {
        assert!(runs().any(|run| run[mark] == true), "no run is {mark}");
    }
    let is_child = |run: &&Value| run["parent"].is_string();
    let parents = words(runs().filter(is_child).map(|run| &run["parent"]));
    let mut children = runs().filter(is_child).filter_map(|run| run["run_id"].as_str());
    assert!(children.any(|child| parents.contains(child)), "nothing is nested");
}

type Below<'j> = dyn Fn(&Value) -> Vec<&'j Value> + 'j;

/// Whether a run and all its inner runs have ended.
fn whole(row: &Value, over: &dyn Fn(&Value) -> bool, below: &Below<'_>) -> bool {
    over(row) && below(row).into_iter().all(|row| whole(row, over, below))
}

#[test]
fn ended_runs_are_purged_and_open_ones_stay() {
    for name in JOURNALS {
        let journal = Journal::open(name);
        let is_over = |row: &Value| {
            let status = row["status"].as_str().expect("a status");
            ["succeeded", "failed", "canceled"].contains(&status)
        };
        // A run that another run may still need is not purged.
        let above = |row: &Value| journal.rows().iter().find(|one| one["run_id"] == row["parent"]);
        let below = |row: &Value| {
            let id = row["run_id"].clone();
            journal.rows().iter().filter(move |one| one["parent"] == id).collect::<Vec<_>>()
        };
        let ended = |row: &&Value| {
            let mut top = *row;
            while let Some(outer) = above(top) {
                top = outer;
            }
            whole(top, &is_over, &below)
        };
        let (gone, open): (Vec<&Value>, Vec<&Value>) = journal.rows().iter().partition(ended);
        let purged = |line: &str| journal.say(line).ends(0).json()["runs"].clone();
        assert_eq!(purged("runs purge --all --older-than 1h --yes --json"), 0, "{name}");
        assert_eq!(purged("runs purge --all --yes --json"), gone.len(), "{name}");
        let left = journal.say("runs --all --limit 1000 --json").ends(0).json();
        assert_eq!(left["runs"], json!(open), "{name}");
    }
}
