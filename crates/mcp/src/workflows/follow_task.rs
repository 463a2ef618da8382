//! Follows a task for its client: reports its status, and asks for the input it is waiting for.
//! Drafts and corrections are requested from the client's model, inputs and decisions from its
//! user. If a client supports neither, or declines, the step stays due for anyone who can do it.
#![expect(deprecated, reason = "asking clients on revision 2025-11-25 needs deprecated requests")]

use std::collections::HashSet;
use std::sync::Mutex;

use milepost_ops::author::{DRAFT, INPUTS, ROUNDS, is_orchestration};
use milepost_ops::inputs::preview_inputs;
use milepost_ops::run::submit::{Request as SubmitRequest, SubmitStep};
use milepost_ops::run::view::{DueView, RunView};
use milepost_ops::{AgentCaller, Operations, Problem};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, CustomNotification,
    ElicitRequest, ElicitRequestParams, InputRequest, NotificationMetaObject,
    ProgressNotificationParam, RequestParamsMeta, SamplingMessage, ServerNotification,
};
use serde_json::{Value, json};

use super::approvals::APPROVAL;
use super::client::{Context, McpClient, agent, has_forms};
use super::suggested_call::Tools;
use super::tasks::TaskRun;
use super::{ToolStyle, WorkflowServer, elicitation, tasks};
use crate::limits;
use crate::lock::lock;
use crate::pipe::Outbox;

/// The notification that a task's status has changed.
const STATUS: &str = "notifications/tasks/status";
const SYSTEM: &str = "You write Milepost workflows. Answer with only what was requested: no \
    explanation, no code fence.";

/// A due step as a question to a client. Its key combines the step and its attempt, so it is unique
/// in a run.
type KeyedRequest = (String, InputRequest);

/// What to ask a client for, if it has the necessary capabilities.
pub(super) async fn wanted(
    server: &WorkflowServer,
    run: &TaskRun,
    context: &Context,
) -> Option<KeyedRequest> {
    let capabilities = context.client_capabilities();
    if has_forms(capabilities.as_ref())
        && let Some(question) =
            server.question(run.id(), &run.view.waiting, McpClient::Peer(context))
        && let Some(params) = question.params()
    {
        let key = server.shared.questions.key(run.id(), &question);
        return Some((key, InputRequest::Elicitation(ElicitRequest::new(params))));
    }
    step(server, &agent(context), &run.view, capabilities.as_ref()).await
}

/// The step of an orchestration that a client is asked to do, up to a maximum number of rounds.
async fn step(
    server: &WorkflowServer,
    caller: &AgentCaller,
    run: &RunView,
    capabilities: Option<&ClientCapabilities>,
) -> Option<KeyedRequest> {
    let due = run.due.first().filter(|_| is_orchestration(&run.workflow))?;
    if due.attempt > ROUNDS {
        return None;
    }
    let step = due.step_id.as_str();
    let form = match step == INPUTS && has_forms(capabilities) {
        true => form(server.operations(), caller, run).await,
        false => None,
    };
    let key = format!("{step}:{}", due.attempt);
    if let Some(form) = form {
        return Some((key, InputRequest::Elicitation(ElicitRequest::new(form))));
    }
    capabilities?.sampling.as_ref()?;
    let block = server.shared.drafts.question(&run.run_id, due);
    let (key, question) = match block.filter(|_| step == DRAFT) {
        Some((block, 0)) => (key, sampling(block)),
        Some((block, asked)) => (format!("{key}:{asked}"), sampling(block)),
        None => (key, question(due, None, server.style())),
    };
    Some((key, InputRequest::CreateMessage(CreateMessageRequest::new(question))))
}

/// A question for the model.
fn sampling(messages: Vec<SamplingMessage>) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(messages, limits::DRAFT_TOKENS).with_system_prompt(SYSTEM)
}

/// The form for the inputs of the workflow that is to be run.
async fn form(
    operations: &Operations,
    caller: &AgentCaller,
    run: &RunView,
) -> Option<ElicitRequestParams> {
    let saved = run.steps.iter().find(|step| step.id == "save");
    let workflow = match saved {
        Some(save) => save.output.as_ref()?.get("workflow_id")?,
        None => run.inputs.get("workflow_id")?,
    };
    let request = preview_inputs::Request {
        manifest: None,
        workflow_id: Some(workflow.as_str()?.to_owned()),
        partial_inputs: elicitation::object_in(&run.inputs, elicitation::INPUTS),
    };
    let schema = elicitation::fields(operations, caller, request).await?;
    elicitation::params(&format!("The run of {workflow} is missing some inputs."), schema)
}

/// The question for the model; after a rejected attempt, it includes that attempt and its issues.
fn question(due: &DueView, last: Option<&str>, style: ToolStyle) -> CreateMessageRequestParams {
    let mut messages = vec![SamplingMessage::user_text(due.prompt.clone())];
    let issues = due.issues.iter().map(|issue| {
        let suggestion = issue.suggestion.worded(&Tools(style));
        format!("{} {suggestion}", issue.message)
    });
    let issues: Vec<String> = issues.collect();
    if !issues.is_empty() {
        if let Some(last) = last {
            messages.push(SamplingMessage::assistant_text(last));
        }
        let refused = format!("The last answer was rejected:\n{}", issues.join("\n"));
        messages.push(SamplingMessage::user_text(refused));
    }
    sampling(messages)
}

/// Processes a client's answer to a question; `false` if it declined, or was not asked.
pub(super) async fn take(
    server: &WorkflowServer,
    client: McpClient<'_>,
    run: &str,
    key: &str,
    answer: &Value,
) -> Result<bool, Problem> {
    let operations = server.operations();
    let caller = client.agent();
    let (step, attempt) = key.split_once(':').unwrap_or((key, ""));
    if step == APPROVAL {
        return server.answered_in_task(client, run, key, answer).await;
    }
    let attempt = attempt.split(':').next().unwrap_or_default();
    let Some(mut output) = output(step, answer) else { return Ok(false) };
    if step == DRAFT && attempt == "1" && answer["action"].is_null() {
        let Some(text) = output["manifest"].as_str().map(str::to_owned) else { return Ok(false) };
        match server.shared.drafts.take(operations, &caller, run, text).await? {
            Some(whole) => output["manifest"] = whole.into(),
            // The next block will be requested.
            None => return Ok(true),
        }
    }
    let request = SubmitRequest {
        run_id: run.to_owned(),
        step_id: Some(step.to_owned()),
        output: Some(output),
        attempt: attempt.parse().ok(),
        ..Default::default()
    };
    operations.run::<SubmitStep>(&caller, request).await.map(|_| true)
}

/// The step output that an answer contains.
fn output(step: &str, answer: &Value) -> Option<Value> {
    if let Some(action) = answer["action"].as_str() {
        return (action == "accept").then(|| answer["content"].clone());
    }
    let text = said(answer)?;
    match step {
        DRAFT => Some(json!({"manifest": text})),
        // If it is not JSON, the schema of the step will report that.
        _ => Some(serde_json::from_str(&text).unwrap_or(Value::String(text))),
    }
}

/// The text of a message, without the code fence that models often put around it.
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

/// The tasks that are being followed, each for one client.
#[derive(Debug, Default)]
pub(super) struct FollowedTasks(Mutex<HashSet<String>>);

impl FollowedTasks {
    /// Starts following a task, unless it is already followed or too many tasks are. Clients can
    /// still poll tasks that are not followed.
    fn begin(&self, name: &str) -> bool {
        let mut tasks = lock(&self.0);
        tasks.len() < limits::FOLLOWED && tasks.insert(name.to_owned())
    }
}

/// When to start following a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowFrom {
    /// Immediately, because the client already knows the task.
    Now,
    /// After the request is answered, because the client must know the task before it is notified
    /// about it.
    Answered,
}

/// Follows a task for a client in a session until either ends, unless it is already followed.
/// Reports its status, and asks for the input it is waiting for.
pub(super) fn follow(server: &WorkflowServer, context: &Context, run: TaskRun, since: FollowFrom) {
    let name = format!("{}\n{}", McpClient::Peer(context).key(), run.id());
    if !server.shared.followed.begin(&name) {
        return;
    }
    let (server, context) = (server.clone(), context.clone());
    tokio::spawn(async move {
        if since == FollowFrom::Answered
            && let Some(outbox) = context.extensions.get::<Outbox>()
        {
            outbox.answered(&context.id).await;
        }
        let asking = ask_for(server.clone(), context.clone(), run.id().to_owned());
        let asked = tokio::spawn(asking);
        tell(&server, &context, run).await;
        asked.abort();
        lock(&server.shared.followed.0).remove(&name);
    });
}

/// Reports the status of a task whenever it changes, until the task ends.
async fn tell(server: &WorkflowServer, context: &Context, mut run: TaskRun) {
    let (token, caller) = (context.meta.get_progress_token(), agent(context));
    let (mut status, mut progress) = (run.view.status, None);
    let mut count = 0.0;
    loop {
        let seen = Some(run.progress());
        if let Some(token) = token.clone().filter(|_| seen != progress) {
            count += 1.0;
            let mut note = ProgressNotificationParam::new(token, count);
            note.message = Some(tasks::summary(&run.view));
            note.meta = Some(NotificationMetaObject(tasks::meta(&run)));
            // If the notification fails, the client is gone, which is detected below.
            let _ = context.peer.notify_progress(note).await;
            progress = seen;
        }
        if tasks::legacy_name(run.view.status) != tasks::legacy_name(status) {
            status = run.view.status;
            let note = CustomNotification::new(STATUS, Some(run.legacy()));
            let note = ServerNotification::CustomNotification(note);
            let _ = context.peer.send_notification(note).await;
        }
        if run.view.has_ended() || context.peer.is_transport_closed() {
            return;
        }
        tokio::time::sleep(limits::TASK_NOTES_APART).await;
        run = match tasks::news(server.operations(), &caller, run.id(), run.view.seq).await {
            Ok(run) => run,
            Err(_) => return,
        };
    }
}

/// Asks a client for the input that a task is waiting for. Declined requests are not repeated.
async fn ask_for(server: WorkflowServer, context: Context, id: String) {
    let capabilities = context.client_capabilities();
    let (client, caller) = (McpClient::Peer(&context), agent(&context));
    let (mut asked, mut seq) = (HashSet::new(), 0);
    let mut last: Option<String> = None;
    while !context.peer.is_transport_closed() {
        let Ok(run) = tasks::news(server.operations(), &caller, &id, seq).await else { return };
        if run.view.has_ended() {
            return;
        }
        seq = run.view.seq;
        if has_forms(capabilities.as_ref())
            && let Some(open) = server.question(&id, &run.view.waiting, client)
            && asked.insert(open.name(""))
        {
            server.ask_in_task(&context, &id, &open).await;
            continue;
        }
        let wanted = step(&server, &caller, &run.view, capabilities.as_ref()).await;
        let Some((key, request)) = wanted.filter(|(key, _)| asked.insert(key.clone())) else {
            tokio::time::sleep(limits::TASK_REST).await;
            continue;
        };
        let due = run.view.due.first().zip(last.as_deref()).filter(|(due, _)| due.attempt != 1);
        let again = due.map(|(due, last)| question(due, Some(last), server.style()));
        let Some(answer) = put(&context, &id, request, again).await else { continue };
        last = said(&answer).or(last);
        // If somebody else has submitted the step in the meantime, that submission counts.
        let _ = take(&server, client, &id, &key, &answer).await;
    }
}

/// Sends one request to a client and returns its answer, if any. `again` replaces the question to
/// the model after a rejected attempt.
async fn put(
    context: &Context,
    id: &str,
    request: InputRequest,
    again: Option<CreateMessageRequestParams>,
) -> Option<Value> {
    match request {
        InputRequest::CreateMessage(request) => {
            let mut question = again.unwrap_or(request.params);
            question.meta = Some(tasks::related(id));
            serde_json::to_value(context.peer.create_message(question).await.ok()?).ok()
        }
        InputRequest::Elicitation(mut request) => {
            request.params.set_meta(tasks::related(id));
            serde_json::to_value(context.peer.create_elicitation(request.params).await.ok()?).ok()
        }
        _ => None,
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
