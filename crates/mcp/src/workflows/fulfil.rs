//! What an orchestration waits for, asked of the client that follows it: a draft or a correction of
//! the model behind it, inputs of the person behind it. Where a client has neither, or declines,
//! the step stays due, and whoever likes hands it in.
#![expect(deprecated, reason = "clients of 2025-11-25 are asked in this way")]

use std::time::Duration;

use milepost_ops::author::{DRAFT, INPUTS};
use milepost_ops::{Alone, Operations, Problem};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest,
    ElicitRequestParams, ElicitationSchema, InputRequest, RequestParamsMeta, SamplingMessage,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

use super::{Face, ask, missing, tasks};
use crate::pipe::Outbox;

/// The runs whose steps are asked of a client.
const ORCHESTRATIONS: [&str; 2] = ["milepost.author-and-run", "milepost.repair-and-rerun"];
/// Tokens of a draft.
const DRAFT_TOKENS: u32 = 16_000;
/// Between two looks at a run that waits for somebody else.
const REST: Duration = Duration::from_secs(1);
const SYSTEM: &str = "You write Milepost workflows. Answer with what is asked for alone: no \
    explanation, no code fence.";

/// A step that is due, as something to ask a client.
pub(super) struct Wanted {
    /// The step and its try: never the same twice in a run.
    pub(super) key: String,
    pub(super) request: InputRequest,
}

/// What a client that can do as much is asked for.
pub(super) async fn wanted(
    operations: &Operations,
    run: &Value,
    capabilities: Option<&ClientCapabilities>,
) -> Option<Wanted> {
    let due = is_orchestration(run).then(|| run["due"].get(0)).flatten()?;
    let step = due["step_id"].as_str()?;
    let form = match step == INPUTS && ask::has_forms(capabilities) {
        true => form(operations, run).await,
        false => None,
    };
    let can_sample = capabilities.is_some_and(|can| can.sampling.is_some());
    let request = match form {
        Some(form) => InputRequest::Elicitation(ElicitRequest::new(form)),
        None if can_sample => {
            InputRequest::CreateMessage(CreateMessageRequest::new(question(due, None)))
        }
        None => return None,
    };
    Some(Wanted { key: format!("{step}:{}", due["attempt"]), request })
}

fn is_orchestration(run: &Value) -> bool {
    ORCHESTRATIONS.iter().any(|one| run["workflow"] == *one)
}

/// The form for the inputs of the workflow that is to be run.
async fn form(operations: &Operations, run: &Value) -> Option<ElicitRequestParams> {
    let saved = run["steps"].as_array()?.iter().find(|step| step["id"] == "save");
    let workflow = match saved {
        Some(save) => &save["output"]["workflow_id"],
        None => &run["inputs"]["workflow_id"],
    };
    let mut known = Map::new();
    known.insert("workflow_id".to_owned(), workflow.clone());
    known.insert(missing::INPUTS.to_owned(), run["inputs"]["inputs"].clone());
    let schema = missing::fields(operations, &known).await?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("The run of {workflow} needs what it was not given."),
        requested_schema: ElicitationSchema::from_json_schema(schema).ok()?,
    })
}

/// The question for the model; after a try that would not do, with it and what was wrong.
fn question(due: &Value, last: Option<&str>) -> CreateMessageRequestParams {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut messages = vec![SamplingMessage::user_text(text(&due["prompt"]))];
    let issues: Vec<String> = due["issues"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|issue| format!("{} {}", text(&issue["message"]), text(&issue["suggestion"])))
        .collect();
    if !issues.is_empty() {
        if let Some(last) = last {
            messages.push(SamplingMessage::assistant_text(last));
        }
        let refused = format!("The last answer would not do:\n{}", issues.join("\n"));
        messages.push(SamplingMessage::user_text(refused));
    }
    CreateMessageRequestParams::new(messages, DRAFT_TOKENS).with_system_prompt(SYSTEM)
}

/// Hands in what a client answered to a question; `false` when it declined.
pub(super) async fn take(
    operations: &Operations,
    run: &str,
    key: &str,
    answer: &Value,
) -> Result<bool, Problem> {
    let (step, attempt) = key.split_once(':').unwrap_or((key, ""));
    let Some(output) = output(step, answer) else { return Ok(false) };
    let mut arguments = json!({"run_id": run, "step_id": step, "output": output});
    if let Ok(attempt) = attempt.parse::<u32>() {
        arguments["attempt"] = attempt.into();
    }
    operations.call_and_wait("workflow.submit", &Alone, arguments).await.map(|_| true)
}

/// What an answer says for a step.
fn output(step: &str, answer: &Value) -> Option<Value> {
    if let Some(action) = answer["action"].as_str() {
        return (action == "accept").then(|| answer["content"].clone());
    }
    let text = said(answer)?;
    match step {
        DRAFT => Some(json!({"manifest": text})),
        // What is no JSON is told so by the schema of the step.
        _ => Some(serde_json::from_str(&text).unwrap_or(Value::String(text))),
    }
}

/// The text of a message, without the fence that models like to put around it.
fn said(answer: &Value) -> Option<String> {
    let block = match &answer["content"] {
        Value::Array(blocks) => blocks.iter().find(|block| block["type"] == "text")?,
        block => block,
    };
    let text = block["text"].as_str()?.trim();
    let inner = text.strip_prefix("```").and_then(|rest| {
        let (_language, rest) = rest.split_once('\n')?;
        rest.trim_end().strip_suffix("```")
    });
    let text = inner.map_or_else(|| text.to_owned(), |inner| inner.trim_end().to_owned());
    Some(text + "\n")
}

/// Asks the client that made a task for what its run waits for, for as long as both are there.
pub(super) async fn follow(face: Face, context: RequestContext<RoleServer>, id: String) {
    // A client knows its task before it is asked something for it.
    if let Some(outbox) = context.extensions.get::<Outbox>() {
        outbox.answered(&context.id).await;
    }
    let capabilities = context.client_capabilities();
    let mut asked = String::new();
    let mut last: Option<String> = None;
    while !context.peer.is_transport_closed() {
        let Ok(run) = tasks::look(face.operations(), &id, true).await else { return };
        if tasks::has_ended(&run) {
            return;
        }
        let wanted = wanted(face.operations(), &run, capabilities.as_ref()).await;
        // One that was declined is not asked again.
        let Some(wanted) = wanted.filter(|wanted| wanted.key != asked) else {
            tokio::time::sleep(REST).await;
            continue;
        };
        asked.clone_from(&wanted.key);
        let answer = match wanted.request {
            InputRequest::CreateMessage(_) => {
                let mut question = question(&run["due"][0], last.as_deref());
                question.meta = Some(tasks::related(&id));
                let answer = context.peer.create_message(question).await;
                answer.ok().and_then(|answer| serde_json::to_value(answer).ok())
            }
            InputRequest::Elicitation(mut request) => {
                request.params.set_meta(tasks::related(&id));
                let answer = context.peer.create_elicitation(request.params).await;
                answer.ok().and_then(|answer| serde_json::to_value(answer).ok())
            }
            _ => None,
        };
        let Some(answer) = answer else { continue };
        last = said(&answer).or(last);
        // What was handed in meanwhile by somebody else counts.
        let _ = take(face.operations(), &id, &asked, &answer).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_an_answer_is_none_of_it() {
        let answer =
            |text: &str| json!({"role": "assistant", "content": {"type": "text", "text": text}});
        let draft = |text: &str| output(DRAFT, &answer(text)).expect("a draft")["manifest"].clone();
        assert_eq!(draft("workflow: a\n"), "workflow: a\n");
        assert_eq!(draft("```yaml\nworkflow: a\nb: 1\n```\n"), "workflow: a\nb: 1\n");
        assert_eq!(draft("```\nworkflow: a\n```"), "workflow: a\n");
        assert_eq!(draft("```yaml\nworkflow: a"), "```yaml\nworkflow: a\n", "cut off");
        assert_eq!(output(INPUTS, &answer("{\"a\": 1}")), Some(json!({"a": 1})));
        let declined = json!({"action": "decline"});
        assert_eq!(output(INPUTS, &declined), None);
        let given = json!({"action": "accept", "content": {"a": 1}});
        assert_eq!(output(INPUTS, &given), Some(json!({"a": 1})));
    }
}
