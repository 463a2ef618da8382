//! Inputs before a run: every key of an input has its effect.

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::wording::Neutral;
use milepost_model::workflow::Workflow;
use milepost_ops::Code;
use milepost_ops::inputs::{InputOrigin, InputStatus, ProviderOutcome, resolve};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::depot::{Depot, Person, manifest, map};
use crate::server::{self, Reply};

/// The violations, as `path rule`.
fn told(response: &milepost_ops::inputs::resolve_inputs::Response) -> Vec<String> {
    response.violations.iter().map(|one| format!("{} {}", one.path, one.rule)).collect()
}

#[test]
fn every_rule_of_an_input_acts_and_all_are_told_at_once() {
    let depot = Depot::new();
    let nothing: &[&str] = &[];
    for (inputs, given, expected) in [
        ("a: {type: integer}", json!({"a": 1}), nothing),
        ("a: {type: integer}", json!({"a": "1"}), &["/inputs/a type"]),
        ("a: {type: string}", json!({"a": 1}), &["/inputs/a type"]),
        ("a: {enum: [x, y]}", json!({"a": "z"}), &["/inputs/a choice"]),
        ("a: {validate: {enum: [x]}}", json!({"a": "z"}), &["/inputs/a choice"]),
        ("a: {validate: {pattern: '^x'}}", json!({"a": "z"}), &["/inputs/a pattern"]),
        ("a: {validate: {min_length: 3}}", json!({"a": "z"}), &["/inputs/a range"]),
        ("a: {validate: {max_length: 0}}", json!({"a": "z"}), &["/inputs/a range"]),
        ("a: {type: number, validate: {minimum: 1}}", json!({"a": 0}), &["/inputs/a range"]),
        ("a: {type: number, validate: {maximum: 1}}", json!({"a": 2}), &["/inputs/a range"]),
        ("a: {type: array, validate: {min_items: 1}}", json!({"a": []}), &["/inputs/a range"]),
        ("a: {type: array, validate: {max_items: 0}}", json!({"a": [1]}), &["/inputs/a range"]),
        ("a: {validate: {format: email}}", json!({"a": "z"}), &["/inputs/a format"]),
        ("a: {validate: {format: date}}", json!({"a": "2023-02-30"}), &["/inputs/a format"]),
        ("a: {mode: multiple}", json!({"a": "z"}), &["/inputs/a type"]),
        ("a: {mode: multiple}", json!({"a": ["z", 1]}), &["/inputs/a/1 type"]),
        ("a: {}", json!({}), &["/inputs/a required"]),
        ("a: {}", json!({"a": null}), &["/inputs/a required"]),
        ("a: {optional: true}", json!({}), nothing),
        (
            "a: {}, b: {type: boolean}, c: {}",
            json!({"b": 1, "d": 2}),
            &[
                "/inputs/a required",
                "/inputs/b type",
                "/inputs/c required",
                "/inputs/d unknown-name",
            ],
        ),
    ] {
        let response = depot.resolve(inputs, given.clone());
        assert_eq!(told(&response), expected, "{inputs} {given}");
        assert_eq!(response.ready, expected.is_empty(), "{inputs} {given}");
    }
}

#[test]
fn a_violation_says_what_to_do() {
    let depot = Depot::new();
    let response = depot.resolve("status: {enum: [open, paid]}, a: {}", json!({"status": "pad"}));
    let [wrong, missing] = response.violations.as_slice() else { panic!("{response:?}") };
    assert_eq!(wrong.message, "input `status` is not one of the choices");
    assert_eq!(wrong.expected, "`open` or `paid`");
    assert_eq!(wrong.actual, "\"pad\"");
    assert_eq!(wrong.suggestion.worded(&Neutral), "did you mean `paid`?");
    assert_eq!(missing.message, "input `a` is required");
    assert_eq!(
        missing.suggestion.worded(&Neutral),
        "give a value of type string with `inputs: {\"a\":\"…\"}`"
    );
}

/// A depot where earlier runs were given `red` and `other` yielded an output.
fn used_before(variables: &[(&'static str, &'static str)]) -> Depot {
    let depot = Depot::with(ALLOWED, variables);
    for (text, inputs) in [
        (REMEMBERS, json!({"a": "red", "last": "red"})),
        ("workflow: other\nsteps: [{id: do, set: {n: 7}}]\nfinal_output: {total: 7}\n", json!({})),
    ] {
        let request = json!({"manifest": text, "inputs": inputs, "wait_s": 20});
        let run = depot.call("workflow.run", request).expect("runs");
        assert_eq!(run["status"], "succeeded", "{run}");
    }
    depot
}

const REMEMBERS: &str = "workflow: fill\ninputs: {a: {default: {from: history}}, \
     last: {default: {from: history}}}\nsteps: [{id: do, set: {done: true}}]\n";
const ALLOWED: &str = "env_allow = [\"COUNT\", \"TOKEN\", \"UNSET\"]\n";

#[test]
fn every_kind_of_default_yields_its_value() {
    let variables = [("COUNT", "12"), ("TOKEN", "canary-token"), ("HIDDEN", "x")];
    let depot = used_before(&variables);
    for (keys, value, origin) in [
        ("default: {from: literal, value: blue}", json!("blue"), InputOrigin::Literal),
        ("type: integer, default: {from: env, value: COUNT}", json!(12), InputOrigin::Env),
        ("default: {from: env, value: COUNT}", json!("12"), InputOrigin::Env),
        ("default: {from: history}", json!("red"), InputOrigin::History),
        (
            "type: object, default: {from: workflow_output, value: other}",
            json!({"total": 7}),
            InputOrigin::WorkflowOutput,
        ),
    ] {
        let response = depot.resolve(&format!("a: {{{keys}}}"), json!({}));
        assert!(response.ready, "{keys}: {:?}", response.violations);
        assert_eq!(response.resolved["a"], value, "{keys}");
        assert_eq!(response.defaults["a"], value, "{keys}");
        let [input] = response.inputs.as_slice() else { panic!("{response:?}") };
        assert_eq!((input.status, input.origin), (InputStatus::Default, Some(origin)), "{keys}");
        let request = json!({"manifest": manifest(&format!("a: {{{keys}}}"))});
        let preview = depot.call("workflow.preview_inputs", request).expect("previewed");
        assert_eq!(preview["inputs"][0]["value"], value, "{keys}");
        // A given value takes precedence.
        let given = if value.is_i64() { json!(1) } else { value.clone() };
        let response = depot.resolve(&format!("a: {{{keys}}}"), json!({"a": given}));
        assert_eq!(response.inputs[0].origin, Some(InputOrigin::Given), "{keys}");
        assert!(response.defaults.is_empty(), "{keys}");
    }
}

#[test]
fn looking_for_earlier_values_creates_no_runs() {
    let depot = Depot::new();
    for default in ["history", "workflow_output, value: other"] {
        let text = manifest(&format!("a: {{default: {{from: {default}}}}}"));
        let request = json!({"manifest": text});
        depot.call("workflow.preview_inputs", request).expect("previewed");
    }
    assert!(!depot.has_runs());
    assert!(used_before(&[]).has_runs());
}

#[test]
fn a_default_without_a_value_says_why() {
    let depot = used_before(&[("HIDDEN", "x"), ("COUNT", "many")]);
    for (keys, path, message) in [
        (
            "default: {from: env, value: HIDDEN}",
            "/inputs/a required",
            "input `a` has no value: the variable `HIDDEN` is not in the \
             configuration's `env_allow`",
        ),
        (
            "default: {from: env, value: UNSET}",
            "/inputs/a required",
            "input `a` has no value: the variable `UNSET` is not set",
        ),
        (
            "type: integer, default: {from: env, value: COUNT}",
            "/inputs/a type",
            "input `a`: the value of the variable `COUNT` is not a valid integer",
        ),
        (
            "default: {from: workflow_output, value: never-ran}",
            "/inputs/a required",
            "input `a` has no value: no run of `never-ran` has succeeded yet",
        ),
        (
            "secret: true, default: {from: history}",
            "/inputs/a required",
            "input `a` has no value: secret values are not remembered",
        ),
        (
            "default: {from: workflow_output, value: other}",
            "/inputs/a type",
            "input `a` is not a string",
        ),
    ] {
        let response = depot.resolve(&format!("a: {{{keys}}}"), json!({}));
        assert_eq!(told(&response), [path], "{keys}");
        assert_eq!(response.violations[0].message, message);
        if keys.contains("env") && path.ends_with("required") {
            let how = response.violations[0].suggestion.worded(&Neutral);
            let given = "`inputs: {\"a\":\"…\"}`, or set the variable `";
            assert!(how.contains(given), "{how}");
        }
        let optional = depot.resolve(&format!("a: {{optional: true, {keys}}}"), json!({}));
        assert_eq!(optional.ready, path.ends_with("required"), "{keys}");
    }
    // A remembered value that no longer fits is dropped with a warning.
    let response = depot.resolve("a: {enum: [blue], default: {from: history}}", json!({}));
    assert_eq!(told(&response), ["/inputs/a required"]);
    assert_eq!(response.warnings, ["the last value of `a` is no longer valid"]);
}

#[test]
fn several_values_are_a_list_or_one_text() {
    let depot = Depot::new();
    let given = json!({"a": ["x", "y"]});
    let list = depot.resolve("a: {mode: multiple}", given.clone());
    assert_eq!(list.resolved["a"], json!(["x", "y"]));
    let keys = "a: {mode: multiple, join: {separator: ' + ', wrap_each: '*'}}";
    assert_eq!(depot.resolve(keys, given).resolved["a"], json!("*x* + *y*"));
}

/// The provider result of an input without a value, as JSON.
fn provided(depot: &Depot, inputs: &str, given: Value) -> Value {
    let response = depot.resolve(inputs, given);
    serde_json::to_value(&response.providers["a"]).expect("JSON")
}

#[test]
fn a_provider_offers_choices_by_the_fields_that_are_selected() {
    let depot = Depot::new();
    for (keys, expected) in [
        (
            "provider: depot shelves:list, select: {value_field: code, display_field: label}",
            json!([{"value": "01", "label": "Nr 1"}, {"value": "02", "label": "Nr 2"}]),
        ),
        (
            // Numbers are converted to strings if the input takes a string.
            "provider: depot shelves:list, select: {value_field: nr, id_field: code}",
            json!([{"value": "1", "id": "01"}, {"value": "2", "id": "02"}]),
        ),
        (
            "type: integer, provider: depot shelves:list, select: {value_field: nr}",
            json!([{"value": 1}, {"value": 2}]),
        ),
        (
            "provider: {id: depot shelves:list, field: others}",
            json!([{"value": "x"}, {"value": "y"}]),
        ),
    ] {
        let found = provided(&depot, &format!("a: {{{keys}}}"), json!({}));
        assert_eq!(found["outcome"], "ready", "{found}");
        let mut choices = found["choices"].clone();
        if !keys.contains("display_field") {
            let all = choices.as_array_mut().expect("a list");
            all.iter_mut().for_each(|one| drop(one.as_object_mut().map(|one| one.remove("label"))));
        }
        assert_eq!(choices, expected, "{keys}");
    }
    // If the field is missing, there are no choices, and the person types a value.
    let keys = "a: {provider: depot shelves:list, select: {value_field: colour}}";
    assert_eq!(provided(&depot, keys, json!({}))["choices"], Value::Null);
}

#[test]
fn arguments_of_a_provider_come_from_where_their_author_says() {
    let depot = Depot::new();
    let head = "b: {type: object, optional: true}, c: {optional: true}, \
                a: {provider: depot shelves:list, select: {value_field: code}";
    for (keys, given, outcome, args) in [
        ("provider_args: {aisle: 4}", json!({}), "ready", json!({"aisle": 4})),
        (
            "provider_args: {zone: \"z-${{ inputs.c }}\"}",
            json!({"c": "x"}),
            "ready",
            json!({"zone": "z-x"}),
        ),
        ("provider_args: {zone: \"${{ inputs.c }}\"}", json!({}), "prompt", json!(null)),
        ("provider_args: {zone: \"${{ inputs.?c }}\"}", json!({}), "ready", json!(null)),
        ("depends_on: {zone: north}", json!({}), "ready", json!({"zone": "north"})),
        (
            "depends_on: {zone: {from_input: b, path: at.zone}}",
            json!({"b": {"at": {"zone": "n"}}}),
            "ready",
            json!({"zone": "n"}),
        ),
        ("depends_on: {zone: {from_input: c}}", json!({}), "prompt", json!(null)),
        ("depends_on: {zone: {from_input: c, on_missing: skip}}", json!({}), "ready", json!(null)),
        ("depends_on: {zone: {from_input: c, required: false}}", json!({}), "ready", json!(null)),
        ("depends_on: {zone: {from_input: c, on_missing: fail}}", json!({}), "error", json!(null)),
        ("depends_on: {zone: {from_step: do}}", json!({}), "prompt", json!(null)),
    ] {
        let found = provided(&depot, &format!("{head}, {keys}}}"), given);
        assert_eq!(found["outcome"], outcome, "{keys}: {found}");
        assert_eq!(found["args"], args, "{keys}");
    }
    assert!(depot.server.seen().iter().any(|request| request.target.contains("aisle=4")));
    assert!(depot.server.seen().iter().any(|request| request.target.contains("zone=z-x")));
}

#[test]
fn what_is_missing_keeps_a_run_from_starting_as_its_author_says() {
    let depot = Depot::new();
    let inputs = |then: &str| {
        format!(
            "c: {{optional: true}}, a: {{provider: depot shelves:list, \
             select: {{value_field: code}}, depends_on: {{zone: {{from_input: c{then}}}}}}}"
        )
    };
    let given = json!({"a": "01"});
    // An input that has a value needs no choices.
    assert!(depot.resolve(&inputs(""), given.clone()).ready);
    let failed = depot.resolve(&inputs(", on_missing: fail"), given);
    assert_eq!(told(&failed), ["/inputs/a required"]);
    assert!(!failed.ready);
    let prompt = depot.resolve(&inputs(""), json!({}));
    assert_eq!((prompt.ready, prompt.providers["a"].outcome), (false, ProviderOutcome::Prompt));
    assert_eq!(prompt.providers["a"].needs, ["inputs.c"]);
}

/// A depot whose server can be closed.
fn closing() -> (Depot, std::sync::Arc<std::sync::atomic::AtomicBool>) {
    let closed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&closed);
    let depot = Depot::answering(move |_| match seen.load(std::sync::atomic::Ordering::SeqCst) {
        true => Reply::Answer(403, Vec::new(), b"closed".to_vec()),
        false => server::json(200, &json!({"items": [{"code": "A1"}]})),
    });
    (depot, closed)
}

#[test]
fn a_provider_that_fails_is_dealt_with_as_its_author_says() {
    let (mut depot, closed) = closing();
    let keys = |more: &str| {
        format!(
            "a: {{provider: depot shelves:list, select: {{value_field: code}}, \
             cache_ttl_sec: 0{more}}}"
        )
    };
    let open = depot.resolve(&keys(", on_error: cached"), json!({}));
    assert_eq!(open.providers["a"].outcome, ProviderOutcome::Ready);
    closed.store(true, std::sync::atomic::Ordering::SeqCst);
    // The last good choices are used, even after a restart.
    for _ in 0..2 {
        let cached = depot.resolve(&keys(", on_error: cached"), json!({}));
        assert_eq!(cached.providers["a"].outcome, ProviderOutcome::Cached);
        assert_eq!(cached.providers["a"].choices[0].value, "A1");
        assert!(cached.providers["a"].message.as_deref().is_some_and(|why| why.contains("403")));
        depot = depot.restarted();
    }
    for more in ["", ", on_error: manual"] {
        let manual = depot.resolve(&keys(more), json!({"a": "Z9"}));
        assert!(manual.ready, "{more}");
        let manual = depot.resolve(&keys(more), json!({}));
        assert_eq!(manual.providers["a"].outcome, ProviderOutcome::Manual, "{more}");
    }
    let failed = depot.resolve(&keys(", on_error: fail"), json!({"a": "A1"}));
    assert_eq!(told(&failed), ["/inputs/a provider"]);
    assert_eq!((failed.ready, failed.providers["a"].outcome), (false, ProviderOutcome::Error));
}

#[test]
fn choices_stay_fresh_as_long_as_their_author_says() {
    let mut depot = Depot::new();
    let keys = |ttl: &str| {
        format!("a: {{provider: depot shelves:list, select: {{value_field: code}}{ttl}}}")
    };
    for _ in 0..2 {
        depot.resolve(&keys(", cache_ttl_sec: 600"), json!({}));
        depot = depot.restarted();
    }
    assert_eq!(depot.asked(), 1, "another process has them too");
    for _ in 0..2 {
        depot.resolve(&keys(", cache_ttl_sec: 0"), json!({}));
    }
    assert_eq!(depot.asked(), 3);
}

#[test]
fn a_strict_provider_refuses_what_it_does_not_offer() {
    let depot = Depot::new();
    let keys = |more: &str| {
        format!("a: {{provider: depot shelves:list, select: {{value_field: code}}{more}}}")
    };
    assert!(depot.resolve(&keys(", on_error: fail"), json!({"a": "01"})).ready);
    let strict = depot.resolve(&keys(", on_error: fail"), json!({"a": "99"}));
    assert_eq!(told(&strict), ["/inputs/a choice"]);
    assert!(depot.resolve(&keys(""), json!({"a": "99"})).ready);
}

const SECRET: &str = "canary-5ecret/ü";

#[test]
fn a_secret_is_in_no_response() {
    let depot = Depot::answering(|request| {
        // An API that echoes the request.
        server::json(200, &json!({"items": [{"code": request.target, "label": SECRET}]}))
    });
    let inputs = "token: {secret: true, validate: {min_length: 4, max_length: 40}}, \
                  wrong: {secret: true, optional: true, enum: [x]}, \
                  a: {provider: depot shelves:list, select: {value_field: code, \
                  display_field: label}, provider_args: {key: \"${{ inputs.token }}\"}}";
    let manifest = format!(
        "workflow: fill\ninputs: {{{inputs}}}\nsteps:\n\
         - {{id: see, run: depot shelves:list, if: inputs.token != '', \
            with: {{key: \"${{{{ inputs.token }}}}\"}}}}\n\
         - {{id: make, run: depot orders:create, \
            headers: {{X-Key: \"k ${{{{ inputs.token }}}}\"}}, \
            body: {{shelf: s, key: \"${{{{ inputs.token }}}}\"}}}}\n"
    );
    let given = json!({"token": SECRET, "wrong": SECRET, "tokn": SECRET});
    for name in ["workflow.preview_inputs", "workflow.resolve_inputs"] {
        let arguments = json!({"manifest": manifest, "partial_inputs": given});
        hidden(name, &depot.call(name, arguments).expect("answered").to_string());
    }
    let sent = depot.server.last().target;
    assert!(sent.contains("canary-5ecret%2F%C3%BC"), "the API gets the value: {sent}");
    for name in ["workflow.step_plan", "workflow.preview_rendered"] {
        let inputs = json!({"token": SECRET, "a": "x"});
        let shown = depot.call(name, json!({"manifest": manifest, "inputs": inputs}));
        let shown = shown.expect("answered").to_string();
        assert!(shown.contains("[secret:token]"), "{shown}");
        hidden(name, &shown);
        let wrong = depot.call(name, json!({"manifest": manifest, "inputs": given}));
        hidden(name, &format!("{:?}", wrong.expect_err("refused")));
    }
}

#[track_caller]
fn hidden(name: &str, shown: &str) {
    for form in [SECRET, "canary-5ecret", "Y2FuYXJ5"] {
        assert!(!shown.contains(form), "{name}: {shown}");
    }
}

fn workflow(inputs: &str) -> Workflow {
    let world = World { commands: &NoCommands, env_allow: None };
    let document = Document::read(manifest(inputs).as_bytes(), None, world);
    document.workflow.unwrap_or_else(|| panic!("{:?}", document.violations))
}

#[test]
fn a_run_gets_its_values_with_secrets_apart() {
    let depot = used_before(&[("TOKEN", "canary-token")]);
    let workflow = workflow(
        "token: {secret: true, default: {from: env, value: TOKEN}}, \
         pin: {type: integer, secret: true}, n: {type: integer}, last: {default: {from: history}}, \
         never: {optional: true, default: {from: history}}",
    );
    let given = map(json!({"n": 3, "pin": 1234}));
    let writer = depot.writer();
    let resolved = depot.wait(resolve(&writer, &Person, &workflow, given));
    let resolved = resolved.expect("resolved");
    let expected = json!({
        "token": "[secret:token]", "pin": "[secret:pin]", "n": 3, "last": "red",
    });
    assert_eq!(Value::Object(resolved.values.clone()), expected);
    assert_eq!(resolved.secrets["token"].reveal(), "canary-token");
    assert_eq!(resolved.secrets["pin"].reveal(), "1234");
    let origins: Vec<(&str, InputOrigin)> =
        resolved.provenance.iter().map(|(name, origin)| (name.as_str(), *origin)).collect();
    assert_eq!(
        origins,
        [
            ("last", InputOrigin::History),
            ("n", InputOrigin::Given),
            ("pin", InputOrigin::Given),
            ("token", InputOrigin::Env),
        ]
    );
    assert!(!format!("{resolved:?}").contains("canary"));
}

#[test]
fn a_run_that_cannot_begin_is_one_problem_with_every_violation() {
    let depot = Depot::new();
    let workflow = workflow("a: {}, b: {type: integer}");
    let given = map(json!({"b": "x", "c": 1}));
    let writer = depot.writer();
    let problem = depot.wait(resolve(&writer, &Person, &workflow, given));
    let problem = problem.expect_err("refused");
    assert_eq!(problem.code, Code::InputInvalid);
    assert_eq!(problem.context["workflow_id"], "fill");
    let paths: Vec<(&str, &str)> =
        problem.arguments.iter().map(|one| (one.path.as_str(), one.rule)).collect();
    assert_eq!(
        paths,
        [("/inputs/a", "required"), ("/inputs/b", "type"), ("/inputs/c", "unknown-name"),]
    );
    assert!(problem.arguments.iter().all(|one| !one.suggestion.is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn what_is_resolved_resolves_to_itself(
        text in "[a-z]{0,8}",
        number in any::<i32>(),
        items in prop::collection::vec("[a-z]{1,4}", 0..4),
        leave_out in any::<bool>(),
    ) {
        let depot = Depot::new();
        let workflow = workflow(
            "t: {default: {from: literal, value: x}}, n: {type: integer}, \
             l: {mode: multiple, optional: true}",
        );
        let mut given = map(json!({"t": text, "n": number, "l": items}));
        if leave_out {
            given.retain(|name, _| name == "n");
        }
        let writer = depot.writer();
        let once = depot.wait(resolve(&writer, &Person, &workflow, given));
        let once = once.expect("resolved").values;
        let twice = depot.wait(resolve(&writer, &Person, &workflow, once.clone()));
        prop_assert_eq!(twice.expect("resolved").values, once);
    }
}
