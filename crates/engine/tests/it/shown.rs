//! If any part of what a person was shown has changed by the time it is sent, the person is asked
//! again. If nothing has changed, they are not.
//!
//! Every value shown in the question and its requests is a unique word. Each word is changed at its
//! source, after the approval is on disk and before anything is sent.

use std::collections::BTreeSet;

use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::signal::{DecisionSignal, Signal};
use milepost_engine::view::Waiting;
use serde_json::{Value, json};

use crate::rendering;
use crate::rig::{Rig, flow, ok, submit, willing};

/// Every possible source of a value, in everything that is shown.
const SHOWN: &str = "
workflow: w
inputs: {note: {type: string}, path: {type: string}, deep: {type: object}, trace: {type: string}}
steps:
  - {id: look, run: api orders:get}
  - {id: draft, prompt: Write it, verify: [{run: api spell:get, check: output.fine}]}
  - {id: sum, set: {total: '${{ steps.look.output.price + \" word-set\" }}'}}
  - id: first
    approve: {message: How?, form: {type: object, properties: {how: {type: string}}}}
    depends_on: [draft, sum]
  - id: ok
    depends_on: [first]
    approve: >-
      Literal-text: ${{ inputs.note }} ${{ steps.look.output.who }} ${{ steps.draft.output.t }}?
  - id: pay
    depends_on: [ok]
    run: api refunds:create
    with: {order: '${{ inputs.path }}', kind: literal-with, of: '${{ steps.look.output.id }}'}
    headers:
      {X-Trace: '${{ inputs.trace }}', X-Kind: literal-header, X-By: '${{ steps.draft.output.h }}'}
    body:
      amount: '${{ steps.look.output.price }}'
      total: '${{ steps.sum.output.total }}'
      how: '${{ steps.first.output.answer.how }}'
      lines:
        [{text: '${{ inputs.deep.a }}'}, {text: '${{ steps.look.output.list[1] }}'}, literal-body]
  - {id: mail, depends_on: [pay], run: api mails:send, body: {text: '${{ steps.draft.output.b }}'}}
";

fn inputs() -> Value {
    json!({"note": "word-note", "path": "word-path", "deep": {"a": "word-deep"},
        "trace": "word-trace"})
}

/// A run that has asked its question.
fn asked() -> Rig {
    let mut rig = Rig::with(SHOWN, &inputs(), |_| {});
    let order = json!({"price": "word-price", "who": "word-who", "id": "word-id",
        "list": ["word-unseen", "word-item"]});
    rig.on("look", &[ok(order)]).on("draft::verify@0", &[ok(json!({"fine": true}))]).start();
    let text = json!({"t": "word-text", "h": "word-by", "b": "word-mail", "u": "word-unread"});
    rig.tell(submit("draft", None, text));
    let mut first = rig.decision("first", true);
    first.answer = Some(json!({"how": "word-how"}));
    rig.tell(Signal::Decide(first));
    assert_eq!(rendering::stands(&rig), "waiting approval ok");
    rig
}

/// A run whose approval is on disk, but whose process died before anything followed from it.
fn approved() -> Rig {
    let mut rig = asked();
    rig.decide("ok", true);
    let yes = |entry: &JournalEntry| match &entry.event {
        Event::Approved(verdict) => verdict.key.as_str() == "ok",
        _ => false,
    };
    let at = rig.journal.iter().position(yes).expect("it was approved");
    rig.journal.truncate(at + 1);
    rig.world.sent.retain(|sent| !["pay", "mail"].contains(&sent.step.as_str()));
    rig
}

/// Everything that was shown, as one value.
fn shown(rig: &Rig) -> Value {
    let request = rig.journal.iter().find_map(|entry| match &entry.event {
        Event::ApprovalRequested(request) if request.key.as_str() == "ok" => Some(request),
        _ => None,
    });
    serde_json::to_value(request.expect("was asked")).expect("is JSON")
}

/// The words in a value with this prefix.
fn words(value: &Value, prefix: &str) -> BTreeSet<String> {
    let text = value.to_string();
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    parts.filter(|part| part.starts_with(prefix)).map(str::to_owned).collect()
}

/// Replaces a word at its sources, but not in what was shown.
fn change(rig: &mut Rig, word: &str) {
    for entry in &mut rig.journal {
        if matches!(&entry.event, Event::ApprovalRequested(request) if request.key.as_str() == "ok")
        {
            continue;
        }
        let text = serde_json::to_string(&entry.event).expect("is JSON");
        entry.event = serde_json::from_str(&text.replace(word, "another")).expect("is an event");
    }
}

fn questions(rig: &Rig) -> usize {
    rendering::journal(rig).matches("approval_requested ok").count()
}

fn voided(rig: &Rig) -> usize {
    rendering::journal(rig).matches("approval_voided").count()
}

/// Approves, with the form filled in.
fn obliging(rig: &Rig, waiting: &Waiting) -> Option<Signal> {
    match willing(rig, waiting) {
        Some(Signal::Decide(decided)) if decided.key.as_str() == "first" => {
            let answer = Some(json!({"how": "word-how"}));
            Some(Signal::Decide(DecisionSignal { answer, ..decided }))
        }
        signal => signal,
    }
}

fn sent(rig: &Rig) -> Vec<&str> {
    let below = rig.world.sent.iter().map(|sent| sent.step.as_str());
    below.filter(|step| ["pay", "mail", "more"].contains(step)).collect()
}

/// Asserts that after a change nothing is sent before the person has approved the current requests.
fn asks_again(what: &str, change: impl Fn(&mut Rig)) {
    for before_the_answer in [true, false] {
        let mut rig = if before_the_answer { asked() } else { approved() };
        change(&mut rig);
        rig.open().settle();
        if before_the_answer {
            rig.decide("ok", true);
        }
        let journal = rendering::journal(&rig);
        assert_eq!(sent(&rig), [""; 0], "{what}: sent unseen\n{journal}");
        assert_eq!(voided(&rig), 1, "{what}: not asked again\n{journal}");
        assert!(rendering::stands(&rig).starts_with("waiting approval "), "{what}\n{journal}");
        // Approving the current requests once is enough.
        rig.play(obliging);
        assert!(voided(&rig) <= 2 && questions(&rig) <= 2, "{what}: {}", rendering::journal(&rig));
        assert!(sent(&rig).contains(&"pay"), "{what}");
    }
}

#[test]
fn every_value_that_was_shown_is_asked_for_again_when_it_is_another() {
    let rig = asked();
    let all = words(&shown(&rig), "word-");
    let known = ["note", "path", "deep", "trace", "price", "who", "id", "item", "text", "by"];
    let known = known.into_iter().chain(["mail", "set", "how"]);
    assert_eq!(all, known.map(|word| format!("word-{word}")).collect(), "all are shown");
    for word in all.iter().filter(|word| *word != "word-set") {
        asks_again(word, |rig| change(rig, word));
    }
}

#[test]
fn every_text_of_the_workflow_that_was_shown_is_asked_for_again_when_it_is_another() {
    let all = words(&shown(&asked()), "literal-");
    assert_eq!(all.len(), 3, "{all:?}");
    let edits = all.iter().map(|word| (word.clone(), "another".to_owned())).chain(
        [
            ("Literal-text", "Another text"),
            ("word-set", "word-other"),
            ("api refunds:create", "api refunds:put"),
            ("api mails:send", "api letters:send"),
            ("X-Kind: literal-header, ", ""),
            ("X-Kind: literal-header, ", "X-Kind: literal-header, X-More: x, "),
            ("kind: literal-with, ", ""),
            ("kind: literal-with, ", "kind: literal-with, more: x, "),
            ("      how: '${{ steps.first.output.answer.how }}'\n", ""),
            ("    body:\n", "    body:\n      more: x\n"),
            ("[{text:", "[more, {text:"),
        ]
        .map(|(old, new)| (old.to_owned(), new.to_owned())),
    );
    for (old, new) in edits {
        let text = SHOWN.replace(&old, &new);
        assert_ne!(text, SHOWN, "{old}");
        // Computed values are computed again, as in a resumption.
        asks_again(&format!("{old} → {new}"), |rig| {
            rig.flow = flow(&text);
            if old == "word-set" {
                change(rig, "word-set");
            }
        });
    }
}

#[test]
fn another_catalog_is_asked_for_again() {
    asks_again("catalog", |rig| rig.world.catalog += 1);
}

/// Changes to values that were not shown, the passing of time and process restarts do not void an
/// approval.
#[test]
fn nothing_that_was_shown_is_another_and_nobody_is_asked_again() {
    type Harmless = (&'static str, fn(&mut Rig));
    let harmless: [Harmless; 6] = [
        ("nothing", |_| {}),
        ("a restart", Rig::die),
        ("two restarts and a year", |rig| {
            rig.die();
            rig.now_ms += 1;
            rig.die();
        }),
        ("an item that is not read", |rig| change(rig, "word-unseen")),
        ("a field that is not read", |rig| change(rig, "word-unread")),
        ("a text that shows nothing", |rig| {
            rig.flow = flow(&SHOWN.replace("prompt: Write it", "prompt: Write that"));
        }),
    ];
    for (what, change) in harmless {
        for before_the_answer in [true, false] {
            let mut rig = if before_the_answer { asked() } else { approved() };
            change(&mut rig);
            rig.open().settle();
            if before_the_answer {
                rig.decide("ok", true);
            }
            rig.die();
            rig.play(willing);
            assert_eq!(questions(&rig), 1, "{what}: {}", rendering::journal(&rig));
            assert_eq!(rendering::stands(&rig), "succeeded", "{what}");
            assert_eq!(sent(&rig), ["pay", "mail"], "{what}");
        }
    }
}

/// An approval does not cover a request that was added later.
#[test]
fn a_request_that_was_added_is_asked_for() {
    let more = "  - {id: more, depends_on: [ok], run: api refunds:create, body: {n: 1}}\n";
    let text = format!("{SHOWN}{more}");
    asks_again("a request more", |rig| rig.flow = flow(&text));
}
