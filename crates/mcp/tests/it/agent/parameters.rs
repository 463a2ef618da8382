//! Less common arguments of the contract, and alternative tool names.

use milepost_mcp::Surface;
use milepost_mcp::workflows::{ToolNaming, ToolStyle};
use serde_json::{Value, json};

use super::{ASKS, Agent, SHOP, work};
use crate::client::{Client, auto};
use crate::place::Place;
use crate::server::{self, Server};

const TWO: &str = "workflow: two\nsteps:\n  - {id: a, set: {n: 1}}\n  \
    - {id: b, depends_on: [a], set: {n: \"${{ steps.a.output.n + 1 }}\"}}\n  \
    - {id: c, depends_on: [b], set: {n: \"${{ steps.b.output.n + 1 }}\"}}\n";

#[test]
fn a_dry_run_shows_what_would_be_done_and_does_nothing() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.import("shop.yaml", None);
    let mut agent = Agent::connect(&place);
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
    let mut worker = Agent::styled(&place, work());
    let refused = worker.refused("workflow_run", &json!({"manifest": text, "dry_run": true}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID");
}

#[test]
fn a_wrong_value_inside_an_argument_is_named() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let arguments = json!({"run_id": "run_1", "budget": {"writes": "many"}});
    let refused = agent.refused("workflow_resume", &arguments);
    assert_eq!(refused["violations"][0]["path"], "/budget/writes", "{refused}");
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
    place.import("shop.yaml", Some(&server.url));
    place.save("chooses.yaml");
    let mut agent = Agent::connect(&place);
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
    let mut agent = Agent::connect(&place);
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
fn the_context_names_the_step() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.save("asks.yaml");
    let mut agent = Agent::connect(&place);
    let run = agent.call("workflow_run", &json!({"workflow_id": "asks", "wait_s": 20}));
    let wrong = json!({"run_id": run["run_id"], "step_id": "nothing", "output": {"seen": true}});
    let refused = agent.refused("workflow_submit", &wrong);
    assert_eq!(refused["context"]["step_id"], "nothing", "{refused}");
    assert_eq!(refused["step"], Value::Null, "{refused}");
}

#[test]
fn a_document_that_cannot_be_imported_is_an_answer() {
    let text = "openapi: 3.0.3\ninfo: {title: Broken, version: 1.0.0}\n";
    let files = [("broken.yaml", text), ("shop.yaml", SHOP)];
    let place = Place::with(&files);
    let mut agent = Agent::connect(&place);
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
    let mut agent = Agent::connect(&place);
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
    let told = |style: ToolStyle| {
        let mut client = Client::start(&place, style);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        let answer = client.ask("initialize", &params);
        answer["result"]["instructions"].as_str().expect("words").to_owned()
    };
    let worker = told(work());
    assert!(worker.contains("workflow_submit") && !worker.contains("workflow_save"), "{worker}");
    let dotted = ToolStyle { spelling: ToolNaming::Dotted, ..auto() };
    for dotted in [told(dotted), told(ToolStyle { surface: Surface::All, ..dotted })] {
        assert!(dotted.contains("workflow.submit") && !dotted.contains("workflow_s"), "{dotted}");
    }
    let mut worker = Agent::styled(&place, work());
    let answer = worker.ask("workflow.get", &json!({}));
    assert_ne!(answer["error"]["data"]["suggestion"], "workflow_get", "{answer}");
}
