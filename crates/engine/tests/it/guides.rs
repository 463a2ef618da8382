//! Guides as durable runs, walked to their end.

use expect_test::{Expect, expect};
use milepost_engine::signal::Signal;
use milepost_engine::view;
use serde_json::{Value, json};

use crate::rendering;
use crate::rig::{Rig, add, submit};

fn step(id: &str) -> Value {
    json!({"id": id, "title": id, "prompt": format!("Do {id} for {{{{who}}}}")})
}

fn step_if(id: &str, condition: Value) -> Value {
    let mut step = step(id);
    step["runCondition"] = condition;
    step
}

fn repeat(id: &str, spec: &Value, body: &Value) -> Value {
    json!({"id": id, "title": id, "type": "loop", "loop": spec, "body": body})
}

fn spec(kind: &str, condition: &Value) -> Value {
    let mut all = json!({"type": kind, "iterationVar": "n", "maxIterations": 9});
    all["condition"] = condition.clone();
    all
}

fn guide(steps: &Value, inputs: &Value) -> Rig {
    let text = json!({
        "id": "walked", "name": "Walked", "description": "For tests.", "version": "1.0.0",
        "steps": steps,
    });
    let mut rig = Rig::with(&text.to_string(), inputs, |_| {});
    rig.start();
    rig
}

/// The steps offered to an agent, in order.
fn walk(rig: &mut Rig) -> String {
    let mut keys = Vec::new();
    while let Some(brief) = view::briefs(&rig.flow, rig.state()).first() {
        let key = brief.key.to_string();
        rig.tell(submit(&key, Some(brief.attempt), json!("done")));
        keys.push(key);
        assert!(keys.len() < 50, "the walk does not end");
    }
    format!("{}\n= {}\n", keys.join("\n"), rendering::stands(rig))
}

fn check(steps: &Value, inputs: &Value, expected: &Expect) {
    expected.assert_eq(&walk(&mut guide(steps, inputs)));
}

#[test]
fn steps_come_one_after_the_other() {
    check(
        &json!([step("a"), step("b")]),
        &json!({}),
        &expect![[r#"
        a
        b
        = succeeded
    "#]],
    );
}

#[test]
fn conditions_read_the_inputs() {
    let steps = json!([
        step_if("a", json!({"var": "big", "equals": true})),
        step_if("b", json!({"var": "big", "equals": false})),
    ]);
    check(
        &steps,
        &json!({"big": false}),
        &expect![[r#"
        b
        = succeeded
    "#]],
    );
}

#[test]
fn all_kinds_of_loops_are_walked() {
    let each = json!({"type": "forEach", "items": "names", "itemVar": "name", "maxIterations": 9});
    let times = json!({"type": "for", "count": 2, "maxIterations": 9});
    let steps = json!([
        repeat("outer", &each, &json!([step("a"), repeat("inner", &times, &json!([step("b")]))])),
        repeat("w", &spec("while", &json!({"var": "n", "lt": 3})), &json!([step("c")])),
        repeat("u", &spec("until", &json!({"var": "n", "gt": 2})), &json!([step("d")])),
        step("e"),
    ]);
    check(
        &steps,
        &json!({"names": ["x", "y"]}),
        &expect![[r#"
            outer@0::a
            outer@0::inner@0::b
            outer@0::inner@1::b
            outer@1::a
            outer@1::inner@0::b
            outer@1::inner@1::b
            w@0::c
            w@1::c
            u@0::d
            u@1::d
            e
            = succeeded
        "#]],
    );
}

#[test]
fn an_undecided_condition_waits_for_its_variable() {
    let steps = json!([step("a"), step_if("b", json!({"var": "risk", "equals": "high"}))]);
    let mut rig = guide(&steps, &json!({}));
    expect![[r#"
        a
        = waiting variable risk of b
    "#]]
    .assert_eq(&walk(&mut rig));
    assert_eq!(rendering::reply(&rig.tell(add(&json!({"risk": "high"})))), "done");
    expect![[r#"
        b
        = succeeded
    "#]]
    .assert_eq(&walk(&mut rig));
}

#[test]
fn a_submission_may_add_to_the_context() {
    let steps =
        json!([step("a"), step_if("b", json!({"var": "risk", "equals": "high"})), step("c")]);
    let mut rig = guide(&steps, &json!({"who": "ada"}));
    let brief = &view::briefs(&rig.flow, rig.state())[0];
    assert_eq!(brief.prompt, "Do a for ada");
    let Signal::Submit(mut submitted) = submit("a", Some(1), json!("done")) else { return };
    submitted.context =
        json!({"risk": "high", "who": "bob"}).as_object().cloned().unwrap_or_default();
    rig.tell(Signal::Submit(submitted));
    assert_eq!(view::briefs(&rig.flow, rig.state())[0].prompt, "Do b for bob");
    expect![[r#"
        b
        c
        = succeeded
    "#]]
    .assert_eq(&walk(&mut rig));
}

#[test]
fn a_loop_waits_for_its_list() {
    let each = json!({"type": "forEach", "items": "names", "maxIterations": 9});
    let mut rig = guide(&json!([step("a"), repeat("l", &each, &json!([step("b")]))]), &json!({}));
    expect![[r#"
        a
        = waiting variable names of walked
    "#]]
    .assert_eq(&walk(&mut rig));
    rig.tell(add(&json!({"names": [1, 2]})));
    expect![[r#"
        l@0::b
        l@1::b
        = succeeded
    "#]]
    .assert_eq(&walk(&mut rig));
}

#[test]
fn a_guide_can_be_canceled_and_confirmed() {
    let mut confirmed = step("a");
    confirmed["requireConfirmation"] = json!(true);
    let mut rig = guide(&json!([confirmed, step("b")]), &json!({}));
    rig.submit("a", json!("done"));
    assert_eq!(rendering::stands(&rig), "waiting approval a");
    rig.decide("a", true);
    assert_eq!(rendering::stands(&rig), "waiting agent b");
    rig.cancel();
    assert_eq!(rendering::stands(&rig), "canceled");
}
