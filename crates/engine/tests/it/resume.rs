//! What a resumption keeps and runs again in each mode, and that its cost matches the forecast.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use milepost_engine::StepKey;
use milepost_engine::event::{Actor, BudgetKind, Proof, Settlement};
use milepost_engine::resume::{Origin, ResumeRequest};
use milepost_engine::signal::Signal;
use milepost_engine::state::Status;
use milepost_model::wording::Neutral;
use serde_json::{Value, json};

use crate::resume_world::{Script, Story, agent, failing, fits, flow, names, person, table};

const REFUND: &str = r#"
workflow: refund
inputs:
  order: {type: string}
  note: {type: string, optional: true}
steps:
  - {id: lookup, run: "shop orders:get", with: {id: "${{ inputs.order }}"}}
  - {id: decide, depends_on: [lookup], prompt: Decide}
  - {id: ok, depends_on: [decide], approve: "Refund ${{ steps.lookup.output.of }}?"}
  - {id: refund, depends_on: [ok], run: "shop refunds:create", with: {id: "${{ inputs.order }}"}}
  - {id: tell, depends_on: [refund], run: "shop mails:send", with: {text: "${{ inputs.note }}"}}
finally:
  - {id: log, run: "shop logs:create"}
"#;

fn refund(script: Script) -> Story {
    Story::run(REFUND, &json!({"order": "7", "note": "sorry"}), script)
}

/// Compares the plan as a table. If there is a plan, carries it out and checks its cost.
fn check(mut story: Story, request: &ResumeRequest, expected: &Expect) -> Story {
    let plan = story.plan(request);
    expected.assert_eq(&table(&plan));
    if let Ok(plan) = plan {
        let ledger = story.resume(&plan);
        assert!(fits(&plan, ledger), "{ledger:?} is not {:?}", plan.forecast);
        assert!(story.status().has_ended(), "{:?}", story.status());
    }
    story
}

fn from(story: &Story, step: &str) -> ResumeRequest {
    ResumeRequest { origin: Origin::Step(step.to_owned()), ..story.request() }
}

#[test]
fn what_failed_runs_again_and_a_yes_is_kept() {
    let story = refund(failing(&["refund"]));
    let request = story.request();
    let story = check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved
        refund (run): will run: it failed
        tell (run): will run: it depends on `refund`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 3 calls, 3 writes, 0 agent steps, 0 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
    assert_eq!(story.status(), Status::Succeeded);
    assert_eq!(story.keys_sent("refund"), ["run_1/refund", "run_1/refund~1"]);
}

#[test]
fn a_question_that_was_rejected_is_asked_again() {
    let script = Script { rejects: names(&["ok"]), ..Script::default() };
    let story = refund(script);
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): will run: it failed
        refund (run): will run: it depends on `ok`
        tell (run): will run: it depends on `ok`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 3 calls, 3 writes, 0 agent steps, 1 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
}

#[test]
fn a_named_step_runs_with_all_that_depends_on_it() {
    let story = refund(failing(&["tell"]));
    let request = from(&story, "lookup");
    check(
        story,
        &request,
        &expect![[r#"
            lookup (run): will run: it was requested
            decide (prompt): will run: it depends on `lookup`
            ok (approve): will run: it approved the write in `refund`, which is repeated
            refund (run): may repeat POST /refunds/create: it depends on `lookup`
            tell (run): will run: it depends on `lookup`
            log (run): may repeat POST /logs/create: it always runs at the end
            pays 4 calls, 3 writes, 1 agent steps, 1 approvals
            saves 0 calls, 0 writes, 0 agent steps
        "#]],
    );
}

#[test]
fn a_named_step_may_run_alone() {
    let story = refund(failing(&["tell"]));
    let request = ResumeRequest { only: true, ..from(&story, "lookup") };
    let story = check(
        story,
        &request,
        &expect![[r#"
            lookup (run): will run: it was requested
            decide (prompt): kept: it succeeded
            ok (approve): kept: it was approved
            refund (run): kept: it succeeded
            tell (run): left: it is not reached this time
            log (run): kept: it succeeded
            pays 1 calls, 0 writes, 0 agent steps, 0 approvals
            saves 2 calls, 2 writes, 1 agent steps
        "#]],
    );
    assert_eq!(story.status(), Status::Failed);
    let story = refund(failing(&["lookup"]));
    let request = ResumeRequest { only: true, ..from(&story, "refund") };
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: `refund` waits for `lookup`, which is not done
            hint: resume from `lookup`, or without `mode: "only"`
        "#]],
    );
    let story = refund(failing(&["lookup"]));
    let request = ResumeRequest { only: true, ..from(&story, "log") };
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: `log` runs at the end of the run and cannot run alone
            hint: resume without `mode: "only"`
        "#]],
    );
}

#[test]
fn only_is_the_step_that_failed_unless_one_is_named() {
    let story = refund(failing(&["refund"]));
    let request = ResumeRequest { only: true, ..story.request() };
    let story = check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved
        refund (run): will run: it failed
        tell (run): left: it is not reached this time
        log (run): kept: it succeeded
        pays 1 calls, 1 writes, 0 agent steps, 0 approvals
        saves 2 calls, 1 writes, 1 agent steps
    "]],
    );
    assert_eq!(story.state().only, Some(StepKey::of_walk("refund")));
    let request = ResumeRequest { origin: Origin::Start, only: true, ..story.request() };
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: `only` runs one step
            hint: name the one step with `from`, without `redo` and `overrides`
        "#]],
    );
}

#[test]
fn a_write_that_a_person_allowed_is_not_repeated_alone() {
    let story = refund(Script::default());
    let request = ResumeRequest { only: true, ..from(&story, "refund") };
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: `refund` would repeat a write, which `ok` has to approve again
            hint: resume without `mode: "only"`
        "#]],
    );
}

#[test]
fn from_the_start_everything_runs_and_a_write_is_asked_for_again() {
    let story = refund(Script::default());
    let request = ResumeRequest { origin: Origin::Start, ..story.request() };
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): will run: everything runs again
        decide (prompt): will run: everything runs again
        ok (approve): will run: it approved the write in `tell`, which is repeated
        refund (run): may repeat POST /refunds/create: everything runs again
        tell (run): may repeat POST /mails/send: everything runs again
        log (run): may repeat POST /logs/create: everything runs again
        pays 4 calls, 3 writes, 1 agent steps, 1 approvals
        saves 0 calls, 0 writes, 0 agent steps
    "]],
    );
}

#[test]
fn a_run_that_succeeded_has_nothing_that_failed() {
    let story = refund(Script::default());
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: the run succeeded, so there is no failed step to resume from
            hint: name a step with `from` or `redo`, or resume from the start with `from: "start"`
        "#]],
    );
}

#[test]
fn a_redone_write_may_be_a_second_one() {
    let story = refund(Script::default());
    let request = ResumeRequest { redo: vec!["refund".to_owned()], ..story.request() };
    check(
        story,
        &request,
        &expect![[r#"
            lookup (run): kept: it succeeded
            decide (prompt): kept: it succeeded
            ok (approve): will run: it approved the write in `tell`, which is repeated
            refund (run): may repeat POST /refunds/create: it was requested
            tell (run): may repeat POST /mails/send: it depends on `refund`
            log (run): may repeat POST /logs/create: it always runs at the end
            pays 3 calls, 3 writes, 0 agent steps, 1 approvals
            saves 1 calls, 0 writes, 1 agent steps
        "#]],
    );
}

#[test]
fn an_edited_input_runs_what_reads_it() {
    let story = refund(failing(&["tell"]));
    let inputs = json!({"note": "thanks", "order": "7"}).as_object().cloned().unwrap_or_default();
    let request = ResumeRequest { inputs, ..story.request() };
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved; it asks again if the request has changed
        refund (run): kept: it succeeded
        tell (run): will run: it reads the input `note`, which has changed
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 2 calls, 2 writes, 0 agent steps, 1 approvals
        saves 2 calls, 1 writes, 1 agent steps
    "]],
    );
    let story = refund(failing(&["refund"]));
    let inputs = json!({"order": "8"}).as_object().cloned().unwrap_or_default();
    let request = ResumeRequest { inputs, ..story.request() };
    let story = check(
        story,
        &request,
        &expect![[r"
        lookup (run): will run: it reads the input `order`, which has changed
        decide (prompt): will run: it depends on `lookup`
        ok (approve): kept: it was approved; it asks again if the request has changed
        refund (run): will run: it reads the input `order`, which has changed
        tell (run): will run: it depends on `lookup`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 4 calls, 3 writes, 1 agent steps, 0 to 1 approvals
        saves 0 calls, 0 writes, 0 agent steps
    "]],
    );
    assert_eq!(story.state().head.inputs["order"], "8");
}

#[test]
fn an_output_that_a_person_gives_is_kept_and_read() {
    let story = refund(failing(&["refund"]));
    let overrides = BTreeMap::from([("refund".to_owned(), json!({"id": 1}))]);
    let request = ResumeRequest { overrides, ..story.request() };
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: replacing an output requires a reason
            hint: say why with `reason`
        "#]],
    );
    let story = refund(failing(&["refund"]));
    let reason = Some("it was done by hand".to_owned());
    let overrides = BTreeMap::from([("refund".to_owned(), json!({"id": 1}))]);
    let request = ResumeRequest { overrides: overrides.clone(), reason, ..story.request() };
    let by_agent = ResumeRequest { by: agent(), ..request.clone() };
    expect![[r#"
        PRESENCE_REQUIRED: only a person can decide this
        hint: stop, and ask the person to run `inbox`
    "#]]
    .assert_eq(&table(&story.plan(&by_agent)));
    let story = check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved
        refund (run): overridden: a person supplies its output
        tell (run): will run: it depends on `refund`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 2 calls, 2 writes, 0 agent steps, 0 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
    assert_eq!(story.state().names()["steps"]["refund"]["output"], json!({"id": 1}));
    let overrides = BTreeMap::from([("ok".to_owned(), json!({"approved": true}))]);
    let request = ResumeRequest { overrides, ..request };
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: `ok` asks a person: its answer cannot be replaced
            hint: decide with `workflow.approve`
        "#]],
    );
}

#[test]
fn an_output_that_a_person_gives_fits_the_contract() {
    let text = r"
workflow: x
steps:
  - id: a
    run: shop orders:get
    output_contract: {fields: [{name: total, type: number}]}
";
    let story = Story::run(text, &json!({}), failing(&["a"]));
    let reason = Some("known".to_owned());
    let overrides = BTreeMap::from([("a".to_owned(), json!({"total": "7"}))]);
    let request = ResumeRequest { overrides, reason, ..story.request() };
    check(
        story,
        &request,
        &expect![[r#"
            OUTPUT_INVALID: `total` in the output of `a` must be of type number, but is a string
            hint: correct `output_contract`, or the step that produces the output
        "#]],
    );
}

const LIST: &str = r#"
workflow: x
inputs: {ids: {type: array}}
steps:
  - {id: each, for_each: "${{ inputs.ids }}", run: "shop mails:send", with: {id: "${{ item }}"}}
  - {id: sum, set: {all: "${{ steps.each.output }}"}}
"#;

#[test]
fn items_that_succeeded_are_kept() {
    let story = Story::run(LIST, &json!({"ids": [1, 2, 3, 4]}), failing(&["each@2"]));
    assert_eq!(story.status(), Status::Failed);
    let request = story.request();
    let story = check(
        story,
        &request,
        &expect![[r"
        each (run): will run: it failed; items kept: 2 of 4
        sum (set): will run: it depends on `each`
        pays 2 calls, 2 writes, 0 agent steps, 0 approvals
        saves 2 calls, 2 writes, 0 agent steps
    "]],
    );
    assert_eq!(story.status(), Status::Succeeded);
    let sent: Vec<usize> =
        (0..4).map(|index| story.keys_sent(&format!("each@{index}")).len()).collect();
    assert_eq!(sent, [1, 1, 2, 1]);
    let all = story.state().names()["steps"]["sum"]["output"]["all"].as_array().map(Vec::len);
    assert_eq!(all, Some(4));
}

#[test]
fn a_list_that_is_named_runs_as_a_whole() {
    let story = Story::run(LIST, &json!({"ids": [1, 2, 3]}), failing(&["each@2"]));
    let request = from(&story, "each");
    check(
        story,
        &request,
        &expect![[r#"
            each (run): may repeat POST /mails/send: it was requested
            sum (set): will run: it depends on `each`
            pays 3 calls, 3 writes, 0 agent steps, 0 approvals
            saves 0 calls, 0 writes, 0 agent steps
        "#]],
    );
    let story = Story::run(LIST, &json!({"ids": [1, 2, 3]}), failing(&["each@2"]));
    let request = from(&story, "each@2");
    check(
        story,
        &request,
        &expect![[r#"
            RESUME_REFUSED: `each@2` is inside another step
            hint: name `each`: if it failed, what succeeded inside it is kept
        "#]],
    );
}

const LOOP: &str = r#"
workflow: x
steps:
  - id: again
    type: loop
    title: Again
    loop: {type: for, count: 3, maxIterations: 3}
    body:
      - {id: look, run: "shop orders:get"}
      - {id: send, run: "shop mails:send", with: {of: "${{ steps.look.output.of }}"}}
  - {id: done, run: "shop orders:get", depends_on: [again]}
"#;

#[test]
fn passes_that_are_done_are_kept() {
    let story = Story::run(LOOP, &json!({}), failing(&["again@1::send"]));
    assert_eq!(story.status(), Status::Failed);
    let request = story.request();
    let story = check(
        story,
        &request,
        &expect![[r"
        again (loop): will run: it failed; finished steps kept: 3
        done (run): will run: it depends on `again`
        pays 4 calls, 2 writes, 0 agent steps, 0 approvals
        saves 3 calls, 1 writes, 0 agent steps
    "]],
    );
    assert_eq!(story.status(), Status::Succeeded);
    let output = &story.state().names()["steps"]["again"]["output"];
    assert_eq!(output.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_canceled_run_goes_on_where_it_was() {
    let script = Script { ignores: names(&["decide"]), ..Script::default() };
    let mut story = refund(script);
    story.tell(Signal::Cancel { by: person(), reason: None });
    assert_eq!(story.status(), Status::Canceled);
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): will run: it was canceled
        ok (approve): will run: it depends on `decide`
        refund (run): will run: it depends on `decide`
        tell (run): will run: it depends on `decide`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 3 calls, 3 writes, 1 agent steps, 1 approvals
        saves 1 calls, 0 writes, 0 agent steps
    "]],
    );
}

#[test]
fn a_run_that_waits_is_not_resumed() {
    let refused = |script: Script| {
        let story = refund(script);
        let request = story.request();
        table(&story.plan(&request))
    };
    let waits = |key: &str| Script { ignores: names(&[key]), ..Script::default() };
    expect![[r"
        RESUME_REFUSED: `decide` is waiting for an agent
        hint: submit its output with `workflow.submit`
    "]]
    .assert_eq(&refused(waits("decide")));
    expect![[r#"
        RESUME_REFUSED: `ok` is waiting for a person to decide
        hint: decide with `workflow.approve` or `workflow.reject`: see `inbox`
    "#]]
    .assert_eq(&refused(waits("ok")));
    let lost = Script { lost: names(&["refund"]), ..Script::default() };
    expect![[r#"
        RESUME_REFUSED: the outcome of `refund` is unknown
        hint: decide its outcome first: see `inbox`
    "#]]
    .assert_eq(&refused(lost));
}

#[test]
fn what_may_have_happened_is_said_after_somebody_gave_up() {
    let lost = Script { lost: names(&["refund"]), ..Script::default() };
    let mut story = refund(lost);
    let (key, by) = (StepKey::of_walk("refund"), person());
    story.tell(Signal::Settle {
        key,
        asked: None,
        by,
        decision: Settlement::GiveUp,
        proof: Some(Proof::at_terminal()),
    });
    assert_eq!(story.status(), Status::Failed);
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): will run: it approved the write in `refund`, which is repeated
        refund (run): may repeat POST /refunds/create: it failed
        tell (run): will run: it depends on `refund`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 3 calls, 3 writes, 0 agent steps, 1 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
}

#[test]
fn a_paused_run_goes_on_but_forgets_nothing_that_waits() {
    let script = Script { ignores: names(&["decide"]), ..Script::default() };
    let mut story = refund(script);
    story.tell(Signal::Pause { by: person() });
    let request = from(&story, "decide");
    expect![[r"
        RESUME_REFUSED: `decide` is waiting for a person or an agent
        hint: submit its output with `workflow.submit`
    "]]
    .assert_eq(&table(&story.plan(&request)));
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): will run: it is in progress
        ok (approve): will run: it has not run yet
        refund (run): will run: it has not run yet
        tell (run): will run: it has not run yet
        log (run): will run: it has not run yet
        pays 3 calls, 3 writes, 1 agent steps, 1 approvals
        saves 1 calls, 0 writes, 0 agent steps
    "]],
    );
}

#[test]
fn a_spent_budget_is_raised_by_a_person() {
    let budget = BTreeMap::from([(BudgetKind::HttpCalls, 1)]);
    let inputs = json!({"order": "7", "note": "sorry"});
    let story = Story::started(REFUND, &inputs, Script::default(), budget);
    assert_eq!(story.state().parked, Some(BudgetKind::HttpCalls));
    let request = story.request();
    expect![[r"
        RESUME_REFUSED: the run has spent its budget of `http_calls`: 1
        hint: resume with a limit of `http_calls` above 1
    "]]
    .assert_eq(&table(&story.plan(&request)));
    let raised = |by: Actor| ResumeRequest {
        budget: BTreeMap::from([(BudgetKind::HttpCalls, 9)]),
        by,
        ..story.request()
    };
    expect![[r"
        PRESENCE_REQUIRED: only a person can decide this
        hint: stop, and ask the person to run `inbox`
    "]]
    .assert_eq(&table(&story.plan(&raised(agent()))));
    let request = raised(person());
    check(
        story,
        &request,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved
        refund (run): will run: it has not run yet
        tell (run): will run: it has not run yet
        log (run): will run: it has not run yet
        pays 3 calls, 3 writes, 0 agent steps, 0 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
}

/// Compares the plan for a newer source, and carries it out.
fn check_latest(mut story: Story, text: &str, change: Option<&str>, expected: &Expect) {
    let new = flow(text);
    let request = match change {
        Some(step) => from(&story, step),
        None => story.request(),
    };
    let plan = story.plan_on(&new, &request);
    expected.assert_eq(&table(&plan));
    if let Ok(plan) = plan {
        story.interpreter.set_flow(new);
        let ledger = story.resume(&plan);
        assert!(fits(&plan, ledger), "{ledger:?} is not {:?}", plan.forecast);
        assert_eq!(story.status(), Status::Succeeded);
    }
}

#[test]
fn on_the_newest_text_what_is_kept_is_the_same() {
    let story = || refund(failing(&["refund"]));
    let moved =
        format!("# a comment\n{}", REFUND.replace("prompt: Decide", "title: D, prompt: Decide"));
    check_latest(
        story(),
        &moved,
        None,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved
        refund (run): will run: it failed
        tell (run): will run: it depends on `refund`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 3 calls, 3 writes, 0 agent steps, 0 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
    let mended = REFUND.replace("refunds:create", "refunds:make");
    check_latest(
        story(),
        &mended,
        None,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved; it asks again if the request has changed
        refund (run): will run: it failed
        tell (run): will run: it depends on `refund`
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 3 calls, 3 writes, 0 agent steps, 1 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
}

#[test]
fn on_the_newest_text_a_kept_step_that_is_another_is_refused() {
    let story = || refund(failing(&["refund"]));
    let removed = REFUND.replace("  - {id: decide, depends_on: [lookup], prompt: Decide}\n", "");
    let removed = removed.replace("depends_on: [decide]", "depends_on: [lookup]");
    check_latest(
        story(),
        &removed,
        None,
        &expect![[r#"
            RESUME_REFUSED: `decide` would be kept, but the newest version has no such step
            hint: resume on the pinned version, or from the start
        "#]],
    );
    let target = REFUND.replace("orders:get", "invoices:get");
    check_latest(
        story(),
        &target,
        None,
        &expect![[r"
        RESUME_REFUSED: `lookup` would be kept, but in the newest version it does something else
        hint: resume from `lookup`, or on the pinned version
    "]],
    );
    check_latest(
        story(),
        &target,
        Some("lookup"),
        &expect![[r#"
            lookup (run): will run: it was requested
            decide (prompt): will run: it depends on `lookup`
            ok (approve): kept: it was approved; it asks again if the request has changed
            refund (run): will run: it depends on `lookup`
            tell (run): will run: it depends on `lookup`
            log (run): may repeat POST /logs/create: it always runs at the end
            pays 4 calls, 3 writes, 1 agent steps, 0 to 1 approvals
            saves 0 calls, 0 writes, 0 agent steps
        "#]],
    );
    let wired = REFUND.replace("depends_on: [lookup]", "depends_on: []");
    check_latest(
        story(),
        &wired,
        None,
        &expect![[r"
        RESUME_REFUSED: `decide` would be kept, but in the newest version it waits for different steps
        hint: resume from `decide`, or on the pinned version
    "]],
    );
}

#[test]
fn on_the_newest_text_what_is_new_runs() {
    let story = || refund(failing(&["refund"]));
    let grown = REFUND.replace("finally:", "  - {id: more, run: \"shop mails:send\"}\nfinally:");
    check_latest(
        story(),
        &grown,
        None,
        &expect![[r"
        lookup (run): kept: it succeeded
        decide (prompt): kept: it succeeded
        ok (approve): kept: it was approved
        refund (run): will run: it failed
        tell (run): will run: it depends on `refund`
        more (run): will run: it has not run yet
        log (run): may repeat POST /logs/create: it always runs at the end
        pays 4 calls, 4 writes, 0 agent steps, 0 approvals
        saves 1 calls, 0 writes, 1 agent steps
    "]],
    );
}

#[test]
fn what_is_not_there_is_not_run() {
    let story = refund(failing(&["refund"]));
    let request = from(&story, "refnd");
    check(
        story,
        &request,
        &expect![[r"
        STEP_NOT_FOUND: the workflow has no step `refnd`
        hint: did you mean `refund`?
    "]],
    );
    let story = refund(failing(&["refund"]));
    let request = from(&story, "nowhere");
    let failure = story.plan(&request).expect_err("there is none");
    let hint = failure.hint().worded(&Neutral);
    assert!(hint.starts_with("name one of its steps: `"), "{hint}");
    assert!(hint.contains("`refund`"), "{hint}");
}

/// A step that reads the output of a skipped step cannot be rendered: it costs nothing, and the run
/// ends there.
#[test]
fn what_reads_a_step_that_is_left_out_is_known_to_fail() {
    let text = r#"
workflow: x
inputs: {loud: {type: boolean}}
steps:
  - {id: a, run: "shop orders:get"}
  - {id: b, if: inputs.loud, run: "shop mails:send"}
  - id: c
    depends_on: [a, b]
    needs: any
    run: "shop mails:send"
    with: {text: "${{ steps.b.output }}"}
  - {id: d, run: "shop mails:send", depends_on: [c]}
"#;
    let story = Story::run(text, &json!({"loud": false}), failing(&["a"]));
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        a (run): will run: it failed
        b (run): will be skipped: its condition does not hold
        c (run): will fail: `steps.b.output` cannot be evaluated: `steps.b` has no `output`: it has `status`, `attempts`
        d (run): left: it is not reached this time
        pays 1 calls, 0 writes, 0 agent steps, 0 approvals
        saves 0 calls, 0 writes, 0 agent steps
    "]],
    );
}

#[test]
fn conditions_that_nobody_can_know_make_a_range() {
    let text = r#"
workflow: x
inputs: {loud: {type: boolean}}
steps:
  - {id: a, run: "shop orders:get"}
  - {id: b, if: steps.a.output.ok, run: "shop mails:send"}
  - {id: c, if: inputs.loud, run: "shop mails:send"}
  - {id: d, depends_on: [c], run: "shop mails:send"}
  - {id: e, depends_on: [b], run: "shop mails:send"}
  - {id: f, if: steps.a.status == 'succeeded', run: "shop orders:get"}
  - {id: g, for_each: "${{ steps.a.output.list }}", run: "shop orders:get"}
"#;
    let story = Story::run(text, &json!({"loud": false}), failing(&["a"]));
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        a (run): will run: it failed
        b (run): may run: it depends on `a`; its condition cannot be evaluated yet
        c (run): will be skipped: its condition does not hold
        d (run): will be skipped: `c` is skipped
        e (run): may run: it depends on `a`; `b` may be skipped
        f (run): will run: it depends on `a`
        g (run): will run: it depends on `a`
        pays 2 or more calls, 0 to 2 writes, 0 agent steps, 0 approvals
        saves 0 calls, 0 writes, 0 agent steps
    "]],
    );
    let story = Story::run(text, &json!({"loud": true}), failing(&["g@1"]));
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        a (run): kept: it succeeded
        b (run): kept: it succeeded
        c (run): kept: it succeeded
        d (run): kept: it succeeded
        e (run): kept: it succeeded
        f (run): kept: it succeeded
        g (run): will run: it failed; items kept: 1 of 2
        pays 1 calls, 0 writes, 0 agent steps, 0 approvals
        saves 7 calls, 4 writes, 0 agent steps
    "]],
    );
}

#[test]
fn a_failure_that_the_workflow_puts_up_with_is_kept() {
    let text = r#"
workflow: x
steps:
  - {id: a, run: "shop orders:get", on_error: continue}
  - {id: b, run: "shop mails:send", depends_on: [a]}
"#;
    let story = Story::run(text, &json!({}), failing(&["a", "b"]));
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        a (run): kept: it failed, and the run continues without it
        b (run): will run: it failed
        pays 1 calls, 1 writes, 0 agent steps, 0 approvals
        saves 0 calls, 0 writes, 0 agent steps
    "]],
    );
}

#[test]
fn an_agent_does_not_act_on_a_yes_to_something_else() {
    let text = r#"
workflow: x
steps:
  - {id: who, run: "shop orders:get"}
  - {id: ok, approve: "Greet ${{ steps.who.output.name }}?"}
  - {id: greet, depends_on: [ok], prompt: Greet}
"#;
    let named = |name: &str| BTreeMap::from([("who".to_owned(), json!({"name": name}))]);
    let script = Script { outputs: named("ada"), ..Script::default() };
    let mut story = Story::run(text, &json!({}), script);
    story.script.outputs = named("bob");
    let request = ResumeRequest { redo: vec!["who".to_owned()], ..story.request() };
    let story = check(
        story,
        &request,
        &expect![[r#"
            who (run): will run: it was requested
            ok (approve): kept: it was approved; it asks again if the request has changed
            greet (prompt): will run: it depends on `who`
            pays 1 calls, 0 writes, 1 agent steps, 0 to 1 approvals
            saves 0 calls, 0 writes, 0 agent steps
        "#]],
    );
    assert_eq!(story.events("approval_requested"), 2);
}

#[test]
fn what_an_agent_hands_in_anew_is_confirmed_anew() {
    let text = r#"
workflow: x
steps:
  - {id: a, prompt: Decision, require_confirmation: true}
  - {id: b, run: "shop mails:send", with: {text: "${{ steps.a.output.of }}"}}
"#;
    let story = Story::run(text, &json!({}), Script::default());
    let request = ResumeRequest { redo: vec!["a".to_owned()], ..story.request() };
    check(
        story,
        &request,
        &expect![[r#"
            a (prompt): will run: it was requested
            b (run): may repeat POST /mails/send: it depends on `a`
            pays 1 calls, 1 writes, 1 agent steps, 1 approvals
            saves 0 calls, 0 writes, 0 agent steps
        "#]],
    );
}

#[test]
fn a_guide_goes_on_where_it_was() {
    let text = r#"
id: three-things
name: A guide of three steps
description: Three steps, one after the other
version: 1.0.0
steps:
  - {id: one, title: One, prompt: "Do the first thing now"}
  - {id: two, title: Two, prompt: "Do the second thing for {{who}}"}
  - {id: three, title: Three, prompt: "Do the third thing now"}
"#;
    let script = || Script { ignores: names(&["three"]), ..Script::default() };
    let inputs = json!({"who": "ada"});
    let mut story = Story::run(text, &inputs, script());
    story.tell(Signal::Cancel { by: person(), reason: None });
    let request = story.request();
    check(
        story,
        &request,
        &expect![[r"
        one (prompt): kept: it succeeded
        two (prompt): kept: it succeeded
        three (prompt): will run: it was canceled
        pays 0 calls, 0 writes, 1 agent steps, 0 approvals
        saves 0 calls, 0 writes, 2 agent steps
    "]],
    );
    let mut story = Story::run(text, &inputs, script());
    story.tell(Signal::Cancel { by: person(), reason: None });
    let edited: Value = json!({"who": "bob"});
    let inputs = edited.as_object().cloned().unwrap_or_default();
    let request = ResumeRequest { inputs, ..story.request() };
    check(
        story,
        &request,
        &expect![[r"
        one (prompt): kept: it succeeded
        two (prompt): will run: it reads the input `who`, which has changed
        three (prompt): will run: it depends on `two`
        pays 0 calls, 0 writes, 2 agent steps, 0 approvals
        saves 0 calls, 0 writes, 1 agent steps
    "]],
    );
}

const MAILS: &str = r#"
workflow: mails
inputs:
  names: {type: array}
steps:
  - {id: ok, approve: Send them?}
  - id: each
    depends_on: [ok]
    for_each: "${{ inputs.names }}"
    run: "shop mails:send"
    with: {to: "${{ item }}"}
"#;

/// A list that changed after its approval needs a new one; an unchanged list does not.
#[test]
fn a_yes_holds_for_the_items_that_it_was_given_for() {
    let cases = [
        (json!(["ada", "bob"]), json!(["ada", "bob", "eve"]), 2),
        (json!(["ada", "bob"]), json!(["ada"]), 2),
        (json!(["ada", "bob"]), json!(["ada", "eve"]), 2),
        (json!(["ada", "bob"]), json!(["ada", "bob"]), 1),
    ];
    for (before, after, asked) in cases {
        let mut story = Story::run(MAILS, &json!({"names": before}), failing(&["each@1"]));
        let inputs = json!({"names": after});
        let request = ResumeRequest {
            inputs: inputs.as_object().expect("an object").clone(),
            ..story.request()
        };
        let plan = story.plan(&request).expect("a plan");
        let ledger = story.resume(&plan);
        assert!(fits(&plan, ledger), "{after}: {ledger:?} is not {:?}", plan.forecast);
        assert_eq!(story.status(), Status::Succeeded, "{after}");
        assert_eq!(story.events("approval_requested"), asked, "{after}");
    }
}
