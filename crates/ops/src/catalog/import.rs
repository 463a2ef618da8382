//! `catalog.import_openapi`: turns a document into a catalog.

use super::plan::ImportPlan;
use super::{DocumentRemark, remarks};
use crate::prelude::*;
use crate::source::SourceType;
use crate::trust;

/// What to import.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A local path or a URL.
    pub source: String,
    /// The type of `source`.
    pub source_type: Option<SourceType>,
    /// The name of the API.
    pub catalog_title: Option<String>,
    /// The group that its commands belong to.
    pub vendor: Option<String>,
    /// Overrides the API's URL.
    pub base_url: Option<String>,
    /// Replaces the old catalog.
    #[serde(default)]
    pub overwrite: bool,
    /// Enables it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Hosts that references in the document may point to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder that references must stay in; only a person can set it.
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

fn yes() -> bool {
    true
}

/// What was imported.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id, which is also its command group.
    pub catalog_id: String,
    /// The path of its record.
    pub catalog_path: String,
    /// The path of its document.
    pub manifest_path: String,
    /// The number of operations in the document.
    pub operation_count: usize,
    /// The number of commands.
    pub command_count: usize,
    /// The number of commands that provide choices for others.
    pub provider_contract_count: usize,
    /// The API's URL.
    pub base_url: Option<String>,
    /// Whether it replaced another.
    pub replaced: bool,
    /// Oddities, and how they were handled.
    pub warnings: Vec<DocumentRemark>,
}

operation! {
    /// Imports an OpenAPI document.
    ImportOpenApi: "catalog.import_openapi", "Import an OpenAPI document",
        include_str!("import.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::FULL }), Door::Command("catalog import")];
    run: import_open_api(Writer, Request) -> Response;
    example: {"source": "openapi.yaml", "catalog_title": "Shop"};
}

async fn import_open_api(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    let was_clean = trust::folder::report(&writer.reader)?.is_clean();
    let plan = ImportPlan::of(&request, &writer.reader, call).await?;
    if let Some(moved) = plan.moved.as_ref().filter(|_| request.overwrite) {
        moved.admit(call, &request)?;
    }
    call.progress("writing the catalog");
    let id = plan.record.id.clone();
    let base_url = plan.record.base_url.as_ref().map(|base| base.url.clone());
    let saved = writer
        .catalogs
        .save(plan.record.clone(), plan.document(), request.overwrite)
        .or_problem()?;
    // Reads the record back as every process will see it, and stores the derived data for all of
    // them.
    if let Some(record) = writer.reader.shelf.known(&id)? {
        writer.reader.shelf.keep(&record, &plan.table, None);
    }
    trust::keep_trusted(writer, call, was_clean)?;
    Ok(Response {
        catalog_id: id.to_string(),
        catalog_path: saved.record.display().to_string(),
        manifest_path: saved.document.display().to_string(),
        operation_count: plan.operation_count,
        command_count: plan.table.rows.len(),
        provider_contract_count: plan.table.providers.len(),
        base_url,
        replaced: saved.replaced,
        warnings: remarks(&plan.warnings),
    })
}
