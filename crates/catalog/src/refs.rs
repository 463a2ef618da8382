//! Resolves references, one hop at a time and without inlining their targets.

use std::collections::BTreeMap;

use milepost_syntax::json::document::{JsonDocument, JsonNode};

use crate::finding::{DocumentFindings, DocumentRule, below};
use crate::limits;

/// Why a reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    #[error("the reference `{0}` refers to itself")]
    Cycle(String),
    /// The target does not exist.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// The target is in a file or URL that was not read.
    #[error("`{0}` is outside the document and was not read")]
    Outside(String),
}

/// The target of a value that is a reference.
pub fn target(node: JsonNode<'_>) -> Option<String> {
    node.get("$ref")?.text().map(std::borrow::Cow::into_owned)
}

/// Follows references until a value is reached.
pub fn resolve<'d>(
    document: &'d JsonDocument,
    node: JsonNode<'d>,
) -> Result<JsonNode<'d>, RefError> {
    let mut here = node;
    for _ in 0..=limits::REF_HOPS {
        let Some(reference) = target(here) else { return Ok(here) };
        here = follow(document, &reference)?;
    }
    Err(RefError::Cycle(target(node).unwrap_or_default()))
}

/// The value that a single reference points to.
pub fn follow<'d>(document: &'d JsonDocument, reference: &str) -> Result<JsonNode<'d>, RefError> {
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(RefError::Outside(reference.to_owned()));
    };
    document.fragment(fragment).ok_or_else(|| RefError::Missing(reference.to_owned()))
}

/// Reports every dangling reference within the document. The references are found by searching the
/// text, and each distinct one is resolved once, so this is cheap for most documents.
pub(crate) fn dangling(document: &JsonDocument, findings: &mut DocumentFindings) {
    let text = document.text();
    let key = memchr::memmem::Finder::new("\"$ref\"");
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    for at in key.find_iter(text.as_bytes()) {
        let value = text[at + 6..].trim_start().strip_prefix(':').map(str::trim_start);
        let value = value.and_then(|value| value.strip_prefix("\"#"));
        let Some((fragment, _)) = value.and_then(|value| value.split_once('"')) else { continue };
        known.entry(fragment).or_insert_with(|| document.fragment(fragment).is_some());
    }
    if known.values().all(|leads| *leads) {
        return;
    }
    let mut told = 0;
    let mut open = vec![(String::new(), document.root())];
    while let Some((pointer, node)) = open.pop() {
        if let Some(reference) = target(node).filter(|reference| reference.starts_with('#'))
            && known.get(&reference[1..]) == Some(&false)
            && told < limits::DANGLING
        {
            told += 1;
            let message =
                format!("`{reference}` does not exist; any value is accepted in its place");
            findings.add(format!("{pointer}/$ref"), DocumentRule::REF, message);
        }
        let items = node.items().enumerate();
        open.extend(items.map(|(index, item)| (format!("{pointer}/{index}"), item)));
        let entries = node.entries();
        open.extend(entries.map(|(key, value)| (below(&pointer, &key), value)));
    }
}
