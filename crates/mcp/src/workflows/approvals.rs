//! Run approvals, requested in the client that follows the run, because that is where the person
//! is.
//!
//! An agent cannot approve. Only an answer to our elicitation counts, because the elicitation shows
//! what would be done; a tool argument never counts. A question that requires a terminal or a PIN,
//! or that does not fit a client's form, is not asked here. Instead, the run shows the command for
//! deciding it.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Mutex;

use milepost_ops::command::run::{CommandOutcome, OutcomeRequest, RunCommand};
use milepost_ops::run::approve::{ApproveStep, RejectStep, Request as DecideRequest};
use milepost_ops::run::question::QuestionLayout;
use milepost_ops::run::status;
use milepost_ops::run::view::{Presence, WaitingKind, WaitingView};
use milepost_ops::{AgentCaller, Code, ElicitedCaller, Operation, Operations, Problem, Response};
use rmcp::model::{ElicitRequestParams, InputRequests, JsonObject, RequestParamsMeta};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::client::{Context, McpClient};
use super::elicitation::{self, FormResult};
use super::tool_call::ToolCall;
use super::{ToolStyle, WorkflowServer, call_tokens, suggested_call, tasks};
use crate::limits;
use crate::lock::lock;

/// The key of the question in stateless requests.
pub(super) const APPROVAL: &str = "approval";
/// The form field for the decision.
const APPROVE: &str = "approve";
/// The form field for a comment on the decision.
const COMMENT: &str = "comment";

/// A question from a run to a person.
#[derive(Debug, Clone)]
pub(super) struct ApprovalQuestion {
    run: String,
    step: String,
    /// The digest of what was shown, because the answer does not apply to any other question.
    digest: String,
    message: String,
    schema: JsonObject,
    /// Whether the author's form has fields to fill in.
    has_form: bool,
}

/// A question that was returned instead of a result.
#[derive(Debug)]
pub(super) struct PendingApproval {
    question: ApprovalQuestion,
    /// The run that the result would have shown.
    run: String,
    /// The other fields of the result.
    rest: Option<JsonObject>,
    wait_s: u64,
    /// Whether the result is that of a single call rather than its run.
    is_call: bool,
}

/// The questions that have been asked, so that nobody is asked twice.
#[derive(Debug, Default)]
pub(super) struct Questions {
    asked: Mutex<VecDeque<String>>,
    /// The keys of questions in extension tasks.
    keys: Mutex<VecDeque<Asking>>,
}

/// A question in a task, with its key in that task.
#[derive(Debug)]
struct Asking {
    key: String,
    task: String,
    question: ApprovalQuestion,
}

impl ApprovalQuestion {
    /// A run's questions that may be answered in a client.
    pub(super) fn of(run: &str, waiting: &[WaitingView]) -> Vec<ApprovalQuestion> {
        let asks = waiting.iter().filter(|one| one.kind == WaitingKind::Approval);
        asks.filter(|one| one.presence == Some(Presence::Elicitation))
            .filter_map(|one| ApprovalQuestion::read(run, one))
            .collect()
    }

    fn read(run: &str, waiting: &WaitingView) -> Option<ApprovalQuestion> {
        let message = QuestionLayout::client().whole_question(waiting)?;
        (message.chars().count() <= limits::QUESTION_CHARS).then_some(())?;
        Some(ApprovalQuestion {
            run: waiting.run_id.clone().unwrap_or_else(|| run.to_owned()),
            step: waiting.step.clone()?,
            digest: waiting.digest.clone()?,
            schema: schema(waiting.form.as_ref())?,
            has_form: waiting.form.is_some(),
            message,
        })
    }

    /// Identifies a question to a client.
    pub(super) fn name(&self, client: &str) -> String {
        [client, &self.run, &self.step, &self.digest].join("\n")
    }

    pub(super) fn params(&self) -> Option<ElicitRequestParams> {
        elicitation::params(&self.message, self.schema.clone())
    }

    /// Records the person's answer as the decision.
    pub(super) async fn decide(
        &self,
        operations: &Operations,
        mut given: JsonObject,
        principal: Option<String>,
    ) -> Result<(), Problem> {
        let Some(Value::Bool(approve)) = given.remove(APPROVE) else { return Ok(()) };
        let comment = match given.remove(COMMENT) {
            Some(Value::String(comment)) => Some(comment),
            _ => None,
        };
        let request = DecideRequest {
            run_id: self.run.clone(),
            step_id: Some(self.step.clone()),
            digest: Some(self.digest.clone()),
            comment,
            answer: (approve && self.has_form).then_some(Value::Object(given)),
        };
        let person = ElicitedCaller { principal };
        match approve {
            true => operations.run::<ApproveStep>(&person, request).await.map(drop),
            false => operations.run::<RejectStep>(&person, request).await.map(drop),
        }
    }
}

/// The form for a decision; `None` if the author's form does not fit a client's form.
fn schema(form: Option<&Value>) -> Option<JsonObject> {
    let mut properties = Map::new();
    properties.insert(APPROVE.to_owned(), json!({"type": "boolean", "title": "Approve"}));
    let mut required = vec![APPROVE.to_owned()];
    if let Some(form) = form {
        let fields = form["properties"].as_object()?;
        for (name, field) in fields {
            let taken = matches!(name.as_str(), APPROVE | COMMENT);
            properties.insert(name.clone(), plain(field).filter(|_| !taken)?);
        }
        for name in form["required"].as_array().into_iter().flatten() {
            required.push(name.as_str()?.to_owned());
        }
    } else {
        properties.insert(COMMENT.to_owned(), json!({"type": "string", "title": "Comment"}));
    }
    Some(elicitation::schema(properties, &required))
}

/// A form field, if it has a primitive type.
fn plain(field: &Value) -> Option<Value> {
    let kind = field["type"].as_str()?;
    matches!(kind, "string" | "number" | "integer" | "boolean").then_some(())?;
    let kept = ["type", "title", "description", "enum", "minimum", "maximum"];
    let kept = kept.into_iter().filter_map(|name| Some((name, field.get(name)?.clone())));
    let mut kept: JsonObject = kept.map(|(name, value)| (name.to_owned(), value)).collect();
    for name in ["title", "description"] {
        if let Some(Value::String(text)) = kept.get_mut(name) {
            *text = elicitation::label(text);
        }
    }
    Some(Value::Object(kept))
}

impl Questions {
    /// Records that a client is being asked; `false` if it was asked before.
    fn mark(&self, question: &ApprovalQuestion, who: &str) -> bool {
        let name = question.name(who);
        let mut asked = lock(&self.asked);
        if asked.contains(&name) {
            return false;
        }
        if asked.len() == limits::QUESTIONS {
            asked.pop_front();
        }
        asked.push_back(name);
        true
    }

    /// Forgets a question that nobody saw.
    fn unmark(&self, question: &ApprovalQuestion, who: &str) {
        let name = question.name(who);
        lock(&self.asked).retain(|known| *known != name);
    }

    fn was_asked(&self, question: &ApprovalQuestion, who: &str) -> bool {
        lock(&self.asked).contains(&question.name(who))
    }

    /// The key of a question in a task: stable for the same question, and not guessable.
    pub(super) fn key(&self, task: &str, question: &ApprovalQuestion) -> String {
        let name = question.name(task);
        let mut keys = lock(&self.keys);
        if let Some(known) = keys.iter().find(|known| known.question.name(&known.task) == name) {
            return known.key.clone();
        }
        if keys.len() == limits::QUESTIONS {
            keys.pop_front();
        }
        let key = format!("{APPROVAL}:{}", call_tokens::token());
        let (task, question) = (task.to_owned(), question.clone());
        keys.push_back(Asking { key: key.clone(), task, question });
        key
    }

    /// Removes and returns the question that a task asked under a key, so that it is answered only
    /// once.
    fn take(&self, task: &str, key: &str) -> Option<ApprovalQuestion> {
        let mut keys = lock(&self.keys);
        let at = keys.iter().position(|known| known.key == key && known.task == task)?;
        keys.remove(at).map(|known| known.question)
    }
}

impl WorkflowServer {
    /// A run's first question that this client has not been asked yet.
    pub(super) fn question(
        &self,
        run: &str,
        waiting: &[WaitingView],
        client: McpClient<'_>,
    ) -> Option<ApprovalQuestion> {
        let (key, asked) = (client.key(), &self.shared.questions);
        let mut open = ApprovalQuestion::of(run, waiting).into_iter();
        open.find(|question| !asked.was_asked(question, &key))
    }

    /// Asks a client in a session; returns the completed form, or `None` if the person did not fill
    /// it in.
    async fn put(
        &self,
        question: &ApprovalQuestion,
        client: McpClient<'_>,
        ask: impl Future<Output = FormResult>,
    ) -> Option<JsonObject> {
        let (key, questions) = (client.key(), &self.shared.questions);
        if !questions.mark(question, &key) {
            return None;
        }
        match ask.await {
            FormResult::Given(given) => Some(given),
            FormResult::Nobody | FormResult::Gone => {
                questions.unmark(question, &key);
                None
            }
            FormResult::Declined | FormResult::Later(_) => None,
        }
    }

    /// Asks a client in a session for the approval that its task is waiting for.
    pub(super) async fn ask_in_task(
        &self,
        context: &Context,
        task: &str,
        question: &ApprovalQuestion,
    ) {
        let Some(mut params) = question.params() else { return };
        params.set_meta(tasks::related(task));
        let asked = async {
            let answer = context.peer.create_elicitation(params).await;
            answer.map_or(FormResult::Nobody, elicitation::result)
        };
        let client = McpClient::Peer(context);
        if let Some(given) = self.put(question, client, asked).await
            && let Err(problem) =
                question.decide(self.operations(), given, client.principal()).await
        {
            self.refused(task, &problem);
        }
    }

    /// Processes the answer to a question in an extension task; answers to anything else are
    /// ignored.
    pub(super) async fn answered_in_task(
        &self,
        client: McpClient<'_>,
        task: &str,
        key: &str,
        answer: &Value,
    ) -> Result<bool, Problem> {
        let Some(question) = self.shared.questions.take(task, key) else { return Ok(false) };
        if let FormResult::Given(given) = elicitation::answer(answer) {
            let decided = question.decide(self.operations(), given, client.principal());
            return decided.await.map(|()| true);
        }
        self.shared.questions.mark(&question, &client.key());
        Ok(false)
    }

    /// Asks for the approvals that the run in an answer is waiting for, if the client can ask its
    /// user. Returns the updated answer, or the question to return instead of it.
    pub(super) async fn approvals(
        &self,
        calling: &ToolCall<'_>,
        mut answer: Response,
    ) -> Result<(Response, Option<(InputRequests, PendingApproval)>), Problem> {
        let client = calling.client;
        if !client.has_forms() && !matches!(client, McpClient::AtOnce(_)) {
            return Ok((answer, None));
        }
        for _ in 0..limits::QUESTIONS_A_CALL {
            let Some(run) = shown(&answer)? else { break };
            let Some(question) = self.question(&run.run_id, &run.waiting, client) else { break };
            if client.leaves_it() {
                break;
            }
            let pending = PendingApproval::of(&question, run.run_id, &answer, calling)?;
            let (message, schema) = (&question.message, question.schema.clone());
            let asked = elicitation::form(client, None, APPROVAL, message, schema);
            if client.is_stateless() {
                match asked.await {
                    FormResult::Later(requests) => return Ok((answer, Some((requests, pending)))),
                    _ => break,
                }
            }
            let Some(given) = self.put(&question, client, asked).await else { break };
            question.decide(self.operations(), given, client.principal()).await?;
            answer = pending.refreshed(self.operations(), &client.agent(), self.style()).await?;
        }
        Ok((answer, None))
    }

    /// Processes the answer to a question that was returned instead of a result.
    pub(super) async fn decided(
        &self,
        pending: PendingApproval,
        answer: Option<&Value>,
        client: McpClient<'_>,
    ) -> Result<Response, Problem> {
        match answer.map(elicitation::answer) {
            Some(FormResult::Given(given)) => {
                let principal = client.principal();
                pending.question.decide(self.operations(), given, principal).await?;
            }
            Some(_) => {
                self.shared.questions.mark(&pending.question, &client.key());
            }
            None => {}
        }
        pending.refreshed(self.operations(), &client.agent(), self.style()).await
    }
}

/// The part of an answer that shows a run which may be waiting for approval.
#[derive(Debug, Deserialize)]
struct AskingRun {
    run_id: String,
    #[serde(default)]
    waiting: Vec<WaitingView>,
}

/// The run in an operation's answer, if there is one.
fn shown(answer: &Response) -> Result<Option<AskingRun>, Problem> {
    /// An answer is a run, contains one, or has none (a dry run, or a list of open runs).
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Shown {
        Run(AskingRun),
        Within { run: AskingRun },
        None {},
    }
    // Most answers are not about a run that is waiting.
    if !answer.json().contains("\"waiting\"") {
        return Ok(None);
    }
    Ok(match read(answer.json())? {
        Shown::Run(run) | Shown::Within { run } => Some(run),
        Shown::None {} => None,
    })
}

/// Parses one of our own answers. Failing to do so is an internal error.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| misshapen(&error))
}

pub(super) fn misshapen(error: &serde_json::Error) -> Problem {
    let message = format!("an internal response has an unexpected format: {error}");
    Problem::new(Code::Internal, message, "report this with the request that caused it")
}

impl PendingApproval {
    fn of(
        question: &ApprovalQuestion,
        run: String,
        answer: &Response,
        calling: &ToolCall<'_>,
    ) -> Result<PendingApproval, Problem> {
        let mut rest: JsonObject = read(answer.json())?;
        let rest = rest.shift_remove("run").map(|_| rest);
        let wait_s = calling.arguments.get("wait_s").and_then(Value::as_u64).unwrap_or_default();
        let (least, most) = limits::DECIDED_WAIT_S;
        let wait_s = wait_s.clamp(least, most);
        let is_call = calling.operation.name == RunCommand::NAME;
        Ok(PendingApproval { question: question.clone(), run, rest, wait_s, is_call })
    }

    /// The answer with the current state of the run.
    async fn refreshed(
        &self,
        operations: &Operations,
        caller: &AgentCaller,
        style: ToolStyle,
    ) -> Result<Response, Problem> {
        if self.is_call {
            let request = OutcomeRequest { run_id: self.run.clone(), wait_s: self.wait_s };
            let caller = AgentCaller::default();
            let outcome = operations.run::<CommandOutcome>(&caller, request).await?;
            return Ok(suggested_call::written(&outcome, style)?.to_string().into());
        }
        let run_id = Some(self.run.clone());
        let request = status::Request { run_id, wait_s: self.wait_s, ..Default::default() };
        let run = tasks::view(operations, caller, request).await?;
        let run = suggested_call::written(&run, style)?;
        let answer = match &self.rest {
            None => run,
            Some(rest) => {
                let mut answer = rest.clone();
                answer.insert("run".to_owned(), run);
                Value::Object(answer)
            }
        };
        Ok(answer.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(run: &AskingRun) -> Vec<ApprovalQuestion> {
        ApprovalQuestion::of(&run.run_id, &run.waiting)
    }

    fn waiting(form: &Value) -> AskingRun {
        let asks = json!({
            "kind": "approval", "step": "ok", "message": "Refund it?", "digest": "d",
            "presence": "elicitation",
            "source": {"run_id": "run_1", "workflow": "refunds", "folder": "/home/me/shop"},
            "shown": [{"step": "refund", "request": "POST /refunds", "method": "POST",
                "url": "https://api.example/refunds", "body": "{\"id\":1}", "arguments": {}}],
        });
        let mut run = json!({"run_id": "run_1", "status": "waiting", "waiting": [asks]});
        if !form.is_null() {
            run["waiting"][0]["form"] = form.clone();
        }
        serde_json::from_value(run).expect("is a run")
    }

    #[test]
    fn what_would_be_done_stands_in_the_question() {
        let questions = asked(&waiting(&Value::Null));
        let message = &questions[0].message;
        let parts = [
            "approval ok of refunds",
            "run run_1",
            "    │ /home/me/shop",
            "    │ Refund it?",
            "    │ https://api.example/refunds",
            "    │ body {\"id\":1}",
            "sends POST to api.example",
        ];
        for part in parts {
            assert!(message.lines().any(|line| line == part), "{part}: {message}");
        }
        let mut run = waiting(&Value::Null);
        run.waiting[0].presence = Some(Presence::Terminal);
        assert!(asked(&run).is_empty(), "that one is for a terminal");
        run.waiting[0].presence = Some(Presence::Elicitation);
        run.waiting[0].message = "x".repeat(limits::QUESTION_CHARS);
        assert!(asked(&run).is_empty(), "nobody can read that much in a form");
    }

    #[test]
    fn a_form_that_is_flat_is_asked_and_no_other() {
        let flat = json!({
            "type": "object",
            "required": ["why"],
            "properties": {"why": {"type": "string", "minLength": 1}, "n": {"type": "integer"}},
        });
        let schema = &asked(&waiting(&flat))[0].schema;
        assert_eq!(schema["required"], json!(["approve", "why"]));
        assert_eq!(schema["properties"]["n"], json!({"type": "integer"}));
        for other in [
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"approve": {"type": "boolean"}}}),
            json!({"type": "string"}),
        ] {
            assert!(asked(&waiting(&other)).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_key_is_the_same_for_the_same_question_and_good_once() {
        let questions = Questions::default();
        let question = &asked(&waiting(&Value::Null))[0];
        let key = questions.key("t", question);
        assert_eq!(questions.key("t", question), key);
        assert!(questions.take("t", "approval:made-up").is_none());
        assert!(questions.take("other", &key).is_none());
        assert!(questions.take("t", &key).is_some() && questions.take("t", &key).is_none());
        assert!(questions.mark(question, "a") && !questions.mark(question, "a"));
        assert!(questions.mark(question, "b"));
    }
}
