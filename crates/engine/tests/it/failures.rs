//! Failures as stored in the journal: causes as data, and the failures of version 0.1 unchanged.

use milepost_engine::event::Presence;
use milepost_engine::{Cause, Failure, StepKey};
use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::Code;
use milepost_model::wording::Neutral;
use serde_json::{Value, json};

fn stored(failure: &Failure) -> Value {
    let value = serde_json::to_value(failure).expect("a failure is JSON");
    let read: Failure = serde_json::from_value(value.clone()).expect("it is read back");
    assert_eq!(read, *failure);
    value
}

/// The code, message and hint in neutral wording.
fn told(failure: &Failure) -> String {
    let hint = failure.hint().worded(&Neutral);
    format!("{}: {} ({hint})", failure.code, failure.message())
}

/// Failures as written by version 0.1. Never edit them.
const WRITTEN: &str = include_str!("failures-v0.1.jsonl");

#[test]
fn failures_of_version_0_1_are_shown_as_they_were_written() {
    let expected = [
        "EXPRESSION_FAILED: `for_each` must yield a list: it yields a number (correct the \
         expression, then resume with `--latest`)",
        "SECRET_NOT_FOUND: the secret input `token` was given to another process (go on with \
         `milepost resume run_1 -i token=…`)",
        "RUN_TIMEOUT: it took too long ()",
    ];
    assert_eq!(WRITTEN.lines().count(), expected.len());
    for (line, expected) in WRITTEN.lines().zip(expected) {
        let failure: Failure = serde_json::from_str(line).expect("is read");
        assert_eq!(told(&failure), expected);
        assert_eq!(serde_json::to_string(&failure).expect("JSON"), line);
    }
}

#[test]
fn a_cause_is_kept_as_data_and_told_in_words() {
    let key = StepKey::of_walk("ask");
    let failure = Failure::from(Cause::Rejected { key, comment: Some("too dear".to_owned()) });
    assert_eq!(
        stored(&failure),
        json!({
            "code": "APPROVAL_REJECTED",
            "cause": {"kind": "rejected", "key": "ask", "comment": "too dear"},
        })
    );
    assert_eq!(failure.message(), "`ask` was rejected: too dear");
}

#[test]
fn a_hint_from_outside_is_kept_as_data() {
    let resume = Invocation::of("workflow.resume").with("run_id", "run_1");
    let hint = Hint::text("set it, then go on with ").call(resume);
    let failure = Failure::new(Code::SecretNotFound, "it is not set", hint);
    assert_eq!(
        stored(&failure),
        json!({
            "code": "SECRET_NOT_FOUND",
            "message": "it is not set",
            "hint": [
                "set it, then go on with ",
                {"operation": "workflow.resume", "arguments": {"run_id": "run_1"}},
            ],
        })
    );
}

/// Expressions can read messages, so a journal must produce the same messages in every version.
#[test]
fn every_message_stays_what_it_is() {
    let told: Vec<String> = every()
        .into_iter()
        .map(|cause| {
            let failure = Failure::from(cause);
            let stored = stored(&failure);
            format!("{}\n  {}\n", told(&failure), stored["cause"])
        })
        .collect();
    expect_test::expect_file!["failures.txt"].assert_eq(&told.join("\n"));
}

fn every() -> Vec<Cause> {
    let key = StepKey::of_walk("ask");
    let text = |text: &str| text.to_owned();
    let (step, found) = (text("aks"), text("a number"));
    vec![
        Cause::Expression { place: text("if"), error: text("`x` is not known") },
        Cause::Mistyped { place: text("for_each"), expected: text("a list"), found: found.clone() },
        Cause::TooManyItems { found: 3, limit: 2 },
        Cause::Authored { message: text("no stock") },
        Cause::Rejected { key: key.clone(), comment: None },
        Cause::Expired { key: key.clone() },
        Cause::Exhausted { key: key.clone() },
        Cause::ChildCanceled,
        Cause::Polled { key: key.clone(), passes: 4, seconds: 60 },
        Cause::Refuted { message: text("`x` does not hold") },
        Cause::Contract { key: key.clone(), field: text("id"), expected: text("a text"), found },
        Cause::Unwalkable { key: text("each"), error: text("`items` is not a list") },
        Cause::TooLate,
        Cause::Canceled,
        Cause::Incomplete { key: key.clone() },
        Cause::TooDeep { limit: 8 },
        Cause::Interrupted { request: text("POST /refunds") },
        Cause::HasEnded,
        Cause::MovedOn,
        Cause::NotDue { step: step.clone(), due: Some(key.clone()) },
        Cause::NotDue { step: step.clone(), due: None },
        Cause::NoStep { step: step.clone(), near: Some(text("ask")) },
        Cause::NoStep { step: step.clone(), near: Some(text("something")) },
        Cause::NoStep { step: step.clone(), near: None },
        Cause::UnknownStep { step: step.clone(), near: Some(text("ask")), all: Vec::new() },
        Cause::UnknownStep { step, near: None, all: vec![text("ask"), text("tell")] },
        Cause::NothingDue,
        Cause::SeveralDue { due: vec![key.clone(), StepKey::of_walk("tell")] },
        Cause::Stale { key: key.clone(), attempt: 2 },
        Cause::BeingChecked { key: key.clone() },
        Cause::NotAsked { key: key.clone() },
        Cause::AskedAgain { key: key.clone() },
        Cause::MayStillArrive { key: key.clone(), from_ms: 1_800_000_000_000 },
        Cause::NoPerson,
        Cause::Absent { least: Presence::Pin },
        Cause::Unsigned,
        Cause::NotTheirs { key: key.clone(), by: vec![text("ann"), text("bob")] },
        Cause::UnfitAnswer { error: text("it is not a number") },
        Cause::NotUnknown { key },
    ]
}
