//! The guides that come with the program, worked through by an agent that sends nothing but the
//! outputs the steps ask for.

use expect_test::{Expect, expect};
use milepost_engine::view::{self, Waiting};
use serde_json::{Value, json};

use crate::rendering;
use crate::rig::Rig;

const BUG: &str = include_str!("../../../../examples/guides/bug-investigation.json");
const REVIEW: &str = include_str!("../../../../examples/guides/code-review.json");
const FEATURE: &str = include_str!("../../../../examples/guides/feature-implementation.json");
const RELEASE: &str = include_str!("../../../../examples/guides/release-checklist.json");

/// Works through a guide. `outputs` gives the output of a step by its key; people confirm all.
fn walk(text: &str, outputs: impl Fn(&str) -> Value) -> String {
    let mut rig = Rig::with(text, &json!({}), |_| {});
    rig.start();
    let mut lines = Vec::new();
    loop {
        assert!(lines.len() < 60, "no end: {lines:#?}");
        let briefs = view::briefs(&rig.flow, rig.state());
        if let Some(brief) = briefs.first() {
            let key = brief.key.to_string();
            assert!(brief.missing.is_empty(), "{key} lacks {:?}", brief.missing);
            let told = rendering::reply(&rig.submit(&key, outputs(&key)));
            assert!(told.starts_with("accepted"), "{key}: {told}");
            lines.push(key);
        } else if let Some(Waiting::Approval(asked)) = rig.waiting().first() {
            let key = asked.key.to_string();
            rig.decide(&key, true);
            lines.push(format!("  a person confirmed {key}"));
        } else {
            lines.push(format!("= {}", rendering::stands(&rig)));
            return lines.join("\n") + "\n";
        }
    }
}

fn check(text: &str, outputs: impl Fn(&str) -> Value, expected: &Expect) {
    expected.assert_eq(&walk(text, outputs));
}

fn run(command: &str, code: u8) -> String {
    format!("$ {command}\nsrc/main.rs:12 said something\nexit code: {code}\n")
}

fn padded(text: &str) -> String {
    format!("{text}\n{}", "This sentence says what else was seen, done and left. ".repeat(5))
}

/// The id of the step itself.
fn step(key: &str) -> &str {
    key.rsplit("::").next().unwrap_or(key)
}

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn release(key: &str, stops: bool) -> Value {
    let stopped = stops && key.starts_with("each-gate@0");
    match step(key) {
        "triage" => json!({
            "commit": HASH, "lastRelease": "v1.0.0",
            "gates": [
                {"name": "unit tests", "kind": "tests", "command": "cargo test", "passed": false},
                {"name": "clippy", "kind": "lint", "command": "cargo clippy", "passed": false},
            ],
            "missingGates": ["advisories: none are checked", "build: it is not built"],
            "artifacts": ["linux x64 archive"], "watchChecks": 1, "breaking": true,
            "risk": "high", "approved": false, "published": false, "stopped": false,
        }),
        "changes" => json!({
            "report": run("git log --oneline v1.0.0..", 0)
                + "Breaking\nnone\n\nAdded\n- 1a2b3c4 a thing, so 1.1.0 follows\n",
            "breaking": false, "risk": "low", "version": "1.1.0",
        }),
        "run-gate" if stopped => json!({
            "report": "STOPPED The tests need a change in the code of the parser first, says Ada.",
            "gate": {"passed": false}, "stopped": true,
        }),
        // The second gate passes at its second attempt.
        "run-gate" if key.starts_with("each-gate@1::until-passed@0") => json!({
            "report": run("cargo clippy", 1) + "Gate: failed\n",
            "gate": {"passed": false}, "stopped": false,
        }),
        "run-gate" => json!({
            "report": run("cargo test", 0) + "Gate: passed\n",
            "gate": {"passed": true}, "stopped": false,
        }),
        "notes" => json!(padded(&(run("grep -r 1.0.0", 1) + "Version 1.1.0 does a thing."))),
        "try-artifact" => json!(run("thing --version", 0) + "thing 1.1.0\nsha256: " + HASH),
        "decide" => json!({
            "report": padded(&format!(
                "1.1.0 from {HASH}\ngates not passed: 0\nartifacts not tried: 0\n\
                 Decision by Ada: yes, publish it"
            )),
            "approved": true,
        }),
        "publish" => json!({
            "report": run("git tag v1.1.0", 0) + "sha256: " + HASH + " same",
            "published": true, "stopped": false,
        }),
        "look" => json!(padded("at: 2026-11-18 10:30\nerrors: 3 now, and it was 4 before")),
        "close" if stops => json!(padded(&format!(
            "Not published: stopped at the first gate\nFollow-up: mend the parser, issue 12\n{}",
            run("git status", 0)
        ))),
        "close" => json!(padded("Published 1.1.0\nFollow-up: script the tag, see issue 12")),
        other => panic!("no output for {other}"),
    }
}

#[test]
fn a_release_goes_through_every_gate() {
    check(
        RELEASE,
        |key| release(key, false),
        &expect![[r#"
        triage
        changes
        each-gate@0::until-passed@0::run-gate
        each-gate@1::until-passed@0::run-gate
        each-gate@1::until-passed@1::run-gate
        notes
        each-artifact@0::try-artifact
        decide
          a person confirmed decide
        publish
          a person confirmed publish
        watch@0::look
        close
        = succeeded
    "#]],
    );
}

#[test]
fn a_release_that_is_stopped_is_only_closed() {
    check(
        RELEASE,
        |key| release(key, true),
        &expect![[r#"
        triage
        changes
        each-gate@0::until-passed@0::run-gate
        close
        = succeeded
    "#]],
    );
}

fn bug(key: &str, reproduced: bool) -> Value {
    let predicted = "If true: the log shows the line\nIf false: the log stays empty\n\
                     Seen: the log shows the line\n";
    let verdict = |verdict: &str| {
        json!({
            "report": run("cargo run", 0) + predicted + &format!("Verdict: {verdict}\n")
                + "The line is in the log, as it has to be, and nothing else was seen beside it.",
            "hypothesis": {"status": verdict},
        })
    };
    match step(key) {
        "triage" => json!({
            "symptom": "the total is wrong by one cent", "expected": "the sum of the items",
            "scope": "local", "risk": "low", "intermittent": false, "unknowns": ["which locale?"],
            "reproduced": false, "causeFound": false, "testsPass": false, "proved": false,
            "stopped": false,
        }),
        "reproduce" if reproduced => json!({
            "report": padded(&(run("cargo test total", 1)
                + "Observed: the total is 9.99\nExpected: the total is 10.00\n")),
            "reproduced": true, "reproduction": "cargo test total",
        }),
        "reproduce" => json!({
            "report": padded(&format!(
                "NOT REPRODUCED\n{}Suspect: the locale of the reporter\n",
                run("cargo test total", 0)
            )),
            "reproduced": false, "reproduction": "",
        }),
        "ask-reporter" => json!({
            "report": padded("We tried this and that. Which locale do you use?"),
            "reproduced": true, "reproduction": "LANG=de cargo test total",
        }),
        "hypotheses" => json!({"hypotheses": [
            {"id": "H1", "claim": "the total is rounded twice", "because": "src/total.rs:12 rounds",
             "experiment": "print the total before rounding", "status": "open"},
            {"id": "H2", "claim": "the locale changes the point",
             "because": "src/main.rs:3 sets it",
             "experiment": "run it with another locale", "status": "open"},
        ]}),
        "experiment" if key.starts_with("each-hypothesis@1") => verdict("unclear"),
        "experiment" => verdict("confirmed"),
        "sharpen" => verdict("refuted"),
        _ => mended(key),
    }
}

/// The outputs of the steps from the cause of the bug to the report.
fn mended(key: &str) -> Value {
    match step(key) {
        "root-cause" => json!({
            "report": format!(
                "## Cause\n{}src/total.rs:12 rounds, and src/main.rs:3 rounds again.\n\
                 ## Why it was not caught\n{}\n## Same fault elsewhere\n{}none\n",
                "The chain goes from the sum to the total. ".repeat(4),
                "No test has a total with three digits behind the point. ".repeat(2),
                run("grep -rn round src", 0)
            ),
            "causeFound": true, "cause": "src/total.rs:12 rounds twice", "siblings": [],
        }),
        "failing-test" => json!({
            "report": padded(&(run("cargo test rounds_once", 101)
                + "fn rounds_once() { assert_eq!(total(), 10); }\n"
                + "assertion failed: src/total.rs:40")),
            "testCommand": "cargo test rounds_once", "testsPass": false,
            "causeFound": true, "stopped": false,
        }),
        "change" => json!({
            "report": padded("diff --git a/src/total.rs b/src/total.rs\n--- a/src/total.rs\n\
                 +++ b/src/total.rs\n@@ -12,1 +12,1 @@\n-round(round(x))\n+round(x)\n"),
            "stopped": false,
        }),
        // The tests pass at the second attempt.
        "run-tests" if key.starts_with("fix@0") => json!({
            "report": padded(&(run("cargo test rounds_once", 101) + &run("cargo test", 101)
                + "src/total.rs:40 says that it still rounds twice")),
            "testsPass": false,
        }),
        "run-tests" => json!({
            "report": padded(&(run("cargo test rounds_once", 0) + &run("cargo test", 0))),
            "testsPass": true,
        }),
        "prove" => json!({
            "report": padded(&(run("git stash", 0) + &run("cargo test rounds_once", 101)
                + &run("git stash pop", 0) + &run("cargo test rounds_once", 0)
                + &run("cargo test total", 0))),
            "proved": true, "testsPass": true,
        }),
        "report" => json!(padded(
            "Symptom: the total is wrong by one cent\n\
             Cause: src/total.rs:12 rounds twice\nChange: it rounds once\n\
             Proof: $ cargo test rounds_once\nAffected: everybody since 1.2\nOpen: none, it is done"
        )),
        other => panic!("no output for {other}"),
    }
}

#[test]
fn a_bug_that_shows_itself_is_investigated_and_mended() {
    check(
        BUG,
        |key| bug(key, true),
        &expect![[r#"
        triage
        reproduce
        hypotheses
        each-hypothesis@0::experiment
        each-hypothesis@1::experiment
        each-hypothesis@1::sharpen
        root-cause
        failing-test
        fix@0::change
        fix@0::run-tests
        fix@1::change
        fix@1::run-tests
        fix@1::prove
        report
          a person confirmed report
        = succeeded
    "#]],
    );
}

#[test]
fn a_bug_that_does_not_show_itself_is_asked_about() {
    check(
        BUG,
        |key| bug(key, false),
        &expect![[r#"
        triage
        reproduce
        ask-reporter
          a person confirmed ask-reporter
        hypotheses
        each-hypothesis@0::experiment
        each-hypothesis@1::experiment
        each-hypothesis@1::sharpen
        root-cause
        failing-test
        fix@0::change
        fix@0::run-tests
        fix@1::change
        fix@1::run-tests
        fix@1::prove
        report
          a person confirmed report
        = succeeded
    "#]],
    );
}

fn feature(key: &str) -> Value {
    match step(key) {
        "triage" => json!({
            "feature": "a user can export the list as CSV",
            "acceptance": ["the export has one line for each item", "a broken list is refused"],
            "outOfScope": ["other formats"], "scope": "small", "risk": "low", "publicApi": false,
            "dataMigration": false, "openQuestions": ["which separator is it?"], "openCount": 1,
            "suitePasses": false, "accepted": false, "stopped": false,
        }),
        "settle" => json!({
            "report": padded("Decided by Ada: a comma"),
            "acceptance": ["the export has commas in it", "a broken list is refused"],
        }),
        "survey" => json!({
            "report": padded(&("src/json.rs:1 entry, src/json.rs:9 logic, src/json.rs:20 tests\n"
                .to_owned() + &run("cargo test", 0))),
            "model": "src/json.rs:1", "suiteCommand": "cargo test", "suitePasses": false,
            "stopped": false,
        }),
        "slices" => json!({"slices": [
            {"id": "S1", "title": "the export exists", "proves": "one line for each item",
             "done": false},
            {"id": "S2", "title": "a broken list is refused", "proves": "a broken list is refused",
             "done": false},
        ]}),
        "slice-test" => json!(padded(
            &(run("cargo test csv", 101)
                + "fn csv() { assert!(false); }\nassertion failed: src/csv.rs:40")
        )),
        // The first slice is done at its second attempt.
        "slice-code" => {
            let done = !key.starts_with("each-slice@0::until-green@0");
            let diff = "diff --git a/src/csv.rs b/src/csv.rs\n--- a/src/csv.rs\n+++ b/src/csv.rs\n\
                 @@ -1,1 +1,1 @@\n-old\n+new\n";
            json!({
                "report": padded(&(diff.to_owned() + &run("cargo test csv", u8::from(!done))
                    + "src/csv.rs:40 is the place")),
                "slice": {"done": done}, "stopped": false,
            })
        }
        "slice-tidy" => json!(padded(
            &("diff --git a/src/csv.rs b/src/csv.rs\n--- a/src/csv.rs\n\
             +++ b/src/csv.rs\n@@ -1,1 +1,1 @@\n-old\n+new\n"
                .to_owned()
                + &run("cargo test", 0))
        )),
        "run-suite" => json!({
            "report": padded(&(run("cargo test", 0) + &run("cargo fmt --check", 0)
                + &run("cargo clippy", 0))),
            "suitePasses": true,
        }),
        "accept" => json!({
            "report": padded(&(run("thing export", 0)
                + "the export has commas in it: met\n" + &run("thing export broken", 1)
                + "a broken list is refused: met\nMisuse: it says that the list is broken\n")),
            "accepted": true,
        }),
        "handover" => json!(padded(
            "A user can export the list as CSV.\n\
             Documents: docs/export.md, CHANGELOG.md\nOpen: nothing is left to do here"
        )),
        other => panic!("no output for {other}"),
    }
}

#[test]
fn a_feature_is_built_slice_by_slice() {
    check(
        FEATURE,
        feature,
        &expect![[r#"
        triage
        settle
          a person confirmed settle
        survey
        slices
        each-slice@0::slice-test
        each-slice@0::until-green@0::slice-code
        each-slice@0::until-green@1::slice-code
        each-slice@0::slice-tidy
        each-slice@1::slice-test
        each-slice@1::until-green@0::slice-code
        each-slice@1::slice-tidy
        whole-suite@0::run-suite
        accept
        handover
          a person confirmed handover
        = succeeded
    "#]],
    );
}

fn review(key: &str) -> Value {
    match step(key) {
        "triage" => json!({
            "changeRef": "main..9f3c2ab", "purpose": "", "scope": "medium", "risk": "high",
            "touches": ["data"], "reviewPasses": 3, "testsRun": false, "testsPass": false,
            "blockers": 0,
            "files": [
                {"path": "src/a.rs", "kind": "code", "risk": "high"},
                {"path": "src/b.rs", "kind": "generated", "risk": "low"},
                {"path": "src/c.rs", "kind": "code", "risk": "low"},
            ],
        }),
        "ask-purpose" => json!({
            "report": padded("It seems to export the list. Is that meant?"),
            "purpose": "Assumed: it exports the list",
        }),
        "run-it" => json!({
            "report": padded(&run("cargo test", 0)), "testsRun": true, "testsPass": true,
        }),
        "read-file" => {
            json!("src/a.rs:12 major: an empty list is not handled, refuse it\n> list[0]")
        }
        "follow-callers" => json!(padded(&run("grep -rn export src", 0))),
        "lens" => {
            json!(padded("src/a.rs:12 was read.\nTried: an empty list, and it panicked there"))
        }
        "break-it" => json!(padded(
            &("src/a.rs:12\ndiff --git a/src/a.rs b/src/a.rs\n@@ -12 +12 @@\n".to_owned()
                + &run("cargo test", 101)
                + &run("git status --short", 0))
        )),
        "sift" => json!({
            "findings": [{
                "file": "src/a.rs", "line": 12, "severity": "blocker",
                "claim": "an empty list is not handled", "evidence": "it panics with an empty list",
                "proposal": "refuse it",
            }],
            "dropped": [], "blockers": 1,
        }),
        "verdict" => json!(
            padded(
                "It exports the list.\nsrc/a.rs:12 blocker: refuse an empty list\n\
             Not looked at: nothing\n"
            ) + "\nVerdict: request changes"
        ),
        other => panic!("no output for {other}"),
    }
}

#[test]
fn a_review_reads_every_file() {
    check(
        REVIEW,
        review,
        &expect![[r#"
        triage
        ask-purpose
          a person confirmed ask-purpose
        run-it
        each-file@0::read-file
        each-file@0::follow-callers
        each-file@2::read-file
        look-again@0::lens
        look-again@1::lens
        look-again@2::lens
        break-it
        sift
        verdict
          a person confirmed verdict
        = succeeded
    "#]],
    );
}
