//! `catalog.preview_import`: everything an import would do, without doing it.

use super::plan::ImportPlan;
use super::{DocumentRemark, import, remarks};
use crate::command::view::{CommandSummary, short};
use crate::prelude::*;
use crate::source::SourceType;

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
    /// Whether to show the commands.
    #[serde(default)]
    pub include_command_preview: bool,
    /// Hosts that references in the document may point to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder that references must stay in; only a person can set it.
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

/// What an import would do.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The resulting catalog.
    pub catalog: PlannedCatalog,
    /// The number of operations in the document.
    pub operation_count: usize,
    /// The resulting number of commands.
    pub projected_command_count: usize,
    /// The prefixes of the command names.
    pub projected_group_prefixes: Vec<String>,
    /// The number of commands that provide choices for others.
    pub provider_contract_count: usize,
    /// Whether a catalog with this id exists.
    pub exists: bool,
    /// Oddities, and how they were handled.
    pub warnings: Vec<DocumentRemark>,
    /// The first commands, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_preview: Option<Vec<CommandSummary>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlannedCatalog {
    /// Its id, which is also its command group.
    pub catalog_id: String,
    /// Its title.
    pub title: String,
    /// The API's vendor.
    pub vendor: Option<String>,
    /// The API's URL.
    pub base_url: Option<String>,
}

operation! {
    PlanImport: PreviewImport::NAME, PreviewImport::TITLE, PreviewImport::DESCRIPTION;
    doors: PreviewImport::DOORS;
    run: plan_import(Reader, Request) -> Response;
    example: {"source": "openapi.yaml", "catalog_title": "Shop"};
}

async fn plan_import(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let asked = import::Request {
        source: request.source,
        source_type: request.source_type,
        catalog_title: request.catalog_title,
        vendor: request.vendor,
        base_url: request.base_url,
        overwrite: false,
        enabled: true,
        allow_refs: request.allow_refs,
        refs_root: request.refs_root,
    };
    let plan = ImportPlan::of(&asked, reader, call).await?;
    let exists = reader.shelf.known(&plan.record.id)?.is_some();
    let rows = plan.table.rows.iter().take(limits::PREVIEW_COMMANDS);
    let commands = rows.map(|row| short(plan.record.id.as_str(), row)).collect();
    Ok(Response {
        catalog: PlannedCatalog {
            catalog_id: plan.record.id.to_string(),
            title: plan.record.title.clone(),
            vendor: plan.record.vendor.clone(),
            base_url: plan.record.base_url.as_ref().map(|base| base.url.clone()),
        },
        operation_count: plan.operation_count,
        projected_command_count: plan.table.rows.len(),
        projected_group_prefixes: plan.prefixes(),
        provider_contract_count: plan.table.providers.len(),
        exists,
        warnings: remarks(&plan.warnings),
        command_preview: request.include_command_preview.then_some(commands),
    })
}

/// What an import would do, or why it is impossible.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportPreview {
    /// Whether it can be imported.
    pub valid: bool,
    /// Why it cannot be imported.
    pub violations: Vec<DocumentRemark>,
    /// Oddities, if there is no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<DocumentRemark>>,
    /// What an import would do.
    #[serde(flatten)]
    pub plan: Option<Response>,
}

impl ImportPreview {
    /// The preview for a document that can be imported.
    pub fn of(plan: Response) -> ImportPreview {
        ImportPreview { valid: true, violations: Vec::new(), warnings: None, plan: Some(plan) }
    }
}

operation! {
    /// Plans an import for agents, for whom an invalid document yields a regular response, not a
    /// failure.
    PreviewImport: "catalog.preview_import", "Plan an import", include_str!("preview.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::FULL }), Door::Command("catalog preview")];
    run: preview_import(Reader, Request) -> ImportPreview;
    example: {"source": "openapi.yaml", "catalog_title": "Shop"};
}

async fn preview_import(
    reader: &Reader,
    call: &dyn Caller,
    request: Request,
) -> Result<ImportPreview> {
    match PlanImport::run(reader, call, request).await {
        Ok(plan) => Ok(ImportPreview::of(plan)),
        Err(problem) if problem.code == Code::CatalogInvalid && !problem.arguments.is_empty() => {
            let violations = problem.arguments.into_iter().map(|fault| DocumentRemark {
                path: fault.path,
                rule: fault.rule.to_owned(),
                message: fault.message,
            });
            Ok(ImportPreview {
                valid: false,
                violations: violations.collect(),
                warnings: Some(Vec::new()),
                plan: None,
            })
        }
        Err(problem) => Err(problem),
    }
}
