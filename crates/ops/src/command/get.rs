//! `command.get`: the full description of a command.

use super::view::{CommandDetails, full};
use crate::prelude::*;

/// The command to show.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `group name`, or an operationId.
    pub command: String,
}

operation! {
    /// Shows a command.
    GetCommand: "command.get", "Show a command", include_str!("get.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("command show")];
    run: get_command(Reader, Request) -> CommandDetails;
    example: {"command": "shop orders:list"};
}

async fn get_command(reader: &Reader, _: &dyn Caller, request: Request) -> Result<CommandDetails> {
    let (loaded, row) = reader.shelf.command(&request.command)?;
    let prepared = loaded.prepared(row)?;
    Ok(full(prepared.command(), &loaded.table.providers))
}
