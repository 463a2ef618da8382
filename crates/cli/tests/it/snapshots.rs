//! What every command says, as it was recorded under `tests/snapshots`: exit code, result and
//! remarks, at 80 and at 120 columns, into a pipe and on a terminal.
//!
//! To record anew: `UPDATE_EXPECT=1`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::{Place, Ran, SLIP, SOUND, finish};

const WIDTHS: [&str; 2] = ["80", "120"];

/// Fails; one step of it waits for an agent in another.
const FAILS: &str =
    "workflow: fails\nsteps:\n  - {id: a, set: {x: 1}}\n  - {id: b, fail: no luck}\n";
const ASKS: &str = "workflow: asks\nsteps:\n  - id: look\n    prompt: Look at it\n";
const AGREES: &str = "workflow: agrees\nsteps:\n  - {id: ok, approve: Go on?}\n";
const SHOP: &str = include_str!("../../../../examples/shop.yaml");

/// Files that every case finds, and what was done before it.
const FILES: [(&str, &str); 6] = [
    ("sound.yaml", SOUND),
    ("slip.yaml", SLIP),
    ("fails.yaml", FAILS),
    ("asks.yaml", ASKS),
    ("agrees.yaml", AGREES),
    ("shop.yaml", SHOP),
];

/// Name, what is done before, and the command: one that succeeds and one that fails for each.
const CASES: &[(&str, &[&str], &str)] = &[
    ("status-new", &[], ""),
    ("status-open", &["run agrees.yaml"], ""),
    ("run", &[], "run sound.yaml"),
    ("run-fails", &[], "run fails.yaml"),
    ("run-asks", &[], "run asks.yaml"),
    ("run-agrees", &[], "run agrees.yaml"),
    ("run-invalid", &[], "run slip.yaml"),
    ("run-missing", &[], "run nobody"),
    ("run-dry", &[], "run sound.yaml --dry-run"),
    ("runs", &["run sound.yaml", "run fails.yaml"], "runs"),
    ("runs-none", &[], "runs"),
    ("runs-open", &["run sound.yaml", "run agrees.yaml"], "runs --open"),
    ("show", &["run fails.yaml"], "show run_"),
    ("show-missing", &[], "show run_nobody"),
    ("logs", &["run fails.yaml"], "logs run_"),
    ("logs-missing", &[], "logs run_nobody"),
    ("cancel", &["run asks.yaml"], "cancel run_ --yes"),
    ("cancel-ended", &["run sound.yaml"], "cancel run_ --yes"),
    ("pause", &["run asks.yaml"], "pause run_"),
    ("pause-ended", &["run fails.yaml"], "pause run_"),
    ("resume-plan", &["run fails.yaml"], "resume run_ --plan"),
    ("resume", &["run fails.yaml"], "resume run_"),
    ("resume-missing", &[], "resume run_nobody"),
    ("inbox", &["run agrees.yaml"], "inbox"),
    ("inbox-none", &[], "inbox"),
    ("approve-missing", &[], "approve run_nobody"),
    ("reject-missing", &[], "reject run_nobody"),
    ("decide-nothing", &["run sound.yaml"], "decide run_ --outcome happened"),
    ("submit", &["run asks.yaml"], "submit run_ look sound.yaml"),
    ("submit-not-due", &["run asks.yaml"], "submit run_ later sound.yaml"),
    ("backup", &["run sound.yaml"], "backup copy"),
    ("backup-twice", &["run sound.yaml", "backup copy"], "backup copy"),
    ("purge", &["run sound.yaml"], "runs purge --yes"),
    ("purge-unsure", &["run sound.yaml"], "runs purge"),
    ("forget", &[], "inputs forget --yes"),
    ("validate", &[], "workflow validate sound.yaml"),
    ("validate-slip", &[], "workflow validate slip.yaml"),
    ("validate-missing", &[], "workflow validate nobody.yaml"),
    ("fix", &[], "workflow validate --fix slip.yaml"),
    ("workflow-show", &[], "workflow show sound.yaml"),
    ("workflow-show-missing", &[], "workflow show nobody"),
    ("workflow-list", &["workflow save sound.yaml"], "workflow list"),
    ("workflow-inputs", &[], "workflow inputs refund-order"),
    ("workflow-plan", &[], "workflow plan sound.yaml"),
    ("workflow-graph", &[], "workflow graph agrees.yaml"),
    ("workflow-new", &[], "workflow new tidy"),
    ("workflow-new-twice", &["workflow new tidy"], "workflow new tidy"),
    ("workflow-save", &[], "workflow save sound.yaml"),
    ("workflow-save-slip", &[], "workflow save slip.yaml"),
    ("workflow-save-twice", &["workflow save sound.yaml"], "workflow save sound.yaml"),
    ("workflow-rename", &["workflow save sound.yaml"], "workflow rename sound other"),
    ("workflow-rename-missing", &[], "workflow rename nobody other"),
    ("workflow-delete", &["workflow save sound.yaml"], "workflow delete sound --yes"),
    ("workflow-delete-unsure", &["workflow save sound.yaml"], "workflow delete sound"),
    ("workflow-versions", &["workflow save sound.yaml"], "workflow versions sound"),
    ("workflow-versions-missing", &[], "workflow versions nobody"),
    ("guide-next", &[], "guide next bug-investigation"),
    ("guide-next-missing", &[], "guide next nobody"),
    ("guide-check-missing", &[], "guide check bug-investigation nobody sound.yaml"),
    ("catalog-validate", &[], "catalog validate shop.yaml"),
    ("catalog-validate-no-api", &[], "catalog validate sound.yaml"),
    ("catalog-preview", &[], "catalog preview shop.yaml"),
    ("catalog-import", &[], "catalog import shop.yaml"),
    ("catalog-import-twice", &["catalog import shop.yaml"], "catalog import shop.yaml"),
    ("catalog-list", &["catalog import shop.yaml"], "catalog list"),
    ("catalog-list-none", &[], "catalog list"),
    ("catalog-show", &["catalog import shop.yaml"], "catalog show shop-api"),
    ("catalog-show-missing", &[], "catalog show nobody"),
    ("catalog-disable", &["catalog import shop.yaml"], "catalog disable shop-api"),
    ("catalog-enable-missing", &[], "catalog enable nobody"),
    ("catalog-remove", &["catalog import shop.yaml"], "catalog remove shop-api --yes"),
    ("catalog-remove-unsure", &["catalog import shop.yaml"], "catalog remove shop-api"),
    ("catalog-auth", &["catalog import shop.yaml"], "catalog auth shop-api"),
    ("command-search", &["catalog import shop.yaml"], "command search refund"),
    ("command-search-none", &["catalog import shop.yaml"], "command search zebra"),
    ("command-show", &["catalog import shop.yaml"], "command show shop-api orders:get"),
    ("command-show-missing", &["catalog import shop.yaml"], "command show shop-api orders:got"),
    ("command-providers", &["catalog import shop.yaml"], "command providers"),
    ("secret-list", &[], "secret list"),
    ("secret-remove-missing", &[], "secret remove NOBODY"),
    ("mcp-budget", &[], "mcp --tools core budget"),
    ("config-get-missing", &[], "config get nobody"),
    ("docs-missing", &[], "docs durabilty"),
    ("docs", &[], "docs"),
    ("init", &[], "init"),
    ("init-twice", &["init"], "init"),
    ("unknown-command", &[], "workfow list"),
    ("unknown-option", &[], "runs --opne"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

/// Compares with what was recorded under a name; what differs is told at the end, all at once.
fn compare(name: &str, told: &str, wrong: &mut Vec<String>) {
    let path = folder().join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("makes it");
        std::fs::write(&path, told).expect("writes");
    } else if std::fs::read_to_string(&path).unwrap_or_default() != told {
        wrong.push(format!("{name}:\n{told}"));
    }
}

fn settle(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} differ; to record anew: UPDATE_EXPECT=1\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The commands below one, as its help lists them.
fn below(place: &Place, path: &[String]) -> Vec<Vec<String>> {
    let help = place.run(path.iter().map(String::as_str).chain(["--help"])).ends(0).quiet().out;
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names =
        names.filter_map(|line| line.split_whitespace().next()).filter(|one| *one != "help");
    names.map(|name| path.iter().cloned().chain([name.to_owned()]).collect()).collect()
}

#[test]
fn the_help_of_every_command() {
    let place = Place::new();
    let mut open = vec![Vec::new()];
    let (mut count, mut wrong) = (0, Vec::new());
    while let Some(path) = open.pop() {
        open.extend(below(&place, &path));
        let mut told = String::new();
        for width in WIDTHS {
            let mut command = place.command();
            command.args(&path).arg("--help").env("COLUMNS", width);
            let ran = finish(&mut command, "").ends(0).quiet();
            assert!(
                ran.out.lines().all(|line| line.chars().count() <= 100),
                "{path:?}: {}",
                ran.out
            );
            writeln!(told, "== {width} columns\n{}", ran.out).expect("writes");
            count += 1;
        }
        // Every command that does something shows how.
        if below(&place, &path).is_empty() {
            assert!(told.contains("Example"), "{path:?} has no example");
        }
        let name = if path.is_empty() { "milepost".to_owned() } else { path.join("-") };
        compare(&format!("help/{name}"), &told, &mut wrong);
    }
    assert!(count >= 140, "{count}");
    settle(&wrong);
}

/// The page with the help of every command.
#[test]
fn the_reference_is_the_help_of_every_command() {
    let place = Place::new();
    let mut all = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        open.extend(below(&place, &path));
        all.push(path);
    }
    all.sort();
    let mut page = "# Reference\n\nWhat every command says with `--help`. Made by a test, and \
                    compared by it.\n"
        .to_owned();
    for path in all {
        let mut command = place.command();
        command.args(&path).arg("--help").env("COLUMNS", "100");
        let help = finish(&mut command, "").ends(0).quiet().out;
        let name = ["milepost"].into_iter().chain(path.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join(" ");
        write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end()).expect("writes");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &page).expect("writes");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == page, "docs/reference.md is not what the commands say: UPDATE_EXPECT=1");
}

/// What differs from one time to the next.
fn settled(place: &Place, text: &str) -> String {
    let mut text = text.replace(&*place.root.path().to_string_lossy(), "~");
    for word in text.clone().split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.starts_with("run_") && word.len() == 30 {
            text = text.replace(word, "run_00000000000000000000000000");
        }
    }
    let digits = |text: &str| {
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>()
    };
    let timed = |line: &str| line.contains(" ms") || digits(line).contains("0000-00-00");
    let lines = text.lines().map(|line| if timed(line) { digits(line) } else { line.to_owned() });
    let mut out = String::new();
    for line in lines {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn told(place: &Place, ran: &Ran) -> String {
    let (out, err) = (settled(place, &ran.out), settled(place, &ran.err));
    format!("{out}-- exit {}\n{err}", ran.code)
}

/// A place in which the beginnings of a case were made.
fn prepared(before: &[&str]) -> Place {
    let place = Place::with(&FILES);
    for command in before {
        place.run(command.split(' '));
    }
    place
}

/// The command of a case, with the run that is there in the place of `run_`.
fn arguments(place: &Place, command: &str) -> Vec<String> {
    let words = command.split(' ').filter(|word| !word.is_empty());
    let run = || {
        let runs = place.run(["runs", "--json"]).ends(0).json();
        runs["runs"][0]["run_id"].as_str().expect("a run").to_owned()
    };
    words.map(|word| if word == "run_" { run() } else { word.to_owned() }).collect()
}

#[test]
fn what_commands_say_into_a_pipe() {
    let mut wrong = Vec::new();
    for (name, before, command) in CASES {
        let mut all = String::new();
        for width in WIDTHS {
            let place = prepared(before);
            let mut ran = place.command();
            ran.args(arguments(&place, command)).env("COLUMNS", width);
            let ran = finish(&mut ran, "");
            assert!(!ran.err.contains("panicked"), "{name}: {}", ran.err);
            writeln!(all, "$ milepost {command}  # {width} columns\n{}", told(&place, &ran))
                .expect("writes");
        }
        compare(&format!("pipe/{name}"), &all, &mut wrong);
    }
    settle(&wrong);
}

/// On a terminal of its own, made by `script`, results and remarks come as one.
#[cfg(target_os = "linux")]
#[test]
fn what_commands_say_on_a_terminal() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        let words = "\nSKIPPED: there is no `script` here to make a terminal with\n";
        std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes()).expect("is told");
        return;
    }
    let names = [
        "status-new",
        "run-fails",
        "run-agrees",
        "runs",
        "show",
        "validate-slip",
        "resume-plan",
        "inbox",
        "catalog-list",
        "catalog-import",
        "command-search",
        "unknown-command",
    ];
    let mut wrong = Vec::new();
    for (name, before, command) in CASES.iter().filter(|case| names.contains(&case.0)) {
        let place = prepared(before);
        let line: Vec<String> = [env!("CARGO_BIN_EXE_milepost").to_owned()]
            .into_iter()
            .chain(arguments(&place, command))
            .collect();
        let mut ran = std::process::Command::new("script");
        ran.args(["-qec", &format!("stty cols 80 rows 24; {}", line.join(" ")), "/dev/null"]);
        ran.current_dir(place.path("")).env_clear().env("HOME", place.root.path().join("home"));
        ran.env("PATH", "/usr/bin:/bin").env("TERM", "xterm").env("CI", "1").env("NO_COLOR", "1");
        let ran = finish(&mut ran, "");
        let text = settled(&place, &ran.out.replace('\r', ""));
        compare(&format!("terminal/{name}"), &format!("{text}-- exit {}\n", ran.code), &mut wrong);
    }
    settle(&wrong);
}
