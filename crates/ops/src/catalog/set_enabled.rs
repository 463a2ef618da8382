//! `catalog.set_enabled`: commands of a catalog in or out of use.

use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::which;
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::problems;
use crate::tool::Tool;
use crate::writer::Writer;

/// Takes a catalog in or out of use.
#[derive(Debug)]
pub struct SetEnabled;

/// Which one, and what to do with it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_id: Option<String>,
    /// Its title, when the id is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_title: Option<String>,
    /// Whether its commands can be used.
    pub enabled: bool,
}

/// How it is now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub catalog_id: String,
    /// Whether its commands can be used.
    pub enabled: bool,
    /// How many commands can be used now, of all catalogs.
    pub command_count_after_toggle: usize,
}

impl Later for SetEnabled {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "catalog.set_enabled";
    const TITLE: &'static str = "Enable or disable a catalog";
    const DESCRIPTION: &'static str = include_str!("set_enabled.md");
    const DOORS: &'static [Door] = &[
        Door::Tool(Tool::FULL.repeats()),
        Door::Command("catalog enable"),
        Door::Command("catalog disable"),
    ];

    async fn run(writer: &Writer, _call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let which = which(request.catalog_id.as_deref(), request.catalog_title.as_deref())?;
        let shelf = writer.reader.shelf();
        let record = shelf.record(which)?;
        let changed = writer.catalogs.set_enabled(&record.id, request.enabled);
        changed.map_err(|error| problems::of_save(&error))?;
        let enabled = shelf.enabled()?;
        Ok(Response {
            catalog_id: record.id.to_string(),
            enabled: request.enabled,
            command_count_after_toggle: enabled.iter().map(|loaded| loaded.table.rows.len()).sum(),
        })
    }

    fn example() -> Request {
        Request { catalog_id: Some("shop".to_owned()), catalog_title: None, enabled: false }
    }
}
