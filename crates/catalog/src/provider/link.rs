//! A document's links: response values that supply parameters to other operations.

use std::collections::HashMap;

use milepost_syntax::json::document::JsonNode;

use crate::openapi::{Api, ApiOperation};
use crate::table::Row;

/// The prefix of an expression for a value in a response body.
const FROM_BODY: &str = "$response.body#/";

/// The values that supply each parameter, by row and parameter name: the row of the operation that
/// returns the value, and the last key on the path to it.
pub(super) type Links = HashMap<(usize, String), Vec<(usize, String)>>;

/// Collects all links in the document.
pub(super) fn links(api: &Api, rows: &[Row], operations: &[Option<ApiOperation<'_>>]) -> Links {
    let mut links = Links::new();
    // Few documents have links; this avoids walking large ones that have none.
    if memchr::memmem::find(api.document().text().as_bytes(), FROM_BODY.as_bytes()).is_none() {
        return links;
    }
    // Rows by operation id and by reference.
    let mut targets: HashMap<String, usize> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        let keys = row.operation_id.iter().cloned().chain([format!("#{}", row.pointer)]);
        targets.extend(keys.map(|key| (key, index)));
    }
    for (source, operation) in operations.iter().enumerate() {
        let responses = operation.as_ref().and_then(|operation| operation.get("responses"));
        let responses = responses.into_iter().flat_map(JsonNode::entries);
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let Ok(response) = api.resolve(response) else { continue };
            for link in api.links(response) {
                let Some(target) = targets.get(&link.operation) else { continue };
                for (parameter, value) in &link.parameters {
                    if let Some(key) = last_key(value) {
                        let found = links.entry((*target, bare(parameter).to_owned())).or_default();
                        found.push((source, key));
                    }
                }
            }
        }
    }
    links
}

/// Strips the location from a parameter name such as `path.id`.
fn bare(parameter: &str) -> &str {
    let located = ["path.", "query."].iter().find_map(|prefix| parameter.strip_prefix(prefix));
    located.unwrap_or(parameter)
}

/// Returns `id` for `$response.body#/data/0/id`.
fn last_key(expression: &str) -> Option<String> {
    let inner = expression.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let pointer = inner.unwrap_or(expression).strip_prefix(FROM_BODY)?;
    let key = pointer.rsplit('/').next()?;
    Some(key.replace("~1", "/").replace("~0", "~"))
}
