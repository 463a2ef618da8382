//! What a loop says beside how it repeats acts on the steps of its body, or is an error.

use milepost_model::guide::Confirmation;
use milepost_model::step::{Action, Prompt, Step};
use serde_json::{Value, json};

use crate::read;

/// A guide with a loop that has these fields around one step that has these.
fn guide(of_loop: &Value, of_step: &Value) -> String {
    let mut step = json!({"id": "drop", "title": "Drop", "prompt": "Drop it."});
    let mut looped = json!({
        "id": "each", "type": "loop", "title": "Each",
        "loop": {"type": "for", "count": 2, "maxIterations": 5},
    });
    for (to, from) in [(&mut step, of_step), (&mut looped, of_loop)] {
        for (name, value) in from.as_object().into_iter().flatten() {
            to[name] = value.clone();
        }
    }
    looped["body"] = json!([step]);
    let steps = json!([looped]);
    json!({
        "id": "fields", "name": "Fields", "description": "For tests.", "version": "1.0.0",
        "steps": steps,
    })
    .to_string()
}

fn body(of_loop: &Value, of_step: &Value) -> Prompt {
    let document = read(guide(of_loop, of_step));
    assert!(document.is_valid(), "{:#?}", document.violations);
    let workflow = document.workflow.expect("a workflow");
    let Action::Loop(looped) = &workflow.steps[0].action else { panic!("no loop") };
    let Step { action: Action::Prompt(prompt), .. } = &looped.body[0] else { panic!("no prompt") };
    (**prompt).clone()
}

#[test]
fn a_confirmation_of_a_loop_is_asked_for_in_its_passes() {
    let confirmed = |of_loop: Value, of_step: Value| body(&of_loop, &of_step).confirmation;
    let always = json!({"requireConfirmation": true});
    assert_eq!(confirmed(always.clone(), json!({})), Confirmation::Always);
    assert_eq!(confirmed(json!({"requireConfirmation": false}), json!({})), Confirmation::Never);
    let condition = json!({"requireConfirmation": {"var": "risk", "equals": "high"}});
    assert!(matches!(confirmed(condition, json!({})), Confirmation::When(_)));
    // A step that speaks for itself keeps its word.
    let own = json!({"requireConfirmation": false});
    assert_eq!(confirmed(always, own), Confirmation::Never);
}

#[test]
fn other_words_of_a_loop_are_for_its_body() {
    let of_loop = json!({
        "agentRole": "You are careful.", "guidance": ["Look first"], "modelHint": "large",
        "askForFiles": true,
    });
    let prompt = body(&of_loop, &json!({}));
    assert_eq!(prompt.agent_role.as_deref(), Some("You are careful."));
    assert_eq!(prompt.guidance, ["Look first"]);
    assert_eq!(prompt.model_hint.as_deref(), Some("large"));
    assert!(prompt.ask_for_files);
    let of_step = json!({
        "agentRole": "You are quick here.", "guidance": ["Then act"], "modelHint": "small",
        "askForFiles": false,
    });
    let prompt = body(&of_loop, &of_step);
    assert_eq!(prompt.agent_role.as_deref(), Some("You are quick here."));
    assert_eq!(prompt.guidance, ["Look first", "Then act"]);
    assert_eq!(prompt.model_hint.as_deref(), Some("small"));
    assert!(!prompt.ask_for_files);
}

#[test]
fn inner_loops_pass_on_what_outer_ones_say() {
    let inner = json!({
        "id": "inner", "type": "loop", "title": "Inner",
        "loop": {"type": "for", "count": 2, "maxIterations": 5},
        "body": [{"id": "deep", "title": "Deep", "prompt": "Dig."}],
    });
    let text = guide(&json!({"requireConfirmation": true}), &json!({}));
    let mut text: Value = serde_json::from_str(&text).expect("JSON");
    text["steps"][0]["body"] = json!([inner]);
    let document = read(text.to_string());
    let workflow = document.workflow.expect("a workflow");
    let deep = workflow.all_steps().into_iter().find(|step| step.name() == "deep");
    let Some(Step { action: Action::Prompt(prompt), .. }) = deep else { panic!("no step") };
    assert_eq!(prompt.confirmation, Confirmation::Always);
}

#[test]
fn what_only_a_step_can_have_is_refused_in_a_loop() {
    for (key, value) in [
        ("prompt", json!("Do it.")),
        ("promptBlocks", json!({"goal": "Do it."})),
        ("promptFragments", json!([{"text": "Do it."}])),
        ("validationCriteria", json!([{"type": "contains", "value": "zz", "message": "say zz"}])),
    ] {
        let document = read(guide(&json!({ key: value }), &json!({})));
        let messages: Vec<&str> =
            document.violations.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages, [format!("`{key}` does nothing in a loop")]);
        assert!(!document.is_valid(), "{key}");
    }
}

#[test]
fn a_loop_of_a_manifest_refuses_what_it_cannot_act_on() {
    for key in [
        "timeout: 5s",
        "retry: {max_attempts: 2}",
        "output_contract: {fields: []}",
        "require_confirmation: true",
        "validation: []",
        "max_attempts: 2",
        "guidance: [x]",
    ] {
        let text = format!(
            "workflow: w\nsteps:\n  - id: l\n    type: loop\n    title: L\n    {key}\n    \
             loop: {{type: for, count: 2, maxIterations: 2}}\n    body: [{{id: a, prompt: A}}]\n"
        );
        let document = read(&text);
        let told = document.violations.iter().any(|one| one.message.contains("does nothing"));
        assert!(told && !document.is_valid(), "{key}: {:#?}", document.violations);
    }
}
