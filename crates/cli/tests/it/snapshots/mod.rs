//! The output of every command, as recorded under `tests/snapshots`: exit code, result and remarks,
//! at 80 and 120 columns, into a pipe and on a terminal.
//!
//! Record again with `UPDATE_EXPECT=1`.

mod cases;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::json;

use self::cases::{CASES, Case, FILES, LONE};
#[cfg(target_os = "linux")]
use self::cases::{NARROW, SHOWN};
use crate::rogue::typed;
use crate::server::{self, Server};
use crate::{Place, Ran, finish};

const WIDTHS: [&str; 2] = ["80", "120"];
/// How many cases run in parallel.
const HANDS: usize = 4;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

/// Compares output with the recording of that name; all differences are reported together at the
/// end.
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

/// The subcommands of a command, as its help lists them.
pub(crate) fn below(place: &Place, path: &[String]) -> Vec<Vec<String>> {
    let help = place.run(path.iter().map(String::as_str).chain(["--help"])).ends(0).quiet().out;
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names =
        names.filter_map(|line| line.split_whitespace().next()).filter(|one| *one != "help");
    names.map(|name| path.iter().cloned().chain([name.to_owned()]).collect()).collect()
}

/// The first sentence of a help text, and its one-line descriptions of subcommands.
fn described(help: &str) -> (String, Vec<(String, String)>) {
    let joined =
        |lines: &mut dyn Iterator<Item = &str>| lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let first = joined(&mut help.lines().take_while(|line| !line.is_empty()));
    let list = help.split_once("Commands:\n").map_or("", |(_, list)| list);
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in list.lines().take_while(|line| !line.is_empty()) {
        match (line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')), entries.last_mut()) {
            (Some(entry), _) => {
                let (name, text) = entry.split_once(' ').expect("a name and a text");
                entries.push((name.to_owned(), text.trim().to_owned()));
            }
            (None, Some((_, text))) => *text = format!("{text} {}", line.trim()),
            (None, None) => {}
        }
    }
    (first, entries)
}

/// The long help of a command begins with its description in the parent's list.
#[test]
fn every_help_begins_with_its_own_description() {
    let place = Place::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let help = |path: &[String]| {
            let arguments = path.iter().map(String::as_str).chain(["--help"]);
            described(&place.run(arguments).ends(0).quiet().out)
        };
        for (name, text) in help(&path).1.into_iter().filter(|(name, _)| name != "help") {
            let inner: Vec<String> = path.iter().cloned().chain([name]).collect();
            assert_eq!(help(&inner).0, text, "{inner:?}");
            open.push(inner);
        }
    }
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
        assert!(told.contains("\nExample"), "{path:?} has no example");
        let name = if path.is_empty() { "milepost".to_owned() } else { path.join("-") };
        compare(&format!("help/{name}"), &told, &mut wrong);
    }
    assert!(count >= 140, "{count}");
    settle(&wrong);
}

/// The exit codes of a case in the recordings, into a pipe and on a terminal.
fn exits(name: &str) -> Vec<i32> {
    let read = |kind: &str| std::fs::read_to_string(folder().join(format!("{kind}/{name}.txt")));
    let texts = ["pipe", "terminal"].map(|kind| read(kind).expect("it was recorded"));
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| line.strip_prefix("-- exit ")?.parse().ok()).collect()
}

/// Every command has a case that succeeds and a case that fails.
#[test]
fn no_command_is_left_out() {
    let place = Place::new();
    let (mut open, mut missing) = (vec![Vec::new()], Vec::new());
    while let Some(path) = open.pop() {
        let inner = below(&place, &path);
        let path_words = path.join(" ");
        let calls = |case: &&Case| {
            let rest = case.command.strip_prefix(&*path_words);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        // `runs` and `mcp` have subcommands but also work on their own.
        let does = inner.is_empty() || matches!(&*path_words, "runs" | "mcp");
        if does {
            // A case for a subcommand does not count for its parent.
            let below = |case: &&Case| {
                let mut inner = inner.iter().map(|path| path.join(" "));
                !inner.any(|inner| case.command.starts_with(&inner))
            };
            let cases = CASES.iter().filter(calls).filter(below);
            let cases = cases.filter(|case| !case.command.contains("--help"));
            let ends: Vec<i32> = cases.flat_map(|case| exits(case.name)).collect();
            if !ends.contains(&0) {
                missing.push(format!("`{path_words}` never succeeds"));
            }
            let can_fail = !LONE.contains(&&*path_words);
            if can_fail != ends.iter().any(|code| *code != 0) {
                missing.push(format!("`{path_words}` never fails, or is in LONE and does"));
            }
        }
        open.extend(inner);
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The reference page contains the help of every command.
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

/// Replaces text that differs from one run to the next.
fn settled(place: &Place, text: &str) -> String {
    let text = text.replace(env!("CARGO_BIN_EXE_milepost"), "/usr/bin/milepost");
    let mut text = text.replace(&*place.root.path().to_string_lossy(), "~");
    for word in text.clone().split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.starts_with("run_") && word.len() == 30 {
            text = text.replace(word, "run_00000000000000000000000000");
        }
    }
    let digits = |text: &str| {
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>()
    };
    let timed = |line: &str| {
        line.contains("127.0.0.1:")
            || line.ends_with(" s")
            || line.contains(" ms")
            || line.contains(" MiB")
            || digits(line).contains("0000-00-00")
    };
    let lines = text.lines().map(|line| match timed(line) {
        true if line.starts_with("HTTP ") => "HTTP 000 · 0 ms".to_owned(),
        // The number of digits of the free disk space may vary.
        true if line.contains(" MiB are free") => {
            let (before, after) = line.split_once(" MiB are free").unwrap_or((line, ""));
            let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{before}00000 MiB are free{after}")
        }
        true => digits(line),
        false => line.to_owned(),
    });
    let mut out = String::new();
    for line in lines {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn told(place: &Place, ran: &Ran) -> String {
    let (out, err) = (cut(&settled(place, &ran.out)), cut(&settled(place, &ran.err)));
    format!("{out}-- exit {}\n{err}", ran.code)
}

/// A server that answers everything with two parts.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        Server::start(|_| {
            let parts = json!([{"id": "1", "name": "bolt"}, {"id": "2", "name": "nut"}]);
            server::json(200, &parts)
        })
    })
}

/// A folder in which the preparation commands of a case were run.
fn prepared(before: &[&str]) -> Place {
    let place = Place::with(&FILES);
    for command in before {
        if let Some(["copy", from, to]) = command.split(' ').collect::<Vec<_>>().first_chunk() {
            place.put(to, &place.text(from));
            continue;
        }
        let command = arguments(&place, &command.replace("SERVER", &server().url));
        // A secret is read from standard input.
        finish(place.command().args(command), "hunter2");
    }
    place
}

/// The arguments of a case, with `run_` replaced by the existing run and `FIRST` by the first
/// version of a workflow.
fn arguments(place: &Place, command: &str) -> Vec<String> {
    let words = command.split(' ').filter(|word| !word.is_empty());
    let run = || {
        let runs = place.run(["runs", "--json"]).ends(0).json();
        runs["runs"][0]["run_id"].as_str().expect("a run").to_owned()
    };
    let first = || {
        let versions = place.run(["workflow", "versions", "sound", "--json"]).ends(0).json();
        let all = versions["versions"].as_array().expect("a list");
        all.last().expect("one")["version"].as_str().expect("a version").to_owned()
    };
    let word = |word: &str| match word {
        "run_" => run(),
        "FIRST" => first(),
        word => word.to_owned(),
    };
    words.map(word).collect()
}

/// Runs several cases in parallel, because most of their time is spent starting processes.
fn each<C: Sync>(cases: &[C], work: impl Fn(&C, &mut Vec<String>) + Sync) {
    let wrong = std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(HANDS)).map(|part| {
            let work = &work;
            scope.spawn(move || {
                let mut wrong = Vec::new();
                part.iter().for_each(|case| work(case, &mut wrong));
                wrong
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("ends")).collect::<Vec<_>>()
    });
    settle(&wrong);
}

/// A fixed token, so that the server does not generate and print a new one each time.
const TOKEN: (&str, &str) = ("MILEPOST_TOKEN", "0123456789abcdef0123456789abcdef");
/// How long a server runs, in seconds.
const SERVED: &str = "3";
/// The number of lines kept of a result.
const LINES: usize = 120;

/// The output, truncated to a readable length.
fn cut(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut lines: Vec<&str> = text.lines().take(LINES + 1).collect();
    if lines.len() > LINES {
        lines[LINES] = "…";
    }
    lines.join("\n") + "\n"
}

#[test]
fn output_into_a_pipe() {
    each(CASES, |case, wrong| {
        let Case { name, command, typed, .. } = case;
        let mut all = String::new();
        for width in WIDTHS {
            let place = prepared(case.before);
            // The tests may run in a terminal, but these commands must not have one.
            let mut ran = std::process::Command::new("setsid");
            ran.arg("--wait");
            if case.serves {
                ran.args(["timeout", "--preserve-status", "-s", "TERM", SERVED]);
            }
            ran.arg(env!("CARGO_BIN_EXE_milepost")).current_dir(place.path("")).env_clear();
            ran.env("HOME", place.root.path().join("home")).env("NO_COLOR", "1");
            ran.env("PATH", "/usr/bin:/bin");
            ran.args(arguments(&place, command)).env("COLUMNS", width).env(TOKEN.0, TOKEN.1);
            let ran = finish(&mut ran, &typed.join("\n"));
            assert!(!ran.err.contains("panicked"), "{name}: {}", ran.err);
            writeln!(all, "$ milepost {command}  # {width} columns\n{}", told(&place, &ran))
                .expect("writes");
        }
        compare(&format!("pipe/{name}"), &all, wrong);
    });
}

/// How many of a terminal's capabilities are used.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Coloured,
    /// Colours and a progress spinner.
    Whole,
}

/// The output of a case on a terminal created by `script`, where results and remarks arrive as one
/// stream.
#[cfg(target_os = "linux")]
fn on_terminal(case: &Case, width: &str, look: Look) -> (Place, Ran) {
    let place = prepared(case.before);
    let quoted = |word: String| format!("'{}'", word.replace('\'', "'\\''"));
    let words = [env!("CARGO_BIN_EXE_milepost").to_owned()];
    let words = words.into_iter().chain(arguments(&place, case.command)).map(quoted);
    let words = words.collect::<Vec<_>>().join(" ");
    let serves = format!("timeout --foreground --preserve-status -s TERM {SERVED} ");
    let serves = if case.serves { &*serves } else { "" };
    let line = format!("stty cols {width} rows 24; {serves}{words}");
    let mut ran = std::process::Command::new("script");
    ran.args(["-qec", &line, "/dev/null"]).current_dir(place.path("")).env_clear();
    ran.env("HOME", place.root.path().join("home")).env("PATH", "/usr/bin:/bin");
    ran.env("TERM", "xterm-256color").env(TOKEN.0, TOKEN.1);
    if look != Look::Whole {
        ran.env("CI", "1");
    }
    if look == Look::Plain {
        ran.env("NO_COLOR", "1");
    }
    let ran = match case.typed {
        [] => finish(&mut ran, ""),
        answers => typed(&mut ran, answers),
    };
    (place, ran)
}

#[cfg(target_os = "linux")]
#[test]
fn output_on_a_terminal() {
    let script = std::process::Command::new("script").arg("--version").output();
    assert!(script.is_ok(), "there is no `script` to make a terminal with: install util-linux");
    each(CASES, |case, wrong| {
        let Case { name, command, .. } = case;
        let mut all = String::new();
        for width in WIDTHS {
            let (place, ran) = on_terminal(case, width, Look::Plain);
            let text = cut(&settled(&place, &ran.out.replace('\r', "")));
            writeln!(all, "$ milepost {command}  # {width} columns\n{text}-- exit {}\n", ran.code)
                .expect("writes");
        }
        compare(&format!("terminal/{name}"), &all, wrong);
    });
}

/// Uses everything a terminal can show: colours and a progress spinner. Successive states of a line
/// are recorded one below the other.
#[cfg(target_os = "linux")]
#[test]
fn output_on_a_terminal_with_colours() {
    each(&named(&SHOWN), |case, wrong| {
        let Case { name, command, .. } = case;
        let (place, ran) = on_terminal(case, "80", Look::Whole);
        let text = settled(&place, &turned(&ran.out));
        let all = format!("$ milepost {command}\n{text}-- exit {}\n", ran.code);
        compare(&format!("shown/{name}"), &all, wrong);
        if *name == "run-rests" {
            assert!(all.contains("~ rest  waits until"), "nothing turned: {all}");
        }
    });
}

#[cfg(target_os = "linux")]
fn named(names: &[&str]) -> Vec<&'static Case> {
    let cases: Vec<&Case> = CASES.iter().filter(|case| names.contains(&case.name)).collect();
    assert_eq!(cases.len(), names.len(), "one of them is no case: {names:?}");
    cases
}

/// Colours only decorate the text; they carry no meaning.
#[cfg(target_os = "linux")]
#[test]
fn colours_are_all_that_differs() {
    each(&named(&SHOWN), |case, wrong| {
        let [plain, coloured] = [Look::Plain, Look::Coloured].map(|look| {
            let (place, ran) = on_terminal(case, "80", look);
            settled(&place, &ran.out.replace('\r', ""))
        });
        let has_colours = matches!(case.name, "validate-slip" | "help-run" | "unknown-command");
        let stripped = anstream::adapter::strip_str(&coloured).to_string();
        if stripped != plain || coloured.contains('\u{1b}') != has_colours {
            wrong.push(format!("{}:\n{plain}\n-- in colours:\n{coloured}", case.name));
        }
    });
}

/// On a narrow terminal, prose is wrapped between words, but text meant to be copied is not.
#[cfg(target_os = "linux")]
#[test]
fn output_on_a_narrow_terminal() {
    each(&named(&NARROW), |case, wrong| {
        let Case { name, command, .. } = case;
        let (place, ran) = on_terminal(case, "50", Look::Plain);
        let text = cut(&settled(&place, &ran.out.replace('\r', "")));
        let all = format!("$ milepost {command}  # 50 columns\n{text}-- exit {}\n", ran.code);
        compare(&format!("narrow/{name}"), &all, wrong);
    });
}

/// `x is no y` is not idiomatic; messages must say `x is not a y`.
#[test]
fn messages_are_in_plain_english() {
    let mut odd = Vec::new();
    for kind in ["pipe", "terminal"] {
        for entry in std::fs::read_dir(folder().join(kind)).expect("there are some") {
            let path = entry.expect("is read").path();
            let text = std::fs::read_to_string(&path).expect("is text");
            let said = text.lines().filter(|line| line.contains("` is no "));
            odd.extend(said.map(|line| format!("{}: {line}", path.display())));
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

/// Puts each state of a line on its own line, ignoring how many times the spinner turned.
fn turned(text: &str) -> String {
    let turns = |c: char| ('\u{2801}'..='\u{28ff}').contains(&c);
    let mut lines: Vec<String> = Vec::new();
    for line in text.replace("\r\n", "\n").lines() {
        for part in line.split('\r') {
            let part = part.replace("\u{1b}[2K", "").replace("\u{1b}[1B", "");
            let Some(rest) = part.strip_prefix(turns) else {
                lines.push(part);
                continue;
            };
            let digits = rest.trim_end().chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
            let shown = format!("~{}", digits.collect::<String>());
            // A slow machine shows progress where a fast one has already finished.
            if lines.last() != Some(&shown) && shown.contains("waits") {
                lines.push(shown);
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n").replace('\u{1b}', "␛") + "\n"
}
