//! The items that the suite requests by name, as data.

use rmcp::model::{
    CallToolResult, CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResult, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9\
    HQAAAABJRU5ErkJggg==";
/// An empty audio clip.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// Converts JSON to a complete result.
pub(super) fn result<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = "complete".into();
    of(value)
}

/// Converts JSON to a protocol value.
pub(super) fn of<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("a fixture is wrong: {error}"), None))
}

/// Tools without arguments that answer immediately or after asking a question.
const PLAIN: [&str; 29] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_reconnection",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

pub(super) fn tools() -> Result<Vec<Tool>, ErrorData> {
    let plain = PLAIN.map(|name| tool(name, &json!({"type": "object", "properties": {}})));
    let takes = |name: &str, argument: &str| {
        let properties = json!({argument: {"type": "string"}});
        let schema = json!({"type": "object", "properties": properties, "required": [argument]});
        tool(name, &schema)
    };
    let seconds = json!({"seconds": {"type": "number"}, "label": {"type": "string"}});
    let slow = json!({"type": "object", "properties": seconds});
    let region = json!({"region": {"type": "string", "x-mcp-header": "Region"}});
    let with_header = json!({"type": "object", "properties": region});
    let more = [
        takes("test_sampling", "prompt"),
        takes("test_elicitation", "message"),
        takes("greet", "name"),
        tool("slow_compute", &slow),
        tool("test_custom_headers", &with_header),
        tool("json_schema_2020_12_tool", &rich_schema()),
    ];
    plain.into_iter().chain(more).map(of).collect()
}

fn tool(name: &str, schema: &Value) -> Value {
    json!({"name": name, "description": name.replace('_', " "), "inputSchema": schema})
}

/// A schema with keywords that implementations tend to lose.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// The answer from a tool that asks no questions.
pub(super) fn answer(name: &str) -> Option<Result<CallToolResult, ErrorData>> {
    let resource = |uri: &str, kind: &str, text: &str| {
        let resource = json!({"uri": uri, "mimeType": kind, "text": text});
        json!({"type": "resource", "resource": resource})
    };
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let content = match name {
        "test_simple_text" | "json_schema_2020_12_tool" => {
            json!([text("This is a simple text response for testing.")])
        }
        "test_image_content" => json!([image]),
        "test_audio_content" => {
            json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])
        }
        "test_embedded_resource" => {
            let content = "This is an embedded resource content.";
            json!([resource("test://embedded-resource", "text/plain", content)])
        }
        "test_multiple_content_types" => {
            let data = json!({"test": "data", "value": 123}).to_string();
            let mixed = resource("test://mixed-content-resource", "application/json", &data);
            json!([text("Multiple content types test:"), image, mixed])
        }
        "test_error_handling" => {
            let content = [text("This tool intentionally returns an error for testing")];
            return Some(result(json!({"content": content, "isError": true})));
        }
        _ => return None,
    };
    Some(result(json!({"content": content})))
}

/// A result with a single text block.
pub(super) fn said(words: &str) -> Result<CallToolResult, ErrorData> {
    result(json!({"content": [text(words)]}))
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

pub(super) fn resources() -> Result<Vec<Resource>, ErrorData> {
    let one = |uri: &str, kind: &str| {
        let name = uri.trim_start_matches("test://");
        json!({"uri": uri, "name": name, "description": name.replace('-', " "), "mimeType": kind})
    };
    of(json!([
        one("test://static-text", "text/plain"),
        one("test://static-binary", "image/png"),
        one("test://watched-resource", "text/plain"),
    ]))
}

pub(super) fn templates() -> Result<Vec<ResourceTemplate>, ErrorData> {
    of(json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "data for an id",
        "mimeType": "application/json",
    }]))
}

pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, id) {
        ("test://static-text", _) => {
            let text = "This is the content of the static text resource.";
            json!({"uri": uri, "mimeType": "text/plain", "text": text})
        }
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "It never changes."})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
        _ => {
            let data = json!({"uri": uri});
            return Err(ErrorData::resource_not_found("Resource not found", Some(data)));
        }
    };
    result(json!({"contents": [contents]}))
}

pub(super) fn prompts() -> Result<Vec<Prompt>, ErrorData> {
    let one = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> =
            arguments.iter().map(|name| json!({"name": name, "required": true})).collect();
        json!({"name": name, "description": name.replace('_', " "), "arguments": arguments})
    };
    of(json!([
        one("test_simple_prompt", &[]),
        one("test_prompt_with_arguments", &["arg1", "arg2"]),
        one("test_prompt_with_embedded_resource", &["resourceUri"]),
        one("test_prompt_with_image", &[]),
        one("test_input_required_result_prompt", &[]),
    ]))
}

pub(super) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| {
        let arguments = request.arguments.as_ref();
        let value = arguments.and_then(|arguments| arguments.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": argument("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            let embedded = json!({"type": "resource", "resource": resource});
            vec![embedded, text("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => {
            let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
            vec![image, text("Please analyze the image above.")]
        }
        other => {
            let data = json!({"prompt": other});
            return Err(ErrorData::invalid_params("there is no such prompt", Some(data)));
        }
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({"role": "user", "content": content})).collect();
    result(json!({"messages": messages}))
}

pub(super) fn completion(begun: &str) -> Result<CompleteResult, ErrorData> {
    let values: Vec<&str> =
        ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(begun)).collect();
    result(json!({"completion": {"total": values.len(), "values": values, "hasMore": false}}))
}
