//! Requests: retried, polled, with unknown outcomes, started as child runs, and counted against
//! budgets.

use expect_test::{Expect, expect};
use milepost_engine::Failure;
use milepost_engine::event::{BudgetKind, ChildOutcome, Parent, Proof, Settlement};
use milepost_engine::resume::{self, ResumeRequest};
use milepost_engine::signal::Signal;
use milepost_engine::{StepKey, limits};
use milepost_model::problem::Code;
use serde_json::json;

use crate::rendering;
use crate::rig::{Reaction, Rig, broken, budget, ok, person, status, timeout, unreachable};

fn check(step: &str, reactions: &[Reaction], expected: &Expect) {
    let mut rig = Rig::new(&format!("workflow: w\nsteps:\n  - {{id: a, {step}}}\n"));
    rig.on("a", reactions).start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_read_is_tried_three_times() {
    check(
        "run: api a:get",
        &[status(503)],
        &expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_failed a Status(503), at 601
        timer_fired a
        attempt_started a #2 GET api a:get
        attempt_failed a Status(503), at 1777
        timer_fired a
        attempt_started a #3 GET api a:get
        attempt_failed a Status(503), no more
        step_failed a UPSTREAM_REJECTED: Status(503)
        run_failed a Status(503)
        = failed UPSTREAM_REJECTED: Status(503)
    "#]],
    );
}

#[test]
fn what_is_no_passing_trouble_is_not_tried_again() {
    check(
        "run: api a:get",
        &[status(500)],
        &expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_failed a Status(500), no more
        step_failed a UPSTREAM_REJECTED: Status(500)
        run_failed a Status(500)
        = failed UPSTREAM_REJECTED: Status(500)
    "#]],
    );
    check(
        "run: api a:get",
        &[timeout(false)],
        &expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_failed a Timeout, no more
        step_failed a UPSTREAM_TIMEOUT: Timeout
        run_failed a Timeout
        = failed UPSTREAM_TIMEOUT: Timeout
    "#]],
    );
}

#[test]
fn a_put_is_repeated_when_the_connection_breaks() {
    check(
        "run: api a:put",
        &[broken(true), ok(json!(1))],
        &expect![[r#"
        attempt_started a #1 PUT api a:put
        attempt_failed a Network, at 601
        timer_fired a
        attempt_started a #2 PUT api a:put
        attempt_succeeded a 1
        step_succeeded a
        run_succeeded
        = succeeded
    "#]],
    );
}

#[test]
fn a_post_is_not_repeated_by_default() {
    check(
        "run: api a:create",
        &[status(503)],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_failed a Status(503), no more
        step_failed a UPSTREAM_REJECTED: Status(503)
        run_failed a Status(503)
        = failed UPSTREAM_REJECTED: Status(503)
    "#]],
    );
    check(
        "run: api a:create",
        &[unreachable()],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_failed a Network, no more
        step_failed a UPSTREAM_FAILED: Network
        run_failed a Network
        = failed UPSTREAM_FAILED: Network
    "#]],
    );
}

#[test]
fn an_author_says_how_often_and_on_what() {
    check(
        "run: api a:create, retry: {max_attempts: 4, on: [429, 503], initial: 1s, jitter: false}",
        &[status(429), status(503), status(429).asking(60_000), status(500)],
        &expect![[r#"
            attempt_started a #1 POST api a:create
            attempt_failed a Status(429), at 1010
            timer_fired a
            attempt_started a #2 POST api a:create
            attempt_failed a Status(503), at 3020
            timer_fired a
            attempt_started a #3 POST api a:create
            attempt_failed a Status(429), at 63030
            timer_fired a
            attempt_started a #4 POST api a:create
            attempt_failed a Status(500), no more
            step_failed a UPSTREAM_REJECTED: Status(500)
            run_failed a Status(500)
            = failed UPSTREAM_REJECTED: Status(500)
        "#]],
    );
    check(
        "run: api a:get, retry: {max_attempts: 3, on: [timeout, 5xx], backoff: fixed, initial: 2s}",
        &[timeout(false), status(500), ok(json!(1))],
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_failed a Timeout, at 2010
            timer_fired a
            attempt_started a #2 GET api a:get
            attempt_failed a Status(500), at 4020
            timer_fired a
            attempt_started a #3 GET api a:get
            attempt_succeeded a 1
            step_succeeded a
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn a_server_that_asks_for_too_long_a_pause_is_not_asked_again() {
    check(
        "run: api a:get",
        &[status(429).asking(limits::RETRY_AFTER_MAX_MS + 1)],
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_failed a Status(429), no more
            step_failed a UPSTREAM_REJECTED: Status(429)
            run_failed a Status(429)
            = failed UPSTREAM_REJECTED: Status(429)
        "#]],
    );
}

#[test]
fn pauses_grow_up_to_their_bound() {
    let text = "run: api a:get, retry: {max_attempts: 5, initial: 1s, max: 3s, jitter: false}";
    check(
        text,
        &[status(503)],
        &expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_failed a Status(503), at 1010
        timer_fired a
        attempt_started a #2 GET api a:get
        attempt_failed a Status(503), at 3020
        timer_fired a
        attempt_started a #3 GET api a:get
        attempt_failed a Status(503), at 6030
        timer_fired a
        attempt_started a #4 GET api a:get
        attempt_failed a Status(503), at 9040
        timer_fired a
        attempt_started a #5 GET api a:get
        attempt_failed a Status(503), no more
        step_failed a UPSTREAM_REJECTED: Status(503)
        run_failed a Status(503)
        = failed UPSTREAM_REJECTED: Status(503)
    "#]],
    );
}

#[test]
fn a_post_whose_end_nobody_saw_waits_for_a_person() {
    let authored = "run: api a:create, retry: {max_attempts: 5}";
    check(
        authored,
        &[broken(true)],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_unknown a Network
        = waiting unknown a
    "#]],
    );
    check(
        authored,
        &[timeout(false)],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_unknown a Timeout
        = waiting unknown a
    "#]],
    );
    // A gateway timeout says nothing about the server behind it.
    check(
        authored,
        &[status(504)],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_unknown a Status(504)
        = waiting unknown a
    "#]],
    );
}

#[test]
fn the_author_who_names_a_gateways_status_knows_the_server() {
    let authored = "run: api a:create, retry: {max_attempts: 2, on: [504]}";
    check(
        authored,
        &[status(504), ok(json!(1))],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_failed a Status(504), at 601
        timer_fired a
        attempt_started a #2 POST api a:create
        attempt_succeeded a 1
        step_succeeded a
        run_succeeded
        = succeeded
    "#]],
    );
}

#[test]
fn an_authors_word_makes_a_post_repeatable() {
    let authored = "run: api a:create, idempotent: true";
    check(
        authored,
        &[broken(true), ok(json!(1))],
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_failed a Network, at 601
        timer_fired a
        attempt_started a #2 POST api a:create
        attempt_succeeded a 1
        step_succeeded a
        run_succeeded
        = succeeded
    "#]],
    );
}

fn unknown() -> Rig {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: a, run: api a:create}
final_output: '${{ steps.a.output }}'
",
    );
    rig.on("a", &[broken(true), ok(json!({"id": 7}))]).start();
    rig
}

fn check_decision(decision: Settlement, expected: &Expect) {
    let mut rig = unknown();
    let reply = rig.say("a", decision);
    let sent: Vec<String> = rig.world.sent.iter().map(|one| one.idempotency_key.clone()).collect();
    let told = format!("{}{}\n{sent:?}\n", rendering::journal(&rig), rendering::reply(&reply));
    expected.assert_eq(&told);
}

#[test]
fn a_person_says_what_became_of_it() {
    check_decision(
        Settlement::Happened { output: json!({"id": 9}) },
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_unknown a Network
        outcome_decided a Happened { output: Object {"id": Number(9)} }
        step_succeeded a
        run_succeeded {"id":9}
        = succeeded {"id":9}
        done
        ["r/a"]
    "#]],
    );
    check_decision(
        Settlement::DidNot,
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_unknown a Network
        outcome_decided a DidNot
        attempt_started a #1 POST api a:create
        attempt_succeeded a {"id":7}
        step_succeeded a
        run_succeeded {"id":7}
        = succeeded {"id":7}
        done
        ["r/a", "r/a"]
    "#]],
    );
    check_decision(
        Settlement::GiveUp,
        &expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_unknown a Network
        outcome_decided a GiveUp
        step_failed a UPSTREAM_FAILED: Network
        run_failed a Network
        = failed UPSTREAM_FAILED: Network
        done
        ["r/a"]
    "#]],
    );
}

/// A stopped process may wake up and still send its request: before the deadline, nobody can know
/// that the request did not happen.
#[test]
fn that_it_did_not_happen_is_said_after_it_could_have() {
    let mut rig = unknown();
    rig.world.arrives_ms = 60_000;
    let settle = |decision: Settlement| Signal::Settle {
        key: StepKey::of_walk("a"),
        asked: None,
        by: person("ada"),
        decision,
        proof: Some(Proof::at_terminal()),
    };
    let early = rendering::reply(&rig.tell(settle(Settlement::DidNot)));
    let said = "refused RUN_CONFLICT: the request for `a` may still arrive until \
                2027-01-15T08:01:00.000Z: until then you cannot record that it did not happen, \
                and it is not sent again";
    assert_eq!(early, said);
    assert_eq!(rig.world.sent.len(), 1);
    rig.now_ms += 60_000;
    assert_eq!(rendering::reply(&rig.tell(settle(Settlement::DidNot))), "done");
    // Giving up is not a way around it either.
    let mut rig = unknown();
    rig.world.arrives_ms = 60_000;
    assert_eq!(rendering::reply(&rig.tell(settle(Settlement::GiveUp))), "done");
    let again = |rig: &mut Rig| {
        let mut wanted = ResumeRequest::of(rig.state(), person("ada"));
        wanted.deadline_ms = rig.now_ms + 60_000;
        let planned = resume::plan(&rig.flow, &rig.flow, rig.state(), &rig.world, &wanted);
        let resumption = Box::new(planned.expect("can be resumed").resumption);
        let signal = Signal::Resume { seq: rig.state().seq, resumption };
        rendering::reply(&rig.tell(signal))
    };
    assert_eq!(again(&mut rig), said);
    rig.now_ms += 60_000;
    assert_eq!(again(&mut rig), "done");
    // A person may know at once that the request did happen.
    let mut rig = unknown();
    rig.world.arrives_ms = 60_000;
    let happened = settle(Settlement::Happened { output: json!({"id": 9}) });
    assert_eq!(rendering::reply(&rig.tell(happened)), "done");
}

#[test]
fn only_a_person_says_so_and_only_once() {
    let mut rig = unknown();
    let (key, decision) = (StepKey::of_walk("a"), Settlement::DidNot);
    let by_agent = milepost_engine::signal::Signal::Settle {
        key: key.clone(),
        asked: None,
        by: crate::rig::agent(),
        decision: decision.clone(),
        proof: Some(Proof::at_terminal()),
    };
    let refused = rig.tell(by_agent);
    expect!["refused PRESENCE_REQUIRED: only a person can decide this"]
        .assert_eq(&rendering::reply(&refused));
    rig.on("a", &[broken(true), broken(true)]);
    let asked = rig.state().step(&key).and_then(|step| step.asked);
    let by = person("ada");
    let word = milepost_engine::signal::Signal::Settle {
        key,
        asked,
        by,
        decision,
        proof: Some(Proof::at_terminal()),
    };
    assert_eq!(rendering::reply(&rig.tell(word.clone())), "done");
    // The request was sent again and is unknown again, but the answer was about the first time.
    let twice = rig.tell(word);
    expect!["refused RUN_CONFLICT: the question that `a` asks has changed"]
        .assert_eq(&rendering::reply(&twice));
    rig.say("a", Settlement::GiveUp);
    let late = rig.say("a", Settlement::GiveUp);
    expect!["refused RUN_CONFLICT: the outcome of `a` is not in question"]
        .assert_eq(&rendering::reply(&late));
}

#[test]
fn polling_ends_when_its_condition_holds() {
    check(
        "run: api a:get, with: {seen: '${{ steps.self.?output.?n.orValue(0) }}'}, \
         repeat: {until: output.n >= 2, every: 3s}",
        &[ok(json!({"n": 1})), status(503), ok(json!({"n": 2}))],
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":1}
            timer_set a at 3010
            timer_fired a
            attempt_started a #1 GET api a:get
            attempt_failed a Status(503), at 3569
            timer_fired a
            attempt_started a #2 GET api a:get
            attempt_succeeded a {"n":2}
            step_succeeded a
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn polling_has_its_bounds() {
    let polls = |bound: &str| format!("run: api a:get, repeat: {{until: output.n > 9, {bound}}}");
    check(
        &polls("every: 1s, max_attempts: 2"),
        &[ok(json!({"n": 1}))],
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":1}
            timer_set a at 1010
            timer_fired a
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":1}
            step_failed a REPEAT_EXHAUSTED: `repeat.until` in `a` did not hold within 1 s (passes: 2)
            run_failed a `repeat.until` in `a` did not hold within 1 s (passes: 2)
            = failed REPEAT_EXHAUSTED: `repeat.until` in `a` did not hold within 1 s (passes: 2)
        "#]],
    );
    check(
        &polls("every: 4s, timeout: 9s"),
        &[ok(json!({"n": 1}))],
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":1}
            timer_set a at 4010
            timer_fired a
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":1}
            timer_set a at 8020
            timer_fired a
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":1}
            step_failed a REPEAT_EXHAUSTED: `repeat.until` in `a` did not hold within 8 s (passes: 3)
            run_failed a `repeat.until` in `a` did not hold within 8 s (passes: 3)
            = failed REPEAT_EXHAUSTED: `repeat.until` in `a` did not hold within 8 s (passes: 3)
        "#]],
    );
}

#[test]
fn every_pass_is_another_request_to_the_server() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: a, run: api a:create, repeat: {until: output.n == 2, every: 1s}}
",
    );
    rig.on("a", &[ok(json!({"n": 1})), ok(json!({"n": 2}))]).start();
    let keys: Vec<&str> = rig.world.sent.iter().map(|one| one.idempotency_key.as_str()).collect();
    assert_eq!(keys, ["r/a", "r/a/1"]);
}

const PARENT: &str = "
workflow: w
steps:
  - {id: a, run: workflow other, with: {x: 1}}
  - {id: b, run: api b:get}
final_output: '${{ steps.a.output }}'
";

fn check_child(outcome: ChildOutcome, expected: &Expect) {
    let mut rig = Rig::new(PARENT);
    rig.child("other", 50, outcome).start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn another_workflow_is_a_step() {
    check_child(
        ChildOutcome::Succeeded { output: json!(5) },
        &expect![[r#"
        child_started a
        child_finished a 5
        step_succeeded a
        attempt_started b #1 GET api b:get
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        run_succeeded 5
        = succeeded 5
    "#]],
    );
    let failure = Failure::new(Code::FailedByAuthor, "no", "");
    check_child(
        ChildOutcome::Failed { failure },
        &expect![[r#"
        child_started a
        child_finished a no
        step_failed a FAILED_BY_AUTHOR: no
        run_failed a no
        = failed FAILED_BY_AUTHOR: no
    "#]],
    );
    check_child(
        ChildOutcome::Canceled,
        &expect![[r#"
        child_started a
        child_finished a canceled
        step_failed a RUN_CANCELED: the workflow it runs was canceled
        run_failed a the workflow it runs was canceled
        = failed RUN_CANCELED: the workflow it runs was canceled
    "#]],
    );
}

#[test]
fn workflows_run_inside_each_other_only_so_deep() {
    let mut rig = Rig::with(PARENT, &json!({}), |head| {
        let (run, key) = ("above".to_owned(), StepKey::of_walk("x"));
        head.parent = Some(Parent { run, key, depth: limits::DEPTH - 1 });
    });
    rig.start();
    expect!["failed RUN_CONFLICT: more than 16 nested workflows"]
        .assert_eq(&rendering::stands(&rig));
}

/// Child runs spend from the budget of the run that started them.
fn check_shared(text: &str, limit: u64, calls: u64, expected: &Expect) {
    let mut rig = Rig::with(text, &json!({"all": [1, 2, 3]}), budget(BudgetKind::HttpCalls, limit));
    rig.world.child_calls = calls;
    rig.start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_budget_covers_the_runs_of_steps() {
    check_shared(
        PARENT,
        5,
        4,
        &expect![[r#"
        child_started a with 5 http_calls
        child_finished a {"child":"other"} after 4 calls
        budget_warned HttpCalls 4 of 5
        step_succeeded a
        attempt_started b #1 GET api b:get
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        run_succeeded {"child":"other"}
        = succeeded {"child":"other"}
    "#]],
    );
    check_shared(
        PARENT,
        5,
        5,
        &expect![[r#"
        child_started a with 5 http_calls
        child_finished a {"child":"other"} after 5 calls
        budget_warned HttpCalls 5 of 5
        step_succeeded a
        budget_reached HttpCalls 5
        = waiting budget HttpCalls
    "#]],
    );
}

#[test]
fn runs_abreast_share_what_is_left() {
    let text = "
workflow: w
inputs: {all: {type: array}}
steps:
  - {id: a, for_each: '${{ inputs.all }}', concurrency: 2, run: workflow other}
  - {id: b, run: api b:get}
";
    check_shared(
        text,
        5,
        1,
        &expect![[r#"
        step_scheduled a 3 items
        child_started a@0 with 3 http_calls
        child_started a@1 with 2 http_calls
        child_finished a@0 {"child":"other"} after 1 calls
        step_succeeded a@0
        child_started a@2 with 2 http_calls
        child_finished a@1 {"child":"other"} after 1 calls
        step_succeeded a@1
        child_finished a@2 {"child":"other"} after 1 calls
        step_succeeded a@2
        step_succeeded a [{"child":"other"},{"child":"other"},{"child":"other"}]
        attempt_started b #1 GET api b:get
        budget_warned HttpCalls 4 of 5
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        run_succeeded
        = succeeded
    "#]],
    );
}

#[test]
fn runs_one_after_the_other_have_all_that_is_left() {
    let text = "
workflow: w
concurrency: 4
steps:
  - {id: a, run: workflow other}
  - {id: b, run: workflow other, depends_on: [a]}
finally:
  - {id: c, run: workflow other}
";
    check_shared(
        text,
        9,
        3,
        &expect![[r#"
        child_started a with 9 http_calls
        child_finished a {"child":"other"} after 3 calls
        step_succeeded a
        child_started b with 6 http_calls
        child_finished b {"child":"other"} after 3 calls
        step_succeeded b
        child_started c with 3 http_calls
        child_finished c {"child":"other"} after 3 calls
        budget_warned HttpCalls 9 of 9
        step_succeeded c
        run_succeeded
        = succeeded
    "#]],
    );
}

/// The part of a budget reserved by a child run is not available to other steps until the child
/// returns it.
#[test]
fn a_run_goes_on_when_something_is_left_again() {
    let text = "
workflow: w
inputs: {all: {type: array}}
concurrency: 2
steps:
  - {id: a, run: workflow other}
  - {id: b, for_each: '${{ inputs.all }}', run: api b:get}
";
    let mut rig = Rig::with(text, &json!({"all": [1, 2, 3]}), budget(BudgetKind::HttpCalls, 4));
    rig.world.child_calls = 1;
    rig.child("other", 5_000, ChildOutcome::Succeeded { output: json!(5) }).start();
    expect![[r#"
        child_started a with 2 http_calls
        step_scheduled b 3 items
        attempt_started b@0 #1 GET api b:get
        attempt_succeeded b@0 {"n":9,"of":"b@0"}
        step_succeeded b@0
        attempt_started b@1 #1 GET api b:get
        attempt_succeeded b@1 {"n":9,"of":"b@1"}
        step_succeeded b@1
        budget_reached HttpCalls 4
        child_finished a 5 after 1 calls
        step_succeeded a
        attempt_started b@2 #1 GET api b:get
        budget_warned HttpCalls 4 of 4
        attempt_succeeded b@2 {"n":9,"of":"b@2"}
        step_succeeded b@2
        step_succeeded b [{"n":9,"of":"b@0"},{"n":9,"of":"b@1"},{"n":9,"of":"b@2"}]
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn canceling_a_run_cancels_those_it_started() {
    let mut rig = Rig::new(PARENT);
    rig.child("other", 5_000, ChildOutcome::Succeeded { output: json!(5) }).open();
    rig.cancel();
    expect![[r#"
        child_started a
        cancel_requested person ada
        child_finished a canceled
        step_canceled a
        run_canceled
        = canceled
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_polled_workflow_runs_anew_each_time() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: a, run: workflow other, repeat: {until: 'false', every: 1s, max_attempts: 2}}
",
    );
    rig.start();
    assert_eq!(rig.world.started.len(), 2);
}

const CALLS: &str = "
workflow: w
concurrency: 2
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create, depends_on: [a]}
  - {id: c, run: api c:get, depends_on: [b]}
finally:
  - {id: z, run: api z:delete}
";

fn check_budget(of: BudgetKind, limit: u64, expected: &Expect) {
    let mut rig = Rig::with(CALLS, &json!({}), budget(of, limit));
    rig.on("a", &[status(503), ok(json!(1))]).start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_budget_warns_and_then_parks_the_run() {
    check_budget(
        BudgetKind::HttpCalls,
        4,
        &expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_failed a Status(503), at 601
        timer_fired a
        attempt_started a #2 GET api a:get
        attempt_succeeded a 1
        step_succeeded a
        attempt_started b #1 POST api b:create
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        attempt_started c #1 GET api c:get
        budget_warned HttpCalls 4 of 4
        attempt_succeeded c {"n":9,"of":"c"}
        step_succeeded c
        budget_reached HttpCalls 4
        = waiting budget HttpCalls
    "#]],
    );
    check_budget(
        BudgetKind::HttpCalls,
        1,
        &expect![[r#"
        attempt_started a #1 GET api a:get
        budget_warned HttpCalls 1 of 1
        attempt_failed a Status(503), at 601
        timer_fired a
        budget_reached HttpCalls 1
        = waiting budget HttpCalls
    "#]],
    );
}

#[test]
fn only_what_changes_something_is_a_write() {
    check_budget(
        BudgetKind::Writes,
        1,
        &expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_failed a Status(503), at 601
        timer_fired a
        attempt_started a #2 GET api a:get
        attempt_succeeded a 1
        step_succeeded a
        attempt_started b #1 POST api b:create
        budget_warned Writes 1 of 1
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        attempt_started c #1 GET api c:get
        attempt_succeeded c {"n":9,"of":"c"}
        step_succeeded c
        budget_reached Writes 1
        = waiting budget Writes
    "#]],
    );
    check_budget(
        BudgetKind::Writes,
        0,
        &expect![[r#"
        attempt_started a #1 GET api a:get
        budget_warned Writes 0 of 0
        attempt_failed a Status(503), at 601
        timer_fired a
        attempt_started a #2 GET api a:get
        attempt_succeeded a 1
        step_succeeded a
        budget_reached Writes 0
        = waiting budget Writes
    "#]],
    );
}

#[test]
fn a_parked_run_can_still_be_stopped_and_tidies_up() {
    let mut rig = Rig::with(CALLS, &json!({}), budget(BudgetKind::HttpCalls, 1));
    rig.on("a", &[status(503), ok(json!(1))]).start();
    rig.cancel();
    assert_eq!(rendering::stands(&rig), "canceled");
    assert!(rig.world.sent.iter().any(|sent| sent.step == "z"));
}

#[test]
fn submissions_are_tries_too() {
    let text = "
workflow: w
steps:
  - {id: a, prompt: Look, validation: [{type: contains, value: yes, message: Say yes}]}
";
    let mut rig = Rig::with(text, &json!({}), budget(BudgetKind::Attempts, 2));
    rig.start();
    rig.submit("a", json!("no"));
    rig.submit("a", json!("nope"));
    expect![[r#"
        prompt_offered a #1
        submission_rejected a #1 Say yes
        prompt_offered a #2
        submission_rejected a #2 Say yes
        budget_warned Attempts 2 of 2
        budget_reached Attempts 2
        = waiting budget Attempts
    "#]]
    .assert_eq(&rendering::journal(&rig));
    assert_eq!(
        rig.tell(milepost_engine::signal::Signal::Pause { by: person("ada") }),
        milepost_engine::signal::Reply::Done
    );
}

/// Polling respects its time limit, no matter how many times a poll is retried.
#[test]
fn polling_is_over_in_time_though_it_is_tried_again() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - id: a
    run: api jobs:get
    repeat: {until: output.done == true, every: 1s, timeout: 3s}
    retry: {max_attempts: 50, on: [timeout], initial: 1s, backoff: fixed}
",
    );
    rig.on("a", &[timeout(false)]).start();
    assert!(rendering::stands(&rig).starts_with("failed"), "{}", rendering::stands(&rig));
    let took = rig.state().now_ms - crate::rig::START_MS;
    assert!(took <= 3_000, "{took} ms");
}
