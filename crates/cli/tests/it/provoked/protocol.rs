//! Failures before any operation: lines that are not requests, and callers that are not admitted.

use std::process::{Command, Stdio};

use serde_json::json;

use super::Told;
use crate::client::Client;
use crate::{Place, finish};

/// A guide server waiting for its first message, and its folder.
fn guides() -> (Place, Client) {
    let place = Place::new();
    let client = Client::start(&place);
    (place, client)
}

pub(super) fn no_json() -> Told {
    let (_place, mut client) = guides();
    client.write(b"not json\n");
    Told::Number(client.hear())
}

pub(super) fn no_request() -> Told {
    let (_place, mut client) = guides();
    client.say(&json!({"id": 1}));
    Told::Number(client.hear())
}

pub(super) fn no_handshake() -> Told {
    let (_place, mut client) = guides();
    Told::Number(client.ask("tools/list", &json!({})))
}

pub(super) fn no_method() -> Told {
    let place = Place::new();
    let mut client = Client::connect(&place);
    Told::Number(client.ask("no/such", &json!({})))
}

pub(super) fn no_tasks() -> Told {
    let place = Place::new();
    let mut command = place.command();
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = Client::of(&mut command);
    client.call("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    let manifest = "workflow: w\nsteps: [{id: a, set: {b: 1}}]\n";
    let call = json!({"name": "workflow_execute", "arguments": {"manifest": manifest}});
    Told::Data(client.ask("tools/call", &call)["error"]["data"].clone())
}

pub(super) fn no_token() -> Told {
    Told::Data(crate::serve::page::turned_away(&Place::new())["error"]["data"].clone())
}

/// The program cannot open another file descriptor.
pub(super) fn no_more_files() -> Told {
    let place = Place::new();
    let mut command = Command::new("sh");
    let line = format!("ulimit -n 4; exec {} runs", env!("CARGO_BIN_EXE_milepost"));
    command.args(["-c", &line]).current_dir(place.path("")).env_clear();
    command.env("HOME", place.root.path().join("home"));
    Told::Words(finish(&mut command, ""))
}
