//! People decide, and exactly what they decided on is done.

use expect_test::expect;
use milepost_engine::event::{ActorKind, Event, Presence};
use milepost_engine::signal::Signal;
use milepost_engine::state::{Phase, Status};
use milepost_engine::{StepKey, view};
use serde_json::json;

use crate::rendering;
use crate::rig::{Rig, ok, person, status, willing};

const REFUND: &str = "
workflow: w
steps:
  - {id: look, run: api orders:get}
  - {id: ok, approve: 'Refund ${{ steps.look.output.total }}?'}
  - id: refund
    depends_on: [ok]
    run: api refunds:create
    body: {amount: '${{ steps.look.output.total }}'}
  - id: mail
    depends_on: [refund]
    run: api mails:send
    retry: {max_attempts: 2, on: [503], initial: 1s}
";

fn refund() -> Rig {
    let mut rig = Rig::new(REFUND);
    rig.on("look", &[ok(json!({"total": 30}))]).start();
    rig
}

#[test]
fn a_yes_lets_the_run_go_on_as_it_was_shown() {
    let mut rig = refund();
    rig.decide("ok", true);
    expect![[r#"
        attempt_started look #1 GET api orders:get
        attempt_succeeded look {"total":30}
        step_succeeded look
        approval_requested ok `Refund 30?` shows ["refund", "mail"], 0 changed
        approved ok
        step_succeeded ok {"approved":true,"by":"ada"}
        attempt_started refund #1 POST api refunds:create
        attempt_succeeded refund {"n":9,"of":"refund"}
        step_succeeded refund
        attempt_started mail #1 POST api mails:send
        attempt_succeeded mail {"n":9,"of":"mail"}
        step_succeeded mail
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_no_fails_the_step() {
    let mut rig = refund();
    rig.decide("ok", false);
    assert_eq!(
        rendering::stands(&rig),
        "failed APPROVAL_REJECTED: `ok` was rejected: not like this"
    );
}

#[test]
fn the_same_decision_again_is_the_same_decision() {
    let mut rig = refund();
    let decision = rig.decision("ok", true);
    let first = rig.send(Signal::Decide(decision.clone()));
    let count = rig.journal.len();
    assert_eq!(rig.send(Signal::Decide(decision.clone())), first);
    assert_eq!(rig.journal.len(), count);
    let mut other = decision;
    other.approve = false;
    let reply = rig.tell(Signal::Decide(other));
    assert_eq!(rendering::reply(&reply), "refused RUN_CONFLICT: `ok` is not asking for a decision");
}

#[test]
fn what_is_not_a_persons_decision_on_this_question_is_refused() {
    let mut rig = Rig::with(REFUND, &json!({}), |head| {
        head.presence = Presence::Pin;
        head.person = Some("key".to_owned());
    });
    rig.world.signature = Some("signed".to_owned());
    rig.on("look", &[ok(json!({"total": 30}))]).start();
    let right = {
        let mut right = rig.decision("ok", true);
        right.presence = Presence::Pin;
        right
    };
    let mut all = Vec::new();
    let mut wrong = |change: &dyn Fn(&mut milepost_engine::signal::DecisionSignal)| {
        let mut decision = right.clone();
        change(&mut decision);
        all.push(rendering::reply(&rig.tell(Signal::Decide(decision))));
    };
    wrong(&|one| one.digest = "another".to_owned());
    wrong(&|one| one.by.kind = ActorKind::Agent);
    wrong(&|one| one.by.kind = ActorKind::Engine);
    wrong(&|one| one.presence = Presence::Terminal);
    wrong(&|one| one.signature = None);
    wrong(&|one| one.signature = Some("forged".to_owned()));
    wrong(&|one| one.key = StepKey::of_walk("refund"));
    wrong(&|_| {});
    expect![[r#"
        refused RUN_CONFLICT: the question that `ok` asks has changed
        refused PRESENCE_REQUIRED: only a person can decide this
        refused PRESENCE_REQUIRED: only a person can decide this
        refused PRESENCE_REQUIRED: this decision needs the person's PIN
        refused PRESENCE_REQUIRED: the decision is not signed with the person's PIN
        refused PRESENCE_REQUIRED: the decision is not signed with the person's PIN
        refused RUN_CONFLICT: `refund` is not asking for a decision
        done
    "#]]
    .assert_eq(&(all.join("\n") + "\n"));
    assert_eq!(rendering::stands(&rig), "succeeded");
}

#[test]
fn a_form_and_a_list_of_people_hold() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - id: ok
    approve:
      message: How much?
      by: [ada, bob]
      form: {type: object, required: [amount], properties: {amount: {type: number}}}
final_output: '${{ steps.ok.output }}'
",
    );
    rig.start();
    let mut decision = rig.decision("ok", true);
    let mut all = Vec::new();
    all.push(rendering::reply(&rig.tell(Signal::Decide(decision.clone()))));
    decision.answer = Some(json!({"amount": 5}));
    decision.by = person("eve");
    all.push(rendering::reply(&rig.tell(Signal::Decide(decision.clone()))));
    decision.by = person("bob");
    all.push(rendering::reply(&rig.tell(Signal::Decide(decision))));
    all.push(rendering::stands(&rig));
    expect![[r#"
        refused PARAMS_INVALID: the answer does not match the form: null is not of type "object"
        refused PRESENCE_REQUIRED: only `ada` or `bob` may decide on `ok`
        done
        succeeded {"approved":true,"by":"bob","answer":{"amount":5}}
    "#]]
    .assert_eq(&(all.join("\n") + "\n"));
}

#[test]
fn a_question_lapses() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - id: ok
    approve: {message: Go?, expires: 1h, on_reject: {to: a}}
    depends_on: [a]
    on_error: continue
  - {id: a, set: {x: 1}}
  - {id: b, if: \"steps.ok.status == 'failed'\", set: {x: 2}}
",
    );
    rig.start();
    assert_eq!(rig.interpreter.wakes_at(), Some(rig.now_ms + 3_600_000));
    rig.pass(3_599_999);
    assert_eq!(rendering::stands(&rig), "waiting approval ok");
    rig.pass(1);
    expect![[r#"
        step_succeeded a {"x":1}
        approval_requested ok `Go?` shows [], 0 changed
        rejected ok
        step_failed ok APPROVAL_REJECTED: nobody answered `ok` in time
        step_succeeded b {"x":2}
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

const BACK: &str = "
workflow: w
steps:
  - {id: draft, prompt: Write it, verify: [{run: api spell:get, check: output.fine}]}
  - {id: shorten, depends_on: [draft], prompt: Shorten it}
  - {id: ok, depends_on: [shorten], approve: {message: Send it?, on_reject: {to: draft, max: 1}}}
  - {id: send, depends_on: [ok], run: api mails:send}
";

#[test]
fn a_no_goes_back_with_its_reason_as_often_as_it_may() {
    let mut rig = Rig::new(BACK);
    rig.on("draft::verify@0", &[ok(json!({"fine": true}))]);
    rig.start();
    rig.submit("draft", json!("text"));
    rig.submit("shorten", json!("txt"));
    rig.decide("ok", false);
    let briefs = view::briefs(&rig.flow, rig.state());
    assert_eq!(briefs[0].feedback.as_deref(), Some("not like this"));
    // Submitting the same output again is a new attempt.
    assert_eq!(rendering::reply(&rig.submit("draft", json!("text"))), "accepted draft");
    rig.submit("shorten", json!("tx"));
    rig.decide("ok", false);
    expect![[r#"
        prompt_offered draft #1
        submission_received draft #1 "text"
        attempt_started draft::verify@0 #1 GET api spell:get
        attempt_succeeded draft::verify@0 {"fine":true}
        step_succeeded draft::verify@0
        submission_accepted draft #1 "text"
        step_succeeded draft
        prompt_offered shorten #1
        submission_accepted shorten #1 "txt"
        step_succeeded shorten
        approval_requested ok `Send it?` shows ["send"], 0 changed
        rejected ok
        went_back ok to draft, again draft shorten ok send
        prompt_offered draft #2
        submission_received draft #2 "text"
        attempt_started draft::verify@0 #1 GET api spell:get
        attempt_succeeded draft::verify@0 {"fine":true}
        step_succeeded draft::verify@0
        submission_accepted draft #2 "text"
        step_succeeded draft
        prompt_offered shorten #2
        submission_accepted shorten #2 "tx"
        step_succeeded shorten
        approval_requested ok `Send it?` shows ["send"], 0 changed
        rejected ok
        step_failed ok APPROVAL_REJECTED: `ok` was rejected: not like this
        run_failed ok `ok` was rejected: not like this
        = failed APPROVAL_REJECTED: `ok` was rejected: not like this
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn going_back_waits_for_what_is_on_its_way() {
    let mut rig = Rig::new(
        "
workflow: w
concurrency: 3
steps:
  - {id: a, set: {x: 1}}
  - {id: pay, depends_on: [a], run: api pay:create}
  - {id: ok, depends_on: [a], approve: {message: Fine?, on_reject: {to: a, max: 1}}}
  - {id: later, depends_on: [pay], run: api later:get}
",
    );
    rig.on("pay", &[ok(json!(1)).after(5_000), ok(json!(2))]).open();
    rig.send(Signal::Decide(rig.decision("ok", false)));
    assert_eq!(rendering::stands(&rig), "running");
    rig.settle();
    rig.play(willing);
    expect![[r#"
        step_succeeded a {"x":1}
        attempt_started pay #1 POST api pay:create
        approval_requested ok `Fine?` shows [], 0 changed
        rejected ok
        attempt_succeeded pay 1
        step_succeeded pay
        went_back ok to a, again a pay ok later
        step_succeeded a {"x":1}
        attempt_started pay #1 POST api pay:create
        approval_requested ok `Fine?` shows [], 0 changed
        attempt_succeeded pay 2
        step_succeeded pay
        attempt_started later #1 GET api later:get
        attempt_succeeded later {"n":9,"of":"later"}
        step_succeeded later
        approved ok
        step_succeeded ok {"approved":true,"by":"ada"}
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
    let keys: Vec<&str> = rig.world.sent.iter().map(|one| one.idempotency_key.as_str()).collect();
    assert_eq!(keys, ["r/pay", "r/pay~1", "r/later"]);
}

#[test]
fn an_approval_holds_only_for_what_was_shown() {
    let mut rig = refund();
    // The catalog has changed by the time the answer arrives, and so has the request.
    rig.world.catalog = 1;
    rig.decide("ok", true);
    assert_eq!(rendering::stands(&rig), "waiting approval ok");
    assert!(rig.world.sent.iter().all(|sent| sent.step == "look"), "nothing was sent");
    rig.decide("ok", true);
    expect![[r#"
        attempt_started look #1 GET api orders:get
        attempt_succeeded look {"total":30}
        step_succeeded look
        approval_requested ok `Refund 30?` shows ["refund", "mail"], 0 changed
        approved ok
        step_succeeded ok {"approved":true,"by":"ada"}
        approval_voided ok: [{"POST api refunds:create":{"body":{"amount":30}}},{"digest":"0api refunds:create{\"body\":{\"amount\":30}}"}] → [{"POST api refunds:create":{"body":{"amount":30}}},{"digest":"1api refunds:create{\"body\":{\"amount\":30}}"}]; [{"POST api mails:send":{}},{"digest":"0api mails:send{}"}] → [{"POST api mails:send":{}},{"digest":"1api mails:send{}"}]
        approval_requested ok `Refund 30?` shows ["refund", "mail"], 2 changed
        approved ok
        step_succeeded ok {"approved":true,"by":"ada"}
        attempt_started refund #1 POST api refunds:create
        attempt_succeeded refund {"n":9,"of":"refund"}
        step_succeeded refund
        attempt_started mail #1 POST api mails:send
        attempt_succeeded mail {"n":9,"of":"mail"}
        step_succeeded mail
        run_succeeded
        = succeeded
    "#]].assert_eq(&rendering::journal(&rig));
}

#[test]
fn what_is_sent_again_has_to_be_what_was_shown_too() {
    let mut rig = refund();
    rig.on("mail", &[status(503), ok(json!("sent"))]);
    rig.send(Signal::Decide(rig.decision("ok", true)));
    while !matches!(rig.state().phase(&StepKey::of_walk("mail")), Phase::Backoff(_)) {
        assert!(rig.turn());
    }
    rig.world.catalog = 1;
    rig.settle();
    assert_eq!(rendering::stands(&rig), "waiting approval ok");
    let mails = |rig: &Rig| rig.world.sent.iter().filter(|sent| sent.step == "mail").count();
    assert_eq!(mails(&rig), 1, "nothing is sent while a person is asked");
    rig.decide("ok", true);
    assert_eq!((rendering::stands(&rig).as_str(), mails(&rig)), ("succeeded", 2));
}

const CONFIRMED: &str = "
workflow: w
steps:
  - {id: a, prompt: Do it, require_confirmation: true, max_attempts: 3}
  - {id: b, depends_on: [a], run: api b:create}
";

#[test]
fn a_person_confirms_every_submission() {
    let mut rig = Rig::new(CONFIRMED);
    rig.start();
    rig.submit("a", json!("one"));
    rig.decide("a", false);
    rig.submit("a", json!("two"));
    assert_eq!(rendering::stands(&rig), "waiting approval a");
    rig.decide("a", true);
    expect![[r#"
        prompt_offered a #1
        submission_accepted a #1 "one"
        approval_requested a `Confirm what was handed in for `a`?` shows ["b"], 0 changed
        rejected a
        submission_rejected a #1 a person rejected it: not like this
        prompt_offered a #2
        submission_accepted a #2 "two"
        approval_requested a `Confirm what was handed in for `a`?` shows ["b"], 0 changed
        approved a
        step_succeeded a
        attempt_started b #1 POST api b:create
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_confirmation_is_asked_again_when_what_hangs_on_it_changed() {
    let mut rig = Rig::new(CONFIRMED);
    rig.start();
    rig.submit("a", json!("one"));
    rig.world.catalog = 1;
    rig.decide("a", true);
    assert_eq!(rendering::stands(&rig), "waiting approval a");
    rig.decide("a", true);
    assert_eq!(rendering::stands(&rig), "succeeded");
}

#[test]
fn nothing_changed_means_nobody_is_asked_again() {
    let mut rig = refund();
    rig.die();
    rig.decide("ok", true);
    rig.die();
    rig.play(willing);
    let asked = rig.journal.iter().filter(|entry| entry.event.name() == "approval_requested");
    assert_eq!(asked.count(), 1);
}

/// The time shown to a person is the time that is sent; otherwise no request containing the time
/// could ever be approved.
#[test]
fn a_request_that_names_the_time_is_asked_for_once() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: ok, approve: 'Send it at ${{ now() }}?'}
  - {id: send, depends_on: [ok], run: api a:create, body: {at: '${{ now() }}'}}
  - {id: sure, depends_on: [send], approve: And that?}
  - {id: more, depends_on: [sure], run: api a:create, body: {at: '${{ now() }}'}}
",
    );
    rig.start().pass(3_600_000);
    let shown = rig.waiting();
    rig.decide("ok", true);
    rig.pass(3_600_000).decide("sure", true);
    assert_eq!(rendering::stands(&rig), "succeeded");
    let asked = rendering::journal(&rig).matches("approval_requested").count();
    assert_eq!(asked, 2, "{shown:?}");
}

#[test]
fn the_configuration_says_yes_where_nobody_is_there() {
    let unattended = |text: &str| {
        let mut rig = Rig::with(text, &json!({}), |head| head.presence = Presence::Policy);
        rig.on("look", &[ok(json!({"total": 30}))]).start();
        rig
    };
    let rig = unattended(REFUND);
    assert_eq!(rendering::stands(&rig), "succeeded");
    let journal = rendering::journal(&rig);
    assert!(journal.contains(r#"step_succeeded ok {"approved":true,"by":"policy"}"#), "{journal}");
    // A policy fills in no form and is not one of the named people.
    for asks in ["form: {type: object}", "by: [ada]"] {
        let question = format!("{{message: Refund?, {asks}}}");
        let text = REFUND.replace("'Refund ${{ steps.look.output.total }}?'", &question);
        assert_eq!(unattended(&text).status(), Status::Waiting, "{asks}");
    }
}

/// Open questions of a failed run are withdrawn: the run ends, and nobody is waiting for an answer.
#[test]
fn a_run_that_failed_asks_for_nothing_more() {
    let mut rig = Rig::new(
        "
workflow: w
concurrency: 4
steps:
  - {id: ask, approve: Go?}
  - {id: work, prompt: Do it}
  - {id: each, for_each: [1, 2], prompt: 'Do ${{ item }}'}
  - {id: bad, run: api a:get}
  - {id: late, depends_on: [ask, work, each], run: api b:create}
finally:
  - {id: z, run: api z:create}
",
    );
    rig.on("bad", &[status(400).after(50)]).start();
    expect![[r#"
        approval_requested ask `Go?` shows ["late"], 0 changed
        prompt_offered work #1
        step_scheduled each 2 items
        prompt_offered each@0 #1
        attempt_started bad #1 GET api a:get
        attempt_failed bad Status(400), no more
        step_failed bad UPSTREAM_REJECTED: Status(400)
        step_canceled ask
        step_canceled each@0
        step_canceled work
        step_canceled each
        attempt_started z #1 POST api z:create
        attempt_succeeded z {"n":9,"of":"z"}
        step_succeeded z
        run_failed bad Status(400)
        = failed UPSTREAM_REJECTED: Status(400)
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

const LISTED: &str = "
workflow: w
inputs: {names: {type: array}}
steps:
  - {id: ok, approve: Go?}
  - id: each
    depends_on: [ok]
    for_each: '${{ inputs.names }}'
    run: api mails:send
    with: {to: '${{ item }}'}
  - {id: sub, depends_on: [ok], run: workflow other, with: {all: '${{ inputs.names }}'}}
";

fn asked(rig: &Rig) -> Vec<String> {
    let last = rig.journal.iter().rev().find_map(|entry| match &entry.event {
        Event::ApprovalRequested(request) => Some(request),
        _ => None,
    });
    let last = last.expect("somebody is asked");
    last.shown
        .iter()
        .map(|shown| format!("{} {} {}", shown.key, shown.request, shown.arguments))
        .collect()
}

/// A list is shown item by item, and an inner workflow with its inputs.
#[test]
fn every_item_of_a_list_and_every_workflow_is_shown() {
    let mut rig = Rig::with(LISTED, &json!({"names": ["ada", "bob"]}), |_| {});
    rig.start();
    expect![[r#"
        each@0 POST api mails:send {"with":{"to":"ada"}}
        each@1 POST api mails:send {"with":{"to":"bob"}}
        sub workflow other {"all":["ada","bob"]}"#]]
    .assert_eq(&asked(&rig).join("\n"));
    rig.decide("ok", true);
    assert_eq!(rig.world.sent.len(), 2);
    let questions = rig.journal.iter().filter(|entry| entry.event.name() == "approval_requested");
    assert_eq!(questions.count(), 1, "nothing changed, so nobody is asked again");
}

/// The request for an item must be the one that was shown for it.
#[test]
fn an_item_that_differs_is_asked_for_again() {
    let mut rig = Rig::with(LISTED, &json!({"names": ["ada", "bob", "eve"]}), |_| {});
    rig.on("each@0", &[ok(json!(1))]).start();
    rig.send(Signal::Decide(rig.decision("ok", true)));
    while rig.state().phase(&StepKey::of_walk("each@0")) != &Phase::Succeeded {
        assert!(rig.turn());
    }
    // The second request is in flight by now.
    rig.world.catalog = 1;
    rig.settle();
    assert_eq!(rendering::stands(&rig), "waiting approval ok");
    let sent: Vec<&str> = rig.world.sent.iter().map(|sent| sent.step.as_str()).collect();
    assert_eq!(sent, ["each@0", "each@1"]);
    rig.decide("ok", true);
    assert_eq!((rendering::stands(&rig).as_str(), rig.world.sent.len()), ("succeeded", 3));
}

/// A list that is too long to read is named, but its requests are not shown.
#[test]
fn a_long_list_is_named_and_goes_on() {
    let names: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let mut rig = Rig::with(LISTED, &json!({"names": names}), |_| {});
    rig.start();
    assert_eq!(asked(&rig).len(), 1, "the workflow alone");
    rig.decide("ok", true);
    assert_eq!(rig.world.sent.len(), 101);
}
