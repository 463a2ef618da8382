//! Converts operations to rows for the table, and to full commands on demand.

use std::sync::Arc;

use milepost_model::target::CommandId;
use milepost_syntax::json::document::JsonNode;

use super::parameters::ParameterPlace;
use super::schema::SchemaConverter;
use super::{Api, ApiOperation, block_of, flag, line_of};
use crate::command::ApiCommand;
use crate::finding::{DocumentFindings, DocumentRule};
use crate::table::{Row, RowBody, RowParameter};
use crate::{limits, text};

impl Api {
    /// Finds a row's operation in the document.
    pub fn operation(&self, row: &Row) -> Option<ApiOperation<'_>> {
        let (item, key) = row.pointer.rsplit_once('/')?;
        let item = self.resolve(self.document.pointer(item)?).ok()?;
        let node = item.get(key)?;
        let node = node.is_map().then_some(node);
        let path = row.path.clone();
        Some(ApiOperation { method: row.method, path, pointer: row.pointer.clone(), item, node })
    }

    /// Builds the full command for a row.
    pub fn command(&self, id: CommandId, row: &Row) -> Option<ApiCommand> {
        let operation = self.operation(row)?;
        // Problems with the operation were reported when the document was imported.
        let mut findings = DocumentFindings::default();
        let mut schemas = SchemaConverter::new(self);
        let places = self.parameter_places(&operation, &mut findings);
        let parameters = schemas.parameters(&places);
        let body = schemas.body(&operation, &places, &mut findings);
        let responses = schemas.responses(&operation, &mut findings);
        let node = operation.node;
        let description = node.map(|node| block_of(node, "description", limits::DESCRIPTION_CHARS));
        Some(ApiCommand {
            id,
            method: row.method,
            path: wire_path(&row.path).to_owned(),
            pointer: row.pointer.clone(),
            operation_id: row.operation_id.clone(),
            summary: row.summary.clone(),
            description: description.unwrap_or_default(),
            tags: row.tags.clone(),
            deprecated: row.deprecated,
            parameters,
            body,
            responses,
            security: self.security(&operation),
            servers: self.servers_of(&operation),
            effect: row.method.effect(),
            may_repeat: row.method.may_repeat(),
            defs: Arc::new(schemas.into_defs()),
        })
    }

    /// The row for an operation. Its name is assigned later, once all rows are known.
    pub(crate) fn row(&self, operation: &ApiOperation<'_>, findings: &mut DocumentFindings) -> Row {
        let places = self.parameter_places(operation, findings);
        let body = self.body_in_short(operation, &places, findings);
        self.response_nodes(operation, findings);
        let parameters = places.iter().filter_map(|place| match place.location {
            ParameterPlace::In(location) => {
                Some(RowParameter { name: place.name.clone(), location, required: place.required })
            }
            ParameterPlace::Body | ParameterPlace::Form => None,
        });
        let node = operation.node;
        let line = |key, chars| node.map(|node| line_of(node, key, chars)).unwrap_or_default();
        let tags = operation.get("tags").into_iter().flat_map(JsonNode::items);
        let tags = tags.filter_map(JsonNode::text).map(|tag| text::line(&tag, limits::TAG_CHARS));
        Row {
            name: String::new(),
            method: operation.method,
            path: operation.path.clone(),
            pointer: operation.pointer.clone(),
            operation_id: operation_id(operation, findings),
            summary: summary(operation),
            description: line("description", limits::ROW_DESCRIPTION_CHARS),
            tags: tags.collect(),
            parameters: parameters.collect(),
            body: body.map(|required| RowBody { required }),
            deprecated: node.and_then(|node| flag(node, "deprecated")).unwrap_or(false),
        }
    }
}

/// An operation's summary, or the first sentence of its description.
fn summary(operation: &ApiOperation<'_>) -> String {
    let Some(node) = operation.node else { return String::new() };
    let summary = line_of(node, "summary", limits::SUMMARY_CHARS);
    if !summary.is_empty() {
        return summary;
    }
    let said = node.get("description").and_then(JsonNode::text).unwrap_or_default();
    let said = text::without_html(&said);
    let first = said.split("\n\n").next().unwrap_or_default();
    let first = first.split_inclusive(". ").next().unwrap_or_default();
    text::line(first.trim_end(), limits::SUMMARY_CHARS)
}

fn operation_id(operation: &ApiOperation<'_>, findings: &mut DocumentFindings) -> Option<String> {
    let node = operation.get("operationId").filter(|node| !node.is_null())?;
    let Some(written) = node.scalar() else {
        let pointer = format!("{}/operationId", operation.pointer);
        let message = "an operationId must be a string; it was ignored";
        findings.add(pointer, DocumentRule::OPERATION_ID, message);
        return None;
    };
    let clean = text::line(&written, limits::OPERATION_ID_CHARS);
    (!clean.is_empty()).then_some(clean)
}

/// Strips the fragment that some documents use to distinguish operations on the same path; it is
/// never sent.
fn wire_path(path: &str) -> &str {
    path.split_once('#').map_or(path, |(path, _)| path)
}
