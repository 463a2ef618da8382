//! `catalog.validate_openapi`: whether a document can be imported, and everything that is odd.

use milepost_catalog::finding::Findings;
use milepost_catalog::specification;
use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::look::Look;
use super::{Remark, remarks};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::reader::Reader;
use crate::source::{SourceType, Unread, Wanted};
use crate::tool::Tool;

/// Checks an OpenAPI document.
#[derive(Debug)]
pub struct Validate;

/// What to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A local path or a URL.
    pub source: String,
    /// Which of both it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<SourceType>,
    /// Hosts that references in the document may lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder below which references stay; only a person can say one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

/// What is right and wrong with a document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// Whether it can be imported.
    pub valid: bool,
    /// `openapi_2`, `openapi_3` or `unknown`.
    pub document_kind: String,
    /// The version it follows, when it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many operations it has.
    pub operation_count: usize,
    /// How many commands they become.
    pub command_count: usize,
    /// What is odd, and what would be done about it.
    pub warnings: Vec<Remark>,
    /// Why it cannot be imported.
    pub violations: Vec<Remark>,
}

impl Later for Validate {
    type Request = Request;
    type Response = Response;
    type Hands = Reader;

    const NAME: &'static str = "catalog.validate_openapi";
    const TITLE: &'static str = "Check an OpenAPI document";
    const DESCRIPTION: &'static str = include_str!("validate.md");
    const DOORS: &'static [Door] =
        &[Door::Tool(Tool::FULL.calls_out()), Door::Command("catalog validate")];

    async fn run(reader: &Reader, call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let wanted = Wanted {
            source: &request.source,
            source_type: request.source_type,
            allow_refs: &request.allow_refs,
            refs_root: request.refs_root.as_deref(),
        };
        let look = match Look::at(&wanted, None, reader, call).await {
            Ok(look) => look,
            Err(Unread::Problem(problem)) => return Err(problem),
            Err(Unread::NotADocument(finding)) => return Ok(unknown(&finding)),
        };
        let Look { api, inspection, mut warnings, violations, .. } = look;
        let mut departures = Findings::default();
        specification::departures(&api, &mut departures);
        warnings.extend(departures.into_list());
        Ok(Response {
            valid: violations.is_empty(),
            document_kind: api.version().kind().to_owned(),
            version: Some(api.version().name().to_owned()),
            title: api.title(),
            operation_count: inspection.operation_count,
            command_count: inspection.command_count(),
            warnings: remarks(&warnings),
            violations: remarks(&violations),
        })
    }

    fn example() -> Request {
        Request { source: "openapi.yaml".to_owned(), ..Request::default() }
    }
}

/// A text that is no OpenAPI document.
fn unknown(finding: &milepost_catalog::finding::Finding) -> Response {
    Response {
        valid: false,
        document_kind: "unknown".to_owned(),
        version: None,
        title: None,
        operation_count: 0,
        command_count: 0,
        warnings: Vec::new(),
        violations: vec![Remark::from(finding)],
    }
}
