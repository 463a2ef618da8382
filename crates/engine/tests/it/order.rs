//! When each step runs, and which steps do not run at all.

use std::fmt::Write;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use serde_json::json;

use crate::rendering;
use crate::rig::{self, Rig, ok, status};

fn check(text: &str, arrange: impl Fn(&mut Rig), expected: &Expect) {
    let mut rig = Rig::with(text, &json!({"go": true, "n": 3}), |_| {});
    arrange(&mut rig);
    rig.start();
    expected.assert_eq(&rendering::journal(&rig));
}

#[test]
fn steps_come_in_the_order_of_the_text() {
    check(
        "
workflow: w
steps:
  - {id: b, run: api b:get}
  - {id: a, set: {x: 1}}
final_output: {x: '${{ steps.a.output.x }}', of: '${{ steps.b.output.of }}'}
",
        |_| {},
        &expect![[r#"
            attempt_started b #1 GET api b:get
            attempt_succeeded b {"n":9,"of":"b"}
            step_succeeded b
            step_succeeded a {"x":1}
            run_succeeded {"x":1,"of":"b"}
            = succeeded {"x":1,"of":"b"}
        "#]],
    );
}

#[test]
fn an_expression_is_a_dependency() {
    check(
        "
workflow: w
steps:
  - {id: b, set: {x: '${{ steps.a.output.x + 1 }}'}}
  - {id: a, set: {x: 1}}
",
        |_| {},
        &expect![[r#"
            step_succeeded a {"x":1}
            step_succeeded b {"x":2}
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn as_many_steps_run_at_once_as_may() {
    check(
        "
workflow: w
concurrency: 2
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:get}
  - {id: c, run: api c:get}
  - {id: d, run: api d:get, depends_on: [a]}
",
        |rig| {
            rig.on("a", &[ok(json!(1)).after(30)]).on("b", &[ok(json!(2)).after(10)]);
        },
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_started b #1 GET api b:get
            attempt_succeeded b 2
            step_succeeded b
            attempt_started c #1 GET api c:get
            attempt_succeeded c {"n":9,"of":"c"}
            step_succeeded c
            attempt_succeeded a 1
            step_succeeded a
            attempt_started d #1 GET api d:get
            attempt_succeeded d {"n":9,"of":"d"}
            step_succeeded d
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn what_needs_a_skipped_step_is_skipped_with_the_values_that_decided() {
    check(
        "
workflow: w
inputs: {go: {type: boolean}, n: {type: integer}}
steps:
  - {id: a, if: '!inputs.go || inputs.n > 5', run: api a:get}
  - {id: b, depends_on: [a], set: {x: 1}}
  - {id: c, depends_on: [b], set: {x: 1}}
  - {id: d, set: {x: 1}}
",
        |_| {},
        &expect![[r#"
            step_skipped a: {"inputs.go":true,"inputs.n":3,"if":"!inputs.go || inputs.n > 5"}
            step_skipped b: `a` was skipped
            step_skipped c: `b` was skipped
            step_succeeded d {"x":1}
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn one_of_several_may_be_enough() {
    check(
        "
workflow: w
inputs: {go: {type: boolean}, n: {type: integer}}
steps:
  - {id: a, if: '!inputs.go', set: {x: 1}}
  - {id: b, if: inputs.go && inputs.n > 0, set: {x: 2}}
  - {id: c, depends_on: [a, b], needs: any, set: {x: 3}}
  - {id: d, depends_on: [a], needs: any, set: {x: 3}}
",
        |_| {},
        &expect![[r#"
            step_skipped a: {"inputs.go":true,"if":"!inputs.go"}
            step_succeeded b {"x":2}
            step_succeeded c {"x":3}
            step_skipped d: none of the steps it needs succeeded
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn a_condition_on_how_a_step_ended_is_asked_though_the_step_was_skipped() {
    check(
        "
workflow: w
inputs: {go: {type: boolean}, n: {type: integer}}
steps:
  - {id: a, if: '!inputs.go && inputs.n > 0', set: {x: 1}}
  - {id: b, if: \"steps.a.status == 'skipped'\", set: {x: 1}}
  - {id: other, if: '!inputs.go', set: {x: 1}}
  - {id: c, depends_on: [other], if: \"steps.a.status == 'skipped'\", set: {x: 1}}
",
        |_| {},
        &expect![[r#"
            step_skipped a: {"inputs.go":true,"inputs.n":3,"if":"!inputs.go && inputs.n > 0"}
            step_succeeded b {"x":1}
            step_skipped other: {"inputs.go":true,"if":"!inputs.go"}
            step_skipped c: `other` was skipped
            run_succeeded
            = succeeded
        "#]],
    );
}

#[test]
fn a_failure_may_be_no_more_than_a_status() {
    check(
        "
workflow: w
steps:
  - {id: a, run: api a:create, on_error: continue}
  - {id: b, if: \"steps.a.status == 'failed'\", set: {why: '${{ steps.a.error.code }}'}}
final_output: '${{ steps.b.output.why }}'
",
        |rig| {
            rig.on("a", &[status(422)]);
        },
        &expect![[r#"
            attempt_started a #1 POST api a:create
            attempt_failed a Status(422), no more
            step_failed a UPSTREAM_REJECTED: Status(422)
            step_succeeded b {"why":"UPSTREAM_REJECTED"}
            run_succeeded "UPSTREAM_REJECTED"
            = succeeded "UPSTREAM_REJECTED"
        "#]],
    );
}

#[test]
fn a_failure_lets_running_siblings_finish_and_nothing_new_begin() {
    check(
        "
workflow: w
concurrency: 2
steps:
  - {id: slow, run: api slow:get}
  - {id: bad, run: api bad:get}
  - {id: later, run: api later:get}
",
        |rig| {
            rig.on("slow", &[status(503), ok(json!(1))]).on("bad", &[status(400)]);
        },
        &expect![[r#"
            attempt_started slow #1 GET api slow:get
            attempt_started bad #1 GET api bad:get
            attempt_failed slow Status(503), at 544
            attempt_failed bad Status(400), no more
            step_failed bad UPSTREAM_REJECTED: Status(400)
            timer_fired slow
            attempt_started slow #2 GET api slow:get
            attempt_succeeded slow 1
            step_succeeded slow
            run_failed bad Status(400)
            = failed UPSTREAM_REJECTED: Status(400)
        "#]],
    );
}

#[test]
fn values_are_computed_and_held_to_their_contract() {
    check(
        "
workflow: w
steps:
  - id: a
    set: {name: ada, n: '${{ 1 + 1 }}'}
    output_contract: {fields: [{name: name, type: string}, {name: n, type: integer}]}
  - id: b
    run: api b:get
    output_contract: {fields: [{name: id, type: integer}]}
",
        |rig| {
            rig.on("b", &[ok(json!({"id": "7"}))]);
        },
        &expect![[r#"
            step_succeeded a {"name":"ada","n":2}
            attempt_started b #1 GET api b:get
            attempt_succeeded b {"id":"7"}
            step_failed b OUTPUT_INVALID: `id` in the output of `b` must be of type integer, but is a string
            run_failed b `id` in the output of `b` must be of type integer, but is a string
            = failed OUTPUT_INVALID: `id` in the output of `b` must be of type integer, but is a string
        "#]],
    );
}

#[test]
fn an_author_can_let_a_run_fail() {
    check(
        "
workflow: w
inputs: {n: {type: integer}, go: {type: boolean, optional: true}}
steps:
  - {id: a, fail: 'too many: ${{ inputs.n }}', if: inputs.n > 2}
  - {id: b, set: {x: 1}}
",
        |_| {},
        &expect![[r#"
            step_failed a FAILED_BY_AUTHOR: too many: 3
            run_failed a too many: 3
            = failed FAILED_BY_AUTHOR: too many: 3
        "#]],
    );
}

#[test]
fn a_missing_value_fails_its_step_by_name() {
    check(
        "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: b, set: {x: '${{ steps.a.output.nope }}'}}
",
        |_| {},
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":9,"of":"a"}
            step_succeeded a
            step_failed b EXPRESSION_FAILED: `set.x` cannot be evaluated: `steps.a.output` has no `nope`: it has `n`, `of`
            run_failed b `set.x` cannot be evaluated: `steps.a.output` has no `nope`: it has `n`, `of`
            = failed EXPRESSION_FAILED: `set.x` cannot be evaluated: `steps.a.output` has no `nope`: it has `n`, `of`
        "#]],
    );
}

#[test]
fn a_final_output_that_cannot_be_rendered_fails_the_run() {
    check(
        "
workflow: w
steps: [{id: a, run: api a:get}]
final_output: '${{ steps.a.output.nope }}'
",
        |_| {},
        &expect![[r#"
            attempt_started a #1 GET api a:get
            attempt_succeeded a {"n":9,"of":"a"}
            step_succeeded a
            run_failed `final_output` cannot be evaluated: `steps.a.output` has no `nope`: it has `n`, `of`
            = failed EXPRESSION_FAILED: `final_output` cannot be evaluated: `steps.a.output` has no `nope`: it has `n`, `of`
        "#]],
    );
}

#[test]
fn a_request_that_cannot_be_made_fails_its_step() {
    check(
        "
workflow: w
steps: [{id: a, run: api a:gone}]
",
        |_| {},
        &expect![[r#"
            step_failed a COMMAND_NOT_FOUND: there is no such command
            run_failed a there is no such command
            = failed COMMAND_NOT_FOUND: there is no such command
        "#]],
    );
}

#[test]
fn a_ladder_of_diamonds_is_looked_at_once() {
    let mut text = "workflow: w\nsteps:\n  - {id: s0, set: {x: 1}}\n".to_owned();
    for rung in 1..60 {
        let above = rung - 1;
        let from = if above == 0 { "s0".to_owned() } else { format!("l{above}, r{above}") };
        for side in ["l", "r"] {
            let _ = writeln!(text, "  - {{id: {side}{rung}, depends_on: [{from}], set: {{x: 1}}}}");
        }
    }
    let mut rig = Rig::new(&text);
    rig.start();
    assert_eq!(rendering::stands(&rig), "succeeded");
}

/// The time for a chain of steps in which each reads the previous one.
fn chained(steps: usize) -> Duration {
    let mut text = "workflow: w\nsteps:\n  - {id: s0, set: {n: 0}}\n".to_owned();
    for step in 1..steps {
        let before = step - 1;
        let value = format!("'${{{{ steps.s{before}.output.n + 1 }}}}'");
        writeln!(text, "  - {{id: s{step}, set: {{n: {value}}}}}").expect("a text takes more");
    }
    let mut rig = Rig::of(rig::flow(&text), &json!({}), |_| {});
    let began = Instant::now();
    rig.start();
    let took = began.elapsed();
    assert_eq!(rig.state().steps.len(), steps);
    took
}

#[test]
fn a_step_costs_the_same_however_many_there_are() {
    // Eight times the steps should take eight times as long; if each step looked at all others, it
    // would be sixty-four times. Other work on the machine may spoil some attempts, but not all of
    // them.
    let tries: Vec<_> = (0..10).map(|_| (chained(125), chained(1_000))).collect();
    assert!(tries.iter().any(|(few, many)| *many < *few * 24), "{tries:?}");
}
