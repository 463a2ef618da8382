//! A document's operations; an operation that cannot be read is reported.

use milepost_syntax::json::document::JsonNode;

use super::Api;
use crate::command::Method;
use crate::finding::{DocumentFindings, DocumentRule, part};

/// An operation and its position in the document.
#[derive(Debug, Clone)]
pub struct ApiOperation<'d> {
    pub method: Method,
    /// The path template as written in the document.
    pub path: String,
    /// JSON pointer to the operation.
    pub pointer: String,
    /// The path item that contains the operation.
    pub(crate) item: JsonNode<'d>,
    /// The operation's map; `None` if the document gives no details.
    pub(crate) node: Option<JsonNode<'d>>,
}

impl<'d> ApiOperation<'d> {
    /// The value under one of the operation's keys.
    pub(crate) fn get(&self, key: &str) -> Option<JsonNode<'d>> {
        self.node?.get(key)
    }
}

/// Path item keys that are not operations.
const OTHER_KEYS: &[&str] =
    &["$ref", "summary", "description", "servers", "parameters", "additionalOperations"];

impl Api {
    /// All operations, in document order.
    pub fn operations(&self, findings: &mut DocumentFindings) -> Vec<ApiOperation<'_>> {
        let mut found = Vec::new();
        let Some(paths) = self.root().get("paths") else { return found };
        for (path, item) in paths.entries() {
            if path.starts_with("x-") {
                continue;
            }
            let pointer = format!("/paths/{}", part(&path));
            let mut path = path.into_owned();
            if !path.starts_with('/') {
                let message = format!("a path must start with `/`; it was read as `/{path}`");
                findings.add(&pointer, DocumentRule::PATH_ITEM, message);
                path.insert(0, '/');
            }
            if item.is_null() {
                let message = "the path has no operations";
                findings.add(&pointer, DocumentRule::PATH_ITEM, message);
                continue;
            }
            let Some(item) = self.resolved(item, &pointer, findings) else { continue };
            if !item.is_map() {
                let message = "a path must be a map of operations";
                findings.add(&pointer, DocumentRule::PATH_ITEM, message);
                continue;
            }
            operations_of(&path, item, &pointer, &mut found, findings);
        }
        found
    }

    /// The number of operations in the document, including unreadable ones.
    pub fn operation_count(&self) -> usize {
        let Some(paths) = self.root().get("paths") else { return 0 };
        let items = paths.entries().filter(|(path, _)| !path.starts_with("x-"));
        let items = items.filter_map(|(_, item)| self.resolve(item).ok());
        items
            .map(|item| item.entries().filter(|(key, _)| Method::parse(key).is_some()).count())
            .sum()
    }
}

/// Collects a path item's operations.
fn operations_of<'d>(
    path: &str,
    item: JsonNode<'d>,
    pointer: &str,
    found: &mut Vec<ApiOperation<'d>>,
    findings: &mut DocumentFindings,
) {
    for (key, node) in item.entries() {
        let Some(method) = Method::parse(&key) else {
            if key == "additionalOperations" {
                more_methods(node, pointer, findings);
            } else if !OTHER_KEYS.contains(&&*key) && !key.starts_with("x-") {
                let pointer = format!("{pointer}/{}", part(&key));
                let message = format!("`{key}` is not an HTTP method");
                findings.add(pointer, DocumentRule::METHOD, message);
            }
            continue;
        };
        let pointer = format!("{pointer}/{}", part(&key));
        let node = match node {
            node if node.is_map() => Some(node),
            node if node.is_null() => {
                let message = "the operation is empty; it is treated as one without parameters";
                findings.add(&pointer, DocumentRule::OPERATION, message);
                None
            }
            _ => {
                let message = "an operation must be a map; it was ignored";
                findings.add(&pointer, DocumentRule::OPERATION, message);
                continue;
            }
        };
        found.push(ApiOperation { method, path: path.to_owned(), pointer, item, node });
    }
}

fn more_methods(node: JsonNode<'_>, pointer: &str, findings: &mut DocumentFindings) {
    for (method, _) in node.entries() {
        let pointer = format!("{pointer}/additionalOperations/{}", part(&method));
        let message =
            format!("`{method}` is not a supported HTTP method; the operation was ignored");
        findings.add(pointer, DocumentRule::METHOD, message);
    }
}
