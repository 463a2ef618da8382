//! Operation responses.

use milepost_syntax::json::document::JsonNode;

use super::schema::SchemaConverter;
use super::{Api, ApiOperation, OpenApiVersion, block_of, names_of};
use crate::command::{Content, Response, ResponseLink};
use crate::finding::{DocumentFindings, DocumentRule, part};
use crate::limits;

impl Api {
    /// The nodes of an operation's responses.
    pub(crate) fn response_nodes<'d>(
        &'d self,
        operation: &ApiOperation<'d>,
        findings: &mut DocumentFindings,
    ) -> Vec<(String, JsonNode<'d>)> {
        let Some(list) = operation.get("responses").filter(|list| !list.is_null()) else {
            return Vec::new();
        };
        let base = format!("{}/responses", operation.pointer);
        if !list.is_map() {
            let message = "responses must be a map; they were ignored";
            findings.add(base, DocumentRule::RESPONSE, message);
            return Vec::new();
        }
        let mut found = Vec::new();
        for (status, node) in list.entries().take(limits::RESPONSES) {
            if status.starts_with("x-") {
                continue;
            }
            let pointer = format!("{base}/{}", part(&status));
            let Some(node) = self.resolved(node, &pointer, findings) else { continue };
            if !is_status(&status) {
                let message = format!("`{status}` is not an HTTP status; the response was ignored");
                findings.add(pointer, DocumentRule::RESPONSE, message);
                continue;
            }
            found.push((status.to_ascii_lowercase().replace("xx", "XX"), node));
        }
        found
    }

    /// The operations that can be called with values from a response.
    pub(crate) fn links(&self, node: JsonNode<'_>) -> Vec<ResponseLink> {
        let links = node.get("links").into_iter().flat_map(JsonNode::entries);
        let links = links.filter_map(|(name, link)| Some((name, self.resolve(link).ok()?)));
        links
            .filter_map(|(name, link)| {
                let operation = link.get("operationId").or_else(|| link.get("operationRef"))?;
                let parameters = link.get("parameters").into_iter().flat_map(JsonNode::entries);
                let parameters = parameters.filter_map(|(name, value)| {
                    Some((name.into_owned(), value.scalar()?.into_owned()))
                });
                Some(ResponseLink {
                    name: name.into_owned(),
                    operation: operation.text()?.into_owned(),
                    parameters: parameters.collect(),
                })
            })
            .collect()
    }

    /// The schema node of an operation's success response.
    pub(crate) fn success_schema<'d>(
        &'d self,
        operation: &ApiOperation<'d>,
    ) -> Option<JsonNode<'d>> {
        let list = operation.get("responses")?;
        let mut entries = list.entries().filter(|(status, _)| status.starts_with('2'));
        let (_, node) = entries.next()?;
        let node = self.resolve(node).ok()?;
        if self.version == OpenApiVersion::V2 {
            return self.resolve(node.get("schema")?).ok();
        }
        let contents = node.get("content")?;
        let json = contents.entries().find(|(name, _)| name.contains("json"));
        let schema = json.or_else(|| contents.entries().next())?.1.get("schema")?;
        self.resolve(schema).ok()
    }
}

impl<'d> SchemaConverter<'d> {
    /// An operation's responses, in document order.
    pub(crate) fn responses(
        &mut self,
        operation: &ApiOperation<'d>,
        findings: &mut DocumentFindings,
    ) -> Vec<Response> {
        let nodes = self.api.response_nodes(operation, findings).into_iter();
        let responses = nodes.map(|(status, node)| Response {
            status,
            description: block_of(node, "description", limits::SCHEMA_TEXT_CHARS),
            contents: match self.api.version {
                OpenApiVersion::V2 => self.contents_of_2(node, operation),
                _ => self.contents(node.get("content")),
            },
            headers: names_of(node, "headers"),
            links: self.api.links(node),
        });
        responses.collect()
    }

    fn contents_of_2(&mut self, node: JsonNode<'d>, operation: &ApiOperation<'d>) -> Vec<Content> {
        let Some(schema) = node.get("schema") else { return Vec::new() };
        let schema = self.of(schema);
        let examples = node.get("examples");
        let content = |media_type: String| {
            let example = examples.and_then(|all| all.get(&media_type)).map(JsonNode::to_value);
            Content { example, ..Content::new(media_type, schema.clone()) }
        };
        let types = self.api.media_types(operation, "produces").into_iter();
        types.take(limits::MEDIA_TYPES).map(content).collect()
    }
}

fn is_status(text: &str) -> bool {
    let number = text.len() == 3
        && text.starts_with(|c: char| ('1'..='5').contains(&c))
        && (text[1..].bytes().all(|b| b.is_ascii_digit()) || text[1..].eq_ignore_ascii_case("xx"));
    number || text.eq_ignore_ascii_case("default")
}
