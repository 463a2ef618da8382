//! Request bodies.

use milepost_syntax::json::document::JsonNode;
use serde_json::{Map, Value, json};

use super::parameters::{DeclaredParameter, ParameterPlace, collection_style};
use super::schema::SchemaConverter;
use super::{Api, ApiOperation, OpenApiVersion, block_of, flag, texts};
use crate::command::{ApiBody, Content, Encoding, Style};
use crate::finding::{DocumentFindings, DocumentRule};
use crate::limits;

impl Api {
    /// Whether an operation takes a body, and whether the body is required.
    pub(crate) fn body_in_short(
        &self,
        operation: &ApiOperation<'_>,
        places: &[DeclaredParameter<'_>],
        findings: &mut DocumentFindings,
    ) -> Option<bool> {
        if self.version == OpenApiVersion::V2 {
            let body =
                places.iter().filter(|place| !matches!(place.location, ParameterPlace::In(_)));
            return body.map(|place| place.required).reduce(|one, other| one || other);
        }
        let node = self.body_node(operation, findings)?;
        if node.get("content").is_none_or(JsonNode::is_empty) {
            let pointer = format!("{}/requestBody/content", operation.pointer);
            let message = "the body is not described; any JSON is accepted";
            findings.add(pointer, DocumentRule::BODY, message);
        }
        Some(flag(node, "required").unwrap_or(false))
    }

    fn body_node<'d>(
        &'d self,
        operation: &ApiOperation<'d>,
        findings: &mut DocumentFindings,
    ) -> Option<JsonNode<'d>> {
        let pointer = format!("{}/requestBody", operation.pointer);
        let node = operation.get("requestBody").filter(|node| !node.is_null())?;
        let node = self.resolved(node, &pointer, findings)?;
        if node.is_map() {
            return Some(node);
        }
        findings.add(pointer, DocumentRule::BODY, "a body must be a map; it was ignored");
        None
    }

    /// The first example in the document.
    fn example(&self, node: JsonNode<'_>) -> Option<Value> {
        if let Some(example) = node.get("example") {
            return Some(example.to_value());
        }
        let named = node.get("examples")?;
        let mut examples = named.entries().filter_map(|(_, example)| self.resolve(example).ok());
        let example = examples
            .find_map(|example| example.get("dataValue").or_else(|| example.get("value")))?;
        Some(example.to_value())
    }

    /// The media types that a 2.0 operation declares under `consumes` or `produces`; JSON by
    /// default.
    pub(crate) fn media_types(&self, operation: &ApiOperation<'_>, key: &str) -> Vec<String> {
        let said = texts(operation.get(key).or_else(|| self.root().get(key)));
        if said.is_empty() { vec!["application/json".to_owned()] } else { said }
    }
}

impl<'d> SchemaConverter<'d> {
    /// An operation's request body.
    pub(crate) fn body(
        &mut self,
        operation: &ApiOperation<'d>,
        places: &[DeclaredParameter<'d>],
        findings: &mut DocumentFindings,
    ) -> Option<ApiBody> {
        if self.api.version == OpenApiVersion::V2 {
            return self.body_of_2(operation, places);
        }
        let node = self.api.body_node(operation, findings)?;
        let mut contents = self.contents(node.get("content"));
        if contents.is_empty() {
            // A body that declares no content is assumed to be JSON, the most common case.
            contents.push(Content::new("application/json", Value::Bool(true)));
        }
        Some(ApiBody {
            required: flag(node, "required").unwrap_or(false),
            description: block_of(node, "description", limits::DESCRIPTION_CHARS),
            contents,
        })
    }

    /// A body's contents, by media type.
    pub(crate) fn contents(&mut self, content: Option<JsonNode<'d>>) -> Vec<Content> {
        let api = self.api;
        let entries = content.into_iter().flat_map(JsonNode::entries).take(limits::MEDIA_TYPES);
        let contents = entries.filter_map(|(media_type, node)| {
            let node = api.resolve(node).ok()?;
            Some(Content {
                media_type: media_type.into_owned(),
                schema: self.of_member(node),
                encoding: encodings(node.get("encoding")),
                example: api.example(node),
            })
        });
        contents.collect()
    }

    fn body_of_2(
        &mut self,
        operation: &ApiOperation<'d>,
        places: &[DeclaredParameter<'d>],
    ) -> Option<ApiBody> {
        let types = self.api.media_types(operation, "consumes");
        if let Some(place) = places.iter().find(|place| place.location == ParameterPlace::Body) {
            let node = place.node?;
            let schema = self.of_member(node);
            return Some(ApiBody {
                required: place.required,
                description: block_of(node, "description", limits::DESCRIPTION_CHARS),
                contents: types
                    .into_iter()
                    .map(|name| Content::new(name, schema.clone()))
                    .collect(),
            });
        }
        let fields: Vec<&DeclaredParameter<'d>> =
            places.iter().filter(|place| place.location == ParameterPlace::Form).collect();
        (!fields.is_empty()).then(|| self.form(&fields, &types))
    }

    /// Combines a 2.0 operation's form fields into one body.
    fn form(&mut self, fields: &[&DeclaredParameter<'d>], consumes: &[String]) -> ApiBody {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut encoding = Vec::new();
        let mut files = false;
        for field in fields {
            let Some(node) = field.node else { continue };
            files |= node.get("type").and_then(JsonNode::text).as_deref() == Some("file");
            let mut schema = self.of_parameter(node);
            if let Some(map) = schema.as_object_mut() {
                let said = block_of(node, "description", limits::SCHEMA_TEXT_CHARS);
                if !said.is_empty() {
                    map.insert("description".to_owned(), said.into());
                }
            }
            properties.insert(field.name.clone(), schema);
            if field.required {
                required.push(Value::from(field.name.clone()));
            }
            encoding.extend(collection(&field.name, node));
        }
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = Value::Array(required.clone());
        }
        let said = |kind: &str| consumes.iter().any(|name| name.starts_with(kind));
        let media_type =
            if files || (said("multipart/form-data") && !said("application/x-www-form")) {
                "multipart/form-data"
            } else {
                "application/x-www-form-urlencoded"
            };
        let contents = vec![Content { encoding, ..Content::new(media_type, schema) }];
        ApiBody { required: !required.is_empty(), description: String::new(), contents }
    }
}

/// How a list in a 2.0 form is encoded.
fn collection(name: &str, node: JsonNode<'_>) -> Option<Encoding> {
    let format = node.get("collectionFormat").and_then(JsonNode::text);
    let list = node.get("type").and_then(JsonNode::text).as_deref() == Some("array");
    let form = list.then_some((Style::Form, false));
    let (style, explode) = format.as_deref().and_then(collection_style).or(form)?;
    Some(Encoding {
        property: name.to_owned(),
        content_type: None,
        style: Some(style),
        explode: Some(explode),
        allow_reserved: false,
    })
}

fn encodings(node: Option<JsonNode<'_>>) -> Vec<Encoding> {
    let Some(node) = node else { return Vec::new() };
    node.entries()
        .map(|(property, node)| Encoding {
            property: property.into_owned(),
            content_type: node.get("contentType").and_then(JsonNode::text).map(Into::into),
            style: node.get("style").and_then(JsonNode::text).and_then(|word| Style::named(&word)),
            explode: flag(node, "explode"),
            allow_reserved: flag(node, "allowReserved").unwrap_or(false),
        })
        .collect()
}
