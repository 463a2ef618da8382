//! In a run, accepted outputs decide which steps exist; the context cannot contradict them, and
//! what nobody has decided blocks the run.

#![expect(clippy::needless_pass_by_value, reason = "documents are written where they are used")]

use expect_test::{Expect, expect};
use milepost_engine::event::{Event, JournalEntry, RunCreated};
use milepost_engine::signal::Signal;
use milepost_engine::view;
use serde_json::{Value, json};

use crate::rendering;
use crate::rig::{self, Rig, add, submit};

fn step(id: &str) -> Value {
    json!({"id": id, "title": id, "prompt": format!("Do {id}.")})
}

/// A step whose output has to match a schema with these properties, all of them required.
fn declares(id: &str, properties: Value) -> Value {
    let mut step = step(id);
    let required: Vec<String> =
        properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let schema = json!({"type": "object", "required": required, "properties": properties});
    step["validationCriteria"] =
        json!([{"type": "schema", "schema": schema, "message": "Answer with the JSON object"}]);
    step
}

fn when(mut step: Value, condition: Value) -> Value {
    step["runCondition"] = condition;
    step
}

fn each(id: &str, items: &str, item: &str, body: Value) -> Value {
    let spec = json!({"type": "forEach", "items": items, "itemVar": item, "maxIterations": 9});
    json!({"id": id, "title": id, "type": "loop", "loop": spec, "body": body})
}

fn until(id: &str, condition: Value, body: Value) -> Value {
    let spec = json!({"type": "until", "condition": condition, "maxIterations": 3});
    json!({"id": id, "title": id, "type": "loop", "loop": spec, "body": body})
}

fn guide_with(steps: Value, inputs: Value, arrange: impl Fn(&mut RunCreated)) -> Rig {
    let text = json!({
        "id": "decided", "name": "Decided", "description": "For tests.", "version": "1.0.0",
        "steps": steps,
    });
    let mut rig = Rig::with(&text.to_string(), &inputs, arrange);
    rig.start();
    rig
}

fn guide(steps: Value) -> Rig {
    guide_with(steps, json!({}), |_| {})
}

fn manifest(text: &str) -> Rig {
    let mut rig = Rig::with(text, &json!({"strict": true}), |_| {});
    rig.start();
    rig
}

/// What an agent hears when it submits an output and a context.
fn tell(rig: &mut Rig, step: &str, output: Value, context: Value) -> String {
    let Signal::Submit(mut submitted) = submit(step, None, output) else { unreachable!() };
    submitted.context = context.as_object().cloned().unwrap_or_default();
    let reply = rig.tell(Signal::Submit(submitted));
    let told = rendering::reply(&reply);
    format!("{told}\n= {}\n", rendering::stands(rig))
}

fn check(rig: &mut Rig, step: &str, output: Value, context: Value, expected: &Expect) {
    expected.assert_eq(&tell(rig, step, output, context));
}

fn add_context(rig: &mut Rig, context: &Value) -> String {
    let told = rendering::reply(&rig.tell(add(context)));
    format!("{told}\n= {}\n", rendering::stands(rig))
}

const GATES: fn() -> Value = || {
    json!([
        declares("triage", json!({"gates": {"type": "array"}, "stopped": {"const": false}})),
        each("each-gate", "gates", "gate", json!([step("run-gate")])),
        when(step("notes"), json!({"var": "stopped", "not_equals": true})),
    ])
};

#[test]
fn a_context_cannot_contradict_the_output_beside_it() {
    let mut rig = guide(GATES());
    let output = json!({"gates": ["a", "b"], "stopped": false});
    check(
        &mut rig,
        "triage",
        output.clone(),
        json!({"gates": []}),
        &expect![[r#"
        refused STATE_INVALID: `gates` is `["a","b"]` in this output, but `[]` in `context`
        = waiting agent triage
    "#]],
    );
    // The same as text.
    let text = json!(output.to_string());
    check(
        &mut rig,
        "triage",
        text.clone(),
        json!({"gates": null}),
        &expect![[r#"
        refused STATE_INVALID: `gates` is `["a","b"]` in this output, but `null` in `context`
        = waiting agent triage
    "#]],
    );
    check(
        &mut rig,
        "triage",
        text,
        json!({"gates": ["a", "b"], "who": "ada"}),
        &expect![[r#"
        accepted triage
        = waiting agent each-gate@0::run-gate
    "#]],
    );
}

#[test]
fn a_context_cannot_contradict_what_was_accepted() {
    let mut rig = guide(GATES());
    tell(&mut rig, "triage", json!({"gates": ["a", "b"], "stopped": false}), json!({}));
    check(
        &mut rig,
        "each-gate@0::run-gate",
        json!("ok"),
        json!({"gates": ["a"]}),
        &expect![[r#"
        refused STATE_INVALID: `gates` is `["a","b"]` in the accepted output of `triage`, but `["a"]` in `context`
        = waiting agent each-gate@0::run-gate
    "#]],
    );
    check(
        &mut rig,
        "each-gate@0::run-gate",
        json!("ok"),
        json!({"stopped": true}),
        &expect![[r#"
        refused STATE_INVALID: `stopped` is `false` in the accepted output of `triage`, but `true` in `context`
        = waiting agent each-gate@0::run-gate
    "#]],
    );
    expect![[r#"
        refused STATE_INVALID: `gates` is `["a","b"]` in the accepted output of `triage`, but `[]` in `context`
        = waiting agent each-gate@0::run-gate
    "#]].assert_eq(&add_context(&mut rig, &json!({"gates": []})));
    expect![[r#"
        refused STATE_INVALID: `gates.0` is `"a"` in the accepted output of `triage`, but `"c"` in `context`
        = waiting agent each-gate@0::run-gate
    "#]].assert_eq(&add_context(&mut rig, &json!({"gates.0": "c"})));
    check(
        &mut rig,
        "each-gate@0::run-gate",
        json!("ok"),
        json!({"stopped": false}),
        &expect![[r#"
        accepted each-gate@0::run-gate
        = waiting agent each-gate@1::run-gate
    "#]],
    );
    check(
        &mut rig,
        "each-gate@1::run-gate",
        json!("ok"),
        json!({}),
        &expect![[r#"
        accepted each-gate@1::run-gate
        = waiting agent notes
    "#]],
    );
}

#[test]
fn what_no_output_holds_is_the_agents_word() {
    let steps = json!([step("a"), when(step("b"), json!({"var": "risk", "equals": "high"}))]);
    let mut rig = guide(steps);
    check(
        &mut rig,
        "a",
        json!("done"),
        json!({"risk": "low"}),
        &expect![[r#"
        accepted a
        = succeeded
    "#]],
    );
}

#[test]
fn an_output_without_a_schema_decides_too() {
    let steps = json!([step("a"), when(step("b"), json!({"var": "risk", "equals": "high"}))]);
    let mut rig = guide(steps.clone());
    check(
        &mut rig,
        "a",
        json!({"risk": "high"}),
        json!({"risk": "low"}),
        &expect![[r#"
        refused STATE_INVALID: `risk` is `"high"` in this output, but `"low"` in `context`
        = waiting agent a
    "#]],
    );
    check(
        &mut rig,
        "a",
        json!({"risk": "high"}),
        json!({}),
        &expect![[r#"
        accepted a
        = waiting agent b
    "#]],
    );
    let mut rig = guide(steps);
    check(
        &mut rig,
        "a",
        json!("{\"risk\": \"high\"}"),
        json!({}),
        &expect![[r#"
        accepted a
        = waiting agent b
    "#]],
    );
}

#[test]
fn a_step_cannot_set_what_another_one_declares() {
    let steps = json!([
        declares("triage", json!({"risk": {"enum": ["low", "high"]}})),
        step("work"),
        when(step("ask"), json!({"var": "risk", "equals": "high"})),
    ]);
    let mut rig = guide(steps);
    tell(&mut rig, "triage", json!({"risk": "high"}), json!({}));
    check(
        &mut rig,
        "work",
        json!({"risk": "low"}),
        json!({}),
        &expect![[r#"
        accepted work
        = waiting agent ask
    "#]],
    );
}

#[test]
fn a_later_step_that_declares_a_variable_changes_it() {
    let steps = json!([
        declares("triage", json!({"reproduced": {"const": false}})),
        declares("try", json!({"reproduced": {"type": "boolean"}})),
        when(step("ask"), json!({"var": "reproduced", "equals": false})),
        step("end"),
    ]);
    let mut rig = guide(steps);
    tell(&mut rig, "triage", json!({"reproduced": false}), json!({}));
    check(
        &mut rig,
        "try",
        json!({"reproduced": true}),
        json!({"reproduced": false}),
        &expect![[r#"
        refused STATE_INVALID: `reproduced` is `true` in this output, but `false` in `context`
        = waiting agent try
    "#]],
    );
    check(
        &mut rig,
        "try",
        json!({"reproduced": true}),
        json!({}),
        &expect![[r#"
        accepted try
        = waiting agent end
    "#]],
    );
}

#[test]
fn a_value_sent_ahead_does_not_end_a_loop() {
    let steps = json!([
        step("a"),
        until(
            "fix",
            json!({"var": "passes", "equals": true}),
            json!([declares("try", json!({"passes": {"type": "boolean"}})),])
        ),
        step("end"),
    ]);
    let mut rig = guide(steps.clone());
    check(
        &mut rig,
        "a",
        json!("done"),
        json!({"passes": true}),
        &expect![[r#"
        accepted a
        = waiting agent fix@0::try
    "#]],
    );
    check(
        &mut rig,
        "fix@0::try",
        json!({"passes": false}),
        json!({"passes": true}),
        &expect![[r#"
        refused STATE_INVALID: `passes` is `false` in this output, but `true` in `context`
        = waiting agent fix@0::try
    "#]],
    );
    check(
        &mut rig,
        "fix@0::try",
        json!({"passes": false}),
        json!({}),
        &expect![[r#"
        accepted fix@0::try
        = waiting agent fix@1::try
    "#]],
    );
    check(
        &mut rig,
        "fix@1::try",
        json!({"passes": true}),
        json!({}),
        &expect![[r#"
        accepted fix@1::try
        = waiting agent end
    "#]],
    );
    // Neither does one that was given when the run started.
    let rig = guide_with(steps.clone(), json!({"passes": true}), |_| {});
    assert_eq!(rendering::stands(&rig), "waiting agent a");
    let mut rig = guide_with(steps, json!({"passes": true}), |_| {});
    check(
        &mut rig,
        "a",
        json!({"passes": true}),
        json!({}),
        &expect![[r#"
        accepted a
        = waiting agent fix@0::try
    "#]],
    );
}

#[test]
fn the_passes_of_a_list_do_not_see_each_others_outputs() {
    let gate = declares("run-gate", json!({"passed": {"type": "boolean"}}));
    let steps = json!([
        declares("triage", json!({"gates": {"type": "array"}})),
        each(
            "each-gate",
            "gates",
            "gate",
            json!([
                until("again", json!({"var": "passed", "equals": true}), json!([gate])),
                when(step("excuse"), json!({"var": "passed", "equals": false})),
            ])
        ),
        when(step("celebrate"), json!({"var": "passed", "equals": true})),
    ]);
    let mut rig = guide(steps);
    tell(&mut rig, "triage", json!({"gates": [1, 2]}), json!({}));
    let one = "each-gate@0::again@0::run-gate";
    check(
        &mut rig,
        one,
        json!({"passed": true}),
        json!({}),
        &expect![[r#"
        accepted each-gate@0::again@0::run-gate
        = waiting agent each-gate@1::again@0::run-gate
    "#]],
    );
    for pass in 0..3 {
        let key = format!("each-gate@1::again@{pass}::run-gate");
        tell(&mut rig, &key, json!({"passed": false}), json!({}));
    }
    assert_eq!(rendering::stands(&rig), "waiting agent each-gate@1::excuse");
    check(
        &mut rig,
        "each-gate@1::excuse",
        json!("sorry"),
        json!({}),
        &expect![[r#"
        accepted each-gate@1::excuse
        = succeeded
    "#]],
    );
}

#[test]
fn a_variable_of_an_outer_step_is_shared_by_all_passes() {
    let steps = json!([
        declares("triage", json!({"items": {"type": "array"}, "stopped": {"const": false}})),
        each(
            "l",
            "items",
            "item",
            json!([when(
                declares("work", json!({"stopped": {"type": "boolean"}})),
                json!({"var": "stopped", "not_equals": true})
            ),])
        ),
        step("end"),
    ]);
    let mut rig = guide(steps);
    tell(&mut rig, "triage", json!({"items": [1, 2, 3], "stopped": false}), json!({}));
    check(
        &mut rig,
        "l@0::work",
        json!({"stopped": true}),
        json!({}),
        &expect![[r#"
        accepted l@0::work
        = waiting agent end
    "#]],
    );
}

#[test]
fn an_output_may_say_more_about_an_item() {
    let gate = declares(
        "run-gate",
        json!({"gate": {
            "type": "object", "required": ["passed"], "properties": {"passed": {"type": "boolean"}},
        }}),
    );
    let mut shown = gate.clone();
    shown["prompt"] = json!("Run {{gate.command}}.");
    let steps = json!([
        declares("triage", json!({"gates": {"type": "array"}})),
        each(
            "each-gate",
            "gates",
            "gate",
            json!([until("again", json!({"var": "gate.passed", "equals": true}), json!([shown])),])
        ),
    ]);
    let mut rig = guide(steps);
    let gates = json!([{"command": "x", "passed": false}, {"command": "y", "passed": false}]);
    tell(&mut rig, "triage", json!({"gates": gates}), json!({}));
    let key = "each-gate@0::again@0::run-gate";
    // The list itself stays as it was accepted.
    let context = json!({"gates": [{"command": "x", "passed": true}, {"command": "y"}]});
    check(
        &mut rig,
        key,
        json!({"gate": {"passed": true}}),
        context,
        &expect![[r#"
        refused STATE_INVALID: `gates.0.passed` is `false` in the accepted output of `triage`, but `true` in `context`
        = waiting agent each-gate@0::again@0::run-gate
    "#]],
    );
    check(
        &mut rig,
        key,
        json!({"gate": {"passed": true}}),
        json!({}),
        &expect![[r#"
        accepted each-gate@0::again@0::run-gate
        = waiting agent each-gate@1::again@0::run-gate
    "#]],
    );
    assert_eq!(view::briefs(&rig.flow, rig.state())[0].prompt, "Run y.");
}

#[test]
fn a_context_may_add_what_an_output_leaves_open() {
    let steps = json!([
        declares("list", json!({"parts": {"type": "array"}})),
        each(
            "l",
            "parts",
            "part",
            json!([
                step("look"),
                when(step("mend"), json!({"var": "part.broken", "equals": true})),
            ])
        ),
    ]);
    let mut rig = guide(steps);
    tell(&mut rig, "list", json!({"parts": [{"name": "a"}, {"name": "b"}]}), json!({}));
    check(
        &mut rig,
        "l@0::look",
        json!("seen"),
        json!({}),
        &expect![[r#"
        accepted l@0::look
        = waiting variable parts.0.broken of mend
    "#]],
    );
    expect![[r#"
        done
        = waiting agent l@0::mend
    "#]]
    .assert_eq(&add_context(&mut rig, &json!({"parts.0.broken": true})));
    let added = json!({"parts": [{"name": "a", "broken": true}, {"name": "b", "broken": false}]});
    tell(&mut rig, "l@0::mend", json!("done"), added);
    check(
        &mut rig,
        "l@1::look",
        json!("seen"),
        json!({}),
        &expect![[r#"
        accepted l@1::look
        = succeeded
    "#]],
    );
}

#[test]
fn an_undecided_condition_is_never_passed_over() {
    let condition = |condition: Value| {
        let mut rig = guide(json!([step("a"), when(step("b"), condition), step("c")]));
        tell(&mut rig, "a", json!("done"), json!({"no": false, "yes": true, "empty": null}));
        rendering::stands(&rig)
    };
    let unset = json!({"var": "unset", "equals": 1});
    let blocked = "waiting variable unset of b";
    assert_eq!(condition(unset.clone()), blocked);
    assert_eq!(condition(json!({"var": "unset"})), blocked);
    assert_eq!(
        condition(json!({"var": "unset.deep", "gt": 1})),
        "waiting variable unset.deep of b"
    );
    assert_eq!(condition(json!({"not": {"var": "unset", "not_equals": 1}})), blocked);
    assert_eq!(condition(json!({"and": [{"var": "yes"}, unset]})), blocked);
    assert_eq!(condition(json!({"or": [unset, {"var": "no"}]})), blocked);
    // A side that is known may decide for both.
    assert_eq!(condition(json!({"and": [unset, {"var": "no"}]})), "waiting agent c");
    assert_eq!(condition(json!({"or": [unset, {"var": "yes"}]})), "waiting agent b");
    // Null is a value. A missing variable differs from every value, so the step is not left out.
    assert_eq!(condition(json!({"var": "empty", "equals": 1})), "waiting agent c");
    assert_eq!(condition(json!({"var": "unset", "not_equals": 1})), "waiting agent b");
    assert_eq!(condition(json!({"not": unset})), "waiting agent b");
}

#[test]
fn an_undecided_loop_is_never_passed_over() {
    let looped = |spec: Value, context: Value| {
        let l = json!({"id": "l", "title": "l", "type": "loop", "loop": spec, "body": [step("b")]});
        let mut rig = guide(json!([step("a"), l, step("c")]));
        let told = tell(&mut rig, "a", json!("done"), context);
        told.lines().last().unwrap_or_default().to_owned()
    };
    let items = json!({"type": "forEach", "items": "unset", "maxIterations": 3});
    let missing = "= waiting variable unset of decided";
    assert_eq!(looped(items.clone(), json!({})), missing);
    for wrong in [json!(null), json!("x"), json!(3), json!({"0": 1})] {
        assert_eq!(looped(items.clone(), json!({ "unset": wrong })), missing);
    }
    let count = json!({"type": "for", "count": "unset", "maxIterations": 3});
    assert_eq!(looped(count.clone(), json!({})), missing);
    for wrong in [json!(null), json!("x"), json!(-1), json!(1.5), json!([])] {
        assert_eq!(looped(count.clone(), json!({ "unset": wrong })), missing);
    }
    let unset = json!({"var": "unset", "equals": 1});
    let goes = |kind: &str| json!({"type": kind, "condition": unset, "maxIterations": 3});
    assert_eq!(looped(goes("while"), json!({})), "= waiting variable unset of l");
    // A pass is run rather than left out.
    assert_eq!(looped(goes("until"), json!({})), "= waiting agent l@0::b");
    let not = json!({"type": "until", "condition": {"var": "unset", "not_equals": 1},
        "maxIterations": 3});
    assert_eq!(looped(not, json!({})), "= waiting variable unset of l");
}

#[test]
fn a_loop_over_an_accepted_output_has_a_list() {
    let steps = json!([step("a"), each("l", "names", "name", json!([step("b")])), step("c")]);
    let mut rig = guide(steps);
    check(
        &mut rig,
        "a",
        json!({"names": "ada, bob"}),
        json!({}),
        &expect![[r#"
        rejected a: `names` must be an array: a loop runs over it, 4 left
        = waiting agent a
    "#]],
    );
    // A list that is too long would lose its end.
    let told = tell(&mut rig, "a", json!({"names": vec!["ada"; 10]}), json!({}));
    assert!(told.contains("`names` has 10 items, but its loop runs at most 9 times"), "{told}");
    check(
        &mut rig,
        "a",
        json!({"names": ["ada"]}),
        json!({}),
        &expect![[r#"
        accepted a
        = waiting agent l@0::b
    "#]],
    );
}

#[test]
fn a_missing_variable_does_not_leave_out_a_confirmation() {
    let confirmed = |condition: Value, output: Value, context: Value| {
        let mut step = step("a");
        step["requireConfirmation"] = condition;
        let mut rig = guide(json!([step]));
        let told = tell(&mut rig, "a", output, context);
        told.lines().last().unwrap_or_default().to_owned()
    };
    let high = json!({"var": "risk", "equals": "high"});
    assert_eq!(confirmed(high.clone(), json!("x"), json!({})), "= waiting approval a");
    assert_eq!(confirmed(high.clone(), json!({"risk": "high"}), json!({})), "= waiting approval a");
    assert_eq!(confirmed(high.clone(), json!({"risk": "low"}), json!({})), "= succeeded");
    assert_eq!(confirmed(high, json!("x"), json!({"risk": "low"})), "= succeeded");
}

#[test]
fn a_confirmation_reads_the_variables_of_its_pass() {
    let mut body = step("b");
    body["requireConfirmation"] = json!({"var": "part.risky", "equals": true});
    let steps = json!([step("a"), each("l", "parts", "part", json!([body])), step("c")]);
    let mut rig = guide(steps);
    tell(&mut rig, "a", json!({"parts": [{"risky": false}, {"risky": true}]}), json!({}));
    tell(&mut rig, "l@0::b", json!("x"), json!({}));
    tell(&mut rig, "l@1::b", json!("x"), json!({}));
    assert_eq!(rendering::stands(&rig), "waiting approval l@1::b");
}

#[test]
fn a_missing_variable_does_not_switch_off_a_rule() {
    let mut ruled = step("a");
    ruled["validationCriteria"] = json!([{
        "type": "contains", "value": "Before you upgrade", "message": "Warn the users",
        "condition": {"var": "breaking", "equals": true},
    }]);
    let mut rig = guide(json!([ruled]));
    check(
        &mut rig,
        "a",
        json!("Fine."),
        json!({}),
        &expect![[r#"
        refused STATE_INVALID: `breaking` is not set, and it decides whether a rule applies: Warn the users
        = waiting agent a
    "#]],
    );
    check(
        &mut rig,
        "a",
        json!("Fine."),
        json!({"breaking": true}),
        &expect![[r#"
        rejected a: Warn the users, 4 left
        = waiting agent a
    "#]],
    );
    check(
        &mut rig,
        "a",
        json!("Fine."),
        json!({"breaking": false}),
        &expect![[r#"
        accepted a
        = succeeded
    "#]],
    );
}

#[test]
fn what_a_person_gave_is_not_for_an_agent_to_change() {
    let steps = json!([step("a"), when(step("b"), json!({"var": "risk", "equals": "high"}))]);
    let person = |head: &mut RunCreated| head.actor = rig::person("ada");
    let mut rig = guide_with(steps.clone(), json!({"risk": "high"}), person);
    check(
        &mut rig,
        "a",
        json!("done"),
        json!({"risk": "low"}),
        &expect![[r#"
        refused STATE_INVALID: `risk` is `"high"` in the inputs of this run, but `"low"` in `context`
        = waiting agent a
    "#]],
    );
    let mut rig = guide_with(steps, json!({"risk": "high"}), |_| {});
    check(
        &mut rig,
        "a",
        json!("done"),
        json!({"risk": "low"}),
        &expect![[r#"
        accepted a
        = succeeded
    "#]],
    );
}

#[test]
fn a_prompt_asks_for_the_variables_it_lacks() {
    let mut asks = step("a");
    asks["prompt"] = json!("Show {{symptom}} in {{place}}, I say {{place}}.");
    let mut rig = guide(json!([asks, step("b")]));
    let brief = &view::briefs(&rig.flow, rig.state())[0];
    let start = "Show `symptom` (not set: send it in `context`) in `place` (not set";
    assert!(brief.prompt.starts_with(start), "{}", brief.prompt);
    assert_eq!(brief.missing, ["symptom", "place"]);
    rig.tell(add(&json!({"symptom": "a crash"})));
    let brief = &view::briefs(&rig.flow, rig.state())[0];
    assert!(brief.prompt.starts_with("Show a crash in `place` (not set"), "{}", brief.prompt);
    assert_eq!(brief.missing, ["place"]);
}

#[test]
fn the_notes_of_a_guide_come_with_its_first_step() {
    let text = json!({
        "id": "noted", "name": "Noted", "description": "For tests.", "version": "1.0.0",
        "preconditions": ["It builds"], "clarificationPrompts": ["Since when?"],
        "metaGuidance": ["Say what you did"], "steps": [step("a"), step("b")],
    });
    let mut rig = Rig::with(&text.to_string(), &json!({}), |_| {});
    rig.start();
    let about = view::briefs(&rig.flow, rig.state())[0].about.clone();
    assert_eq!(about.preconditions, ["It builds"]);
    assert_eq!(about.clarification_prompts, ["Since when?"]);
    assert_eq!(about.meta_guidance, ["Say what you did"]);
    rig.submit("a", json!("done"));
    assert_eq!(view::briefs(&rig.flow, rig.state())[0].about, view::GuideNotes::default());
}

const LOOPED: &str = "
workflow: looped
inputs: {strict: {type: boolean, optional: true}}
steps:
  - id: plan
    prompt: Plan
    output_schema: {type: object, properties: {parts: {type: array}}}
  - id: l
    type: loop
    title: L
    depends_on: [plan]
    loop: {type: forEach, items: parts, itemVar: part, maxIterations: 5}
    body:
      - {id: work, prompt: Work}
      - {id: check, if: {var: strict, equals: true}, prompt: Check}
";

#[test]
fn a_loop_of_a_manifest_runs_over_an_accepted_output() {
    let mut rig = manifest(LOOPED);
    check(
        &mut rig,
        "plan",
        json!({"parts": ["a"]}),
        json!({"parts": []}),
        &expect![[r#"
        refused STATE_INVALID: `parts` is `["a"]` in this output, but `[]` in `context`
        = waiting agent plan
    "#]],
    );
    check(
        &mut rig,
        "plan",
        json!({"parts": ["a"]}),
        json!({"strict": false}),
        &expect![[r#"
        refused STATE_INVALID: `strict` is `true` in the inputs of this run, but `false` in `context`
        = waiting agent plan
    "#]],
    );
    check(
        &mut rig,
        "plan",
        json!({"parts": ["a"]}),
        json!({}),
        &expect![[r#"
        accepted plan
        = waiting agent l@0::work
    "#]],
    );
    check(
        &mut rig,
        "l@0::work",
        json!("x"),
        json!({}),
        &expect![[r#"
        accepted l@0::work
        = waiting agent l@0::check
    "#]],
    );
}

#[test]
fn a_loop_of_a_manifest_waits_for_its_list() {
    let mut rig = manifest(LOOPED);
    check(
        &mut rig,
        "plan",
        json!({}),
        json!({}),
        &expect![[r#"
        accepted plan
        = waiting variable parts of l
    "#]],
    );
    expect![[r#"
        done
        = waiting agent l@0::work
    "#]]
    .assert_eq(&add_context(&mut rig, &json!({"parts": ["a"]})));
}

#[test]
fn a_result_cannot_be_made_up_under_its_path() {
    let mut rig = manifest(
        "workflow: made-up\nsteps:\n  - {id: a, prompt: A, output_schema: {type: object}}\n  \
         - id: l\n    type: loop\n    title: L\n    depends_on: [a]\n    \
         loop: {type: while, condition: {var: steps.a.output.more, equals: true}, \
         maxIterations: 2}\n    body: [{id: b, prompt: B}]\n",
    );
    let context =
        json!({"steps.a.output.more": false, "steps": {"a": {"output": {"more": false}}}});
    check(
        &mut rig,
        "a",
        json!({"more": true}),
        context,
        &expect![[r#"
        accepted a
        = waiting agent l@0::b
    "#]],
    );
}

#[test]
fn a_step_of_a_manifest_waits_for_its_variable() {
    let mut rig = manifest(
        "workflow: waits\ninputs: {mode: {type: string, optional: true}}\nsteps:\n  \
         - {id: a, prompt: A}\n  \
         - {id: b, depends_on: [a], if: {var: mode, equals: full}, prompt: B}\n  \
         - {id: c, depends_on: [a], if: {var: risk, equals: high}, prompt: C}\n",
    );
    check(
        &mut rig,
        "a",
        json!("x"),
        json!({}),
        &expect![[r#"
        accepted a
        = waiting variable risk of c
    "#]],
    );
    expect![[r#"
        done
        = waiting agent c
    "#]]
    .assert_eq(&add_context(&mut rig, &json!({"risk": "high"})));
}

/// Journals of earlier versions may hold a context that contradicts an output. It still counts.
#[test]
fn a_context_that_was_accepted_earlier_keeps_its_meaning() {
    let mut rig = guide(GATES());
    tell(&mut rig, "triage", json!({"gates": ["a", "b"], "stopped": false}), json!({}));
    let values = json!({"gates": ["a"]}).as_object().cloned().unwrap_or_default();
    let entry = JournalEntry {
        seq: rig.state().seq + 1,
        at_ms: rig.state().now_ms,
        event: Event::ContextAdded { by: rig::agent(), values },
    };
    rig.journal.push(entry);
    rig.die();
    rig.open();
    check(
        &mut rig,
        "each-gate@0::run-gate",
        json!("ok"),
        json!({}),
        &expect![[r#"
        accepted each-gate@0::run-gate
        = waiting agent notes
    "#]],
    );
}
