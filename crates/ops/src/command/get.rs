//! `command.get`: one command, whole.

use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{Full, full};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::reader::Reader;
use crate::tool::Tool;

/// Shows a command.
#[derive(Debug)]
pub struct Get;

/// Which one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `group name`, or an operationId.
    pub command: String,
}

impl Later for Get {
    type Request = Request;
    type Response = Full;
    type Hands = Reader;

    const NAME: &'static str = "command.get";
    const TITLE: &'static str = "Show a command";
    const DESCRIPTION: &'static str = include_str!("get.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL), Door::Command("command show")];

    async fn run(reader: &Reader, _call: &dyn Call, request: Request) -> Result<Full, Problem> {
        let (loaded, row) = reader.shelf().command(&request.command)?;
        let prepared = loaded.prepared(row)?;
        Ok(full(prepared.command(), &loaded.table.providers))
    }

    fn example() -> Request {
        Request { command: "shop orders:list".to_owned() }
    }
}
