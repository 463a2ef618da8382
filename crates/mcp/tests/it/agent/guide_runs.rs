//! Runs of guides over MCP: an agent cannot choose which steps exist.

use serde_json::{Value, json};

use super::Agent;
use crate::place::Place;

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

fn start(agent: &mut Agent, guide: &str) -> Value {
    let run = agent.call("workflow_run", &json!({"workflow_id": guide, "wait_s": 20}));
    assert_eq!(run["status"], "waiting", "{run}");
    run
}

/// The call that `next` names, with this output.
fn following(run: &Value, output: Value) -> Value {
    assert_eq!(run["next"]["tool"], "workflow_submit", "{run}");
    let mut arguments = run["next"]["arguments"].clone();
    arguments["output"] = output;
    arguments
}

/// Follows `next` with this output and returns the run afterwards.
fn submit(agent: &mut Agent, run: &Value, output: Value) -> Value {
    let answer = agent.call("workflow_submit", &following(run, output));
    assert_eq!(answer["accepted"], true, "{answer}");
    state(&answer)
}

/// The run after a submission, with what to do next.
fn state(answer: &Value) -> Value {
    let mut run = answer["run"].clone();
    run["next"] = answer["next"].clone();
    run
}

fn release_triage() -> Value {
    json!({
        "commit": HASH, "lastRelease": "none",
        "gates": [
            {"name": "unit tests", "kind": "tests", "command": "cargo test", "passed": false},
            {"name": "clippy", "kind": "lint", "command": "cargo clippy", "passed": false},
        ],
        "missingGates": ["advisories: none are checked", "build: it is not built"],
        "artifacts": ["linux x64 archive"], "watchChecks": 1, "breaking": true, "risk": "high",
        "approved": false, "published": false, "stopped": false,
    })
}

fn bug_triage() -> Value {
    json!({
        "symptom": "the total is wrong by one cent", "expected": "the sum of the items",
        "scope": "local", "risk": "low", "intermittent": false, "unknowns": ["which locale?"],
        "reproduced": false, "causeFound": false, "testsPass": false, "proved": false,
        "stopped": false,
    })
}

#[test]
fn the_gates_of_a_release_cannot_be_left_out() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let run = start(&mut agent, "release-checklist");
    let mut lying = following(&run, release_triage());
    lying["context"] = json!({"gates": []});
    let refused = agent.refused("workflow_submit", &lying);
    assert_eq!(refused["error_code"], "STATE_INVALID", "{refused}");
    let message = refused["message"].as_str().expect("a message");
    assert!(message.starts_with("`gates` is `[{"), "{message}");
    assert!(message.ends_with("in this output, but `[]` in `context`"), "{message}");
    let run = submit(&mut agent, &run, release_triage());
    assert_eq!(run["due"][0]["step_id"], "changes", "{run}");
    // Later, a context alone is no better.
    let later = json!({"run_id": run["run_id"], "context": {"gates": [], "stopped": true}});
    agent.refused("workflow_submit", &later);
    let changes = json!({
        "report": "$ git log\n1a2b3c4 a thing\nexit code: 0\nBreaking\nnone\nSo 1.0.0 follows.",
        "breaking": false, "risk": "low", "version": "1.0.0",
    });
    let run = submit(&mut agent, &run, changes);
    let passed = json!({
        "report": "$ cargo test\nall is well\nexit code: 0\nGate: passed",
        "gate": {"passed": true}, "stopped": false,
    });
    assert_eq!(run["due"][0]["step_id"], "each-gate@0::until-passed@0::run-gate", "{run}");
    let run = submit(&mut agent, &run, passed.clone());
    assert_eq!(run["due"][0]["step_id"], "each-gate@1::until-passed@0::run-gate", "{run}");
    let run = submit(&mut agent, &run, passed);
    assert_eq!(run["due"][0]["step_id"], "notes", "{run}");
}

#[test]
fn a_bug_that_was_not_reproduced_is_asked_about() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let run = start(&mut agent, "bug-investigation");
    let run = submit(&mut agent, &run, bug_triage());
    let prompt = run["due"][0]["prompt"].as_str().expect("a prompt");
    assert!(
        prompt.starts_with("Make this happen here: the total is wrong by one cent"),
        "{prompt}"
    );
    // Plain text decides nothing, so the bug still counts as not reproduced.
    let text = format!(
        "NOT REPRODUCED\n$ cargo test total\nall is well\nexit code: 0\n\
         Suspect: the locale of the reporter\n{}",
        "The same command was run with three versions and with the data of the report. ".repeat(2)
    );
    let run = submit(&mut agent, &run, json!(text));
    assert_eq!(run["due"][0]["step_id"], "ask-reporter", "{run}");
    let asked = json!({
        "report": format!("Which locale do you use?\n{}", "We tried this and that. ".repeat(10)),
        "reproduced": false, "reproduction": "",
    });
    let run = submit(&mut agent, &run, asked);
    assert_eq!(run["waiting"][0]["kind"], "approval", "{run}");
    assert_eq!(run["waiting"][0]["step"], "ask-reporter", "{run}");
}

#[test]
fn a_guide_begins_with_what_it_says_about_all_steps() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let run = start(&mut agent, "bug-investigation");
    let told = agent
        .ask("workflow_next", &json!({"workflowId": "bug-investigation", "completedSteps": []}));
    assert_ne!(told["result"]["isError"], true, "{told}");
    let got = agent.ask("guide_get", &json!({"id": "bug-investigation"}));
    let got = &got["result"]["structuredContent"];
    let due = &run["due"][0];
    assert!(due["preconditions"].as_array().is_some_and(|all| !all.is_empty()), "{due}");
    assert_eq!(due["preconditions"], got["preconditions"]);
    assert_eq!(due["clarification_prompts"], got["clarificationPrompts"]);
    assert_eq!(due["meta_guidance"], got["metaGuidance"]);
    assert!(due["output_schema"]["properties"]["symptom"].is_object(), "{due}");
    let run = submit(&mut agent, &run, bug_triage());
    assert!(run["due"][0].get("meta_guidance").is_none(), "{run}");
}

const OWN: &str = r#"{
  "id": "own-guide", "name": "Own", "description": "For tests.", "version": "1.0.0",
  "steps": [
    {"id": "a", "title": "A", "prompt": "Look at {{place}}."},
    {"id": "b", "title": "B", "prompt": "Ask.", "runCondition": {"var": "risk", "equals": "high"}},
    {"id": "c", "title": "C", "prompt": "End."}
  ]
}"#;

#[test]
fn what_is_missing_is_asked_for_and_never_passed_over() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    agent.call("workflow_save", &json!({"content": OWN}));
    let run = start(&mut agent, "own-guide");
    assert_eq!(run["due"][0]["missing"], json!(["place"]), "{run}");
    assert_eq!(run["next"]["arguments"]["context"], json!({"place": "<its value>"}), "{run}");
    let mut arguments = following(&run, json!("seen"));
    arguments["context"] = json!({"place": "the shelf"});
    let run = state(&agent.call("workflow_submit", &arguments));
    assert_eq!(run["waiting"][0]["kind"], "variable", "{run}");
    assert_eq!(run["waiting"][0]["message"], "`risk` is not set; expected: [\"high\"]", "{run}");
    assert!(run.get("due").is_none(), "no later step is offered: {run}");
    let mut next = run["next"]["arguments"].clone();
    next["context"]["risk"] = json!("high");
    let run = state(&agent.call("workflow_submit", &next));
    assert_eq!(run["due"][0]["step_id"], "b", "{run}");
}
