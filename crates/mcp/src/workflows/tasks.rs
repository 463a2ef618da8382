//! Tasks: what the two eras call a run that somebody waits for.
//!
//! A task *is* a run: its id is the run's, so that it lives as long as the run and is found again
//! by any process. Nothing is kept here.

use milepost_model::problem::Category;
use milepost_ops::{Alone, Code, Operations, Problem};
use rmcp::model::{
    CallToolResult, DetailedTask, InputRequests, JsonObject, MetaObject, RequestMetaObject, Task,
    TaskPayload, TaskStatus,
};
use serde_json::{Map, Value, json};

use super::shorten;

/// Where an answer tells which run it is about.
pub(super) const RUN: &str = "milepost/run";
/// Where a task tells how far it is.
const PROGRESS: &str = "milepost/progress";
/// Where an answer of the older era names its task.
const RELATED: &str = "io.modelcontextprotocol/related-task";
/// How long one look at a run waits for something to happen.
const WAIT_S: u64 = 20;
/// How soon to look again: at a run that works, and at one that waits for somebody.
const POLL_MS: (u64, u64) = (1_000, 5_000);
/// Tasks on one page.
const PAGE: usize = 50;

/// A run as the older era's task.
pub(super) fn legacy(run: &Value) -> Value {
    let (status, summary) = (status(run), summary(run));
    let name = match (status, run["status"].as_str()) {
        (TaskStatus::Completed, Some("failed")) => "failed",
        (TaskStatus::Working, _) => "working",
        (TaskStatus::InputRequired, _) => "input_required",
        (TaskStatus::Cancelled, _) => "cancelled",
        _ => "completed",
    };
    json!({
        "taskId": run["run_id"],
        "status": name,
        "statusMessage": summary,
        "createdAt": moment(&run["started_ms"]),
        "lastUpdatedAt": moment(&run["updated_ms"]),
        "ttl": null,
        "pollInterval": poll_ms(status),
        "_meta": {PROGRESS: progress(run)},
    })
}

/// A run as a task of the extension.
pub(super) fn task(run: &Value) -> Task {
    let status = status(run);
    let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
    Task::new(text("run_id"), status, moment(&run["started_ms"]), moment(&run["updated_ms"]))
        .with_status_message(summary(run))
        .with_poll_interval_ms(poll_ms(status))
}

/// The same with what it came to.
pub(super) fn detailed(run: &Value, input_requests: InputRequests) -> DetailedTask {
    let payload = match status(run) {
        TaskStatus::Completed => TaskPayload::Completed { result: result_object(run) },
        TaskStatus::Cancelled => TaskPayload::Cancelled,
        // Most of what it waits for is done with tools, by the model or a person.
        TaskStatus::InputRequired => TaskPayload::InputRequired { input_requests },
        _ => TaskPayload::Working,
    };
    DetailedTask::new(task(run), payload)
}

/// What a call of the run's tool would have answered, had it waited.
pub(super) fn result(run: &Value) -> CallToolResult {
    let mut shown = run.clone();
    let links = shorten::shorten(&mut shown, shorten::USUAL);
    let has_failed = run["status"] == "failed";
    if let Some(object) = shown.as_object_mut().filter(|_| has_failed) {
        object.extend(failure(run));
    }
    let mut result = shorten::result(shown, &links, true);
    result.is_error = Some(has_failed);
    result
}

/// Why a run failed, in the fields that every failure has.
fn failure(run: &Value) -> Map<String, Value> {
    let problem = &run["problem"];
    let code = Code::ALL.iter().find(|code| problem["code"] == code.name());
    let steps = run["steps"].as_array().into_iter().flatten();
    let step = steps.into_iter().find(|step| step["status"] == "failed");
    let child = step.map_or(Value::Null, |step| step["run_id"].clone());
    let step = step.map_or(Value::Null, |step| step["id"].clone());
    let context = &problem["context"];
    let fields = [
        ("error_code", problem["code"].clone()),
        ("category", code.map_or(Category::Execution, |code| code.category()).name().into()),
        ("message", problem["message"].clone()),
        (
            "context",
            json!({"workflow_id": run["workflow"], "run_id": run["run_id"], "step_id": step}),
        ),
        ("retryable", code.is_some_and(|code| code.is_retryable()).into()),
        ("suggested_action", problem["hint"].clone()),
        ("correlation_id", run["run_id"].clone()),
        ("step_id", step),
        ("child_run_id", child),
        ("command", context["command"].clone()),
        ("response_payload", context["body"].clone()),
    ];
    let known = fields.into_iter().filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn result_object(run: &Value) -> JsonObject {
    match serde_json::to_value(result(run)) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

/// The result of a task, told as the answer of the older era tells it.
pub(super) fn legacy_result(run: &Value) -> Value {
    let mut object = result_object(run);
    object.remove("resultType");
    object.insert("_meta".into(), json!({RELATED: {"taskId": run["run_id"]}}));
    Value::Object(object)
}

/// What an answer that makes a task tells of its run.
pub(super) fn meta(run: &Value) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(RUN.to_owned(), json!({"run_id": run["run_id"], "workflow_id": run["workflow"]}));
    meta.insert(PROGRESS.to_owned(), progress(run));
    meta
}

/// What a question for a task of the older era says of it.
pub(super) fn related(id: &str) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    meta.0.insert(RELATED.to_owned(), json!({"taskId": id}));
    meta
}

/// Looks at a run for somebody: one that is somebody else's is not there.
pub(super) async fn look(
    operations: &Operations,
    who: Option<&str>,
    id: &str,
    wait: bool,
) -> Result<Value, Problem> {
    let wait_s = if wait { WAIT_S } else { 0 };
    let mut run =
        called(operations, "workflow.status", json!({"run_id": id, "wait_s": wait_s})).await?;
    // Only the whole id of a task is one: the beginning of it is for people.
    if run["run_id"] != id || who.is_some_and(|who| run["principal"] != who) {
        return Err(unknown(id));
    }
    dated(operations, &mut run).await;
    Ok(run)
}

/// The next news of a run behind an event, or how it stands after a second: what a run of one of
/// its steps waits for is no event of its own.
pub(super) async fn news(operations: &Operations, id: &str, seq: u64) -> Result<Value, Problem> {
    let arguments = json!({"run_id": id, "wait_s": 1, "after_seq": seq});
    let mut run = called(operations, "workflow.status", arguments).await?;
    dated(operations, &mut run).await;
    Ok(run)
}

/// Adds when something happened last.
async fn dated(operations: &Operations, run: &mut Value) {
    let before = run["seq"].as_u64().unwrap_or_default().saturating_sub(1);
    let events = json!({"run_id": run["run_id"], "after_seq": before});
    let events = called(operations, "run.events", events).await;
    let last = events.ok().and_then(|events| events["events"].as_array()?.last().cloned());
    let at = last.map_or_else(|| run["started_ms"].clone(), |event| event["at_ms"].clone());
    run["updated_ms"] = at;
}

/// Waits until a run has ended.
pub(super) async fn ended(
    operations: &Operations,
    who: Option<&str>,
    id: &str,
) -> Result<Value, Problem> {
    loop {
        let run = look(operations, who, id, true).await?;
        match status(&run) {
            TaskStatus::Working => {}
            // Looking again at once would not wait: somebody has to do something first.
            TaskStatus::InputRequired => tokio::time::sleep(REST).await,
            _ => return Ok(run),
        }
    }
}

/// Between two looks at a run that waits for somebody.
const REST: std::time::Duration = std::time::Duration::from_millis(250);
/// How often a run that waits for somebody is looked at before it is shown as it is.
const LOOKS: usize = 4;

/// Looks at a run for a client of the extension. One that waits for somebody is shown when it goes
/// on, or after a second: a client that finds nothing to answer in it may ask again at once.
pub(super) async fn watched(
    operations: &Operations,
    who: Option<&str>,
    id: &str,
) -> Result<Value, Problem> {
    let mut run = look(operations, who, id, false).await?;
    for _ in 0..LOOKS {
        if status(&run) != TaskStatus::InputRequired {
            break;
        }
        tokio::time::sleep(REST).await;
        run = look(operations, who, id, false).await?;
    }
    Ok(run)
}

/// Stops a run. It is the client's own act, which nobody has to confirm.
pub(super) async fn cancel(
    operations: &Operations,
    who: Option<&str>,
    id: &str,
) -> Result<Value, Problem> {
    let run = look(operations, who, id, false).await?;
    if has_ended(&run) {
        return Err(Problem::new(
            Code::RunConflict,
            format!("the task has ended: {}", run["status"].as_str().unwrap_or_default()),
            "look at its result",
        ));
    }
    let arguments = json!({"run_id": id, "reason": "the client canceled the task"});
    operations.call_and_wait("workflow.cancel", &Agreed, arguments).await?;
    look(operations, who, id, false).await
}

/// A page of somebody's tasks, newest first. It may hold fewer than there is room for.
pub(super) async fn list(
    operations: &Operations,
    who: Option<&str>,
    cursor: Option<&str>,
) -> Result<Value, Problem> {
    let mut arguments = json!({"limit": PAGE});
    if let Some(cursor) = cursor {
        arguments["cursor"] = cursor.into();
    }
    let listed = called(operations, "runs.list", arguments).await?;
    let owner = who.map(|who| format!("agent {who}"));
    let runs = listed["runs"].as_array().into_iter().flatten();
    let runs = runs.filter(|run| owner.as_ref().is_none_or(|owner| run["actor"] == **owner));
    let mut page = Map::new();
    page.insert("tasks".into(), runs.map(legacy).collect());
    if let Some(cursor) = listed["next_cursor"].as_str() {
        page.insert("nextCursor".into(), cursor.into());
    }
    Ok(Value::Object(page))
}

async fn called(operations: &Operations, name: &str, arguments: Value) -> Result<Value, Problem> {
    let response = operations.call_and_wait(name, &Alone, arguments).await?;
    Ok(serde_json::from_str(response.json()).unwrap_or_default())
}

fn unknown(id: &str) -> Problem {
    Problem::new(Code::RunNotFound, format!("there is no task `{id}`"), "list the tasks")
}

fn status(run: &Value) -> TaskStatus {
    match run["status"].as_str() {
        Some("waiting" | "paused") => TaskStatus::InputRequired,
        Some("succeeded" | "failed") => TaskStatus::Completed,
        Some("canceled") => TaskStatus::Cancelled,
        _ => TaskStatus::Working,
    }
}

/// Whether nothing more happens to a run.
pub(super) fn has_ended(run: &Value) -> bool {
    matches!(status(run), TaskStatus::Completed | TaskStatus::Cancelled)
}

fn poll_ms(status: TaskStatus) -> u64 {
    if status == TaskStatus::InputRequired { POLL_MS.1 } else { POLL_MS.0 }
}

/// How far a run is, in the words of the contract.
pub(super) fn progress(run: &Value) -> Value {
    let step = current(run);
    json!({
        "run_id": run["run_id"],
        "step_id": step.map_or(Value::Null, |step| step["id"].clone()),
        "title": step.map_or(Value::Null, |step| step["title"].clone()),
        "state": match run["status"].as_str() {
            Some(ended @ ("succeeded" | "failed" | "canceled")) => ended,
            Some("pending") => "pending",
            _ => "running",
        },
        "summary": summary(run),
    })
}

/// The step that a run is at.
fn current(run: &Value) -> Option<&Value> {
    let steps = run["steps"].as_array()?;
    let at =
        |names: &[&str]| steps.iter().find(|step| names.iter().any(|name| step["status"] == *name));
    at(&["running", "waiting"]).or_else(|| at(&["failed"])).or_else(|| at(&["pending"]))
}

/// One sentence: how a run stands, and for whom it waits.
fn summary(run: &Value) -> String {
    let status = run["status"].as_str().unwrap_or_default();
    if let Some(waiting) = run["waiting"].as_array().and_then(|all| all.first()) {
        let (kind, step) = (&waiting["kind"], &waiting["step"]);
        let (kind, step) = (kind.as_str().unwrap_or("somebody"), step.as_str().unwrap_or("a step"));
        return format!("{status} at `{step}` for {kind}{}", refused(run, step));
    }
    if let Some(message) = run["problem"]["message"].as_str() {
        return format!("{status}: {message}");
    }
    match current(run).and_then(|step| step["id"].as_str()) {
        Some(step) => format!("{status} at `{step}`"),
        None => status.to_owned(),
    }
}

/// What was wrong with what was handed in last for a step.
fn refused(run: &Value, step: &str) -> String {
    let mut due = run["due"].as_array().into_iter().flatten();
    let due = due.find(|due| due["step_id"] == step);
    let issues = due.and_then(|due| due["issues"].as_array()).into_iter().flatten();
    let issues: Vec<&str> = issues.filter_map(|issue| issue["message"].as_str()).collect();
    if issues.is_empty() {
        return String::new();
    }
    let all: String = issues.join("\n").chars().take(ISSUES).collect();
    format!("; the last one would not do: {all}")
}

/// Characters of what was wrong that a summary quotes.
const ISSUES: usize = 2_000;

fn moment(milliseconds: &Value) -> String {
    milepost_ops::rfc3339(milliseconds.as_u64().unwrap_or_default())
}

/// A caller who has said yes already.
pub(super) struct Agreed;

impl milepost_ops::Call for Agreed {
    fn progress(&self, _message: &str) {}

    fn warn(&self, _message: &str) {}

    fn ask(&self, _question: &str) -> Option<bool> {
        Some(true)
    }

    fn cancelled(&self) -> bool {
        false
    }
}
