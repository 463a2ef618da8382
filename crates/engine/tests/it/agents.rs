//! Agent steps: offered, judged, and verified against the world.

use expect_test::expect;
use milepost_engine::event::{CallAnswer, Settlement};
use milepost_engine::interpreter::{AttemptOutcome, InterpreterInput};
use milepost_engine::signal::{Signal, SubmissionSignal};
use milepost_engine::{StepKey, view};
use serde_json::{Map, json};

use crate::rendering;
use crate::rig::{Rig, agent, broken, ok, status, submit};

const RULES: &str = "
workflow: w
steps:
  - id: a
    prompt: Decide
    max_attempts: 3
    output_schema: {type: object, required: [why], properties: {why: {type: string}}}
    validation: [{type: contains, value: because, message: Say because}]
  - {id: b, prompt: 'Write down ${{ steps.a.output.why }}'}
final_output: '${{ steps.a.output.why }}'
";

fn rules() -> Rig {
    let mut rig = Rig::new(RULES);
    rig.start();
    rig
}

#[test]
fn an_output_meets_rules_and_schema_or_is_told_everything() {
    let mut rig = rules();
    let mut replies = Vec::new();
    for output in [json!("no"), json!({"why": 5}), json!("{\"why\": \"because\"}")] {
        replies.push(rendering::reply(&rig.submit("a", output)));
    }
    rig.submit("b", json!("written"));
    let told = format!("{}{}\n", rendering::journal(&rig), replies.join("\n"));
    expect![[r#"
        prompt_offered a #1
        submission_rejected a #1 The output does not match the step's schema; Say because
        prompt_offered a #2
        submission_rejected a #2 The output does not match the step's schema; /why: 5 is not of type "string"; Say because
        prompt_offered a #3
        submission_accepted a #3 {"why":"because"}
        step_succeeded a
        prompt_offered b #1
        submission_accepted b #1 "written"
        step_succeeded b
        run_succeeded "because"
        = succeeded "because"
        rejected a: The output does not match the step's schema; Say because, 2 left
        rejected a: The output does not match the step's schema; /why: 5 is not of type "string"; Say because, 1 left
        accepted a
    "#]].assert_eq(&told);
}

#[test]
fn a_later_step_is_never_told_early() {
    let mut rig = rules();
    let briefs = format!("{:?}", view::briefs(&rig.flow, rig.state()));
    assert!(briefs.contains("Decide") && !briefs.contains("Write down"));
    rig.submit("a", json!({"why": "because"}));
    let briefs = view::briefs(&rig.flow, rig.state());
    assert_eq!(briefs[0].prompt, "Write down because");
}

#[test]
fn tries_used_up_are_for_a_person_to_settle() {
    let settled = |decision: Settlement| {
        let mut rig = rules();
        for _ in 0..3 {
            let attempt = rig.state().steps.values().next().map(|step| step.offered);
            rig.tell(submit("a", attempt, json!("no")));
        }
        let waits = rendering::stands(&rig);
        let reply = rendering::reply(&rig.say("a", decision));
        format!("{waits}\n{reply}\n{}\n", rendering::stands(&rig))
    };
    expect![[r#"
        waiting exhausted a
        done
        waiting agent a
    "#]]
    .assert_eq(&settled(Settlement::DidNot));
    expect![[r#"
        waiting exhausted a
        done
        waiting agent b
    "#]]
    .assert_eq(&settled(Settlement::Happened { output: json!({"why": "I say so"}) }));
    expect![[r#"
        waiting exhausted a
        done
        failed SUBMISSIONS_EXHAUSTED: no submission for `a` was accepted, and no attempts are left
    "#]]
    .assert_eq(&settled(Settlement::GiveUp));
}

#[test]
fn the_same_submission_has_the_same_answer() {
    let mut rig = rules();
    let good = submit("a", Some(1), json!({"why": "because"}));
    let first = rig.tell(good.clone());
    let count = rig.journal.len();
    assert_eq!(rig.tell(good.clone()), first);
    assert_eq!(rig.journal.len(), count);
    rig.submit("b", json!("written"));
    // The answer can be repeated even after the end, for a sender who never received it.
    assert_eq!(rig.tell(good), first);
    let other = rig.tell(submit("a", None, json!({"why": "because not"})));
    assert_eq!(rendering::reply(&other), "refused RUN_CONFLICT: the run has ended");
}

#[test]
fn a_rejected_submission_that_is_delivered_again_costs_nothing() {
    let mut rig = rules();
    let first = rig.tell(submit("a", Some(1), json!("no")));
    let count = rig.journal.len();
    for _ in 0..12 {
        assert_eq!(rig.tell(submit("a", Some(1), json!("no"))), first);
    }
    assert_eq!(rig.journal.len(), count);
}

#[test]
fn the_same_wrong_output_uses_up_the_attempts() {
    let mut rig = rules();
    let mut replies: Vec<String> =
        (0..12).map(|_| rendering::reply(&rig.submit("a", json!("no")))).collect();
    replies.dedup();
    expect![[r#"
        rejected a: The output does not match the step's schema; Say because, 2 left
        rejected a: The output does not match the step's schema; Say because, 1 left
        rejected a: The output does not match the step's schema; Say because, 0 left
    "#]]
    .assert_eq(&(replies.join("\n") + "\n"));
    assert_eq!(rendering::stands(&rig), "waiting exhausted a");
}

#[test]
fn what_is_not_due_is_refused() {
    let mut rig = rules();
    let told = |rig: &mut Rig, signal: Signal| rendering::reply(&rig.tell(signal));
    let mut all = vec![
        told(&mut rig, submit("b", None, json!("early"))),
        told(&mut rig, submit("zzz", None, json!("no such step"))),
        told(&mut rig, submit("a", Some(2), json!({"why": "because"}))),
    ];
    let empty = SubmissionSignal {
        step: None,
        attempt: None,
        output: None,
        context: Map::new(),
        by: agent(),
    };
    all.push(told(&mut rig, Signal::Submit(empty)));
    rig.submit("a", json!("no"));
    all.push(told(&mut rig, submit("a", Some(1), json!({"why": "because"}))));
    rig.cancel();
    all.push(told(&mut rig, submit("a", Some(2), json!({"why": "because"}))));
    expect![[r#"
        refused STEP_NOT_DUE: step `b` is not due
        refused STEP_NOT_FOUND: the workflow has no step `zzz` that could be due
        refused STEP_NOT_DUE: `a` is now at attempt 1
        refused PARAMS_INVALID: nothing was submitted
        refused STEP_NOT_DUE: `a` is now at attempt 2
        refused RUN_CONFLICT: the run has ended
    "#]]
    .assert_eq(&(all.join("\n") + "\n"));
}

const CLAIM: &str = "
workflow: w
steps:
  - id: a
    prompt: Open a pull request
    max_attempts: 2
    verify:
      - {run: api pulls:get, check: output.open, message: There is no pull request}
      - {run: api tests:get, check: \"output.state == 'green'\"}
";

#[test]
fn a_claim_is_checked_against_the_world() {
    let mut rig = Rig::new(CLAIM);
    rig.on("a::verify@0", &[ok(json!({"open": false})), ok(json!({"open": true}))]);
    rig.on("a::verify@1", &[ok(json!({"state": "green"}))]);
    rig.start();
    let first = rig.submit("a", json!("done"));
    // The world has changed, so the same output is a new claim.
    let second = rig.submit("a", json!("done"));
    let told = [rendering::reply(&first), rendering::reply(&second)].join("\n");
    expect![[r#"
        prompt_offered a #1
        submission_received a #1 "done"
        attempt_started a::verify@0 #1 GET api pulls:get
        attempt_succeeded a::verify@0 {"open":false}
        step_failed a::verify@0 CLAIM_REFUTED: There is no pull request
        submission_rejected a #1 There is no pull request
        prompt_offered a #2
        submission_received a #2 "done"
        attempt_started a::verify@0 #1 GET api pulls:get
        attempt_succeeded a::verify@0 {"open":true}
        step_succeeded a::verify@0
        attempt_started a::verify@1 #1 GET api tests:get
        attempt_succeeded a::verify@1 {"state":"green"}
        step_succeeded a::verify@1
        submission_accepted a #2 "done"
        step_succeeded a
        run_succeeded
        = succeeded
        rejected a: There is no pull request, 1 left
        accepted a
    "#]]
    .assert_eq(&format!("{}{told}\n", rendering::journal(&rig)));
}

#[test]
fn a_check_that_could_not_be_made_costs_no_try() {
    let mut rig = Rig::new(CLAIM);
    rig.on("a::verify@0", &[status(400), ok(json!({"open": true}))]);
    rig.on("a::verify@1", &[ok(json!({"colour": "red"})), ok(json!({"state": "green"}))]);
    rig.start();
    let replies: Vec<String> =
        (0..3).map(|_| rendering::reply(&rig.submit("a", json!("done")))).collect();
    expect![[r#"
        rejected a: it could not be checked: Status(400), 2 left
        rejected a: it could not be checked: `verify.check` cannot be evaluated: `output` has no `state`: it has `colour`, 2 left
        accepted a
    "#]].assert_eq(&(replies.join("\n") + "\n"));
    assert_eq!(rendering::stands(&rig), "succeeded");
}

#[test]
fn a_check_whose_end_nobody_saw_waits_for_a_person() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: a, prompt: Do it, verify: [{run: api probe:create, check: output.fine}]}
",
    );
    rig.on("a::verify@0", &[broken(true)]).start();
    rig.send(submit("a", None, json!("done")));
    rig.settle();
    assert_eq!(rendering::stands(&rig), "waiting unknown a::verify@0");
    rig.say("a::verify@0", Settlement::Happened { output: json!({"fine": true}) });
    assert_eq!(rendering::stands(&rig), "succeeded");
}

#[test]
fn whoever_waits_for_a_check_hears_of_the_cancel() {
    let mut rig = Rig::new(CLAIM);
    rig.on("a::verify@0", &[ok(json!({"open": true})).after(9_000)]).start();
    assert_eq!(rig.send(submit("a", None, json!("done"))), None);
    assert_eq!(rig.send(submit("a", None, json!("done"))), None);
    let other = rig.send(submit("a", None, json!("something else")));
    assert_eq!(
        other.as_ref().map(rendering::reply).as_deref(),
        Some("refused STEP_NOT_DUE: another submission for `a` is being checked")
    );
    rig.cancel();
    let refused = rig.answers.iter().filter(|(id, _)| id == "s1" || id == "s2");
    let refused: Vec<String> = refused.map(|(_, reply)| rendering::reply(reply)).collect();
    assert_eq!(refused, ["refused RUN_CONFLICT: the run has ended"; 2]);
    assert_eq!(rendering::stands(&rig), "canceled");
}

/// The senders waiting for a verdict are part of the run: after a crash, the process that verifies
/// the claim also answers the senders of the previous process.
#[test]
fn who_waits_for_a_verdict_is_answered_by_the_next_driver() {
    let mut rig = Rig::new(CLAIM);
    rig.on("a::verify@0", &[ok(json!({"open": true}))]);
    rig.on("a::verify@1", &[ok(json!({"state": "green"}))]);
    rig.start();
    let claim = submit("a", Some(1), json!("done"));
    assert_eq!(rig.send(claim.clone()), None, "it is being checked");
    assert_eq!(rig.send(claim), None, "so is the same once more");
    rig.die();
    rig.settle();
    for sender in ["s1", "s2"] {
        let reply = rig.answer(sender).expect("is answered");
        assert_eq!(rendering::reply(&reply), "accepted a", "{sender}");
    }
}

/// A request may still be answered after its process is presumed dead. That answer belongs to a
/// finished attempt and says nothing about the attempt that replaced it.
#[test]
fn the_outcome_of_an_earlier_attempt_changes_nothing() {
    let mut rig = Rig::new("workflow: w\nsteps:\n  - {id: a, run: api a:get}\n");
    rig.on("a", &[ok(json!("late")).after(50_000)]);
    rig.open();
    let first = rig.state().step(&StepKey::of_walk("a")).and_then(|step| step.attempt_seq);
    rig.die();
    rig.pass(0);
    let second = rig.state().step(&StepKey::of_walk("a")).and_then(|step| step.attempt_seq);
    assert!(first.is_some() && first < second, "{first:?} {second:?}");
    let before = rig.journal.len();
    let answer = CallAnswer { output: json!("early"), status: 200, ..CallAnswer::default() };
    rig.handle(InterpreterInput::Called {
        key: StepKey::of_walk("a"),
        attempt: first.expect("was begun"),
        outcome: AttemptOutcome::Answered { answer, duration_ms: 1 },
    });
    assert_eq!(rig.journal.len(), before);
    rig.settle();
    assert!(rendering::outcome(rig.state()).contains("late"));
}
