//! References: followed one hop at a time, never inlined.

use crate::document::{Document, Node};
use crate::limits;

/// Why a reference leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    /// It leads back to itself.
    #[error("the reference `{0}` leads back to itself")]
    Cycle(String),
    /// There is nothing where it points.
    #[error("there is nothing at `{0}`")]
    Missing(String),
    /// It leads to a file or URL that was not read.
    #[error("`{0}` lies outside the document and was not read")]
    Outside(String),
}

/// The text of a reference, when the value is one.
pub fn target(node: Node<'_>) -> Option<String> {
    node.get("$ref")?.text().map(std::borrow::Cow::into_owned)
}

/// The value behind any number of references.
pub fn resolve<'d>(document: &'d Document, node: Node<'d>) -> Result<Node<'d>, RefError> {
    let mut here = node;
    for _ in 0..=limits::REF_HOPS {
        let Some(reference) = target(here) else { return Ok(here) };
        here = follow(document, &reference)?;
    }
    Err(RefError::Cycle(target(node).unwrap_or_default()))
}

/// The value one reference points at.
pub fn follow<'d>(document: &'d Document, reference: &str) -> Result<Node<'d>, RefError> {
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(RefError::Outside(reference.to_owned()));
    };
    document.fragment(fragment).ok_or_else(|| RefError::Missing(reference.to_owned()))
}
