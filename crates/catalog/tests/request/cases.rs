//! Loads the table of requests, `cases.json`, as commands and arguments. Other crates include this
//! file to send the same requests over a real socket.

use std::sync::Arc;

use milepost_catalog::command::{
    ApiBody, ApiCommand, ApiParameter, Content, Encoding, Location, Method, Style,
};
use milepost_catalog::request::{Arguments, Misuse, PreparedCommand, Request};
use serde_json::{Map, Value};
use url::Url;

/// A request and its expected result.
pub(crate) struct Case {
    /// The name of the group and the number within it.
    pub(crate) name: String,
    pub(crate) command: Arc<ApiCommand>,
    pub(crate) base: Url,
    pub(crate) arguments: Arguments,
    pub(crate) expected: Expected,
}

/// The expected result of a case.
pub(crate) enum Expected {
    Sent {
        /// Path and query.
        target: String,
        /// All headers except `Accept`, `Host` and those of the body.
        headers: Vec<(String, String)>,
        /// `Content-Type` and body, with `{boundary}` as a placeholder.
        body: Option<(String, String)>,
    },
    /// The name of the misuse variant.
    Refused(String),
}

/// Loads every case.
pub(crate) fn load() -> Vec<Case> {
    let table: Value = serde_json::from_str(include_str!("cases.json")).expect("is JSON");
    let mut cases = Vec::new();
    for group in table["groups"].as_array().expect("is a list") {
        let name = group["name"].as_str().expect("is text");
        let command = Arc::new(command(group));
        let base = group["base"].as_str().unwrap_or("http://api.test");
        for (index, case) in group["cases"].as_array().expect("is a list").iter().enumerate() {
            cases.push(Case {
                name: format!("{name} #{index}"),
                command: Arc::clone(&command),
                base: Url::parse(base).expect("is a URL"),
                arguments: Arguments {
                    with: case["with"].as_object().cloned().unwrap_or_default(),
                    body: case.get("body").cloned(),
                    content_type: text(case, "content_type"),
                    accept: None,
                    files: None,
                },
                expected: expected(case),
            });
        }
    }
    cases
}

/// Builds a request for a command that is called once.
pub(crate) fn build(
    command: &ApiCommand,
    base: &Url,
    arguments: &Arguments,
) -> Result<Request, Vec<Misuse>> {
    PreparedCommand::new(Arc::new(command.clone())).build(base, arguments)
}

/// A command from an OpenAPI operation object.
pub(crate) fn command(operation: &Value) -> ApiCommand {
    let method = operation["method"].as_str().unwrap_or("GET");
    let method = Method::parse(method).expect("is a method");
    ApiCommand {
        id: milepost_model::target::CommandId::parse("test t").expect("is an id"),
        method,
        path: text(operation, "path").unwrap_or("/t".to_owned()),
        pointer: "/paths/~1t".to_owned(),
        operation_id: None,
        summary: String::new(),
        description: String::new(),
        tags: Vec::new(),
        deprecated: false,
        parameters: items(operation, "parameters").map(parameter).collect(),
        body: operation.get("body").map(body),
        responses: Vec::new(),
        security: Vec::new(),
        servers: Vec::new(),
        effect: method.effect(),
        may_repeat: method.may_repeat(),
        defs: Arc::new(operation["$defs"].as_object().cloned().unwrap_or_default()),
    }
}

fn parameter(given: &Value) -> ApiParameter {
    let location = match given["in"].as_str().expect("is text") {
        "path" => Location::Path,
        "query" => Location::Query,
        "header" => Location::Header,
        "cookie" => Location::Cookie,
        "querystring" => Location::QueryString,
        other => panic!("`{other}` is no location"),
    };
    let (style, explode) = if let Some(format) = given["collectionFormat"].as_str() {
        collection(format, location)
    } else {
        let plain = matches!(location, Location::Path | Location::Header);
        let default = if plain { Style::Simple } else { Style::Form };
        let style = style_of(given).unwrap_or(default);
        let explodes = matches!(style, Style::Form | Style::Cookie);
        (style, given["explode"].as_bool().unwrap_or(explodes))
    };
    let content = given["content"].as_object();
    ApiParameter {
        name: text(given, "name").expect("is there"),
        location,
        required: given["required"].as_bool().unwrap_or(location == Location::Path),
        deprecated: false,
        description: String::new(),
        style,
        explode,
        allow_reserved: given["allowReserved"] == true,
        content: content.and_then(|content| content.keys().next().cloned()),
        schema: given.get("schema").cloned().unwrap_or(Value::Bool(true)),
    }
}

fn collection(format: &str, location: Location) -> (Style, bool) {
    let plain = match location {
        Location::Path | Location::Header => Style::Simple,
        _ => Style::Form,
    };
    match format {
        "csv" => (plain, false),
        "ssv" => (Style::SpaceDelimited, false),
        "tsv" => (Style::TabDelimited, false),
        "pipes" => (Style::PipeDelimited, false),
        "multi" => (Style::Form, true),
        other => panic!("`{other}` is no collectionFormat"),
    }
}

fn style_of(given: &Value) -> Option<Style> {
    Some(match given["style"].as_str()? {
        "simple" => Style::Simple,
        "label" => Style::Label,
        "matrix" => Style::Matrix,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        "cookie" => Style::Cookie,
        other => panic!("`{other}` is no style"),
    })
}

fn body(given: &Value) -> ApiBody {
    let content = |(media_type, content): (&String, &Value)| Content {
        media_type: media_type.clone(),
        schema: content.get("schema").cloned().unwrap_or(Value::Bool(true)),
        encoding: entries(content, "encoding")
            .map(|(property, encoding)| Encoding {
                property: property.clone(),
                content_type: text(encoding, "contentType"),
                style: style_of(encoding),
                explode: encoding["explode"].as_bool(),
                allow_reserved: encoding["allowReserved"] == true,
            })
            .collect(),
        example: None,
    };
    ApiBody {
        required: given["required"] == true,
        description: String::new(),
        contents: entries(given, "content").map(content).collect(),
    }
}

fn expected(case: &Value) -> Expected {
    if let Some(refused) = text(case, "refused") {
        return Expected::Refused(refused);
    }
    let headers = entries(case, "headers");
    let headers =
        headers.map(|(name, value)| (name.clone(), value.as_str().expect("is text").to_owned()));
    Expected::Sent {
        target: text(case, "target").expect("is there"),
        headers: headers.collect(),
        body: text(case, "content").map(|content| (content, text(case, "sent").expect("is there"))),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).map(|text| text.as_str().expect("is text").to_owned())
}

fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn entries<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
