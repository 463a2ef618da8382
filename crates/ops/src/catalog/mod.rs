//! Operations on catalogs, one file each.

pub mod auth;
pub mod diff;
pub mod import;
mod inspected_document;
pub mod list;
pub mod mock;
mod plan;
pub mod preview;
pub mod remove;
pub mod set_enabled;
pub mod validate;

use milepost_catalog::finding::DocumentFinding;

use crate::prelude::*;

/// A remark about a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentRemark {
    /// JSON pointer into the document.
    pub path: String,
    /// The rule it violates.
    pub rule: String,
    /// What is wrong, and how it was handled.
    pub message: String,
}

impl From<&DocumentFinding> for DocumentRemark {
    fn from(finding: &DocumentFinding) -> DocumentRemark {
        DocumentRemark {
            path: finding.path.clone(),
            rule: finding.rule.0.to_owned(),
            message: finding.message.clone(),
        }
    }
}

pub(crate) fn remarks(findings: &[DocumentFinding]) -> Vec<DocumentRemark> {
    findings.iter().map(DocumentRemark::from).collect()
}

/// The id or the title, whichever is given.
pub(crate) fn which<'a>(id: Option<&'a str>, title: Option<&'a str>) -> Result<&'a str> {
    id.or(title).ok_or_else(|| {
        let list = Invocation::of("catalog.list");
        let hint = Hint::text("give `catalog_id` or `catalog_title`: ").call(list);
        Problem::new(Code::ParamsInvalid, "no catalog was given", hint.then(" shows them"))
    })
}
