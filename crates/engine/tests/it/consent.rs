//! Questions that a run asks itself: before its first write, before each request that needs an
//! approval, and when it has made as many writes as it may.

use expect_test::{Expect, expect};
use milepost_engine::StepKey;
use milepost_engine::consent::{ConsentTerms, WriteRule};
use milepost_engine::effect_bound::WriteCounts;
use milepost_engine::event::{ChildOutcome, Event, RunCreated};
use milepost_engine::interpreter::RunEffect;
use milepost_engine::resume::{ResumeRequest, plan};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::Status;
use milepost_engine::view::Waiting;
use serde_json::{Value, json};

use crate::rendering;
use crate::rig::{Rig, agent, bound, consenting, flow, ok, willing};

const THREE: &str = "workflow: w\nsteps:\n\
    - {id: look, run: 'api x:get'}\n\
    - {id: a, run: 'api x:create', depends_on: [look], body: {n: 1}}\n\
    - {id: b, run: 'api x:put', depends_on: [a]}\n\
    - {id: c, run: 'api y:delete', depends_on: [b], with: {id: '${{ steps.a.output.n }}'}}\n";

fn rig(text: &str, needs: WriteRule) -> Rig {
    arranged(text, &json!({}), |head| consenting(&flow(text), head, needs))
}

fn arranged(text: &str, inputs: &Value, arrange: impl Fn(&mut RunCreated)) -> Rig {
    let mut rig = Rig::with(text, inputs, arrange);
    rig.world.tells = true;
    rig
}

fn asked(rig: &Rig) -> Vec<String> {
    let requests = rig.journal.iter().filter_map(|entry| match &entry.event {
        Event::ApprovalRequested(request) => Some(request.key.to_string()),
        _ => None,
    });
    requests.collect()
}

fn question(rig: &Rig) -> (String, String) {
    match rig.waiting().first() {
        Some(Waiting::Approval(request)) => (request.key.to_string(), request.message.clone()),
        other => panic!("{other:?}"),
    }
}

fn writes(rig: &Rig) -> usize {
    rig.world.sent.iter().filter(|sent| !sent.request.starts_with("GET")).count()
}

fn check(rig: &Rig, expected: &Expect) {
    expected.assert_eq(&rendering::journal(rig));
}

#[test]
fn one_yes_covers_every_write_of_a_run() {
    let mut rig = rig(THREE, WriteRule::Consent);
    rig.start();
    assert_eq!((writes(&rig), rig.status()), (0, Status::Waiting));
    let Some(Waiting::Approval(request)) = rig.waiting().into_iter().next() else {
        panic!("nobody is asked")
    };
    expect![[r#"
        may `w` run? no person has reviewed its text
        what this run can change and call:
        DELETE https://api.example/y (once)
        POST https://api.example/x (once)
        PUT https://api.example/x (once)"#]]
    .assert_eq(&request.message);
    let shown: Vec<&str> = request.shown.iter().map(|shown| shown.key.as_str()).collect();
    assert_eq!(shown, ["a", "b"], "what is certain is shown");
    let unshown: Vec<&str> = request.unshown.iter().map(StepKey::as_str).collect();
    assert_eq!(unshown, ["c"], "what is not is named");
    assert_eq!(rig.decide(".consent", true), Reply::Done);
    assert_eq!((writes(&rig), rig.status()), (3, Status::Succeeded));
    assert_eq!(asked(&rig), [".consent"]);
}

#[test]
fn a_no_ends_the_run_and_nothing_is_sent() {
    let mut rig = rig(THREE, WriteRule::Consent);
    rig.start();
    rig.decide(".consent", false);
    assert_eq!((writes(&rig), rig.status()), (0, Status::Failed));
    check(
        &rig,
        &expect![[r#"
        attempt_started look #1 GET api x:get
        attempt_succeeded look {"n":9,"of":"look"}
        step_succeeded look
        approval_requested .consent `may `w` run? no person has reviewed its text
        what this run can change and call:
        DELETE https://api.example/y (once)
        POST https://api.example/x (once)
        PUT https://api.example/x (once)` shows ["a", "b"], 0 changed
        rejected .consent
        step_failed .consent APPROVAL_REJECTED: no person agreed to it: not like this
        run_failed .consent no person agreed to it: not like this
        = failed APPROVAL_REJECTED: no person agreed to it: not like this
    "#]],
    );
}

#[test]
fn the_steps_at_the_end_send_nothing_after_a_no() {
    let text = "workflow: w\nsteps:\n- {id: a, run: 'api x:create'}\n\
        finally:\n- {id: z, run: 'api x:delete'}\n";
    let mut rig = rig(text, WriteRule::Consent);
    rig.start();
    rig.decide(".consent", false);
    assert_eq!((writes(&rig), rig.status()), (0, Status::Failed));
}

#[test]
fn a_canceled_run_asks_nothing_and_sends_nothing() {
    let text = "workflow: w\nsteps:\n- {id: a, run: 'api x:create'}\n\
        finally:\n- {id: z, run: 'api x:delete'}\n";
    let mut rig = rig(text, WriteRule::Consent);
    rig.start();
    rig.cancel();
    assert_eq!((writes(&rig), rig.status()), (0, Status::Canceled));
}

#[test]
fn an_origin_that_nobody_accepted_is_asked_about_before_the_first_read() {
    let text = "workflow: w\nsteps:\n- {id: a, run: 'api x:get'}\n";
    let mut rig = arranged(text, &json!({}), |head| {
        head.bound = Some(Box::new(bound(&flow(text), head, 25)));
        let origins = [crate::rig::ORIGIN.to_owned()].into();
        head.consent = Some(Box::new(ConsentTerms { origins, ..ConsentTerms::default() }));
    });
    rig.start();
    assert!(rig.world.sent.is_empty());
    let (key, message) = question(&rig);
    assert_eq!(key, ".consent");
    assert!(message.contains("no person has accepted https://api.example"), "{message}");
    rig.decide(".consent", true);
    assert_eq!((rig.world.sent.len(), rig.status()), (1, Status::Succeeded));
}

#[test]
fn each_request_is_approved_by_itself_and_another_one_is_asked_about() {
    let mut rig = rig(THREE, WriteRule::Approve);
    rig.start();
    let (first, _) = question(&rig);
    assert!(first.starts_with(".approve:a:"), "{first}");
    // The catalog is replaced between the answer and the request.
    rig.world.catalog += 1;
    rig.decide(&first, true);
    let (second, _) = question(&rig);
    assert!(second.starts_with(".approve:a:") && second != first, "{second}");
    assert_eq!(writes(&rig), 0);
    rig.play(willing);
    assert_eq!((writes(&rig), rig.status()), (3, Status::Succeeded));
    assert_eq!(asked(&rig).len(), 4);
}

#[test]
fn a_retry_is_no_new_request_and_needs_no_new_answer() {
    let text = "workflow: w\nsteps:\n- {id: a, run: 'api x:put', retry: {max_attempts: 3}}\n";
    for needs in [WriteRule::Consent, WriteRule::Approve] {
        let mut rig = rig(text, needs);
        rig.on("a", &[crate::rig::status(503), crate::rig::status(503), ok(json!({}))]);
        rig.start().play(willing);
        assert_eq!((rig.world.sent.len(), asked(&rig).len()), (3, 1));
        assert_eq!(rig.status(), Status::Succeeded);
    }
}

#[test]
fn a_request_that_the_person_approved_is_not_asked_about_again() {
    let text = "workflow: w\nsteps:\n- {id: ok, approve: Make it?}\n\
        - {id: a, run: 'api x:create', depends_on: [ok]}\n\
        - {id: b, run: 'api x:put', depends_on: [ok], body: '${{ steps.a.output }}'}\n";
    for needs in [WriteRule::Consent, WriteRule::Approve] {
        let mut rig = rig(text, needs);
        rig.start();
        rig.decide("ok", true);
        assert_eq!(writes(&rig), 1, "only `a` was shown");
        let (key, _) = question(&rig);
        assert!(key.starts_with('.'), "{key}");
        // What the engine approves by itself is no person's answer.
        let mut alone = arranged(text, &json!({}), |head| {
            consenting(&flow(text), head, needs);
            head.presence = milepost_engine::event::Presence::Policy;
        });
        alone.start();
        assert_eq!((writes(&alone), alone.status()), (0, Status::Waiting));
    }
}

#[test]
fn what_the_policy_forbids_is_not_sent_and_nobody_is_asked() {
    let mut rig = rig(THREE, WriteRule::Deny);
    rig.start();
    assert_eq!((writes(&rig), asked(&rig).len(), rig.status()), (0, 0, Status::Failed));
}

#[test]
fn at_the_cap_the_run_asks_again() {
    let text = "workflow: w\ninputs: {n: {type: integer}}\nsteps:\n\
        - {id: list, run: 'api x:get'}\n\
        - {id: a, for_each: '${{ steps.list.output.items }}', run: 'api x:create'}\n";
    let items: Vec<u32> = (0..60).collect();
    let mut rig = rig(text, WriteRule::Consent);
    rig.on("list", &[ok(json!({"items": items}))]);
    rig.start();
    rig.decide(".consent", true);
    assert_eq!(writes(&rig), 25, "the number was not known");
    let (key, message) = question(&rig);
    assert_eq!(key, ".consent:1");
    assert!(message.contains("(up to 25 times, then it asks again)"), "{message}");
    rig.decide(".consent:1", true);
    assert_eq!(writes(&rig), 50);
    rig.decide(".consent:2", false);
    assert_eq!((writes(&rig), rig.status()), (50, Status::Failed));
}

#[test]
fn a_known_number_of_writes_is_not_capped() {
    let text = "workflow: w\ninputs: {all: {type: array}}\nsteps:\n\
        - {id: a, for_each: '${{ inputs.all }}', run: 'api x:create'}\n";
    let items: Vec<u32> = (0..60).collect();
    let mut rig = arranged(text, &json!({"all": items}), |head| {
        consenting(&flow(text), head, WriteRule::Consent);
    });
    rig.start();
    rig.decide(".consent", true);
    assert_eq!((writes(&rig), rig.status()), (60, Status::Succeeded));
}

#[test]
fn a_child_run_that_writes_is_covered_by_the_question_of_its_parent() {
    let text = "workflow: w\nsteps:\n\
        - {id: a, for_each: [1, 2, 3], run: workflow inner}\n\
        - {id: b, run: workflow reader, depends_on: [a]}\n";
    let inner = flow("workflow: inner\nsteps:\n- {id: a, run: 'api x:create'}\n");
    let one = bound(&inner, &crate::rig::created(&inner, &json!({})), 25);
    let mut rig = arranged(text, &json!({}), |head| {
        let mut whole = one.clone();
        whole.writes[0].most = 3;
        let effect = whole.writes[0].effect.clone();
        let writes =
            vec![milepost_engine::consent::GuardedWrite { effect, needs: WriteRule::Consent }];
        head.bound = Some(Box::new(whole));
        head.consent = Some(Box::new(ConsentTerms { writes, ..ConsentTerms::default() }));
    });
    rig.world.bounds.insert("inner".to_owned(), one.clone());
    rig.start();
    assert!(rig.world.started.is_empty(), "nothing starts before the answer");
    rig.decide(".consent", true);
    assert_eq!((rig.world.started.len(), rig.status()), (4, Status::Succeeded));
    let handed: Vec<WriteCounts> = rig
        .effects
        .iter()
        .filter_map(|effect| match effect {
            RunEffect::StartChild { writes, .. } => Some(writes.clone()),
            _ => None,
        })
        .collect();
    let each = WriteCounts::from([(one.writes[0].effect.name(), 1)]);
    assert_eq!(handed, [each.clone(), each.clone(), each, WriteCounts::new()]);
    let inherited = rig.state().head.consent.clone().expect("terms").inherited();
    assert!(inherited.is_empty(), "{inherited:?}");
}

#[test]
fn what_child_runs_wrote_counts() {
    let text = "workflow: w\nsteps:\n\
        - {id: list, run: 'api x:get'}\n\
        - {id: a, for_each: '${{ steps.list.output.items }}', run: workflow inner}\n";
    let inner = flow("workflow: inner\nsteps:\n- {id: a, run: 'api x:create'}\n");
    let one = bound(&inner, &crate::rig::created(&inner, &json!({})), 25);
    let mut rig = arranged(text, &json!({}), |head| {
        let mut whole = one.clone();
        (whole.writes[0].most, whole.writes[0].open) = (2, true);
        head.bound = Some(Box::new(whole));
    });
    rig.world.bounds.insert("inner".to_owned(), one.clone());
    rig.on("list", &[ok(json!({"items": [1, 2, 3]}))]).start();
    // Nothing was written, so nothing is used up.
    assert_eq!((rig.world.started.len(), rig.status()), (3, Status::Succeeded));
    let name = one.writes[0].effect.name();
    let mut rig = Rig::with(text, &json!({}), |head| {
        let mut whole = one.clone();
        (whole.writes[0].most, whole.writes[0].open) = (2, true);
        head.bound = Some(Box::new(whole));
    });
    rig.world.tells = true;
    rig.world.bounds.insert("inner".to_owned(), one);
    let never = ChildOutcome::Canceled;
    rig.child("inner", u64::MAX / 4, never);
    rig.on("list", &[ok(json!({"items": [1, 2, 3]}))]).open();
    rig.turn();
    for index in 0..2 {
        let key = StepKey::of_walk("a").item(index);
        let run = rig.world.started[index].clone();
        let wrote = WriteCounts::from([(name.clone(), 1)]);
        let outcome = ChildOutcome::Succeeded { output: json!({}) };
        let spent = milepost_engine::BudgetUsage::default();
        rig.send(Signal::ChildEnded { key, run, outcome, spent, wrote });
    }
    assert_eq!(question(&rig).0, ".consent:1");
    assert_eq!(rig.world.started.len(), 2);
}

#[test]
fn a_resumed_run_asks_again_only_if_what_was_agreed_to_has_changed() {
    let text = "workflow: w\ninputs: {n: {type: integer}}\nsteps:\n\
        - {id: a, run: 'api x:create', body: {n: '${{ inputs.n }}'}}\n\
        - {id: b, run: 'api x:put', depends_on: [a]}\n";
    let failed = || {
        let mut rig = arranged(text, &json!({"n": 1}), |head| {
            consenting(&flow(text), head, WriteRule::Consent);
        });
        rig.on("b", &[crate::rig::status(400), ok(json!({}))]).start();
        rig.decide(".consent", true);
        assert_eq!((rig.status(), asked(&rig).len()), (Status::Failed, 1));
        rig
    };
    let resume = |rig: &mut Rig, request: &ResumeRequest| {
        let planned = plan(&rig.flow, &rig.flow, rig.state(), &rig.world, request);
        let resumption = Box::new(planned.expect("is planned").resumption);
        let seq = rig.state().seq;
        assert_eq!(rig.tell(Signal::Resume { seq, resumption }), Reply::Done);
    };
    let mut rig = failed();
    let request = ResumeRequest::of(rig.state(), agent());
    resume(&mut rig, &request);
    assert_eq!((rig.status(), asked(&rig).len()), (Status::Succeeded, 1));
    let mut rig = failed();
    let mut request = ResumeRequest::of(rig.state(), crate::rig::person("ada"));
    request.inputs = json!({"n": 2}).as_object().cloned().expect("an object");
    resume(&mut rig, &request);
    assert_eq!((rig.status(), asked(&rig).len()), (Status::Waiting, 2));
    // A no can be reconsidered.
    let mut rig = Rig::with(text, &json!({"n": 1}), |head| {
        consenting(&flow(text), head, WriteRule::Consent);
    });
    rig.world.tells = true;
    rig.start();
    rig.decide(".consent", false);
    let request = ResumeRequest::of(rig.state(), agent());
    resume(&mut rig, &request);
    assert_eq!((rig.status(), asked(&rig).len()), (Status::Waiting, 2));
    rig.decide(".consent", true);
    assert_eq!((rig.status(), writes(&rig)), (Status::Succeeded, 2));
}

/// A run whose approvals are given without asking still asks what no document asked.
#[test]
fn a_run_that_may_run_alone_does_not_answer_its_own_questions() {
    let mut rig = arranged(THREE, &json!({}), |head| {
        consenting(&flow(THREE), head, WriteRule::Consent);
        head.presence = milepost_engine::event::Presence::Policy;
    });
    rig.start();
    assert_eq!((writes(&rig), rig.status()), (0, Status::Waiting));
}

#[test]
fn a_crash_anywhere_around_the_question_changes_nothing() {
    for needs in [WriteRule::Consent, WriteRule::Approve] {
        let mut whole = rig(THREE, needs);
        whole.start().play(willing);
        for after in 1..=whole.journal.len() {
            for acted in [false, true] {
                let mut rig = rig(THREE, needs);
                rig.crash = Some(crate::rig::Crash { after, acted });
                rig.open().play(willing);
                let told = format!("{needs:?} {after} {acted}\n{}", rendering::journal(&rig));
                assert_eq!(rig.status(), Status::Succeeded, "{told}");
                assert_eq!(asked(&rig), asked(&whole), "{told}");
            }
        }
    }
}
