//! Less common arguments of the contract, and alternative tool names.

use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::Place;
use crate::server::{self, Server};

const TWO: &str = "workflow: two\nsteps:\n  - {id: a, set: {n: 1}}\n  \
    - {id: b, depends_on: [a], set: {n: \"${{ steps.a.output.n + 1 }}\"}}\n  \
    - {id: c, depends_on: [b], set: {n: \"${{ steps.b.output.n + 1 }}\"}}\n";

#[test]
fn a_dry_run_shows_what_would_be_done_and_does_nothing() {
    let place = Place::with(&[("shop.yaml", include_str!("../shop.yaml"))]);
    place.say("catalog import shop.yaml").ends(0);
    let mut agent = Agent::connect(&place, &[]);
    let text = "workflow: gets\nsteps: [{id: look, run: shop orders:get, with: {order_id: '7'}}]\n";
    let shown = agent.call("workflow_run", &json!({"manifest": text, "dry_run": true}));
    assert_eq!((&shown["workflow"], &shown["status"]), (&json!("gets"), &json!("dry_run")));
    let url = shown["steps"][0]["requests"][0]["url"].as_str().expect("a URL");
    assert!(url.ends_with("/orders/7"), "{shown}");
    assert_eq!(shown["run_id"], Value::Null);
    let open = agent.call("workflow_status", &json!({}));
    assert_eq!(open["runs"], json!([]), "nothing was started");
    let not = agent.call("workflow_run", &json!({"manifest": TWO, "dry_run": false, "wait_s": 20}));
    assert_eq!(not["status"], "succeeded");
    // With the work profile, a step is not shown before it is due.
    let mut worker = Agent::connect(&place, &["--tools", "work"]);
    let refused = worker.refused("workflow_run", &json!({"manifest": text, "dry_run": true}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID");
}

#[test]
fn a_run_resumes_from_a_step_with_a_chosen_version() {
    let place = Place::with(&[("two.yaml", TWO)]);
    place.run(["workflow", "save", "two.yaml"]).ends(0);
    let mut agent = Agent::connect(&place, &[]);
    let run = agent.call("workflow_run", &json!({"workflow_id": "two", "wait_s": 20}));
    assert_eq!(run["status"], "succeeded", "{run}");
    let mut plan = |more: Value| {
        let mut arguments = json!({"run_id": run["run_id"], "from": "b", "plan_only": true});
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        let planned = agent.call("workflow_resume", &arguments);
        let steps = planned["plan"].as_array().expect("a plan").iter();
        let verdict = |step: &Value| step["verdict"].as_str().expect("a verdict").to_owned();
        steps.map(verdict).collect::<Vec<String>>()
    };
    let only = plan(json!({"mode": "only"}));
    let down = plan(json!({"mode": "downstream"}));
    assert_eq!(down, plan(json!({})));
    assert_eq!(only[1], down[1], "the step itself runs");
    assert_ne!(only[2], down[2], "{only:?} {down:?}");
    assert_eq!(plan(json!({"version": "pinned"})), down);
    let newer = TWO.replace("steps.b.output.n + 1", "steps.b.output.n + 5");
    agent.call("workflow_save", &json!({"content": newer, "overwrite": true}));
    let again = json!({"run_id": run["run_id"], "from": "c", "version": "latest"});
    agent.call("workflow_resume", &again);
    let look = json!({"run_id": run["run_id"], "wait_s": 20});
    let done = agent.call("workflow_status", &look);
    assert_eq!(done["steps"][2]["output"]["n"], 7, "{done}");
    let refused = agent.refused("workflow_resume", &json!({"run_id": run["run_id"], "mode": "x"}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID", "{refused}");
}

/// An API with a list of choices.
const LISTS: &str = "openapi: 3.0.3\ninfo: {title: Shop, version: 1.0.0}\npaths:\n  /orders:\n    \
    get:\n      operationId: listOrders\n      tags: [orders]\n      parameters: [{name: state, \
    in: query, schema: {type: string}}]\n      responses:\n        '200':\n          description: \
    Orders\n          content:\n            application/json:\n              schema: {type: array, \
    items: {type: object, properties: {id: {type: string}, name: {type: string}}}}\n  \
    /orders/{order_id}:\n    get:\n      operationId: getOrder\n      tags: [orders]\n      \
    parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]\n      \
    responses: {'200': {description: An order}}\n";
const CHOOSES: &str = "workflow: chooses\ninputs:\n  state: {type: string, default: {from: \
    literal, value: open}}\n  \
    plain: {type: string, optional: true}\n  order:\n    type: string\n    provider: shop \
    orders:list\n    provider_args: {state: \"${{ inputs.state }}\"}\n    select: {value_field: \
    id, display_field: name}\nsteps: [{id: a, set: {b: \"${{ inputs.order }}\"}}]\n";

#[test]
fn the_choices_of_an_input_are_fetched_as_its_workflow_says() {
    let server = Server::start(|request| {
        let state = if request.target.contains("state=open") { "o" } else { "c" };
        let one = |number: u32| json!({"id": format!("{state}{number}"), "name": "An order"});
        server::json(200, &json!([one(1), one(2)]))
    });
    let place = Place::with(&[("shop.yaml", LISTS), ("chooses.yaml", CHOOSES)]);
    place.say(&format!("catalog import shop.yaml --base-url {}", server.url)).ends(0);
    place.run(["workflow", "save", "chooses.yaml"]).ends(0);
    let mut agent = Agent::connect(&place, &[]);
    let mut values = |more: Value| {
        let mut arguments = json!({"workflow_id": "chooses", "input": "order"});
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        let found = agent.call("provider_values", &arguments);
        let choices = found["choices"].as_array().expect("choices").iter();
        choices.map(|choice| choice["value"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(json!({})), ["o1", "o2"]);
    assert_eq!(values(json!({"args": {"state": "closed"}})), ["c1", "c2"]);
    assert_eq!(values(json!({"query": "2"})), ["o2"]);
    assert_eq!(values(json!({"limit": 1, "cursor": "1"})), ["o2"]);
    for (arguments, code) in [
        (json!({"workflow_id": "chooses", "input": "plain"}), "PROVIDER_NOT_FOUND"),
        (json!({"workflow_id": "chooses"}), "PARAMS_INVALID"),
        (json!({}), "PARAMS_INVALID"),
    ] {
        assert_eq!(agent.refused("provider_values", &arguments)["error_code"], code);
    }
}

/// Both parameter names are listed and neither is required: a tool's schema cannot require one of
/// two.
#[test]
fn both_names_of_what_is_canceled_are_listed() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &[]);
    let listed = agent.client.call("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("a list");
    let cancel = tools.iter().find(|tool| tool["name"] == "workflow_cancel").expect("is there");
    let schema = &cancel["inputSchema"];
    for name in ["run_id", "operation_id"] {
        assert_eq!(schema["properties"][name]["type"], "string", "{schema}");
    }
    assert_eq!(schema["required"], Value::Null, "{schema}");
    let refused = agent.refused("workflow_cancel", &json!({}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID");
    assert_eq!(refused["violations"][0]["path"], "/run_id", "{refused}");
}

#[test]
fn the_context_names_the_loss_and_the_step() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    let mut agent = Agent::connect(&place, &[]);
    let refused = agent.refused("workflow_delete", &json!({"workflow_id": "asks"}));
    assert_eq!(refused["error_code"], "CONFIRMATION_REQUIRED");
    let loss = refused["context"]["loss"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(loss.contains("asks"), "{loss}");
    let run = agent.call("workflow_run", &json!({"workflow_id": "asks", "wait_s": 20}));
    let wrong = json!({"run_id": run["run_id"], "step_id": "nothing", "output": {"seen": true}});
    let refused = agent.refused("workflow_submit", &wrong);
    assert_eq!(refused["context"]["step_id"], "nothing", "{refused}");
    assert_eq!(refused["step"], Value::Null, "{refused}");
}

#[test]
fn a_document_that_cannot_be_imported_is_an_answer() {
    let text = "openapi: 3.0.3\ninfo: {title: Broken, version: 1.0.0}\n";
    let files = [("broken.yaml", text), ("shop.yaml", include_str!("../shop.yaml"))];
    let place = Place::with(&files);
    let mut agent = Agent::connect(&place, &[]);
    let source = |name: &str| json!({"source": place.path(name)});
    let seen = agent.call("catalog_preview_import", &source("broken.yaml"));
    assert_eq!(seen["valid"], false, "{seen}");
    assert!(!seen["violations"].as_array().expect("a list").is_empty(), "{seen}");
    let seen = agent.call("catalog_preview_import", &source("shop.yaml"));
    assert_eq!((&seen["valid"], &seen["violations"]), (&json!(true), &json!([])), "{seen}");
    assert!(seen["projected_command_count"].as_u64() > Some(0), "{seen}");
}

#[test]
fn the_steps_of_a_run_complete_an_address() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &[]);
    let run = agent.call("workflow_run", &json!({"manifest": TWO, "wait_s": 20}));
    let uri = "milepost://run/{run_id}/step/{step_id}/output";
    let params = json!({
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": {"name": "step_id", "value": ""},
        "context": {"arguments": {"run_id": run["run_id"]}},
    });
    let found = agent.client.call("completion/complete", &params);
    assert_eq!(found["completion"]["values"], json!(["a", "b", "c"]), "{found}");
}

/// Instructions never name a tool that the client does not have.
#[test]
fn instructions_and_suggestions_name_tools_that_a_client_has() {
    let place = Place::new();
    let told = |options: &[&str]| {
        let mut client = super::client(&place, options);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        let answer = client.ask("initialize", &params);
        answer["result"]["instructions"].as_str().expect("words").to_owned()
    };
    let work = told(&["--tools", "work"]);
    assert!(work.contains("workflow_submit") && !work.contains("workflow_save"), "{work}");
    for dotted in [told(&["--tool-names", "dotted"]), told(&["--surface", "all"])] {
        assert!(dotted.contains("workflow.submit") && !dotted.contains("workflow_s"), "{dotted}");
    }
    let mut worker = Agent::connect(&place, &["--tools", "work"]);
    let answer = worker.ask("workflow.get", &json!({}));
    assert_ne!(answer["error"]["data"]["suggestion"], "workflow_get", "{answer}");
}

/// Whatever is listed, a dotted name belongs to this contract and is answered in its terms.
#[test]
fn both_contracts_are_called_on_every_surface() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    for (surface, version) in [
        ("workflowlookup", "2025-06-18"),
        ("workflowlookup", "2024-11-05"),
        ("auto", "2024-11-05"),
        ("workflows", "2025-06-18"),
        ("all", "2025-06-18"),
    ] {
        let options = ["--surface", surface, "--errors", "result"];
        let mut client = super::client(&place, &options);
        let params = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        client.call("initialize", &params);
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let mut call = |name: &str, arguments: Value| {
            let answer = client.ask("tools/call", &json!({"name": name, "arguments": arguments}));
            let text = answer["result"]["content"][0]["text"].as_str();
            let text = text.unwrap_or_else(|| panic!("{surface}: {name}: {answer}"));
            let value = serde_json::from_str(text).unwrap_or(Value::Null);
            (answer["result"]["isError"] == true, value, answer)
        };
        let (_, got, _) = call("workflow.get", json!({"workflow_id": "asks"}));
        assert_eq!(got["content"], ASKS, "{surface}");
        let (failed, _, answer) = call("workflow.get", json!({"workflow_id": "nobody"}));
        let failure = &answer["result"]["structuredContent"];
        assert!(failed, "{answer}");
        assert_eq!(failure["error_code"], "WORKFLOW_NOT_FOUND", "{surface}");
        // The suggested name works.
        let (_, listed, _) = call(failure["next"]["tool"].as_str().expect("a tool"), json!({}));
        assert!(listed["workflows"][0]["workflow_id"].is_string(), "{surface}: {listed}");
        let (_, guides, _) = call("guide_list", json!({}));
        assert!(guides["workflows"][0]["id"].is_string(), "{surface}: {guides}");
        let (_, run, _) = call("workflow.run", json!({"workflow_id": "asks", "wait_s": 20}));
        assert_eq!(run["due"][0]["step_id"], "look", "{surface}: {run}");
        let mut done = run["next"]["arguments"].clone();
        done["output"] = json!({"seen": true});
        let (_, done, _) = call(run["next"]["tool"].as_str().expect("a tool"), done);
        assert_eq!(done["accepted"], true, "{surface}: {done}");
        let (failed, ..) = call("workflow.delete", json!({"workflow_id": "asks"}));
        assert!(failed, "{surface}: nobody said yes");
    }
}
