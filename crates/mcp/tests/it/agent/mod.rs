//! The contract for writing and running workflows: what its clients see, byte for byte or validated
//! against its own schemas. The tests of the binary show that it serves the same.

mod approve;
mod calls;
mod confirm;
mod contract;
mod edge;
mod guide_runs;
mod hush;
mod listing;
mod next;
mod orchestrate;
mod parameters;
mod reading;
mod replies;
mod safety;
mod stateless;
mod tasks;
mod watching;

use milepost_mcp::Surface;
use milepost_mcp::workflows::ToolStyle;
use milepost_ops::Profile;
use serde_json::{Value, json};

use crate::client::{Client, auto};
use crate::place::Place;
use crate::tool_client::{ASKS, Agent, say, whole};

/// An API with orders, as the tests of the binary use it.
const SHOP: &str = include_str!("../../../../cli/tests/it/shop.yaml");

impl Agent {
    /// Starts a server and performs the handshake.
    fn connect(place: &Place) -> Agent {
        Agent::styled(place, auto())
    }

    fn styled(place: &Place, style: ToolStyle) -> Agent {
        Agent::greeted(Client::start(place, style), "2025-06-18", &json!({}))
    }

    fn with(place: &Place, version: &str, capabilities: &Value) -> Agent {
        Agent::greeted(client(place), version, capabilities)
    }
}

/// A server that still waits for its first message.
fn client(place: &Place) -> Client {
    Client::start(place, auto())
}

/// For clients that may only work on runs.
fn work() -> ToolStyle {
    ToolStyle { surface: Surface::Workflows, profile: Profile::Work, ..ToolStyle::default() }
}

/// Adds the declarations of a stateless client.
fn stateless(method: &str, mut params: Value, can: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": can,
    });
    json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
}
