//! What the contract says about requests that fail.

use serde_json::json;

use super::{Agent, whole};
use crate::place::Place;
use crate::server::{self, Server};

/// An API without authentication.
const PLAIN: &str = "openapi: 3.0.3\ninfo: {title: Shop, version: 1.0.0}\npaths:\n  \
    /orders/{order_id}:\n    get:\n      operationId: getOrder\n      tags: [orders]\n      \
    parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]\n      \
    responses: {'200': {description: An order}}\n";

#[test]
fn a_failed_request_is_reported_with_its_response() {
    let server = Server::start(|_| server::json(404, &json!({"error": "no such order"})));
    let place = Place::with(&[("shop.yaml", PLAIN)]);
    place.import("shop.yaml", Some(&server.url));
    let mut agent = Agent::with(&place, "2025-11-25", &json!({"tasks": {}}));
    let text = "workflow: gets\nsteps: [{id: look, run: shop orders:get, with: {order_id: x}}]\n";
    let call = json!({"name": "workflow_execute", "arguments": {"manifest": text}, "task": {}});
    let id = agent.client.call("tools/call", &call)["task"]["taskId"].clone();
    let result = agent.result(&json!({"taskId": id}));
    assert_eq!(result["isError"], true, "{result}");
    let payload = &result["structuredContent"];
    whole(payload);
    assert_eq!(payload["category"], "execution");
    assert_eq!(
        (&payload["step_id"], &payload["command"]),
        (&json!("look"), &json!("shop orders:get"))
    );
    assert_eq!(payload["response_payload"], "{\"error\":\"no such order\"}", "{payload}");
}
