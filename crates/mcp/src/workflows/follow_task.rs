//! Following a task for its client: telling how it stands, and asking for what it waits for. A
//! draft or a correction is asked of the model behind the client, inputs and decisions of the
//! person. Where a client has neither, or declines, the step stays due for whoever can do it.
#![expect(deprecated, reason = "clients of 2025-11-25 are asked in this way")]

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use milepost_ops::author::{DRAFT, INPUTS, ROUNDS, is_orchestration};
use milepost_ops::{Alone, Operations, Problem};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, CustomNotification,
    ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest, NotificationMetaObject,
    ProgressNotificationParam, RequestParamsMeta, SamplingMessage, ServerNotification,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

use super::approve::APPROVAL;
use super::{WorkflowServer, ask, input_form, principal, tasks};
use crate::pipe::Outbox;

/// Tokens of a draft.
const DRAFT_TOKENS: u32 = 16_000;
/// Between two looks at a run that waits for somebody else.
const REST: Duration = Duration::from_millis(250);
/// Between two notes on a run, however much happens in it.
const BREATH: Duration = Duration::from_millis(100);
/// The notification of a task that stands otherwise now.
const STATUS: &str = "notifications/tasks/status";
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
    server: &WorkflowServer,
    run: &Value,
    context: &RequestContext<RoleServer>,
) -> Option<Wanted> {
    let capabilities = context.client_capabilities();
    if ask::has_forms(capabilities.as_ref())
        && let Some(question) = server.question(run, context)
        && let Some(params) = question.params()
    {
        let task = run["run_id"].as_str()?;
        let key = server.shared.questions.key(task, &question);
        return Some(Wanted {
            key,
            request: InputRequest::Elicitation(ElicitRequest::new(params)),
        });
    }
    step(server, run, capabilities.as_ref()).await
}

/// The step of an orchestration that a client is asked to do, until its rounds are used up.
async fn step(
    server: &WorkflowServer,
    run: &Value,
    capabilities: Option<&ClientCapabilities>,
) -> Option<Wanted> {
    let operations = server.operations();
    let is_ours = run["workflow"].as_str().is_some_and(is_orchestration);
    let due = is_ours.then(|| run["due"].get(0)).flatten()?;
    if due["attempt"].as_u64().is_some_and(|attempt| attempt > u64::from(ROUNDS)) {
        return None;
    }
    let step = due["step_id"].as_str()?;
    let form = match step == INPUTS && ask::has_forms(capabilities) {
        true => form(operations, run).await,
        false => None,
    };
    let can_sample = capabilities.is_some_and(|can| can.sampling.is_some());
    let key = format!("{step}:{}", due["attempt"]);
    let (key, request) = match form {
        Some(form) => (key, InputRequest::Elicitation(ElicitRequest::new(form))),
        None if can_sample => {
            let (key, question) = match block(server, run, due).filter(|_| step == DRAFT) {
                Some((question, 0)) => (key, question),
                Some((question, asked)) => (format!("{key}:{asked}"), question),
                None => (key, question(due, None)),
            };
            (key, InputRequest::CreateMessage(CreateMessageRequest::new(question)))
        }
        None => return None,
    };
    Some(Wanted { key, request })
}

/// The question for the next block of a draft, and how many there were before it.
fn block(
    server: &WorkflowServer,
    run: &Value,
    due: &Value,
) -> Option<(CreateMessageRequestParams, u32)> {
    let (messages, asked) = server.shared.drafts.question(run["run_id"].as_str()?, due)?;
    let question = CreateMessageRequestParams::new(messages, DRAFT_TOKENS);
    Some((question.with_system_prompt(SYSTEM), asked))
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
    known.insert(input_form::INPUTS.to_owned(), run["inputs"]["inputs"].clone());
    let schema = input_form::fields(operations, &known).await?;
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

/// Takes what a client answered to a question; `false` when it declined, or was not asked.
pub(super) async fn take(
    server: &WorkflowServer,
    context: &RequestContext<RoleServer>,
    run: &str,
    key: &str,
    answer: &Value,
) -> Result<bool, Problem> {
    let operations = server.operations();
    let (step, attempt) = key.split_once(':').unwrap_or((key, ""));
    if step == APPROVAL {
        return server.answered_in_task(context, run, key, answer).await;
    }
    let attempt = attempt.split(':').next().unwrap_or_default();
    let Some(mut output) = output(step, answer) else { return Ok(false) };
    if step == DRAFT && attempt == "1" && answer["action"].is_null() {
        let text = output["manifest"].as_str().unwrap_or_default().to_owned();
        match server.shared.drafts.take(operations, run, text).await {
            Some(whole) => output["manifest"] = whole.into(),
            // Another block of it is asked for.
            None => return Ok(true),
        }
    }
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

/// The tasks that are followed, each for one client.
#[derive(Debug, Default)]
pub(super) struct Followed {
    tasks: Mutex<HashSet<String>>,
}

impl Followed {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From when on a task is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// At once: its client knows it.
    Now,
    /// When the request is answered: its client is to know a task before it hears of it.
    Answered,
}

/// Follows a task for a client that shook hands, for as long as both are there, unless it is
/// followed already: tells how it stands, and asks for what it waits for.
pub(super) fn follow(
    server: &WorkflowServer,
    context: &RequestContext<RoleServer>,
    run: Value,
    since: Since,
) {
    let id = run["run_id"].as_str().unwrap_or_default().to_owned();
    let name = format!("{}\n{id}", principal::client_key(context));
    if !server.shared.followed.lock().insert(name.clone()) {
        return;
    }
    let (server, context) = (server.clone(), context.clone());
    tokio::spawn(async move {
        if since == Since::Answered
            && let Some(outbox) = context.extensions.get::<Outbox>()
        {
            outbox.answered(&context.id).await;
        }
        let asked = tokio::spawn(ask_for(server.clone(), context.clone(), id));
        tell(&server, &context, run).await;
        asked.abort();
        server.shared.followed.lock().remove(&name);
    });
}

/// Tells how a task stands each time that changes, until it ends.
async fn tell(server: &WorkflowServer, context: &RequestContext<RoleServer>, mut run: Value) {
    let token = context.meta.get_progress_token();
    let (mut status, mut progress) = (tasks::legacy(&run)["status"].clone(), Value::Null);
    let mut count = 0.0;
    loop {
        let seen = tasks::progress(&run);
        if let Some(token) = token.clone().filter(|_| seen != progress) {
            count += 1.0;
            let mut note = ProgressNotificationParam::new(token, count);
            note.message = seen["summary"].as_str().map(str::to_owned);
            note.meta = Some(NotificationMetaObject(tasks::meta(&run)));
            // A client that cannot be told is gone, which is seen next.
            let _ = context.peer.notify_progress(note).await;
            progress = seen;
        }
        let task = tasks::legacy(&run);
        if task["status"] != status {
            status = task["status"].clone();
            let note = CustomNotification::new(STATUS, Some(task));
            let note = ServerNotification::CustomNotification(note);
            let _ = context.peer.send_notification(note).await;
        }
        if tasks::has_ended(&run) || context.peer.is_transport_closed() {
            return;
        }
        tokio::time::sleep(BREATH).await;
        let id = run["run_id"].as_str().unwrap_or_default();
        let seq = run["seq"].as_u64().unwrap_or_default();
        run = match tasks::news(server.operations(), id, seq).await {
            Ok(run) => run,
            Err(_) => return,
        };
    }
}

/// Asks a client for what a task waits for. What was declined is not asked again.
async fn ask_for(server: WorkflowServer, context: RequestContext<RoleServer>, id: String) {
    let capabilities = context.client_capabilities();
    let (mut asked, mut seq) = (HashSet::new(), 0);
    let mut last: Option<String> = None;
    while !context.peer.is_transport_closed() {
        let Ok(run) = tasks::news(server.operations(), &id, seq).await else { return };
        if tasks::has_ended(&run) {
            return;
        }
        seq = run["seq"].as_u64().unwrap_or_default();
        if ask::has_forms(capabilities.as_ref())
            && let Some(open) = server.question(&run, &context)
            && asked.insert(open.name(""))
        {
            server.ask_in_task(&context, &id, &open).await;
            continue;
        }
        let wanted = step(&server, &run, capabilities.as_ref()).await;
        let Some(wanted) = wanted.filter(|wanted| asked.insert(wanted.key.clone())) else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let answer = match wanted.request {
            InputRequest::CreateMessage(request) => {
                let mut question = match &last {
                    Some(last) if run["due"][0]["attempt"] != 1 => {
                        question(&run["due"][0], Some(last))
                    }
                    _ => request.params,
                };
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
        let _ = take(&server, &context, &id, &wanted.key, &answer).await;
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
