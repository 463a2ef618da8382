//! `catalog.preview_import`: everything an import would do, without doing it.

use super::plan::{ImportPlan, ImportRequest};
use super::{DocumentRemark, remarks};
use crate::command::view::{CommandSummary, short};
use crate::prelude::*;
use crate::source::{DocumentSource, SourceType};

/// What would be imported.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A local path or a URL.
    pub source: String,
    /// Which of both it is.
    pub source_type: Option<SourceType>,
    /// What people call the API.
    pub catalog_title: Option<String>,
    /// Group of its commands.
    pub vendor: Option<String>,
    /// Another address of the API.
    pub base_url: Option<String>,
    /// Whether the commands are shown.
    #[serde(default)]
    pub include_command_preview: bool,
    /// Hosts that references in the document may lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder below which references stay; only a person can say one.
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

/// What an import would do.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The catalog as it would be.
    pub catalog: PlannedCatalog,
    /// How many operations the document has.
    pub operation_count: usize,
    /// How many commands there would be.
    pub projected_command_count: usize,
    /// How the names of the commands begin.
    pub projected_group_prefixes: Vec<String>,
    /// How many commands yield choices for parameters of others.
    pub provider_contract_count: usize,
    /// Whether a catalog of this id is there already.
    pub exists: bool,
    /// What is odd, and what was done about it.
    pub warnings: Vec<DocumentRemark>,
    /// The first commands, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_preview: Option<Vec<CommandSummary>>,
}

/// A catalog before it is one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlannedCatalog {
    /// Its id, which is the group of its commands.
    pub catalog_id: String,
    /// Its title.
    pub title: String,
    /// Who offers it.
    pub vendor: Option<String>,
    /// Where it is reached.
    pub base_url: Option<String>,
}

operation! {
    /// Plans an import.
    PlanImport: PreviewImport::NAME, PreviewImport::TITLE, PreviewImport::DESCRIPTION;
    doors: PreviewImport::DOORS;
    run: plan_import(Reader, Request) -> Response;
    example: {"source": "openapi.yaml", "catalog_title": "Shop"};
}

async fn plan_import(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let asked = ImportRequest {
        wanted: DocumentSource {
            source: &request.source,
            source_type: request.source_type,
            allow_refs: &request.allow_refs,
            refs_root: request.refs_root.as_deref(),
        },
        title: request.catalog_title.as_deref(),
        vendor: request.vendor.as_deref(),
        base_url: request.base_url.as_deref(),
        enabled: true,
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

/// What an import would do, or why there can be none.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportPreview {
    /// Whether it can be imported.
    pub valid: bool,
    /// Why it cannot be.
    pub violations: Vec<DocumentRemark>,
    /// What is odd, when there is no plan to say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<DocumentRemark>>,
    /// What an import would do.
    #[serde(flatten)]
    pub plan: Option<Response>,
}

impl ImportPreview {
    /// Of a document that can be imported.
    pub fn of(plan: Response) -> ImportPreview {
        ImportPreview { valid: true, violations: Vec::new(), warnings: None, plan: Some(plan) }
    }
}

operation! {
    /// Plans an import for agents: a document that cannot be imported is an answer, not a failure.
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
