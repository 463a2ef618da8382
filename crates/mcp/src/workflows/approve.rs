//! Questions of runs, asked where the person is: in the client that follows the run.
//!
//! An agent cannot approve. What counts is the answer to an elicitation of ours, which showed what
//! would be done; no argument of a tool is one. A question that wants a terminal or a PIN, or that
//! a form of a client cannot hold, is not asked here: the run says which command decides it.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use milepost_ops::{Alone, Elicited, Operations, Problem};
use rmcp::model::{ElicitRequestParams, InputRequests, RequestParamsMeta};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

use super::act::Calling;
use super::ask::{self, Asked};
use super::{WorkflowServer, confirm, principal, tasks};

/// The key of a question where every request stands alone.
pub(super) const APPROVAL: &str = "approval";
/// The field of the form that is the decision.
const APPROVE: &str = "approve";
/// The field for what the person has to say about it.
const COMMENT: &str = "comment";
/// Characters of a question. What is longer cannot be looked at in a form.
const SHOWN: usize = 8_000;
/// Questions that are remembered.
const KEPT: usize = 1_024;
/// Questions that one call asks.
const IN_A_ROW: usize = 8;
/// Seconds to see what comes of a decision, and at most.
const AFTER_S: (u64, u64) = (1, 25);
/// The operations that show a run.
const SHOW_RUNS: [&str; 4] =
    ["workflow.run", "workflow.status", "workflow.submit", "workflow.resume"];

/// A question that a run asks a person.
#[derive(Debug, Clone)]
pub(super) struct Question {
    run: String,
    step: String,
    /// What was shown: another question is not answered by this.
    digest: String,
    message: String,
    schema: Map<String, Value>,
    /// Whether the author wants an answer with fields.
    has_form: bool,
}

/// A question that was asked in the place of a result.
#[derive(Debug)]
pub(super) struct Pending {
    question: Question,
    /// The run that was to be shown.
    run: String,
    /// What else the result says.
    rest: Option<Map<String, Value>>,
    wait_s: u64,
}

/// The questions that were asked, so that nobody is asked twice.
#[derive(Debug, Default)]
pub(super) struct Questions {
    asked: Mutex<VecDeque<String>>,
    /// The keys under which tasks of the extension ask.
    keys: Mutex<VecDeque<Asking>>,
}

/// A question that a task asks, and the key of it there.
#[derive(Debug)]
struct Asking {
    key: String,
    task: String,
    question: Question,
}

impl Question {
    /// The questions of a run that may be answered in a client.
    pub(super) fn of(run: &Value) -> Vec<Question> {
        let waiting = run["waiting"].as_array().into_iter().flatten();
        let asks = waiting.filter(|one| one["kind"] == "approval");
        asks.filter(|one| one["presence"] == "elicitation")
            .filter_map(|one| Question::read(&run["run_id"], one))
            .collect()
    }

    fn read(run: &Value, waiting: &Value) -> Option<Question> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = message(waiting);
        let form = waiting.get("form");
        (message.chars().count() <= SHOWN).then_some(())?;
        Some(Question {
            run: text(&waiting["run_id"]).or_else(|| text(run))?,
            step: text(&waiting["step"])?,
            digest: text(&waiting["digest"])?,
            schema: schema(form)?,
            has_form: form.is_some(),
            message,
        })
    }

    /// The same question of the same client.
    pub(super) fn name(&self, who: &str) -> String {
        [who, &self.run, &self.step, &self.digest].join("\n")
    }

    pub(super) fn params(&self) -> Option<ElicitRequestParams> {
        ask::params(&self.message, self.schema.clone())
    }

    /// Makes the answer of the person the decision.
    pub(super) async fn decide(
        &self,
        operations: &Operations,
        mut given: Map<String, Value>,
        principal: Option<String>,
    ) -> Result<(), Problem> {
        let Some(Value::Bool(approve)) = given.remove(APPROVE) else { return Ok(()) };
        let mut arguments =
            json!({"run_id": self.run, "step_id": self.step, "digest": self.digest});
        if let Some(comment) = given.remove(COMMENT).filter(Value::is_string) {
            arguments[COMMENT] = comment;
        }
        if approve && self.has_form {
            arguments["answer"] = Value::Object(given);
        }
        let name = if approve { "workflow.approve" } else { "workflow.reject" };
        operations.call_and_wait(name, &Elicited { principal }, arguments).await.map(drop)
    }
}

/// All that a decision is about, in words.
fn message(waiting: &Value) -> String {
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut lines = vec![said(&waiting["message"])];
    for shown in waiting["shown"].as_array().into_iter().flatten() {
        let (step, request) = (said(&shown["step"]), said(&shown["request"]));
        lines.push(format!("- {step}: {request} {}", shown["arguments"]));
    }
    for change in waiting["changes"].as_array().into_iter().flatten() {
        let step = said(&change["step"]);
        let (before, after) = (&change["before"], &change["after"]);
        lines.push(format!("- {step} differs from what was approved: {before}, now {after}"));
    }
    lines.join("\n")
}

/// The form for a decision; none where the author wants more than a form of a client can hold.
fn schema(form: Option<&Value>) -> Option<Map<String, Value>> {
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
    let schema = json!({"type": "object", "properties": properties, "required": required});
    schema.as_object().cloned()
}

/// A field of a form, where it is a plain one.
fn plain(field: &Value) -> Option<Value> {
    let kind = field["type"].as_str()?;
    matches!(kind, "string" | "number" | "integer" | "boolean").then_some(())?;
    let kept = ["type", "title", "description", "enum", "minimum", "maximum"];
    let kept = kept.into_iter().filter_map(|name| Some((name, field.get(name)?.clone())));
    let kept: Map<String, Value> = kept.map(|(name, value)| (name.to_owned(), value)).collect();
    Some(Value::Object(kept))
}

impl Questions {
    /// Notes that a client is asked; `false` when it was before.
    fn mark(&self, question: &Question, who: &str) -> bool {
        let name = question.name(who);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.contains(&name) {
            return false;
        }
        if asked.len() == KEPT {
            asked.pop_front();
        }
        asked.push_back(name);
        true
    }

    /// Nobody saw it after all.
    fn unmark(&self, question: &Question, who: &str) {
        let name = question.name(who);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|known| *known != name);
    }

    fn was_asked(&self, question: &Question, who: &str) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.contains(&question.name(who))
    }

    /// The key under which a task asks it: the same for as long as it is the same question, and
    /// one that nobody can make up.
    pub(super) fn key(&self, task: &str, question: &Question) -> String {
        let name = question.name(task);
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = keys.iter().find(|known| known.question.name(&known.task) == name) {
            return known.key.clone();
        }
        if keys.len() == KEPT {
            keys.pop_front();
        }
        let key = format!("{APPROVAL}:{}", confirm::token());
        let (task, question) = (task.to_owned(), question.clone());
        keys.push_back(Asking { key: key.clone(), task, question });
        key
    }

    /// The question that a task asked under a key; its answer is taken once.
    fn take(&self, task: &str, key: &str) -> Option<Question> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let at = keys.iter().position(|known| known.key == key && known.task == task)?;
        keys.remove(at).map(|known| known.question)
    }
}

impl WorkflowServer {
    /// The first question of a run that this client was not asked yet.
    pub(super) fn question(
        &self,
        run: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Option<Question> {
        let who = principal::client_key(context);
        let questions = &self.shared.questions;
        Question::of(run).into_iter().find(|question| !questions.was_asked(question, &who))
    }

    /// Asks a client that shook hands; what its person filled in, unless they did not.
    pub(super) async fn put(
        &self,
        question: &Question,
        context: &RequestContext<RoleServer>,
        ask: impl Future<Output = Asked>,
    ) -> Option<Map<String, Value>> {
        let (who, questions) = (principal::client_key(context), &self.shared.questions);
        if !questions.mark(question, &who) {
            return None;
        }
        match ask.await {
            Asked::Given(given) => Some(given),
            Asked::Nobody | Asked::Gone => {
                questions.unmark(question, &who);
                None
            }
            Asked::Declined | Asked::Later(_) => None,
        }
    }

    /// Asks a client that shook hands what its task waits for.
    pub(super) async fn ask_in_task(
        &self,
        context: &RequestContext<RoleServer>,
        task: &str,
        question: &Question,
    ) {
        let Some(mut params) = question.params() else { return };
        params.set_meta(tasks::related(task));
        let asked = async {
            let answer = context.peer.create_elicitation(params).await;
            answer.map_or(Asked::Nobody, ask::result)
        };
        if let Some(given) = self.put(question, context, asked).await {
            let decided = question.decide(self.operations(), given, principal::of(context)).await;
            if let Err(problem) = decided {
                self.refused(task, &problem);
            }
        }
    }

    /// Takes the answer to what a task of the extension asked; what it did not ask counts for
    /// nothing.
    pub(super) async fn answered_in_task(
        &self,
        context: &RequestContext<RoleServer>,
        task: &str,
        key: &str,
        answer: &Value,
    ) -> Result<bool, Problem> {
        let Some(question) = self.shared.questions.take(task, key) else { return Ok(false) };
        if let Asked::Given(given) = ask::answer(answer) {
            let principal = principal::of(context);
            return question.decide(self.operations(), given, principal).await.map(|()| true);
        }
        self.shared.questions.mark(&question, &principal::client_key(context));
        Ok(false)
    }

    /// Asks what the run of a result waits for, where its person can be asked: the result after
    /// that, or the question.
    pub(super) async fn approvals(
        &self,
        calling: &Calling<'_>,
        mut result: Value,
    ) -> Result<(Value, Option<(InputRequests, Pending)>), Problem> {
        let context = calling.context;
        if !SHOW_RUNS.contains(&calling.operation.name)
            || !ask::has_forms(context.client_capabilities().as_ref())
        {
            return Ok((result, None));
        }
        for _ in 0..IN_A_ROW {
            let Some(question) = self.question(shown(&result), context) else { break };
            let pending = Pending::of(&question, &result, &calling.arguments);
            if ask::is_stateless(context) {
                let (message, schema) = (&question.message, question.schema.clone());
                match ask::form(context, None, APPROVAL, message, schema).await {
                    Asked::Later(requests) => return Ok((result, Some((requests, pending)))),
                    _ => break,
                }
            }
            let (message, schema) = (&question.message, question.schema.clone());
            let asked = ask::form(context, None, APPROVAL, message, schema);
            let Some(given) = self.put(&question, context, asked).await else { break };
            question.decide(self.operations(), given, principal::of(context)).await?;
            result = pending.refreshed(self.operations()).await?;
        }
        Ok((result, None))
    }

    /// Takes the answer to a question that was asked in the place of a result.
    pub(super) async fn decided(
        &self,
        pending: Pending,
        answer: Option<&Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, Problem> {
        match answer.map(ask::answer) {
            Some(Asked::Given(given)) => {
                let principal = principal::of(context);
                pending.question.decide(self.operations(), given, principal).await?;
            }
            Some(_) => {
                self.shared.questions.mark(&pending.question, &principal::client_key(context));
            }
            None => {}
        }
        pending.refreshed(self.operations()).await
    }
}

/// The run in a result.
fn shown(result: &Value) -> &Value {
    result.get("run").unwrap_or(result)
}

impl Pending {
    fn of(question: &Question, result: &Value, arguments: &Map<String, Value>) -> Pending {
        let run = shown(result)["run_id"].as_str().unwrap_or_default().to_owned();
        let rest = result.get("run").and_then(|_| result.as_object()).map(|object| {
            let rest = object.iter().filter(|(name, _)| *name != "run");
            rest.map(|(name, value)| (name.clone(), value.clone())).collect()
        });
        let wait_s = arguments.get("wait_s").and_then(Value::as_u64).unwrap_or_default();
        let wait_s = wait_s.clamp(AFTER_S.0, AFTER_S.1);
        Pending { question: question.clone(), run, rest, wait_s }
    }

    /// The result as it is now.
    async fn refreshed(&self, operations: &Operations) -> Result<Value, Problem> {
        let arguments = json!({"run_id": self.run, "wait_s": self.wait_s});
        let seen = operations.call_and_wait("workflow.status", &Alone, arguments).await?;
        let run: Value = serde_json::from_str(seen.json()).unwrap_or_default();
        Ok(match &self.rest {
            None => run,
            Some(rest) => {
                let mut result = rest.clone();
                result.insert("run".to_owned(), run);
                Value::Object(result)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(form: &Value) -> Value {
        let asks = json!({
            "kind": "approval", "step": "ok", "message": "Refund it?", "digest": "d",
            "presence": "elicitation",
            "shown": [{"step": "refund", "request": "POST /refunds", "arguments": {"id": 1}}],
        });
        let mut run = json!({"run_id": "run_1", "waiting": [asks]});
        if !form.is_null() {
            run["waiting"][0]["form"] = form.clone();
        }
        run
    }

    #[test]
    fn what_would_be_done_stands_in_the_question() {
        let questions = Question::of(&waiting(&Value::Null));
        let message = &questions[0].message;
        assert_eq!(message, "Refund it?\n- refund: POST /refunds {\"id\":1}");
        let mut run = waiting(&Value::Null);
        run["waiting"][0]["presence"] = "terminal".into();
        assert!(Question::of(&run).is_empty(), "that one is for a terminal");
        run["waiting"][0]["presence"] = "elicitation".into();
        run["waiting"][0]["message"] = "x".repeat(SHOWN).into();
        assert!(Question::of(&run).is_empty(), "nobody can look at as much in a form");
    }

    #[test]
    fn a_form_that_is_flat_is_asked_and_no_other() {
        let flat = json!({
            "type": "object",
            "required": ["why"],
            "properties": {"why": {"type": "string", "minLength": 1}, "n": {"type": "integer"}},
        });
        let schema = &Question::of(&waiting(&flat))[0].schema;
        assert_eq!(schema["required"], json!(["approve", "why"]));
        assert_eq!(schema["properties"]["n"], json!({"type": "integer"}));
        for other in [
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"approve": {"type": "boolean"}}}),
            json!({"type": "string"}),
        ] {
            assert!(Question::of(&waiting(&other)).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_key_is_the_same_for_the_same_question_and_good_once() {
        let questions = Questions::default();
        let question = &Question::of(&waiting(&Value::Null))[0];
        let key = questions.key("t", question);
        assert_eq!(questions.key("t", question), key);
        assert!(questions.take("t", "approval:made-up").is_none());
        assert!(questions.take("other", &key).is_none());
        assert!(questions.take("t", &key).is_some() && questions.take("t", &key).is_none());
        assert!(questions.mark(question, "a") && !questions.mark(question, "a"));
        assert!(questions.mark(question, "b"));
    }
}
