//! A common view of OpenAPI documents in any version: the operations and, for each, its parameters,
//! body, responses, security and servers. Nothing is copied until it is requested, and an invalid
//! part does not affect the others.

mod body;
mod command;
mod operations;
mod parameters;
mod responses;
mod schema;
mod security;
mod servers;
mod version;

pub use operations::ApiOperation;
pub use version::OpenApiVersion;

use milepost_syntax::json::document::{JsonDocument, JsonNode};

use crate::document::ParsedDocument;
use crate::finding::{DocumentFinding, DocumentFindings, DocumentRule};
use crate::{limits, refs, text};

/// An OpenAPI document.
#[derive(Debug)]
pub struct Api {
    document: JsonDocument,
    version: OpenApiVersion,
    /// Notes from the reader and from version detection.
    notes: Vec<DocumentFinding>,
}

/// Why a document is not a supported API description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnApi {
    /// The document declares no OpenAPI version.
    #[error("this is not an OpenAPI document: it has neither `openapi: 3.x` nor `swagger: 2.0`")]
    NoVersion,
    /// The document declares an unsupported version.
    #[error("OpenAPI {0} is not supported; use 2.0, 3.0, 3.1 or 3.2")]
    OtherVersion(String),
}

impl Api {
    /// Detects a document's version.
    pub fn new(reading: ParsedDocument) -> Result<Api, NotAnApi> {
        let mut warnings = DocumentFindings::default();
        for note in &reading.notes {
            warnings.add(&note.pointer, DocumentRule(note.rule), &note.message);
        }
        let root = reading.document.root();
        let Some(version) = OpenApiVersion::of(root, &mut warnings) else {
            let said = ["openapi", "swagger", "swaggerVersion"];
            let said = said.iter().find_map(|key| root.get(key)?.scalar());
            return Err(match said {
                Some(said) => NotAnApi::OtherVersion(text::line(&said, 40)),
                None => NotAnApi::NoVersion,
            });
        };
        Ok(Api { document: reading.document, version, notes: warnings.into_list() })
    }

    pub fn document(&self) -> &JsonDocument {
        &self.document
    }

    /// The document's OpenAPI version.
    pub fn version(&self) -> OpenApiVersion {
        self.version
    }

    /// Notes from the reader and from version detection.
    pub fn notes(&self) -> &[DocumentFinding] {
        &self.notes
    }

    /// The title, sanitized.
    pub fn title(&self) -> Option<String> {
        let title = self.root().get("info")?.get("title")?.scalar()?;
        let title = text::line(&title, limits::SUMMARY_CHARS);
        (!title.is_empty()).then_some(title)
    }

    pub(crate) fn root(&self) -> JsonNode<'_> {
        self.document.root()
    }

    pub(crate) fn resolve<'d>(
        &'d self,
        node: JsonNode<'d>,
    ) -> Result<JsonNode<'d>, refs::RefError> {
        refs::resolve(&self.document, node)
    }

    /// The value that a reference points to; adds a finding if it cannot be resolved.
    pub(crate) fn resolved<'d>(
        &'d self,
        node: JsonNode<'d>,
        path: &str,
        findings: &mut DocumentFindings,
    ) -> Option<JsonNode<'d>> {
        let told = self.resolve(node).map_err(|error| {
            let rule = match error {
                refs::RefError::Cycle(_) => DocumentRule::REF_CYCLE,
                refs::RefError::Missing(_) => DocumentRule::REF,
                refs::RefError::Outside(_) => DocumentRule::REF_REFUSED,
            };
            findings.add(path, rule, format!("{error}; the reference was ignored"));
        });
        told.ok()
    }
}

/// The text under a key, sanitized to one line.
pub(crate) fn line_of(node: JsonNode<'_>, key: &str, chars: usize) -> String {
    let said = node.get(key).and_then(JsonNode::text);
    said.map(|said| text::line(&text::without_html(&said), chars)).unwrap_or_default()
}

/// The text under a key, sanitized.
pub(crate) fn block_of(node: JsonNode<'_>, key: &str, chars: usize) -> String {
    let said = node.get(key).and_then(JsonNode::text);
    said.map(|said| text::block(&text::without_html(&said), chars)).unwrap_or_default()
}

/// The keys of the map under a key.
pub(crate) fn names_of(node: JsonNode<'_>, key: &str) -> Vec<String> {
    let entries = node.get(key).into_iter().flat_map(JsonNode::entries);
    entries.map(|(name, _)| name.into_owned()).collect()
}

/// The strings in a list.
pub(crate) fn texts(list: Option<JsonNode<'_>>) -> Vec<String> {
    list.into_iter().flat_map(JsonNode::items).filter_map(JsonNode::text).map(Into::into).collect()
}

/// A boolean, even if it is written in quotes.
pub(crate) fn flag(node: JsonNode<'_>, key: &str) -> Option<bool> {
    let node = node.get(key)?;
    node.bool().or_else(|| match &*node.text()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}
