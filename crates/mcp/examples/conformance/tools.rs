//! Tools that communicate with their client while they run.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ElicitRequestParams, ErrorData,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use serde_json::{Value, json};

use super::fixtures::{self, of, said};
use super::{Change, Fixtures, rounds, tasks};

/// The delay between two notifications of a call, so that a client sees them arrive one by one.
const PAUSE: Duration = Duration::from_millis(50);

impl Fixtures {
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let can = context.client_capabilities().unwrap_or_default();
        if let Some(answer) = rounds::call(&request, &can, &self.seal) {
            return answer;
        }
        if let Some(answer) = tasks::call(&self.tasks, &request, &can).await {
            return answer;
        }
        if let Some(answer) = fixtures::answer(&request.name) {
            return answer.map(CallToolResponse::from);
        }
        let words = match request.name.as_ref() {
            "test_streaming_elicitation" => {
                let question = rounds::elicits("What is your name?", "name");
                return rounds::asks(json!({"user_name": question}), None);
            }
            "test_tool_with_logging" | "test_logging_tool" => logs(context).await?,
            "test_tool_with_progress" => progresses(context).await?,
            "test_sampling" => samples(&request, context).await?,
            "test_elicitation" => {
                let message = argument(&request, "message");
                elicits(context, &message, asked_for()).await?
            }
            "test_elicitation_sep1034_defaults" => {
                elicits(context, "Is this right?", defaults()).await?
            }
            "test_elicitation_sep1330_enums" => {
                elicits(context, "Which of these?", choices()).await?
            }
            "test_missing_capability" => {
                if can.sampling.is_none() {
                    let needed = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                "sampling is there".to_owned()
            }
            "test_trigger_tool_change" => self.changed(Change::Tools),
            "test_trigger_prompt_change" => self.changed(Change::Prompts),
            "greet" => format!("Hello, {}!", argument(&request, "name")),
            "test_custom_headers" => argument(&request, "region"),
            "test_reconnection" => "nothing was lost".to_owned(),
            other => {
                let data = json!({"tool": other});
                return Err(ErrorData::invalid_params("there is no such tool", Some(data)));
            }
        };
        said(&words).map(CallToolResponse::from)
    }

    fn changed(&self, change: Change) -> String {
        // Having no listeners is not an error.
        let listeners = self.changes.send(change).unwrap_or_default();
        format!("told {listeners} listeners")
    }
}

/// Sends log messages; clients without a handshake only get them on request.
async fn logs(context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let is_stateless = context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28);
    let notes = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for note in notes {
        if !is_stateless || context.meta.log_level().is_some() {
            let params = LoggingMessageNotificationParam::new(LoggingLevel::Info, note.into());
            context.peer.notify_logging_message(params).await.map_err(|error| lost(&error))?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok("logged".to_owned())
}

async fn progresses(context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let note = ProgressNotificationParam::new(token, progress).with_total(100.0);
            context.peer.notify_progress(note).await.map_err(|error| lost(&error))?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok("all of it".to_owned())
}

async fn samples(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<String, ErrorData> {
    let prompt = json!({"type": "text", "text": argument(request, "prompt")});
    let message = json!({"role": "user", "content": prompt});
    let params = of(json!({"messages": [message], "maxTokens": 100}))?;
    let answer = context.peer.create_message(params).await.map_err(|error| lost(&error))?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let text = answer["content"]["text"].as_str().unwrap_or_default();
    Ok(format!("LLM response: {text}"))
}

async fn elicits(
    context: &RequestContext<RoleServer>,
    message: &str,
    properties: Value,
) -> Result<String, ErrorData> {
    let required = match properties.as_object() {
        Some(properties) if properties.contains_key("username") => json!(["username", "email"]),
        _ => json!([]),
    };
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: of(schema)?,
    };
    let answer = context.peer.create_elicitation(params).await.map_err(|error| lost(&error))?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let (action, filled) = (&answer["action"], &answer["content"]);
    let action = action.as_str().unwrap_or_default();
    Ok(format!("Elicitation completed: action={action}, content={filled}"))
}

fn asked_for() -> Value {
    json!({
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    })
}

fn defaults() -> Value {
    let states = ["active", "inactive", "pending"];
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": states, "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

/// Every way in which a form can offer choices.
fn choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = |ordinal: &str| {
        json!([
            {"const": "value1", "title": format!("First {ordinal}")},
            {"const": "value2", "title": format!("Second {ordinal}")},
            {"const": "value3", "title": format!("Third {ordinal}")},
        ])
    };
    json!({
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    })
}

fn argument(request: &CallToolRequestParams, name: &str) -> String {
    let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn lost(error: &ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("the client cannot be asked: {error}"), None)
}
