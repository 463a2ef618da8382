//! Tools and prompts that ask a question before they answer, in the revision without a handshake.
//! An incomplete result contains the question, and the same request arrives again with the answer.

use std::hash::{BuildHasher, RandomState};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, InputRequiredResult, InputResponses,
};
use serde_json::{Value, json};

use super::fixtures::{of, result, said};

/// The answer from a tool that asks a question, or `None` for other tools.
pub(super) fn call(
    request: &CallToolRequestParams,
    can: &ClientCapabilities,
    seal: &RandomState,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let name = request.name.strip_prefix("test_input_required_result_")?;
    let answers = request.input_responses.as_ref();
    let state = request.request_state.as_deref();
    Some(match name {
        "elicitation" => greeting(answers),
        "sampling" => {
            let question = "What is the capital of France?";
            match answer(answers, "capital_question", "/content/text") {
                Some(capital) => done(&capital),
                None => asks(json!({"capital_question": samples(question, 100)}), None),
            }
        }
        "list_roots" => match answer(answers, "client_roots", "/roots") {
            Some(roots) => done(&format!("roots: {roots}")),
            None => asks(json!({"client_roots": roots()}), None),
        },
        "request_state" | "tampered_state" => confirmed(answers, state, seal),
        "multiple_inputs" => several(answers, state, seal),
        "multi_round" => rounds(answers, state, seal),
        "capabilities" => capable(answers, can),
        _ => return None,
    })
}

fn greeting(answers: Option<&InputResponses>) -> Result<CallToolResponse, ErrorData> {
    match answer(answers, "user_name", "/content/name") {
        Some(name) => done(&format!("Hello, {name}!")),
        None => asks(json!({"user_name": elicits("What is your name?", "name")}), None),
    }
}

fn confirmed(
    answers: Option<&InputResponses>,
    state: Option<&str>,
    seal: &RandomState,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(state) = state {
        opened(state, seal)?;
    }
    if answer(answers, "confirm", "/action").is_some() && state.is_some() {
        return done("state-ok");
    }
    let properties = json!({"ok": {"type": "boolean"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["ok"]});
    let params = json!({"message": "Please confirm", "requestedSchema": schema});
    let confirm = json!({"method": "elicitation/create", "params": params});
    asks(json!({"confirm": confirm}), Some(sealed("confirm", seal)))
}

fn several(
    answers: Option<&InputResponses>,
    state: Option<&str>,
    seal: &RandomState,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(state) = state {
        opened(state, seal)?;
    }
    let name = answer(answers, "user_name", "/content/name");
    let greeting = answer(answers, "greeting", "/content/text");
    let here = answer(answers, "client_roots", "/roots");
    match (name, greeting, here) {
        (Some(name), Some(greeting), Some(here)) => done(&format!("{greeting}, {name}: {here}")),
        _ => asks(
            json!({
                "user_name": elicits("What is your name?", "name"),
                "greeting": samples("Generate a greeting", 50),
                "client_roots": roots(),
            }),
            Some(sealed("several", seal)),
        ),
    }
}

/// Asks two questions in turn; the state records which one was asked.
fn rounds(
    answers: Option<&InputResponses>,
    state: Option<&str>,
    seal: &RandomState,
) -> Result<CallToolResponse, ErrorData> {
    let asked = state.map(|state| opened(state, seal)).transpose()?;
    let first = answer(answers, "step1", "/content/name");
    let second = answer(answers, "step2", "/content/color");
    match (asked.as_deref(), first, second) {
        (Some("two"), _, Some(color)) => done(&format!("It is {color}.")),
        (Some("two"), _, None) | (Some("one"), Some(_), _) => {
            let question = elicits("Step 2: What is your favorite color?", "color");
            asks(json!({"step2": question}), Some(sealed("two", seal)))
        }
        _ => {
            let question = elicits("Step 1: What is your name?", "name");
            asks(json!({"step1": question}), Some(sealed("one", seal)))
        }
    }
}

/// Asks only what the client is able to answer.
fn capable(
    answers: Option<&InputResponses>,
    can: &ClientCapabilities,
) -> Result<CallToolResponse, ErrorData> {
    if answers.is_some() {
        return done("thank you");
    }
    let mut requests = json!({});
    if can.sampling.is_some() {
        requests["sampled"] = samples("Say something", 50);
    }
    if can.elicitation.is_some() {
        requests["elicited"] = elicits("What is your name?", "name");
    }
    asks(requests, None)
}

/// The result of a prompt that asks a question, or `None` for other prompts.
pub(super) fn prompt(
    request: &GetPromptRequestParams,
) -> Option<Result<GetPromptResponse, ErrorData>> {
    if request.name != "test_input_required_result_prompt" {
        return None;
    }
    let answers = request.input_responses.as_ref();
    let Some(topic) = answer(answers, "user_context", "/content/context") else {
        let question = elicits("What context should the prompt use?", "context");
        let asks = unfinished(json!({"user_context": question}), None);
        return Some(asks.map(GetPromptResponse::from));
    };
    let content = json!({"type": "text", "text": format!("The context is {topic}.")});
    let messages = json!([{"role": "user", "content": content}]);
    let prompt = result::<GetPromptResult>(json!({"messages": messages}));
    Some(prompt.map(GetPromptResponse::from))
}

/// A form with one text field for a person to fill in.
pub(super) fn elicits(message: &str, field: &str) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {field: {"type": "string"}},
        "required": [field],
    });
    json!({
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    })
}

fn samples(prompt: &str, tokens: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": tokens},
    })
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

fn done(words: &str) -> Result<CallToolResponse, ErrorData> {
    said(words).map(CallToolResponse::from)
}

/// An incomplete result from a tool.
pub(super) fn asks(requests: Value, state: Option<String>) -> Result<CallToolResponse, ErrorData> {
    unfinished(requests, state).map(CallToolResponse::from)
}

fn unfinished(requests: Value, state: Option<String>) -> Result<InputRequiredResult, ErrorData> {
    let mut result = InputRequiredResult::from_input_requests(of(requests)?);
    result.request_state = state;
    Ok(result)
}

/// The answer to a question, if it has the expected form.
pub(super) fn answer(answers: Option<&InputResponses>, key: &str, place: &str) -> Option<String> {
    match answers?.get(key)?.pointer(place)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// A state with a checksum that only this server can compute.
fn sealed(word: &str, seal: &RandomState) -> String {
    format!("{word}.{:016x}", seal.hash_one(word))
}

fn opened(state: &str, seal: &RandomState) -> Result<String, ErrorData> {
    let word = state.split('.').next().unwrap_or_default();
    if sealed(word, seal) != state {
        return Err(ErrorData::invalid_params("requestState has been altered", None));
    }
    Ok(word.to_owned())
}
