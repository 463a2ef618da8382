//! `catalog.import_openapi`: a document becomes a catalog.

use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::{Asked, Plan};
use super::{Remark, remarks};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::problems;
use crate::source::{SourceType, Wanted};
use crate::tool::Tool;
use crate::writer::Writer;

/// Imports an OpenAPI document.
#[derive(Debug)]
pub struct Import;

/// What to import.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A local path or a URL.
    pub source: String,
    /// Which of both it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<SourceType>,
    /// What people call the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_title: Option<String>,
    /// Group of its commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Another address of the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Replaces the one there.
    #[serde(default)]
    pub overwrite: bool,
    /// Usable at once.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Hosts that references in the document may lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder below which references stay; only a person can say one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

fn yes() -> bool {
    true
}

/// What was imported.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// Its id, which is the group of its commands.
    pub catalog_id: String,
    /// The file of its record.
    pub catalog_path: String,
    /// The file of its document.
    pub manifest_path: String,
    /// How many operations the document has.
    pub operation_count: usize,
    /// How many commands there are.
    pub command_count: usize,
    /// How many commands yield choices for parameters of others.
    pub provider_contract_count: usize,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// Whether it took the place of another.
    pub replaced: bool,
    /// What is odd, and what was done about it.
    pub warnings: Vec<Remark>,
}

impl Later for Import {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "catalog.import_openapi";
    const TITLE: &'static str = "Import an OpenAPI document";
    const DESCRIPTION: &'static str = include_str!("import.md");
    const DOORS: &'static [Door] =
        &[Door::Tool(Tool::FULL.calls_out()), Door::Command("catalog import")];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let asked = Asked {
            wanted: Wanted {
                source: &request.source,
                source_type: request.source_type,
                allow_refs: &request.allow_refs,
                refs_root: request.refs_root.as_deref(),
            },
            title: request.catalog_title.as_deref(),
            vendor: request.vendor.as_deref(),
            base_url: request.base_url.as_deref(),
            enabled: request.enabled,
        };
        let plan = Plan::of(&asked, &writer.reader, call).await?;
        call.progress("writing the catalog");
        let id = plan.record.id.clone();
        let base_url = plan.record.base_url.as_ref().map(|base| base.url.clone());
        let saved = writer.catalogs.save(plan.record.clone(), plan.document(), request.overwrite);
        let saved = saved.map_err(|error| problems::of_save(&error))?;
        // Read back as everybody will see it, and derived data kept for all of them.
        if let Some(record) = writer.reader.shelf().known(&id)? {
            writer.reader.shelf().keep(&record, &plan.table);
        }
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

    fn example() -> Request {
        Request {
            source: "openapi.yaml".to_owned(),
            source_type: None,
            catalog_title: Some("Shop".to_owned()),
            vendor: None,
            base_url: None,
            overwrite: false,
            enabled: true,
            allow_refs: Vec::new(),
            refs_root: None,
        }
    }
}
