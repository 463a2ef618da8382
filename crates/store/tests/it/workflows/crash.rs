//! The state after a process is killed in the middle of a change, or when the disk is full.
#![cfg(unix)]

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use milepost_store::{FileError, LibraryMatch};

use super::*;
use crate::{get, open};

const DIRECTORY: &str = "MILEPOST_TEST_CRASH_DIRECTORY";
const BEGIN: &str = "MILEPOST_TEST_CRASH_BEGIN";
const KILLS: usize = 25;

/// A source that contains a number, which also determines its length.
fn numbered(number: usize) -> String {
    let mut text = manifest("a", &format!("Number {number}"));
    text.push_str(&"# more\n".repeat(number % 700));
    text
}

fn number_of(text: &str) -> usize {
    let title = text.lines().find_map(|line| line.strip_prefix("title: Number "));
    title.expect("has a number").parse().expect("is a number")
}

/// A command that runs one test of this binary on a directory.
fn again(test: &str, directory: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("has a path"));
    command
        .args(["--exact", &format!("workflows::crash::{test}"), "--nocapture"])
        .env(DIRECTORY, directory);
    command
}

/// Starts a process that prints a line after each change, and kills it some time after this many
/// lines.
fn killed_after(command: &mut Command, lines: usize, then: Duration) -> Vec<String> {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().expect("starts");
    let output = BufReader::new(child.stdout.take().expect("is piped"));
    let mut told = output.lines().map(|line| line.expect("reads"));
    let mut told: Vec<String> =
        told.by_ref().filter(|line| line.starts_with("done: ")).take(lines).collect();
    let start = Instant::now();
    while start.elapsed() < then {
        std::hint::spin_loop();
    }
    child.kill().expect("is there to be killed");
    child.wait().expect("is gone");
    told.iter_mut().for_each(|line| *line = line.trim_start_matches("done: ").to_owned());
    told
}

/// Delays spread over the duration of a change.
fn moment(kill: usize) -> Duration {
    Duration::from_micros((kill as u64 * 7_919) % 6_000)
}

#[test]
fn a_killed_save_leaves_the_old_text_or_the_new_one() {
    if let (Some(directory), Ok(begin)) = (env::var_os(DIRECTORY), env::var(BEGIN)) {
        let workflows = WorkflowStore::open(&places(Path::new(&directory)));
        for number in begin.parse().expect("is a number").. {
            let text = numbered(number);
            let draft = WorkflowDraft { bytes: text.as_bytes(), format: Format::Yaml, id: None };
            workflows
                .save(&id("a"), draft, at(number as u64, ExpectedVersion::Any))
                .expect("writes");
            writeln!(io::stdout(), "done: {number}").expect("somebody reads");
        }
    }
    let place = Place::new();
    let name_of_test = "a_killed_save_leaves_the_old_text_or_the_new_one";
    let mut next = 0;
    for kill in 0..KILLS {
        let mut command = again(name_of_test, place.root.path());
        command.env(BEGIN, next.to_string());
        let told = killed_after(&mut command, 1 + kill % 3, moment(kill));
        let told: usize = told.last().expect("was told").parse().expect("is a number");
        let text = place.text("a.yaml");
        let number = number_of(&text);
        assert_eq!(text, numbered(number), "whole");
        assert!(number >= told, "what was answered is there: {number} {told}");
        let texts = place.texts("a");
        for kept in next..=number {
            assert!(texts.contains(&numbered(kept)), "{kept} can be restored");
        }
        next = number + 1;
    }
    place.save(&manifest("a", "End"), version(&numbered(next - 1))).expect("goes on");
}

#[test]
fn a_killed_rename_leaves_one_workflow_with_its_history() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        let workflows = WorkflowStore::open(&places(Path::new(&directory)));
        for number in 0u64.. {
            let (from, to) = if number % 2 == 0 { ("a", "b") } else { ("b", "a") };
            let renamed = workflows.rename(&id(from), &id(to), at(number, ExpectedVersion::Any));
            match renamed {
                Ok(_) => writeln!(io::stdout(), "done: {number}").expect("somebody reads"),
                // The previous process was killed after an odd number of changes.
                Err(WorkflowError::NotFound { .. }) if number == 0 => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    let place = Place::new();
    let text = manifest("a", "One");
    place.save(&text, ExpectedVersion::Absent).expect("writes");
    for kill in 0..KILLS {
        let name_of_test = "a_killed_rename_leaves_one_workflow_with_its_history";
        killed_after(&mut again(name_of_test, place.root.path()), 1 + kill % 3, moment(kill));
        let library = open(&[(SourceKind::Runtime, &place.path(""))]);
        let there = ["a", "b"].map(|name| match get(&library, name) {
            Some(LibraryMatch::Workflow(entry)) => Some(entry.version.clone()),
            Some(LibraryMatch::Invalid(invalid)) => panic!("{invalid:?}"),
            None => None,
        });
        let name = match &there {
            [Some(_), None] => "a",
            [None, Some(_)] => "b",
            both => panic!("{both:?}"),
        };
        assert!(place.texts(name).contains(&text), "its history is with it");
    }
}

#[test]
fn a_full_disk_costs_nothing_that_was_there() {
    let large = |title: &str| manifest("a", title) + &"# more\n".repeat(20_000);
    if let Some(directory) = env::var_os(DIRECTORY) {
        let workflows = WorkflowStore::open(&places(Path::new(&directory)));
        let (new, kept) = (large("New"), large("Kept"));
        let draft = WorkflowDraft { bytes: new.as_bytes(), format: Format::Yaml, id: None };
        for outcome in [
            // The history has no room for the first change, and needs none for the second.
            workflows.save(&id("a"), draft, at(3, ExpectedVersion::Any)),
            workflows.restore(&id("a"), Digest::of(kept.as_bytes()), at(3, ExpectedVersion::Any)),
        ] {
            let error = outcome.expect_err("there is no room");
            assert!(matches!(error, WorkflowError::File(FileError::Io { .. })), "{error:?}");
        }
        writeln!(io::stdout(), "done: refused").expect("somebody reads");
        return;
    }
    let place = Place::new();
    place.save(&large("Kept"), ExpectedVersion::Any).expect("writes");
    let small = manifest("a", "Small");
    place.save(&small, ExpectedVersion::Any).expect("writes");
    let program = again("a_full_disk_costs_nothing_that_was_there", place.root.path());
    // Limits files to a few kilobytes. With the signal ignored, which would otherwise kill the
    // process, writing more fails as on a full disk.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]);
    shell.arg(program.get_program()).args(program.get_args()).env(DIRECTORY, place.root.path());
    let output = shell.output().expect("runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("done: refused"), "{output:?}");
    assert_eq!(place.text("a.yaml"), small);
    let visible = crate::names(&place.path(""));
    assert_eq!(visible, ["a.yaml"], "nothing half is left");
    assert!(place.texts("a").contains(&large("Kept")));
    place.save(&large("Room again"), version(&small)).expect("writes");
}
