//! `catalog.validate_openapi`: checks whether a document can be imported, and reports everything
//! unusual in it.

use milepost_catalog::finding::DocumentFindings;
use milepost_catalog::specification;

use super::inspected_document::InspectedDocument;
use super::{DocumentRemark, remarks};
use crate::prelude::*;
use crate::source::{DocumentSource, SourceFailure, SourceType};

/// The document to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A local path or a URL.
    pub source: String,
    /// The type of `source`.
    pub source_type: Option<SourceType>,
    /// Hosts that references in the document may point to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub allow_refs: Vec<String>,
    /// The folder that references must stay in; only a person can set it.
    #[schemars(extend("x-rare" = true))]
    pub refs_root: Option<String>,
}

/// The findings about a document.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Response {
    /// Whether it can be imported.
    pub valid: bool,
    /// `openapi_2`, `openapi_3` or `unknown`.
    pub document_kind: String,
    /// Its OpenAPI version, if stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of operations.
    pub operation_count: usize,
    /// The number of resulting commands.
    pub command_count: usize,
    /// Oddities, and how they would be handled.
    pub warnings: Vec<DocumentRemark>,
    /// Why it cannot be imported.
    pub violations: Vec<DocumentRemark>,
}

operation! {
    /// Checks an OpenAPI document.
    ValidateOpenApi: "catalog.validate_openapi", "Check an OpenAPI document",
        include_str!("validate.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::FULL }), Door::Command("catalog validate")];
    run: validate(Reader, Request) -> Response;
    example: {"source": "openapi.yaml"};
}

async fn validate(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let wanted = DocumentSource {
        source: &request.source,
        source_type: request.source_type,
        allow_refs: &request.allow_refs,
        refs_root: request.refs_root.as_deref(),
    };
    let look = match InspectedDocument::at(&wanted, None, reader, call).await {
        Ok(look) => look,
        Err(SourceFailure::Problem(problem)) => return Err(problem),
        Err(SourceFailure::NotADocument(finding)) => return Ok(unknown(&finding)),
    };
    let InspectedDocument { api, inspection, mut warnings, violations, .. } = look;
    let mut departures = DocumentFindings::default();
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

/// The response for a file that is not an OpenAPI document.
fn unknown(finding: &milepost_catalog::finding::DocumentFinding) -> Response {
    let (document_kind, violations) = ("unknown".to_owned(), vec![DocumentRemark::from(finding)]);
    Response { document_kind, violations, ..Response::default() }
}
