//! Links of a document: values of an answer that lead to parameters of other operations.

use std::collections::HashMap;

use milepost_syntax::json::document::JsonNode;

use crate::openapi::{Api, Operation};
use crate::table::Row;

/// How a value of an answer is named.
const FROM_BODY: &str = "$response.body#/";

/// A value of an answer that leads to a parameter.
#[derive(Debug)]
pub(super) struct Linked {
    /// The row that answers.
    pub(super) source: usize,
    /// The last key of the value in its answer.
    pub(super) key: String,
}

/// What leads to each parameter, by row and name.
pub(super) type Links = HashMap<(usize, String), Vec<Linked>>;

/// All links of the document.
pub(super) fn links(api: &Api, rows: &[Row], operations: &[Option<Operation<'_>>]) -> Links {
    let mut links = Links::new();
    // Few documents have links, and the largest would be walked through for nothing.
    if memchr::memmem::find(api.document().text().as_bytes(), FROM_BODY.as_bytes()).is_none() {
        return links;
    }
    let ids: HashMap<&str, usize> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| Some((row.operation_id.as_deref()?, index)))
        .collect();
    let pointers: HashMap<&str, usize> =
        rows.iter().enumerate().map(|(index, row)| (&*row.pointer, index)).collect();
    for (source, operation) in operations.iter().enumerate() {
        let responses = operation.as_ref().and_then(|operation| operation.get("responses"));
        let responses = responses.into_iter().flat_map(JsonNode::entries);
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let Ok(response) = api.resolve(response) else { continue };
            for (_, link) in response.get("links").into_iter().flat_map(JsonNode::entries) {
                let Ok(link) = api.resolve(link) else { continue };
                let by_id = link.get("operationId").and_then(JsonNode::text);
                let by_id = by_id.and_then(|id| ids.get(&*id));
                let by_ref = link.get("operationRef").and_then(JsonNode::text);
                let by_ref = by_ref.and_then(|to| pointers.get(to.strip_prefix('#')?));
                let Some(target) = by_id.or(by_ref) else { continue };
                for (parameter, value) in
                    link.get("parameters").into_iter().flat_map(JsonNode::entries)
                {
                    let Some(key) = value.text().and_then(|value| last_key(&value)) else {
                        continue;
                    };
                    let found = links.entry((*target, bare(&parameter).to_owned())).or_default();
                    found.push(Linked { source, key });
                }
            }
        }
    }
    links
}

/// `path.id` names the location too.
fn bare(parameter: &str) -> &str {
    let located = ["path.", "query."].iter().find_map(|prefix| parameter.strip_prefix(prefix));
    located.unwrap_or(parameter)
}

/// `id` of `$response.body#/data/0/id`.
fn last_key(expression: &str) -> Option<String> {
    let inner = expression.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let pointer = inner.unwrap_or(expression).strip_prefix(FROM_BODY)?;
    let key = pointer.rsplit('/').next()?;
    Some(key.replace("~1", "/").replace("~0", "~"))
}
