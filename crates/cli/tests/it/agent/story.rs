//! From an empty folder to a finished run, as an agent would do it.

use serde_json::json;

use super::Agent;
use crate::Place;

/// Three mistakes: an unknown key, an unknown command, an unknown step.
const DRAFT: &str = r#"
workflow: order-check
inputs: {why: {type: string}}
steps:
  - {id: all, run: shop orders:list}
  - id: look
    run: shop orders:fetch
    wiht: {order_id: "${{ steps.all.output[0].id }}"}
  - id: judge
    prompt: "Is ${{ steps.lok.output.id }} usual? ${{ inputs.why }}"
    output_schema: {type: object, required: [usual], properties: {usual: {type: boolean}}}
final_output: {usual: "${{ steps.judge.output.usual }}"}
"#;

#[test]
fn an_agent_imports_authors_runs_and_submits() {
    let place = Place::with(&[("shop.yaml", include_str!("../shop.yaml"))]);
    let mut agent = Agent::connect(&place, &[]);
    let source =
        json!({"source": place.path("shop.yaml"), "vendor": "shop", "catalog_title": "Shop"});
    let checked =
        agent.call("catalog_validate_openapi", &json!({"source": place.path("shop.yaml")}));
    assert_eq!(checked["valid"], true, "{checked}");
    agent.call("catalog_preview_import", &source);
    let imported = agent.call("catalog_import_openapi", &source);
    assert!(imported["command_count"].as_u64().is_some_and(|count| count > 0), "{imported}");
    let found = agent.call("command_list", &json!({"query": "get an order"}));
    let command = found["commands"][0]["command"].as_str().expect("a command").to_owned();
    let checked = agent.call("workflow_validate", &json!({"manifest": DRAFT}));
    assert_eq!(checked["violations"].as_array().expect("a list").len(), 3, "{checked}");
    let mended =
        DRAFT.replace("wiht", "with").replace("lok", "look").replace("shop orders:fetch", &command);
    let checked = agent.call("workflow_validate", &json!({"manifest": mended}));
    assert_eq!(checked["valid"], true, "{checked}");
    agent.call("workflow_save", &json!({"content": mended}));
    let missing =
        agent.refused("workflow_run", &json!({"workflow_id": "order-check", "mock": true}));
    assert_eq!(missing["error_code"], "INPUT_INVALID", "{missing}");
    let inputs = json!({"why": "somebody asked"});
    let run = json!({"workflow_id": "order-check", "inputs": inputs, "mock": true, "wait_s": 20});
    let run = agent.call("workflow_run", &run);
    let id = run["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(run["due"][0]["step_id"], "judge", "{run}");
    let wrong = json!({"run_id": id, "step_id": "judge", "output": {"usual": "yes"}});
    let refused = agent.call("workflow_submit", &wrong);
    assert_eq!(refused["accepted"], false, "{refused}");
    let right = json!({"run_id": id, "step_id": "judge", "output": {"usual": true}});
    let accepted = agent.call("workflow_submit", &right);
    assert_eq!(accepted["accepted"], true, "{accepted}");
    let ended = agent.call("workflow_status", &json!({"run_id": id, "wait_s": 20}));
    assert_eq!(ended["status"], "succeeded", "{ended}");
    assert_eq!(ended["final_output"], json!({"usual": true}));
}

/// A run outlives the client that started it.
#[test]
fn another_client_finds_a_run_and_finishes_it() {
    let place = Place::with(&[("asks.yaml", super::ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    let mut first = Agent::connect(&place, &[]);
    let run = first.call("workflow_run", &json!({"workflow_id": "asks", "wait_s": 20}));
    drop(first);
    let mut second = Agent::connect(&place, &["--tools", "work"]);
    let open = second.call("workflow_status", &json!({}));
    assert_eq!(open["runs"][0]["run_id"], run["run_id"], "{open}");
    let done = json!({"run_id": run["run_id"], "step_id": "look", "output": {"seen": true}});
    assert_eq!(second.call("workflow_submit", &done)["accepted"], true);
    let ended = second.call("workflow_status", &json!({"run_id": run["run_id"], "wait_s": 20}));
    assert_eq!(ended["final_output"], json!({"seen": true}), "{ended}");
}
