//! `catalog.set_enabled`: enables or disables a catalog's commands.

use super::which;
use crate::prelude::*;

/// The catalog, and its new state.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub catalog_id: Option<String>,
    /// Its title, if the id is not known.
    pub catalog_title: Option<String>,
    /// Whether its commands can be used.
    pub enabled: bool,
}

/// The new state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The catalog's id.
    pub catalog_id: String,
    /// Whether its commands can be used.
    pub enabled: bool,
    /// The number of enabled commands in all catalogs.
    pub command_count_after_toggle: usize,
}

operation! {
    /// Enables or disables a catalog.
    SetCatalogEnabled: "catalog.set_enabled", "Enable or disable a catalog",
        include_str!("set_enabled.md");
    doors: [
        Door::Tool(Tool { repeats: true, ..Tool::FULL }),
        Door::Command("catalog enable"),
        Door::Command("catalog disable"),
    ];
    run: set_enabled(Writer, Request) -> Response;
    example: {"catalog_id": "shop", "enabled": false};
}

async fn set_enabled(writer: &Writer, _: &dyn Caller, request: Request) -> Result<Response> {
    let which = which(request.catalog_id.as_deref(), request.catalog_title.as_deref())?;
    let shelf = &writer.reader.shelf;
    let record = shelf.record(which)?;
    writer.catalogs.set_enabled(&record.id, request.enabled).or_problem()?;
    let enabled = shelf.enabled()?;
    Ok(Response {
        catalog_id: record.id.to_string(),
        enabled: request.enabled,
        command_count_after_toggle: enabled.iter().map(|loaded| loaded.table.rows.len()).sum(),
    })
}
