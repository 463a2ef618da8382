//! Walking guides as callers do: appending the key they received, or bare ids.

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::walk::{self, WalkError, WalkPosition};
use milepost_model::workflow::Workflow;
use serde_json::{Value, json};

const WORLD: World<'static> = World { commands: &NoCommands, env_allow: None };

fn guide(steps: &Value) -> Workflow {
    let text = json!({
        "id": "walked",
        "name": "Walked",
        "description": "For tests.",
        "version": "1.0.0",
        "steps": steps,
    });
    let document = Document::read(text.to_string().as_bytes(), None, WORLD);
    document.workflow.unwrap_or_else(|| panic!("{:?}", document.violations))
}

fn step(id: &str) -> Value {
    json!({"id": id, "title": id, "prompt": "Do it."})
}

fn step_if(id: &str, condition: Value) -> Value {
    let mut step = step(id);
    step["runCondition"] = condition;
    step
}

fn repeat(id: &str, spec: &Value, body: &Value) -> Value {
    json!({"id": id, "title": id, "type": "loop", "loop": spec, "body": body})
}

/// The result for these completed steps: a key, or the reason why there is none.
fn next(workflow: &Workflow, completed: &[&str], context: &Value) -> String {
    let completed: Vec<String> = completed.iter().map(|key| (*key).to_owned()).collect();
    match walk::next(workflow, &completed, context) {
        Ok(walk) => match walk.position {
            WalkPosition::Due(due) => due.key,
            WalkPosition::Blocked(blocked) => {
                let waits =
                    blocked.iter().map(|one| format!("{}<{}", one.step, one.wanted.variable));
                format!("blocked: {}", waits.collect::<Vec<_>>().join(" "))
            }
            WalkPosition::Complete { skipped } if skipped.is_empty() => "complete".to_owned(),
            WalkPosition::Complete { skipped } => format!("complete without {}", skipped.join(" ")),
        },
        Err(error) => format!("error: {error}"),
    }
}

/// Walks to the end; `record` maps an offered step to what the caller appends.
fn walk_all(
    workflow: &Workflow,
    mut context: impl FnMut(&[String]) -> Value,
    record: fn(&str) -> String,
) -> Vec<String> {
    let (mut completed, mut offered) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let context = context(&offered);
        let refs: Vec<&str> = completed.iter().map(String::as_str).collect();
        let key = next(workflow, &refs, &context);
        if key.starts_with("complete") || key.contains(':') && key.contains(' ') {
            offered.push(key);
            return offered;
        }
        completed.push(record(&key));
        offered.push(key);
    }
    panic!("no end: {offered:?}");
}

fn keyed(key: &str) -> String {
    key.to_owned()
}

fn bare(key: &str) -> String {
    key.rsplit("::").next().unwrap_or(key).to_owned()
}

/// Asserts that both kinds of callers are offered the same steps.
fn check(workflow: &Workflow, context: impl Fn(&[String]) -> Value, expected: &[&str]) {
    assert_eq!(walk_all(workflow, &context, keyed), expected, "by keys");
    assert_eq!(walk_all(workflow, &context, bare), expected, "by bare ids");
}

#[test]
fn steps_come_in_the_order_of_the_text() {
    let workflow = guide(&json!([step("one"), step("two")]));
    check(&workflow, |_| json!({}), &["one", "two", "complete"]);
}

#[test]
fn a_false_condition_skips_and_an_undecided_one_blocks() {
    let wanted = json!({"var": "size", "equals": "large"});
    let workflow = guide(&json!([step("one"), step_if("two", wanted), step("three")]));
    let none = json!({});
    assert_eq!(next(&workflow, &["one"], &none), "three");
    assert_eq!(next(&workflow, &["one", "three"], &none), "blocked: two<size");
    assert_eq!(next(&workflow, &["one", "three"], &json!({"size": "Large "})), "two");
    let small = json!({"size": null});
    assert_eq!(next(&workflow, &["one", "three"], &small), "complete without two");
}

#[test]
fn a_present_value_decides_although_another_is_absent() {
    let wanted = json!({"and": [{"var": "a", "equals": 1}, {"var": "b", "equals": 2}]});
    let workflow = guide(&json!([step_if("one", wanted)]));
    assert_eq!(next(&workflow, &[], &json!({"a": 5})), "complete without one");
    assert_eq!(next(&workflow, &[], &json!({"a": 1})), "blocked: one<b");
}

#[test]
fn a_counted_loop_runs_its_body_so_often() {
    let spec = json!({"type": "for", "count": 2, "maxIterations": 5});
    let workflow =
        guide(&json!([step("before"), repeat("again", &spec, &json!([step("a"), step("b")]))]));
    let expected = ["before", "again@0::a", "again@0::b", "again@1::a", "again@1::b", "complete"];
    check(&workflow, |_| json!({}), &expected);
}

#[test]
fn steps_for_single_passes_are_offered_in_theirs() {
    let spec = json!({"type": "for", "count": 3, "maxIterations": 3, "iterationVar": "n"});
    let on = |n: u8| json!({"var": "n", "equals": n});
    let body = json!([step_if("a", on(1)), step_if("b", on(2)), step_if("c", on(3))]);
    let workflow = guide(&json!([repeat("again", &spec, &body)]));
    check(&workflow, |_| json!({}), &["again@0::a", "again@1::b", "again@2::c", "complete"]);
}

#[test]
fn a_step_left_out_of_a_pass_is_due_once_its_condition_turns() {
    let spec =
        json!({"type": "while", "condition": {"var": "open", "equals": true}, "maxIterations": 9});
    let body = json!([step("try"), step_if("fix", json!({"var": "broken", "equals": true}))]);
    let workflow = guide(&json!([repeat("again", &spec, &body)]));
    // `broken` holds in the first and third passes; there are three in total.
    let context = |offered: &[String]| {
        let tries = offered.iter().filter(|key| key.ends_with("try")).count();
        let after_third = offered.iter().any(|key| key == "again@2::fix");
        json!({"open": !after_third, "broken": tries != 2})
    };
    let expected = [
        "again@0::try",
        "again@0::fix",
        "again@1::try",
        "again@2::try",
        "again@1::fix",
        "again@2::fix",
        "complete",
    ];
    check(&workflow, context, &expected);
}

#[test]
fn loops_nest_and_an_inner_list_may_be_part_of_an_outer_item() {
    let outer =
        json!({"type": "forEach", "items": "modules", "itemVar": "module", "maxIterations": 9});
    let inner =
        json!({"type": "forEach", "items": "module.files", "itemVar": "file", "maxIterations": 9});
    let body = json!([step("plan"), repeat("files", &inner, &json!([step("edit")])), step("test")]);
    let workflow = guide(&json!([repeat("modules", &outer, &body), step("end")]));
    let context = json!({"modules": [{"files": ["x", "y"]}, {"files": []}, {"files": ["z"]}]});
    let expected = [
        "modules@0::plan",
        "modules@0::files@0::edit",
        "modules@0::files@1::edit",
        "modules@0::test",
        "modules@1::plan",
        "modules@1::test",
        "modules@2::plan",
        "modules@2::files@0::edit",
        "modules@2::test",
        "end",
        "complete",
    ];
    check(&workflow, |_| context.clone(), &expected);
}

#[test]
fn bare_ids_count_passes_whatever_their_order() {
    let spec = json!({"type": "for", "count": 3, "maxIterations": 3});
    let workflow = guide(&json!([repeat("again", &spec, &json!([step("a"), step("b")]))]));
    let none = json!({});
    assert_eq!(next(&workflow, &["a", "a", "b", "b"], &none), "again@2::a");
    assert_eq!(next(&workflow, &["a", "a"], &none), "again@0::b");
    assert_eq!(next(&workflow, &["again@0::a", "b", "a"], &none), "again@1::b");
}

#[test]
fn a_while_loop_asks_before_each_pass_and_finishes_one_it_began() {
    let spec =
        json!({"type": "while", "condition": {"var": "more", "equals": true}, "maxIterations": 3});
    let workflow =
        guide(&json!([repeat("again", &spec, &json!([step("a"), step("b")])), step("end")]));
    let (more, done) = (json!({"more": true}), json!({"more": false}));
    assert_eq!(next(&workflow, &[], &done), "end");
    assert_eq!(next(&workflow, &["again@0::a"], &done), "again@0::b");
    assert_eq!(next(&workflow, &["a"], &done), "again@0::b");
    assert_eq!(next(&workflow, &["again@0::a", "again@0::b"], &more), "again@1::a");
    assert_eq!(next(&workflow, &["again@0::a", "again@0::b"], &done), "end");
    assert_eq!(next(&workflow, &["end"], &json!({})), "blocked: again<more");
    assert_eq!(next(&workflow, &["again", "end"], &more), "complete");
}

#[test]
fn a_pass_that_a_step_with_a_condition_began_is_finished() {
    let spec =
        json!({"type": "while", "condition": {"var": "more", "equals": true}, "maxIterations": 9});
    let deep = json!({"var": "level", "equals": "deep"});
    let body = json!([step_if("dig", deep), step("check")]);
    let workflow = guide(&json!([repeat("again", &spec, &body)]));
    // The condition turns false when the second pass has only just started.
    let context = |offered: &[String]| {
        let begun = offered.iter().any(|key| key == "again@1::dig");
        json!({"level": "deep", "more": !begun})
    };
    let expected = ["again@0::dig", "again@0::check", "again@1::dig", "again@1::check", "complete"];
    check(&workflow, context, &expected);
}

#[test]
fn an_until_loop_ends_when_its_condition_holds() {
    let spec =
        json!({"type": "until", "condition": {"var": "green", "equals": true}, "maxIterations": 3});
    let workflow = guide(&json!([repeat("again", &spec, &json!([step("a")]))]));
    let context = |offered: &[String]| json!({"green": offered.len() >= 2});
    check(&workflow, context, &["again@0::a", "again@1::a", "complete"]);
}

#[test]
fn reaching_the_limit_is_said() {
    let spec =
        json!({"type": "until", "condition": {"var": "green", "equals": true}, "maxIterations": 2});
    let workflow = guide(&json!([repeat("again", &spec, &json!([step("a")]))]));
    check(&workflow, |_| json!({}), &["again@0::a", "again@1::a", "complete"]);
    let completed = ["again@0::a".to_owned(), "again@1::a".to_owned()];
    let context = json!({});
    let walk = walk::next(&workflow, &completed, &context).expect("a walk");
    assert_eq!(walk.warnings, ["loop `again` reached its pass limit (2)"]);
}

#[test]
fn a_variable_of_the_wrong_type_is_a_state_error() {
    let each = json!({"type": "forEach", "items": "files", "maxIterations": 2});
    let count = json!({"type": "for", "count": "times", "maxIterations": 2});
    let workflow = guide(&json!([
        repeat("each", &each, &json!([step("a")])),
        repeat("times", &count, &json!([step("b")])),
    ]));
    let says = |context: Value| next(&workflow, &[], &context);
    assert_eq!(says(json!({})), "error: the variable `files` must be an array: it is missing");
    assert_eq!(
        says(json!({"files": "x"})),
        "error: the variable `files` must be an array: it is a string"
    );
    let no_count = json!({"files": [], "times": true});
    assert_eq!(says(no_count), "error: the variable `times` must be a number: it is a boolean");
    assert_eq!(says(json!({"files": [], "times": "2"})), "times@0::b");
    assert_eq!(
        says(json!({"files": [], "times": 1.5})),
        "error: the variable `times` must be a non-negative whole number: it is 1.5"
    );
}

#[test]
fn unknown_names_are_told_with_the_nearest() {
    let spec = json!({"type": "for", "count": 2, "maxIterations": 2});
    let workflow = guide(&json!([step("analyse"), repeat("again", &spec, &json!([step("try")]))]));
    let unknown = |name: &str| match walk::next(&workflow, &[name.to_owned()], &json!({})) {
        Err(WalkError::UnknownStep { near, .. }) => near.unwrap_or_default(),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(unknown("analyze"), "analyse");
    assert_eq!(unknown("again::try"), "again@0::try");
    assert_eq!(unknown("again@01::try"), "again@0::try");
    assert_eq!(unknown("other@0::try"), "again@0::try");
    assert_eq!(unknown("again@0::analyse"), "analyse");
    assert_eq!(unknown("qqqqqqqq"), "");
}

#[test]
fn a_step_done_early_is_worth_a_remark() {
    let workflow = guide(&json!([step("one"), step("two")]));
    let (completed, context) = (["two".to_owned()], json!({}));
    let walk = walk::next(&workflow, &completed, &context).expect("a walk");
    assert!(matches!(walk.position, WalkPosition::Due(due) if due.key == "one"));
    assert_eq!(walk.warnings, ["`two` is done although `one` comes before it"]);
}

#[test]
fn a_body_named_by_its_id_is_walked_inside_its_loop_only() {
    let spec = json!({"type": "for", "count": 2, "maxIterations": 2});
    let workflow = guide(&json!([
        step("one"),
        repeat("again", &spec, &json!("work")),
        step("work"),
        step("end")
    ]));
    check(&workflow, |_| json!({}), &["one", "again@0::work", "again@1::work", "end", "complete"]);
}

#[test]
fn what_was_passed_over_or_has_gone_is_worth_a_remark() {
    let warned = |workflow: &Workflow, completed: &[&str], context: &Value| {
        let completed: Vec<String> = completed.iter().map(|key| (*key).to_owned()).collect();
        walk::next(workflow, &completed, context).expect("a walk").warnings
    };
    let wanted = json!({"var": "risk", "equals": "high"});
    let workflow = guide(&json!([step_if("way-back", wanted), step("publish")]));
    let told = warned(&workflow, &[], &json!({}));
    assert_eq!(told, ["`way-back` is skipped until `risk` is set"]);
    let each = json!({"type": "forEach", "items": "files", "itemVar": "file", "maxIterations": 9});
    let body = json!([step("read")]);
    let workflow = guide(&json!([repeat("each", &each, &body), step("end")]));
    let shorter = json!({"files": ["b"]});
    let told = warned(&workflow, &["each@0::read", "each@1::read"], &shorter);
    assert_eq!(
        told,
        ["`each@1` is done, but loop `each` now ends before it: did its list shrink?"]
    );
}

#[test]
fn a_pass_that_was_jumped_over_is_still_due() {
    let each = json!({"type": "forEach", "items": "files", "itemVar": "file", "maxIterations": 9});
    let body = json!([step_if("read", json!({"var": "file.text", "equals": true}))]);
    let workflow = guide(&json!([repeat("each", &each, &body), step("end")]));
    let context = json!({"files": [{"text": true}, {"text": true}]});
    assert_eq!(next(&workflow, &["each@1::read"], &context), "each@0::read");
}

#[test]
fn a_variable_of_an_item_is_named_by_its_place_in_the_context() {
    let outer = json!({"type": "forEach", "items": "all", "itemVar": "one", "maxIterations": 9});
    let inner =
        json!({"type": "forEach", "items": "one.parts", "itemVar": "part", "maxIterations": 9});
    let body = json!([step_if("look", json!({"var": "part.open", "equals": true}))]);
    let workflow =
        guide(&json!([repeat("each", &outer, &json!([repeat("parts", &inner, &body)]))]));
    let blocked = json!({"all": [{"parts": []}, {"parts": [{}]}]});
    assert_eq!(next(&workflow, &[], &blocked), "blocked: look<all.1.parts.0.open");
    let missing = json!({"all": [{}]});
    let told = "error: the variable `all.0.parts` must be an array: it is missing";
    assert_eq!(next(&workflow, &[], &missing), told);
}

#[test]
fn nothing_that_runs_is_lost_whoever_walks() {
    let on = json!({"var": "f", "equals": true});
    let times = |n: u8| json!({"type": "for", "count": n, "maxIterations": 10});
    let inner = |id: &str, spec: &Value, body: Value| repeat(id, spec, &body);
    let while_on = json!({"type": "while", "condition": on, "maxIterations": 1});
    let context = json!({"f": true});
    let mut conditional = inner("in", &times(1), json!([step("bb")]));
    conditional["runCondition"] = on.clone();
    let cases = [
        (json!([step("aa"), inner("in", &times(1), json!([step_if("bb", on.clone())]))]), 2, 4),
        (json!([step("aa"), conditional]), 2, 4),
        (json!([step("aa"), inner("in", &while_on, json!([step_if("bb", on.clone())]))]), 3, 6),
        (json!([step("xx"), step_if("yy", on.clone())]), 3, 6),
    ];
    for (body, count, expected) in cases {
        let workflow = guide(&json!([repeat("lo", &times(count), &body)]));
        for record in [keyed, bare] {
            let walked = walk_all(&workflow, |_| context.clone(), record);
            assert_eq!(walked.len(), expected + 1, "{body}: {walked:?}");
        }
    }
}

#[test]
fn what_was_passed_over_inside_a_loop_is_not_forgotten() {
    let spec = json!({"type": "for", "count": 2, "maxIterations": 9});
    let body = json!([step("xx"), step_if("yy", json!({"var": "f", "equals": true}))]);
    let workflow = guide(&json!([repeat("lo", &spec, &body)]));
    let (none, on) = (json!({}), json!({"f": true}));
    assert_eq!(next(&workflow, &["lo@0::xx", "lo@1::xx"], &none), "blocked: yy<f");
    assert_eq!(next(&workflow, &["lo@0::xx", "lo@1::xx", "lo@1::yy"], &none), "blocked: yy<f");
    assert_eq!(next(&workflow, &["lo@0::xx", "lo@1::xx", "lo@1::yy"], &on), "lo@0::yy");
    assert_eq!(next(&workflow, &["xx", "xx", "yy"], &on), "lo@1::yy");
    assert_eq!(next(&workflow, &["lo@0::xx", "lo@0::yy", "xx", "yy"], &on), "complete");
}

#[test]
fn bare_ids_of_a_loop_that_only_some_passes_have_are_counted_there() {
    let outer = json!({"type": "forEach", "items": "it", "itemVar": "i", "maxIterations": 9});
    let condition = json!({"var": "i", "equals": 2});
    let inner = json!({"type": "while", "condition": condition, "maxIterations": 2});
    let body = json!([repeat("in", &inner, &json!([step("xx")]))]);
    let workflow = guide(&json!([repeat("lo", &outer, &body)]));
    let expected = ["lo@1::in@0::xx", "lo@1::in@1::xx", "complete"];
    check(&workflow, |_| json!({"it": [1, 2]}), &expected);
}

#[test]
fn an_inner_loop_that_has_run_is_over_when_the_outer_one_goes_on() {
    let outer = json!({"type": "for", "count": 2, "maxIterations": 9});
    let inner =
        json!({"type": "while", "condition": {"var": "more", "equals": true}, "maxIterations": 9});
    let body = json!([step("aa"), repeat("in", &inner, &json!([step("xx")]))]);
    let workflow = guide(&json!([repeat("lo", &outer, &body)]));
    let done = ["lo@0::aa", "lo@0::in@0::xx", "lo@1::aa"];
    assert_eq!(next(&workflow, &done, &json!({"more": true})), "lo@1::in@0::xx");
    assert_eq!(next(&workflow, &done[..2], &json!({"more": false})), "lo@1::aa");
}

#[test]
fn loops_that_unfold_beyond_measure_are_refused() {
    let spec = json!({"type": "for", "count": 1000, "maxIterations": 1000});
    let never = json!([step_if("xx", json!({"var": "f", "equals": true}))]);
    let inner = repeat("c", &spec, &never);
    let middle = repeat("b", &spec, &json!([inner]));
    let workflow = guide(&json!([repeat("a", &spec, &json!([middle]))]));
    let says = next(&workflow, &[], &json!({"f": false}));
    assert_eq!(says, "error: the loops expand to more than 2000000 steps");
}
