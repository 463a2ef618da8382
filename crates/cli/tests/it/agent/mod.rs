//! The contract for writing and running workflows, through the real binary: one test of each kind,
//! and those that need a process, its flags, its log or the names of its commands. The tests of
//! `milepost-mcp` cover the rest.

mod approve;
mod calls;
mod confirm;
#[cfg(target_os = "linux")]
mod consent;
mod contract;
mod driver;
mod edge;
mod golden;
mod hush;
mod listing;
mod next;
mod orchestrate;
mod parameters;
#[cfg(unix)]
mod pressure;
mod stateless;
mod story;
mod tasks;
mod watching;

use std::process::Stdio;

use serde_json::{Value, json};

use crate::Place;
use crate::client::Client;
pub(crate) use crate::tool_client::Agent;
use crate::tool_client::{ASKS, say, whole};

impl Agent {
    /// Starts a server with these arguments and performs the handshake.
    pub(crate) fn connect(place: &Place, arguments: &[&str]) -> Agent {
        Agent::with(place, arguments, "2025-06-18", &json!({}))
    }

    fn with(place: &Place, arguments: &[&str], version: &str, capabilities: &Value) -> Agent {
        Agent::greeted(client(place, arguments), version, capabilities)
    }
}

/// A server that is still waiting for its first message.
fn client(place: &Place, arguments: &[&str]) -> Client {
    let mut command = place.command();
    command.arg("mcp").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Client::of(&mut command)
}
