//! An operation's parameters, including those from its path item.

use super::schema::SchemaConverter;
use super::{Api, ApiOperation, OpenApiVersion, block_of, flag};
use crate::command::{ApiParameter, Location, Style};
use crate::finding::{DocumentFindings, DocumentRule};
use crate::limits;
use crate::text::{TemplatePiece, template_pieces};
use milepost_syntax::json::document::JsonNode;
use serde_json::{Map, Value};

/// A declared parameter with its position and location.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredParameter<'d> {
    pub(crate) name: String,
    pub(crate) location: ParameterPlace,
    pub(crate) required: bool,
    /// `None` for a path placeholder that is not declared.
    pub(crate) node: Option<JsonNode<'d>>,
    pub(crate) pointer: String,
}

/// Where a parameter is sent; in OpenAPI 2.0, bodies and form fields are parameters too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterPlace {
    In(Location),
    Body,
    Form,
}

impl Api {
    /// An operation's parameters, which override those of its path item.
    pub(crate) fn parameter_places<'d>(
        &'d self,
        operation: &ApiOperation<'d>,
        findings: &mut DocumentFindings,
    ) -> Vec<DeclaredParameter<'d>> {
        let item_pointer = operation.pointer.rsplit_once('/').map_or("", |(item, _)| item);
        let mut places: Vec<DeclaredParameter<'d>> = Vec::new();
        let lists = [
            (operation.item.get("parameters"), item_pointer, false),
            (operation.get("parameters"), &operation.pointer, true),
        ];
        for (list, pointer, own) in lists {
            let Some(list) = list else { continue };
            let first_of_list = places.len();
            for (index, node) in list.items().enumerate().take(limits::PARAMETERS) {
                let pointer = format!("{pointer}/parameters/{index}");
                let Some(place) = self.parameter_place(node, pointer, findings) else { continue };
                let same = places
                    .iter()
                    .position(|other| other.name == place.name && other.location == place.location);
                match same {
                    Some(index) if own && index < first_of_list => places[index] = place,
                    Some(_) => {
                        let name = &place.name;
                        let message =
                            format!("`{name}` is declared twice; the first declaration is used");
                        findings.add(place.pointer, DocumentRule::PARAMETER, message);
                    }
                    None => places.push(place),
                }
            }
        }
        with_path_names(places, operation, findings)
    }

    fn parameter_place<'d>(
        &'d self,
        node: JsonNode<'d>,
        pointer: String,
        findings: &mut DocumentFindings,
    ) -> Option<DeclaredParameter<'d>> {
        let node = self.resolved(node, &pointer, findings)?;
        if !node.is_map() {
            let message = "a parameter must be a map; it was ignored";
            findings.add(pointer, DocumentRule::PARAMETER, message);
            return None;
        }
        let name = node.get("name").and_then(JsonNode::scalar).unwrap_or_default().into_owned();
        let said = node.get("in").and_then(JsonNode::text).unwrap_or_default();
        let location = match (&*said, Location::named(&said)) {
            (_, Some(location)) => ParameterPlace::In(location),
            ("body", _) if self.version == OpenApiVersion::V2 => ParameterPlace::Body,
            ("formData", _) if self.version == OpenApiVersion::V2 => ParameterPlace::Form,
            _ => {
                let message =
                    format!("`in: {said}` is not a valid location; the parameter was ignored");
                findings.add(pointer, DocumentRule::PARAMETER, message);
                return None;
            }
        };
        if name.is_empty() && location != ParameterPlace::Body {
            let message = "a parameter without a name was ignored";
            findings.add(pointer, DocumentRule::PARAMETER, message);
            return None;
        }
        let required = location == ParameterPlace::In(Location::Path)
            || flag(node, "required").unwrap_or(false);
        Some(DeclaredParameter { name, location, required, node: Some(node), pointer })
    }

    fn style(&self, node: JsonNode<'_>, location: Location) -> (Style, bool) {
        if self.version == OpenApiVersion::V2 {
            let format = node.get("collectionFormat").and_then(JsonNode::text);
            let style = format.as_deref().and_then(collection_style);
            let fits =
                |(style, _): &(Style, bool)| *style != Style::Form || location == Location::Query;
            return style.filter(fits).unwrap_or((default_style(location), false));
        }
        let style = node.get("style").and_then(JsonNode::text);
        let style = style.and_then(|word| Style::named(&word));
        let style = style.filter(|style| style_fits(*style, location));
        let style = style.unwrap_or(default_style(location));
        let explode = flag(node, "explode");
        (style, explode.unwrap_or(matches!(style, Style::Form | Style::Cookie | Style::DeepObject)))
    }
}

impl<'d> SchemaConverter<'d> {
    /// The parameters that are sent outside the body.
    pub(crate) fn parameters(&mut self, places: &[DeclaredParameter<'d>]) -> Vec<ApiParameter> {
        let beside = places.iter().filter_map(|place| match place.location {
            ParameterPlace::In(location) => Some(self.parameter(place, location)),
            ParameterPlace::Body | ParameterPlace::Form => None,
        });
        beside.collect()
    }

    fn parameter(&mut self, place: &DeclaredParameter<'d>, location: Location) -> ApiParameter {
        let Some(node) = place.node else { return ApiParameter::undeclared(&place.name) };
        let content = node.get("content").and_then(|content| content.entries().next());
        // In 2.0, the parameter itself is the schema.
        let mut schema = match &content {
            _ if self.api.version == OpenApiVersion::V2 => self.of_parameter(node),
            Some((_, content)) => self.of_member(*content),
            None => self.of_member(node),
        };
        with_examples(&mut schema, node);
        let (style, explode) = self.api.style(node, location);
        ApiParameter {
            name: place.name.clone(),
            location,
            required: place.required,
            deprecated: flag(node, "deprecated").unwrap_or(false),
            description: block_of(node, "description", limits::DESCRIPTION_CHARS),
            style,
            explode,
            allow_reserved: flag(node, "allowReserved").unwrap_or(false),
            content: content.map(|(media_type, _)| media_type.into_owned()),
            schema,
        }
    }
}

/// The style for a 2.0 `collectionFormat`, and whether items are written separately.
pub(crate) fn collection_style(format: &str) -> Option<(Style, bool)> {
    Some(match format {
        "ssv" => (Style::SpaceDelimited, false),
        "tsv" => (Style::TabDelimited, false),
        "pipes" => (Style::PipeDelimited, false),
        "multi" => (Style::Form, true),
        _ => return None,
    })
}

fn style_fits(style: Style, location: Location) -> bool {
    match location {
        Location::Path => matches!(style, Style::Simple | Style::Label | Style::Matrix),
        Location::Query | Location::QueryString => matches!(
            style,
            Style::Form | Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject
        ),
        Location::Header => style == Style::Simple,
        Location::Cookie => matches!(style, Style::Form | Style::Cookie),
    }
}

fn default_style(location: Location) -> Style {
    match location {
        Location::Path | Location::Header => Style::Simple,
        Location::Query | Location::Cookie | Location::QueryString => Style::Form,
    }
}

/// Adds undeclared path placeholders as parameters, and drops declared path parameters without a
/// placeholder, because they cannot be sent.
fn with_path_names<'d>(
    mut places: Vec<DeclaredParameter<'d>>,
    operation: &ApiOperation<'d>,
    findings: &mut DocumentFindings,
) -> Vec<DeclaredParameter<'d>> {
    let names = path_names(&operation.path);
    let location = ParameterPlace::In(Location::Path);
    places.retain(|place| {
        let lost = place.location == location && !names.contains(&place.name.as_str());
        if lost {
            let message = format!("the path lacks `{{{}}}`; the parameter was ignored", place.name);
            findings.add(&place.pointer, DocumentRule::PATH_PARAMETER, message);
        }
        !lost
    });
    for name in names {
        if !places.iter().any(|place| place.location == location && place.name == name) {
            let message = format!("`{{{name}}}` is not declared; it is treated as a string");
            findings.add(&operation.pointer, DocumentRule::PATH_PARAMETER, message);
            let (name, pointer) = (name.to_owned(), operation.pointer.clone());
            places.push(DeclaredParameter { name, location, required: true, node: None, pointer });
        }
    }
    places
}

/// The distinct placeholder names in a path, in order.
pub(crate) fn path_names(path: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for piece in template_pieces(path) {
        if let TemplatePiece::Name(name) = piece
            && !name.is_empty()
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Copies a parameter's examples, which are declared next to its schema, into the schema.
fn with_examples(schema: &mut Value, node: JsonNode<'_>) {
    let mut examples: Vec<Value> =
        node.get("example").map(JsonNode::to_value).into_iter().collect();
    if let Some(named) = node.get("examples") {
        let values = named.entries().filter_map(|(_, example)| example.get("value"));
        examples.extend(values.take(3).map(JsonNode::to_value));
    }
    if examples.is_empty() {
        return;
    }
    if *schema == Value::Bool(true) {
        *schema = Value::Object(Map::new());
    }
    if let Value::Object(schema) = schema {
        schema.entry("examples").or_insert(Value::Array(examples));
    }
}
