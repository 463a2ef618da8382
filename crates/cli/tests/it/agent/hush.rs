//! A secret input given by an agent: however the value arrives, it must not appear in any answer,
//! log or file.

use serde_json::{Value, json};

use super::Agent;
use crate::Place;
use crate::secret::files;

const CANARY: &str = "TOPSECRET-4711";
const HUSH: &str = "workflow: hush\ninputs: {key: {type: string, secret: true}, n: {type: integer, \
    default: {from: literal, value: 1}}}\nsteps: [{id: a, set: {n: \"${{ inputs.n }}\"}}]\n\
    final_output: {n: \"${{ steps.a.output.n }}\"}\n";
const SLIPS: &str = "workflow: hush\ninputs: {key: {type: string, secret: true}}\n\
    steps: [{id: a, sett: {n: 1}}]\n";
/// The same workflow before the input was declared secret.
const OPEN: &str = "workflow: hush\ninputs: {key: {type: string}}\n\
    steps: [{id: a, fail: no luck}]\n";

fn agent(place: &Place) -> Agent {
    Agent::with(place, &["--log", "trace"], "2025-11-25", &json!({"tasks": {}}))
}

/// Calls a tool as a task, and returns the answer.
fn task(agent: &mut Agent, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "task": {}});
    agent.client.ask("tools/call", &params)
}

fn made(agent: &mut Agent, tool: &str, arguments: &Value) -> String {
    let answer = task(agent, tool, arguments);
    let id = answer["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

fn look(what: &str, text: &str) {
    assert!(!text.contains(CANARY), "{what} gives it away: {text}");
}

/// Searches everything left behind after the server has exited.
fn nowhere(place: &Place, mut agent: Agent) {
    let exit = agent.client.close();
    look("the log", &exit.errors);
    let all = files(place.root.path());
    assert!(all.len() > 1, "{all:?}");
    // Skips the socket that wakes the server, which cannot be read.
    for file in all.into_iter().filter(|file| file.is_file()) {
        let bytes = std::fs::read(&file).expect("reads");
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{} gives it away", file.display());
    }
}

#[test]
fn an_orchestration_takes_no_secret_in_any_of_its_forms() {
    let place = Place::with(&[("hush.yaml", HUSH), ("open.yaml", OPEN)]);
    let mut agent = agent(&place);
    let inputs = json!({"key": CANARY});
    let goal = "Be quiet";
    for (tool, arguments) in [
        ("workflow_author_and_run", json!({"goal": goal, "manifest": HUSH, "inputs": inputs})),
        ("workflow_author_and_run", json!({"goal": goal, "manifest": SLIPS, "inputs": inputs})),
        ("workflow_repair_and_rerun", json!({"manifest": HUSH, "inputs": inputs})),
        ("workflow_repair_and_rerun", json!({"manifest": SLIPS, "inputs": inputs})),
        (
            "workflow_repair_and_rerun",
            json!({"manifest": OPEN, "repaired_manifest": HUSH, "inputs": inputs}),
        ),
    ] {
        let refused = task(&mut agent, tool, &arguments);
        look(tool, &refused.to_string());
        let data = &refused["error"]["data"];
        assert_eq!(data["error_code"], "PARAMS_INVALID", "{refused}");
        let how = data["suggested_action"].as_str().expect("words");
        assert!(how.contains("workflow") && how.len() > 40, "{refused}");
    }
    place.run(["workflow", "save", "hush.yaml"]).ends(0);
    let kept = json!({"goal": goal, "workflow_id": "hush", "inputs": inputs});
    let refused = task(&mut agent, "workflow_author_and_run", &kept);
    assert_eq!(refused["error"]["data"]["error_code"], "PARAMS_INVALID", "{refused}");
    assert_eq!(agent.client.call("tasks/list", &json!({}))["tasks"], json!([]));
    nowhere(&place, agent);
}

#[test]
fn a_secret_cannot_be_submitted_later_either() {
    let place = Place::new();
    let mut agent = agent(&place);
    // The missing input is a secret: the run reports how to supply it, and does not ask for it.
    let run =
        made(&mut agent, "workflow_author_and_run", &json!({"goal": "Be quiet", "manifest": HUSH}));
    let result = agent.client.call("tasks/result", &json!({"taskId": run}));
    let failure = &result["structuredContent"];
    assert_eq!(failure["error_code"], "INPUT_INVALID", "{result}");
    assert!(failure["message"].as_str().expect("words").contains("key"), "{result}");
    assert!(failure["suggested_action"].as_str().expect("words").contains("workflow_run"));
    // An optional secret is refused when it is submitted with other inputs.
    let both = HUSH.replace("secret: true}", "secret: true, optional: true}");
    let both = both.replace("default: {from: literal, value: 1}", "description: How many");
    let both = both.replace("workflow: hush", "workflow: hush-two");
    let arguments = json!({"goal": "Be quiet", "manifest": both});
    let run = made(&mut agent, "workflow_author_and_run", &arguments);
    let seen = agent.call("workflow_status", &json!({"run_id": run, "wait_s": 20}));
    assert_eq!(seen["due"][0]["step_id"], "inputs", "{seen}");
    for output in [json!({"key": CANARY, "n": 2}), json!(format!("{{\"key\": \"{CANARY}\"}}"))] {
        let step = json!({"run_id": run, "step_id": "inputs", "output": output});
        let refused = agent.refused("workflow_submit", &step);
        look("a submission", &refused.to_string());
        assert_eq!(refused["error_code"], "PARAMS_INVALID", "{refused}");
    }
    let changed = json!({"run_id": run, "from": "start", "inputs": {"inputs": {"key": CANARY}}});
    let refused = agent.refused("workflow_resume", &changed);
    look("a resumption", &refused.to_string());
    let step = json!({"run_id": run, "step_id": "inputs", "output": {"n": 2}});
    agent.call("workflow_submit", &step);
    let result = agent.client.call("tasks/result", &json!({"taskId": run}));
    let output = &result["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"n": 2}), "{result}");
    nowhere(&place, agent);
}

#[test]
fn a_run_keeps_a_secret_in_memory() {
    let place = Place::new();
    let mut agent = agent(&place);
    let arguments = json!({"manifest": HUSH, "inputs": {"key": CANARY}});
    for tool in ["workflow_run", "workflow_execute"] {
        let run = made(&mut agent, tool, &arguments);
        let result = agent.client.call("tasks/result", &json!({"taskId": run}));
        look(tool, &result.to_string());
        assert_eq!(result["structuredContent"]["final_output"], json!({"n": 1}), "{result}");
    }
    nowhere(&place, agent);
}
