//! Steps over lists, and loops inside manifests.

use expect_test::{Expect, expect};
use milepost_engine::view;
use serde_json::json;

use crate::rendering;
use crate::rig::{Rig, add, ok, status, willing};

fn check(text: &str, arrange: impl Fn(&mut Rig), expected: &Expect) {
    let mut rig = Rig::with(text, &json!({"names": ["x", "y", "z"], "many": 2}), |_| {});
    arrange(&mut rig);
    rig.start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn outputs_stand_in_the_order_of_their_items() {
    check(
        "
workflow: w
inputs: {names: {type: array}, many: {type: integer, optional: true}}
steps:
  - id: a
    for_each: '${{ inputs.names }}'
    as: name
    concurrency: 2
    run: api a:get
    with: {name: '${{ name }}', at: '${{ index }}'}
final_output: '${{ steps.a.output }}'
",
        |rig| {
            rig.on("a@0", &[ok(json!("X")).after(90)]).on("a@1", &[ok(json!("Y"))]);
        },
        &expect![[r#"
            step_scheduled a 3 items
            attempt_started a@0 #1 GET api a:get
            attempt_started a@1 #1 GET api a:get
            attempt_succeeded a@1 "Y"
            step_succeeded a@1
            attempt_started a@2 #1 GET api a:get
            attempt_succeeded a@2 {"n":9,"of":"a@2"}
            step_succeeded a@2
            attempt_succeeded a@0 "X"
            step_succeeded a@0
            step_succeeded a ["X","Y",{"n":9,"of":"a@2"}]
            run_succeeded ["X","Y",{"n":9,"of":"a@2"}]
            = succeeded ["X","Y",{"n":9,"of":"a@2"}]
        "#]],
    );
}

const LIST: &str = "
workflow: w
steps:
  - {id: a, for_each: [1, 2, 3], concurrency: 2, run: api a:get, MORE}
final_output: '${{ steps.a.output }}'
";

#[test]
fn a_failed_item_fails_the_step_after_its_siblings() {
    check(
        &LIST.replace(", MORE", ""),
        |rig| {
            rig.on("a@0", &[status(400)]).on("a@1", &[ok(json!(2)).after(50)]);
        },
        &expect![[r#"
            step_scheduled a 3 items
            attempt_started a@0 #1 GET api a:get
            attempt_started a@1 #1 GET api a:get
            attempt_failed a@0 Status(400), no more
            step_failed a@0 UPSTREAM_REJECTED: Status(400)
            attempt_succeeded a@1 2
            step_succeeded a@1
            step_failed a UPSTREAM_REJECTED: Status(400)
            run_failed a Status(400)
            = failed UPSTREAM_REJECTED: Status(400)
        "#]],
    );
}

#[test]
fn a_failed_item_may_be_null() {
    check(
        &LIST.replace("MORE", "on_error: continue"),
        |rig| {
            rig.on("a@0", &[status(400)]).on("a@1", &[ok(json!(2)).after(50)]);
        },
        &expect![[r#"
            step_scheduled a 3 items
            attempt_started a@0 #1 GET api a:get
            attempt_started a@1 #1 GET api a:get
            attempt_failed a@0 Status(400), no more
            step_failed a@0 UPSTREAM_REJECTED: Status(400)
            attempt_started a@2 #1 GET api a:get
            attempt_succeeded a@2 {"n":9,"of":"a@2"}
            step_succeeded a@2
            attempt_succeeded a@1 2
            step_succeeded a@1
            step_succeeded a [null,2,{"n":9,"of":"a@2"}]
            run_succeeded [null,2,{"n":9,"of":"a@2"}]
            = succeeded [null,2,{"n":9,"of":"a@2"}]
        "#]],
    );
}

#[test]
fn an_empty_list_is_done_and_no_list_is_a_failure() {
    let text = "
workflow: w
inputs: {names: {type: array}, many: {type: integer}}
steps:
  - {id: e, for_each: [], run: api e:get}
  - {id: n, for_each: '${{ inputs.names[0] }}', run: api n:get}
";
    check(
        text,
        |_| {},
        &expect![[r#"
            step_scheduled e 0 items
            step_succeeded e []
            step_failed n EXPRESSION_FAILED: `for_each` must yield a list: it yields a string
            run_failed n `for_each` must yield a list: it yields a string
            = failed EXPRESSION_FAILED: `for_each` must yield a list: it yields a string
        "#]],
    );
}

#[test]
fn items_are_polled_with_their_names() {
    check(
        "
workflow: w
steps:
  - id: a
    for_each: [5]
    run: api a:get
    with: {item: '${{ item }}', last: '${{ steps.self.?output.orValue(0) }}'}
    repeat: {until: output > item, every: 1s}
",
        |rig| {
            rig.on("a@0", &[ok(json!(5)), ok(json!(6))]);
        },
        &expect![[r#"
            step_scheduled a 1 items
            attempt_started a@0 #1 GET api a:get
            attempt_succeeded a@0 5
            timer_set a@0 at 1010
            timer_fired a@0
            attempt_started a@0 #1 GET api a:get
            attempt_succeeded a@0 6
            step_succeeded a@0
            step_succeeded a [6]
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn agents_work_on_items_too() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: a, for_each: [x, y], concurrency: 2, prompt: 'Look at ${{ item }}'}
final_output: '${{ steps.a.output }}'
",
    );
    rig.start();
    let briefs = view::briefs(&rig.flow, rig.state());
    let told: Vec<String> =
        briefs.iter().map(|one| format!("{} {}", one.key, one.prompt)).collect();
    assert_eq!(told, ["a@0 Look at x", "a@1 Look at y"]);
    rig.submit("a@1", json!("Y"));
    rig.submit("a@0", json!("X"));
    assert_eq!(rendering::stands(&rig), r#"succeeded ["X","Y"]"#);
}

fn check_loop(spec: &str, expected: &Expect) {
    let text = format!(
        "
workflow: w
inputs: {{names: {{type: array, optional: true}}, many: {{type: integer, optional: true}}}}
steps:
  - id: l
    type: loop
    loop: {{{spec}, maxIterations: 4}}
    body:
      - {{id: a, run: api a:get}}
      - {{id: b, set: {{of: '${{{{ steps.a.output }}}}'}}}}
final_output: '${{{{ steps.l.output }}}}'
"
    );
    let mut rig = Rig::with(&text, &json!({"names": ["x", "y"], "many": 2}), |_| {});
    for pass in 0..4 {
        rig.on(&format!("l@{pass}::a"), &[ok(json!(pass))]);
    }
    rig.start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_manifest_loops_over_a_list_and_a_count() {
    check_loop(
        "type: forEach, items: names",
        &expect![[r#"
        step_scheduled l 0 items
        attempt_started l@0::a #1 GET api a:get
        attempt_succeeded l@0::a 0
        step_succeeded l@0::a
        step_succeeded l@0::b {"of":0}
        attempt_started l@1::a #1 GET api a:get
        attempt_succeeded l@1::a 1
        step_succeeded l@1::a
        step_succeeded l@1::b {"of":1}
        step_succeeded l [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
        run_succeeded [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
        = succeeded [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
    "#]],
    );
    check_loop(
        "type: for, count: many",
        &expect![[r#"
        step_scheduled l 0 items
        attempt_started l@0::a #1 GET api a:get
        attempt_succeeded l@0::a 0
        step_succeeded l@0::a
        step_succeeded l@0::b {"of":0}
        attempt_started l@1::a #1 GET api a:get
        attempt_succeeded l@1::a 1
        step_succeeded l@1::a
        step_succeeded l@1::b {"of":1}
        step_succeeded l [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
        run_succeeded [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
        = succeeded [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
    "#]],
    );
}

#[test]
fn a_manifest_loops_on_a_condition() {
    check_loop(
        "type: while, condition: {var: many, gt: 5}",
        &expect![[r#"
        step_scheduled l 0 items
        step_succeeded l []
        run_succeeded []
        = succeeded []
    "#]],
    );
    check_loop(
        "type: until, condition: {var: steps.b.output.of, gte: 1}",
        &expect![[r#"
        step_scheduled l 0 items
        attempt_started l@0::a #1 GET api a:get
        attempt_succeeded l@0::a 0
        step_succeeded l@0::a
        step_succeeded l@0::b {"of":0}
        attempt_started l@1::a #1 GET api a:get
        attempt_succeeded l@1::a 1
        step_succeeded l@1::a
        step_succeeded l@1::b {"of":1}
        step_succeeded l [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
        run_succeeded [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
        = succeeded [{"a":0,"b":{"of":0}},{"a":1,"b":{"of":1}}]
    "#]],
    );
}

#[test]
fn a_failed_step_fails_its_loop_and_a_refuted_claim_does_not() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - id: l
    type: loop
    loop: {type: for, count: 2, maxIterations: 4}
    body:
      - {id: a, prompt: Do it, verify: [{run: api c:get, check: output.done}]}
      - {id: b, run: api b:get}
",
    );
    rig.on("l@0::a::verify@0", &[ok(json!({"done": false})), ok(json!({"done": true}))]);
    rig.on("l@1::a::verify@0", &[ok(json!({"done": true}))]);
    rig.on("l@1::b", &[status(400)]);
    rig.start();
    rig.submit("a", json!("done"));
    rig.submit("a", json!("done"));
    rig.submit("a", json!("done"));
    expect![[r#"
        step_scheduled l 0 items
        prompt_offered l@0::a #1
        submission_received l@0::a #1 "done"
        attempt_started l@0::a::verify@0 #1 GET api c:get
        attempt_succeeded l@0::a::verify@0 {"done":false}
        step_failed l@0::a::verify@0 CLAIM_REFUTED: `output.done` does not hold
        submission_rejected l@0::a #1 `output.done` does not hold
        prompt_offered l@0::a #2
        submission_received l@0::a #2 "done"
        attempt_started l@0::a::verify@0 #1 GET api c:get
        attempt_succeeded l@0::a::verify@0 {"done":true}
        step_succeeded l@0::a::verify@0
        submission_accepted l@0::a #2 "done"
        step_succeeded l@0::a
        attempt_started l@0::b #1 GET api b:get
        attempt_succeeded l@0::b {"n":9,"of":"l@0::b"}
        step_succeeded l@0::b
        prompt_offered l@1::a #1
        submission_received l@1::a #1 "done"
        attempt_started l@1::a::verify@0 #1 GET api c:get
        attempt_succeeded l@1::a::verify@0 {"done":true}
        step_succeeded l@1::a::verify@0
        submission_accepted l@1::a #1 "done"
        step_succeeded l@1::a
        attempt_started l@1::b #1 GET api b:get
        attempt_failed l@1::b Status(400), no more
        step_failed l@1::b UPSTREAM_REJECTED: Status(400)
        step_failed l UPSTREAM_REJECTED: Status(400)
        run_failed l Status(400)
        = failed UPSTREAM_REJECTED: Status(400)
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_loop_waits_for_a_variable_that_decides() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - id: l
    type: loop
    loop: {type: while, condition: {var: more, equals: true}, maxIterations: 3}
    body: [{id: a, set: {x: 1}}]
",
    );
    rig.start();
    assert_eq!(rendering::stands(&rig), "waiting variable more of l");
    rig.tell(add(&json!({"more": false})));
    assert_eq!(rendering::stands(&rig), "succeeded");
}

#[test]
fn a_step_of_a_loop_may_be_skipped_and_sees_its_item() {
    let mut rig = Rig::with(
        "
workflow: w
inputs: {names: {type: array}}
steps:
  - id: l
    type: loop
    loop: {type: forEach, items: names, itemVar: name, maxIterations: 4}
    body:
      - {id: a, if: \"name != 'x'\", prompt: 'Greet ${{ name }}'}
",
        &json!({"names": ["x", "y"]}),
        |_| {},
    );
    rig.start();
    let briefs = view::briefs(&rig.flow, rig.state());
    assert_eq!(briefs[0].prompt, "Greet y");
    rig.play(willing);
    expect![[r#"
        step_scheduled l 0 items
        step_skipped l@0::a: {"name":"x","if":"name != 'x'"}
        prompt_offered l@1::a #1
        submission_accepted l@1::a #1 {"done":"l@1::a"}
        step_succeeded l@1::a
        step_succeeded l [{"a":null},{"a":{"done":"l@1::a"}}]
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

/// A list that continues on errors reports each failure at its index.
#[test]
fn a_failed_item_is_told_of_in_the_result_of_its_list() {
    let text = "
workflow: w
steps:
  - {id: a, for_each: [1, 2, 3], run: api a:get, on_error: continue}
final_output: '${{ steps.a.error }}'
";
    let mut rig = Rig::new(text);
    rig.on("a@1", &[status(400)]).start();
    let failed = json!({"code": "UPSTREAM_REJECTED", "message": "Status(400)"});
    let whole = json!({
        "code": "UPSTREAM_REJECTED",
        "message": "1 of 3 items failed: Status(400)",
        "items": [null, failed, null],
    });
    assert_eq!(rendering::stands(&rig), format!("succeeded {whole}"));
}
