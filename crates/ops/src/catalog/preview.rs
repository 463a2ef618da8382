//! `catalog.preview_import`: everything an import would do, without doing it.

use milepost_model::problem::{Code, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::{Asked, Plan};
use super::{Remark, remarks};
use crate::call::Call;
use crate::command::view::{Short, short};
use crate::later::Later;
use crate::limits;
use crate::operation::Door;
use crate::reader::Reader;
use crate::source::{SourceType, Wanted};
use crate::tool::Tool;

/// Plans an import.
#[derive(Debug)]
pub struct Preview;

/// Plans an import for agents: a document that cannot be imported is an answer, not a failure.
#[derive(Debug)]
pub struct Judge;

/// What would be imported.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Whether the commands are shown.
    #[serde(default)]
    pub include_command_preview: bool,
    /// Hosts that references in the document may lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder below which references stay; only a person can say one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

/// What an import would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The catalog as it would be.
    pub catalog: Catalog,
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
    pub warnings: Vec<Remark>,
    /// The first commands, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_preview: Option<Vec<Short>>,
}

/// A catalog before it is one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Catalog {
    /// Its id, which is the group of its commands.
    pub catalog_id: String,
    /// Its title.
    pub title: String,
    /// Who offers it.
    pub vendor: Option<String>,
    /// Where it is reached.
    pub base_url: Option<String>,
}

impl Later for Preview {
    type Request = Request;
    type Response = Response;
    type Hands = Reader;

    const NAME: &'static str = Judge::NAME;
    const TITLE: &'static str = Judge::TITLE;
    const DESCRIPTION: &'static str = Judge::DESCRIPTION;
    const DOORS: &'static [Door] = Judge::DOORS;

    async fn run(reader: &Reader, call: &dyn Call, request: Request) -> Result<Response, Problem> {
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
            enabled: true,
        };
        let plan = Plan::of(&asked, reader, call).await?;
        let exists = reader.shelf().known(&plan.record.id)?.is_some();
        let rows = plan.table.rows.iter().take(limits::PREVIEW_COMMANDS);
        let commands = rows.map(|row| short(plan.record.id.as_str(), row)).collect();
        Ok(Response {
            catalog: Catalog {
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

    fn example() -> Request {
        Request {
            source: "openapi.yaml".to_owned(),
            catalog_title: Some("Shop".to_owned()),
            ..Request::default()
        }
    }
}

/// What an import would do, or why there can be none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Whether it can be imported.
    pub valid: bool,
    /// Why it cannot be.
    pub violations: Vec<Remark>,
    /// What is odd, when there is no plan to say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<Remark>>,
    /// What an import would do.
    #[serde(flatten)]
    pub plan: Option<Response>,
}

impl Judgement {
    /// Of a document that can be imported.
    pub fn of(plan: Response) -> Judgement {
        Judgement { valid: true, violations: Vec::new(), warnings: None, plan: Some(plan) }
    }
}

impl Later for Judge {
    type Request = Request;
    type Response = Judgement;
    type Hands = Reader;

    const NAME: &'static str = "catalog.preview_import";
    const TITLE: &'static str = "Plan an import";
    const DESCRIPTION: &'static str = include_str!("preview.md");
    const DOORS: &'static [Door] =
        &[Door::Tool(Tool::FULL.calls_out()), Door::Command("catalog preview")];

    async fn run(reader: &Reader, call: &dyn Call, request: Request) -> Result<Judgement, Problem> {
        match Preview::run(reader, call, request).await {
            Ok(plan) => Ok(Judgement::of(plan)),
            Err(problem)
                if problem.code == Code::CatalogInvalid && !problem.arguments.is_empty() =>
            {
                let violations = problem.arguments.into_iter().map(|fault| Remark {
                    path: fault.path,
                    rule: fault.rule.to_owned(),
                    message: fault.message,
                });
                Ok(Judgement {
                    valid: false,
                    violations: violations.collect(),
                    warnings: Some(Vec::new()),
                    plan: None,
                })
            }
            Err(problem) => Err(problem),
        }
    }

    fn example() -> Request {
        Preview::example()
    }
}
