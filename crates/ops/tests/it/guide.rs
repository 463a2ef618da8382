//! Guide operations that transcripts cannot cover well: limits and broken files.

use milepost_model::wording::Neutral;
use milepost_ops::Code;
use serde_json::{Value, json};

use crate::{call, over, refused};

fn guide(id: &str, steps: &Value) -> String {
    json!({"id": id, "name": id, "description": "d", "version": "1.0.0", "steps": steps})
        .to_string()
}

#[test]
fn a_context_is_bounded_just_so() {
    let text = guide("one", &json!([{"id": "a", "title": "A", "prompt": "p"}]));
    let (_folder, operations) = over(&[("one.json", &text)]);
    let next = |bytes: usize| {
        // The JSON around the text takes a fixed number of bytes.
        let context = json!({"v": "x".repeat(bytes - 8)});
        call(
            &operations,
            "guide.next",
            json!({
                "workflowId": "one", "completedSteps": [], "context": context,
            }),
        )
    };
    assert!(next(256 * 1024).is_ok());
    let problem = next(256 * 1024 + 1).expect_err("too large");
    assert_eq!(problem.code, Code::StateInvalid);
    assert_eq!(problem.context["limit"], 256 * 1024);
    for (context, fits) in [
        (json!({"a": vec![true; 50_000]}), true),
        (json!({"a": "\"".repeat(200_000)}), false),
        (json!({"a": "\u{1}".repeat(50_000)}), false),
    ] {
        let arguments = json!({"workflowId": "one", "completedSteps": [], "context": context});
        assert_eq!(call(&operations, "guide.next", arguments).is_ok(), fits);
    }
}

#[test]
fn an_item_with_quotes_leaves_the_answer_json() {
    let spec = json!({"type": "forEach", "items": "all", "itemVar": "one", "maxIterations": 9});
    let body = json!([{"id": "a", "title": "A", "prompt": "p"}]);
    let steps = json!([{"id": "each", "title": "E", "type": "loop", "loop": spec, "body": body}]);
    let (_folder, operations) = over(&[("quoted.json", &guide("quoted", &steps))]);
    let arguments = json!({
        "workflowId": "quoted", "completedSteps": [], "context": {"all": ["say \"hi\""]},
    });
    let answer = call(&operations, "guide.next", arguments).expect("an answer");
    let prompt = answer["guidance"]["prompt"].as_str().expect("a prompt");
    assert!(prompt.ends_with("one: say \"hi\""), "{prompt}");
}

#[test]
fn an_output_is_bounded() {
    let text = guide("one", &json!([{"id": "a", "title": "A", "prompt": "p"}]));
    let (_folder, operations) = over(&[("one.json", &text)]);
    let check = |bytes: usize| {
        let output = "x".repeat(bytes);
        call(
            &operations,
            "guide.validate",
            json!({
                "workflowId": "one", "stepId": "a", "output": output,
            }),
        )
    };
    assert_eq!(check(1024 * 1024).expect("a verdict")["valid"], true);
    assert_eq!(check(1024 * 1024 + 1).expect_err("too large").code, Code::ParamsInvalid);
}

#[test]
fn a_broken_file_is_told_with_its_place_and_hides_nothing() {
    let good = guide("good", &json!([{"id": "a", "title": "A", "prompt": "p"}]));
    let bad = guide("bad", &json!([{"id": "a", "title": "A", "prmpt": "p"}]));
    let files = [("good.json", good.as_str()), ("bad.json", &bad), ("worse.json", "{")];
    let (_folder, operations) = over(&files);
    let listed = call(&operations, "guide.list", json!({})).expect("a list");
    let ids: Vec<&str> = listed["workflows"]
        .as_array()
        .expect("workflows")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert!(ids.contains(&"good") && !ids.contains(&"bad"), "{ids:?}");
    assert_eq!(listed["invalid"].as_array().map(Vec::len), Some(2), "{}", listed["invalid"]);
    for id in ["bad", "worse"] {
        let (code, problem) = refused(&operations, "guide.get", json!({"id": id}));
        assert_eq!(code, Code::WorkflowInvalid, "{id}");
        assert!(!problem.violations.is_empty(), "{id}");
        let path = problem.context["path"].as_str().expect("a path");
        assert!(path.ends_with(&format!("{id}.json")), "{path}");
    }
}

#[test]
fn a_workflow_with_other_steps_than_an_agents_is_not_for_walking() {
    let manifest = "workflow: calls\nsteps:\n  - {id: a, prompt: Look}\n  - {id: b, wait: 5s}\n";
    let (_folder, operations) = over(&[("calls.yaml", manifest)]);
    let listed = call(&operations, "guide.list", json!({})).expect("a list").to_string();
    assert!(!listed.contains("\"calls\""));
    let (code, problem) = refused(&operations, "guide.get", json!({"id": "calls"}));
    assert_eq!(code, Code::StateInvalid);
    let hint = problem.hint.worded(&Neutral);
    assert!(hint.contains("workflow.run"), "{hint}");
}

#[test]
fn a_manifest_of_agent_steps_is_walked_with_its_inputs_as_the_context() {
    let manifest = "workflow: greet\ninputs:\n  who: {type: string}\nsteps:\n  \
        - {id: last, depends_on: [first], prompt: Say goodbye.}\n  \
        - {id: first, prompt: \"Greet ${{ inputs.who }}.\"}\n";
    let (_folder, operations) = over(&[("greet.yaml", manifest)]);
    let next = |done: Value, context: Value| {
        let arguments = json!({"workflowId": "greet", "completedSteps": done, "context": context});
        call(&operations, "guide.next", arguments).expect("an answer")
    };
    let first = next(json!([]), json!({"who": "Ada"}));
    assert_eq!(first["completedStep"], "first");
    assert_eq!(first["guidance"]["prompt"], "Greet Ada.");
    let unset = next(json!([]), json!({}));
    assert_eq!(unset["guidance"]["missing"], json!(["inputs.who"]));
    assert_eq!(next(json!(["first"]), json!({}))["completedStep"], "last");
    assert_eq!(next(json!(["first", "last"]), json!({}))["isComplete"], true);
}
