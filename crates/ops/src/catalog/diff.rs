//! `catalog.diff`: what changes when a newer document is imported.

use milepost_catalog::diff::{CatalogDiff as Compared, DiffSide};

use super::plan::ImportPlan;
use super::{DocumentRemark, import, remarks};
use crate::prelude::*;
use crate::source::SourceType;

/// A catalog and a newer document.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The catalog, by id or title.
    pub catalog_id: String,
    /// The newer document, a local path or a URL; defaults to the catalog's source.
    pub source: Option<String>,
    /// `source`'s type; detected by default.
    pub source_type: Option<SourceType>,
    /// Hosts that references in the document may point to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_refs: Vec<String>,
    /// The folder that references must stay in; only a person can set it.
    pub refs_root: Option<String>,
}

/// What would change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The catalog.
    pub catalog_id: String,
    /// Whether anything changes.
    pub changes: bool,
    /// Whether existing calls may fail.
    pub breaking: bool,
    /// New commands.
    pub added: Vec<DiffedCommand>,
    /// Removed commands.
    pub removed: Vec<DiffedCommand>,
    /// Commands whose arguments or responses change.
    pub changed: Vec<ChangedCommand>,
    /// Oddities in the newer document.
    pub warnings: Vec<DocumentRemark>,
}

/// A new or removed command.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffedCommand {
    /// `group name`.
    pub command: String,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangedCommand {
    /// `group name`.
    pub command: String,
    /// What changed.
    pub details: Vec<String>,
    /// Whether existing calls may fail.
    pub breaking: bool,
}

operation! {
    /// Compares a document with a catalog.
    DiffCatalog: "catalog.diff", "Compare a catalog with a newer document",
        include_str!("diff.md");
    doors: [Door::Command("catalog diff")];
    run: diff_catalog(Reader, Request) -> Response;
    example: {"catalog_id": "shop", "source": "openapi.yaml"};
}

async fn diff_catalog(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let record = reader.shelf.record(&request.catalog_id)?;
    let loaded = reader.shelf.load(&record)?;
    let asked = import::Request {
        source: request.source.unwrap_or_else(|| super::list::source_text(&record.source)),
        source_type: request.source_type,
        catalog_title: Some(record.title.clone()),
        // The id determines which command names are kept.
        vendor: Some(record.id.to_string()),
        base_url: record.base_url.as_ref().map(|base| base.url.clone()),
        overwrite: false,
        enabled: record.enabled,
        allow_refs: request.allow_refs,
        refs_root: request.refs_root,
    };
    let plan = ImportPlan::of(&asked, reader, call).await?;
    let api = loaded.api()?;
    let old = DiffSide { api: &api, rows: &loaded.table.rows };
    let new = DiffSide { api: &plan.api, rows: &plan.table.rows };
    let diff = Compared::between(&record.id, old, new);
    Ok(response(&record.id.to_string(), &diff, remarks(&plan.warnings)))
}

fn response(id: &str, diff: &Compared, warnings: Vec<DocumentRemark>) -> Response {
    let entry = |row: &milepost_catalog::table::Row| DiffedCommand {
        command: format!("{id} {}", row.name),
        method: row.method.name().to_owned(),
        path: row.path.clone(),
    };
    let change = |change: &milepost_catalog::diff::CommandChange| ChangedCommand {
        command: format!("{id} {}", change.name),
        details: change.details.clone(),
        breaking: change.breaking,
    };
    Response {
        catalog_id: id.to_owned(),
        changes: !diff.is_empty(),
        breaking: !diff.removed.is_empty() || diff.changed.iter().any(|change| change.breaking),
        added: diff.added.iter().map(entry).collect(),
        removed: diff.removed.iter().map(entry).collect(),
        changed: diff.changed.iter().map(change).collect(),
        warnings,
    }
}
