//! Tasks: in both protocols that have them, a task is a run that somebody is waiting for.
//!
//! A task *is* a run: it has the run's id, so it lives as long as the run, and any process can find
//! it. No state is kept here.

use milepost_model::problem::Category;
use milepost_model::secret::known_secrets;
use milepost_ops::run::cancel::{self, CancelRun};
use milepost_ops::run::events::{self, ReadEvents};
use milepost_ops::run::list::{self, ListRuns, ListedRun};
use milepost_ops::run::status::{self, GetRunStatus};
use milepost_ops::run::view::{RunStatus, RunView, StepStatus, StepView};
use milepost_ops::{AgentCaller, Caller, Code, Operations, Problem, rfc3339};
use rmcp::model::{
    CallToolResult, DetailedTask, InputRequests, JsonObject, MetaObject, RequestMetaObject, Task,
    TaskPayload, TaskStatus,
};
use serde_json::{Map, Value, json};

use super::approvals::misshapen;
use super::suggested_call::{self, Tools};
use super::{ToolStyle, shorten};
use crate::limits;

/// The key of the run in an answer's metadata.
pub(super) const RUN: &str = "milepost/run";
/// The key of a task's progress in the metadata.
const PROGRESS: &str = "milepost/progress";
/// The metadata key under which messages in revision 2025-11-25 name their task.
const RELATED: &str = "io.modelcontextprotocol/related-task";

#[derive(Debug, Clone)]
pub(super) struct TaskRun {
    pub(super) view: RunView,
    /// When the last event happened, in milliseconds since 1970.
    pub(super) updated_ms: u64,
}

impl TaskRun {
    pub(super) fn id(&self) -> &str {
        &self.view.run_id
    }

    /// The run as a task in protocol version 2025-11-25.
    pub(super) fn legacy(&self) -> Value {
        legacy(&self.progress(), self.view.status, self.view.started_ms, self.updated_ms)
    }

    /// The progress of the run, as the contract describes it.
    pub(super) fn progress(&self) -> Value {
        let run = &self.view;
        progress(&run.run_id, current(run), run.status, &summary(run))
    }
}

/// The progress of a run; `summary` is one sentence: its status, and whom it is waiting for.
fn progress(run: &str, step: Option<&StepView>, status: RunStatus, summary: &str) -> Value {
    json!({
        "run_id": run,
        "step_id": step.map(|step| &step.id),
        "title": step.and_then(|step| step.title.as_ref()),
        "state": state(status).name(),
        "summary": summary,
    })
}

/// A run as a task in protocol version 2025-11-25.
fn legacy(progress: &Value, status: RunStatus, started_ms: u64, updated_ms: u64) -> Value {
    json!({
        "taskId": progress["run_id"],
        "status": legacy_name(status),
        "statusMessage": progress["summary"],
        "createdAt": rfc3339(started_ms),
        "lastUpdatedAt": rfc3339(updated_ms),
        "ttl": null,
        "pollInterval": poll_ms(status),
        "_meta": {PROGRESS: progress},
    })
}

/// A listed run as a task in protocol version 2025-11-25. The list does not include steps, so the
/// task has no current step.
fn listed(run: &ListedRun) -> Value {
    let progress = progress(&run.run_id, None, run.status, run.status.name());
    legacy(&progress, run.status, run.started_ms, run.updated_ms)
}

/// A run as an extension task.
pub(super) fn task(run: &TaskRun) -> Task {
    let (began, updated) = (rfc3339(run.view.started_ms), rfc3339(run.updated_ms));
    Task::new(run.id().to_owned(), status_of(run.view.status), began, updated)
        .with_status_message(summary(&run.view))
        .with_poll_interval_ms(poll_ms(run.view.status))
}

/// A run as an extension task, with its result.
pub(super) fn detailed(
    run: &TaskRun,
    input_requests: InputRequests,
    style: ToolStyle,
) -> Result<DetailedTask, Problem> {
    let payload = match status_of(run.view.status) {
        TaskStatus::Completed => TaskPayload::Completed { result: result_object(run, style)? },
        TaskStatus::Cancelled => TaskPayload::Cancelled,
        // Most of the input that a run is waiting for is supplied through tools, by the model or a
        // person.
        TaskStatus::InputRequired => TaskPayload::InputRequired { input_requests },
        _ => TaskPayload::Working,
    };
    Ok(DetailedTask::new(task(run), payload))
}

/// The result that the tool call would have had if it had waited.
fn result(run: &TaskRun, style: ToolStyle) -> Result<CallToolResult, Problem> {
    // Masked before it is shortened, because half a secret would not be found.
    let mut shown = known_secrets::shown_value(suggested_call::written(&run.view, style)?);
    shown["updated_ms"] = run.updated_ms.into();
    let links = shorten::shorten(&mut shown, limits::REPLY_BYTES);
    let has_failed = run.view.status == RunStatus::Failed;
    if let Some(object) = shown.as_object_mut().filter(|_| has_failed) {
        object.extend(failure(&run.view, style));
    }
    let mut result = shorten::result(shown, &links, true);
    result.is_error = Some(has_failed);
    Ok(result)
}

/// Why a run failed, in the fields that every failure has.
fn failure(run: &RunView, style: ToolStyle) -> Map<String, Value> {
    let Some(problem) = &run.problem else { return Map::new() };
    let code = problem.kind();
    let step = run.steps.iter().find(|step| step.status == StepStatus::Failed);
    let id = step.map(|step| step.id.as_str());
    let place = json!({"workflow_id": run.workflow, "run_id": run.run_id, "step_id": id});
    let known = |name: &str| problem.context.get(name).cloned().unwrap_or_default();
    let hint = Some(&problem.hint).filter(|hint| !hint.is_empty());
    let fields = [
        ("error_code", problem.code.as_str().into()),
        ("category", code.map_or(Category::Execution, Code::category).name().into()),
        ("message", problem.message.as_str().into()),
        ("context", place),
        ("retryable", code.is_some_and(Code::is_retryable).into()),
        ("suggested_action", hint.map(|hint| hint.worded(&Tools(style))).into()),
        ("correlation_id", run.run_id.as_str().into()),
        ("step_id", id.into()),
        ("child_run_id", step.and_then(|step| step.run_id.as_deref()).into()),
        ("command", known("command")),
        ("response_payload", known("body")),
    ];
    let known = fields.into_iter().filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn result_object(run: &TaskRun, style: ToolStyle) -> Result<JsonObject, Problem> {
    let result = serde_json::to_value(result(run, style)?);
    result.and_then(serde_json::from_value).map_err(|error| misshapen(&error))
}

/// The result of a task in the form of revision 2025-11-25.
pub(super) fn legacy_result(run: &TaskRun, style: ToolStyle) -> Result<Value, Problem> {
    let mut object = result_object(run, style)?;
    object.remove("resultType");
    object.insert("_meta".into(), json!({RELATED: {"taskId": run.id()}}));
    Ok(Value::Object(object))
}

/// The metadata of a message about a task.
pub(super) fn meta(run: &TaskRun) -> MetaObject {
    let (id, workflow) = (run.id(), &run.view.workflow);
    let mut meta = MetaObject::new();
    meta.insert(RUN.to_owned(), json!({"run_id": id, "workflow_id": workflow}));
    meta.insert(PROGRESS.to_owned(), run.progress());
    meta
}

/// The metadata that links a request to its task in revision 2025-11-25.
pub(super) fn related(id: &str) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    meta.0.insert(RELATED.to_owned(), json!({"taskId": id}));
    meta
}

/// The current state of a run.
pub(super) async fn view(
    operations: &Operations,
    caller: &AgentCaller,
    request: status::Request,
) -> Result<RunView, Problem> {
    match operations.run::<GetRunStatus>(caller, request).await? {
        status::Response::Run(view) => Ok(*view),
        status::Response::Open { .. } => {
            let message = "expected a run but got a list";
            Err(Problem::new(Code::Internal, message, "report this"))
        }
    }
}

/// The tasks that a client may see; those of other users are not found.
pub(super) struct Tasks<'s> {
    pub(super) operations: &'s Operations,
    pub(super) principal: Option<String>,
}

impl Tasks<'_> {
    /// Finds a task by its id and returns the current state of its run.
    pub(super) async fn find(&self, id: &str) -> Result<TaskRun, Problem> {
        self.find_within(id, 0).await
    }

    async fn find_within(&self, id: &str, wait_s: u64) -> Result<TaskRun, Problem> {
        let request = status::Request { run_id: Some(id.to_owned()), wait_s, ..Default::default() };
        let caller = self.caller();
        let view = view(self.operations, &caller, request).await?;
        // A task is found only by its full id; prefixes are for people.
        if view.run_id != id {
            let message = format!("there is no task `{id}`");
            return Err(Problem::new(Code::RunNotFound, message, "list the tasks"));
        }
        dated(self.operations, &caller, view).await
    }

    fn caller(&self) -> AgentCaller {
        AgentCaller { principal: self.principal.clone() }
    }

    /// Waits until a run has ended.
    pub(super) async fn ended(&self, id: &str) -> Result<TaskRun, Problem> {
        loop {
            let run = self.find_within(id, limits::TASK_WAIT_S).await?;
            match run.view.status {
                RunStatus::Running => {}
                // The status call returns immediately while a run is waiting for somebody, so pause
                // before the next one.
                RunStatus::Waiting | RunStatus::Paused => {
                    tokio::time::sleep(limits::TASK_REST).await;
                }
                RunStatus::Succeeded | RunStatus::Failed | RunStatus::Canceled => return Ok(run),
            }
        }
    }

    /// Gets a run for a client that uses the tasks extension. If the run is waiting for somebody,
    /// returns when it continues, or after a second, because a client that finds nothing to answer
    /// may poll again immediately.
    pub(super) async fn watched(&self, id: &str) -> Result<TaskRun, Problem> {
        let mut run = self.find(id).await?;
        for _ in 0..limits::TASK_LOOKS {
            if status_of(run.view.status) != TaskStatus::InputRequired {
                break;
            }
            tokio::time::sleep(limits::TASK_REST).await;
            run = self.find(id).await?;
        }
        Ok(run)
    }

    /// Cancels a run. The client itself requested it, so nobody has to confirm it.
    pub(super) async fn cancel(&self, id: &str) -> Result<TaskRun, Problem> {
        let run = self.find(id).await?;
        if run.view.has_ended() {
            let message = format!("the task has ended: {}", run.view.status);
            return Err(Problem::new(Code::RunConflict, message, "look at its result"));
        }
        let reason = Some("the client canceled the task".to_owned());
        let request = cancel::Request { run_id: id.to_owned(), reason };
        self.operations.run::<CancelRun>(&Agreed(self.caller()), request).await?;
        self.find(id).await
    }

    /// A page of tasks, newest first.
    pub(super) async fn list(&self, cursor: Option<&str>) -> Result<Value, Problem> {
        let (limit, cursor) = (Some(limits::TASK_PAGE), cursor.map(str::to_owned));
        let request = list::Request { limit, cursor, ..Default::default() };
        let found = self.operations.run::<ListRuns>(&self.caller(), request).await?;
        let mut page = Map::new();
        page.insert("tasks".into(), found.runs.iter().map(listed).collect());
        if let Some(cursor) = found.next_cursor {
            page.insert("nextCursor".into(), cursor.into());
        }
        Ok(Value::Object(page))
    }
}

/// Waits for an event after `seq`, at most a second, and returns the run.
pub(super) async fn news(
    operations: &Operations,
    caller: &AgentCaller,
    id: &str,
    seq: u64,
) -> Result<TaskRun, Problem> {
    let request = status::Request {
        run_id: Some(id.to_owned()),
        wait_s: limits::TASK_NEWS_S,
        after_seq: Some(seq),
        ..Default::default()
    };
    let view = view(operations, caller, request).await?;
    dated(operations, caller, view).await
}

/// Adds the time of the last event.
async fn dated(
    operations: &Operations,
    caller: &AgentCaller,
    view: RunView,
) -> Result<TaskRun, Problem> {
    let (run_id, after_seq) = (view.run_id.clone(), view.seq.saturating_sub(1));
    let request = events::Request { run_id, after_seq, ..Default::default() };
    let page = operations.run::<ReadEvents>(caller, request).await?;
    let updated_ms = page.events.last().map_or(view.started_ms, |event| event.at_ms);
    Ok(TaskRun { view, updated_ms })
}

fn status_of(status: RunStatus) -> TaskStatus {
    match status {
        RunStatus::Running => TaskStatus::Working,
        RunStatus::Waiting | RunStatus::Paused => TaskStatus::InputRequired,
        RunStatus::Succeeded | RunStatus::Failed => TaskStatus::Completed,
        RunStatus::Canceled => TaskStatus::Cancelled,
    }
}

/// The status of a run, as tasks in protocol version 2025-11-25 name it.
pub(super) fn legacy_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "working",
        RunStatus::Waiting | RunStatus::Paused => "input_required",
        RunStatus::Succeeded => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Canceled => "cancelled",
    }
}

/// The state of a run, as the contract names it.
fn state(status: RunStatus) -> RunStatus {
    match status {
        RunStatus::Succeeded | RunStatus::Failed | RunStatus::Canceled => status,
        RunStatus::Running | RunStatus::Waiting | RunStatus::Paused => RunStatus::Running,
    }
}

fn poll_ms(status: RunStatus) -> u64 {
    let (works, waits) = limits::TASK_POLL_MS;
    if status_of(status) == TaskStatus::InputRequired { waits } else { works }
}

/// The current step of a run.
fn current(run: &RunView) -> Option<&StepView> {
    let at = |one: StepStatus, other: StepStatus| {
        run.steps.iter().find(|step| step.status == one || step.status == other)
    };
    at(StepStatus::Running, StepStatus::Waiting)
        .or_else(|| at(StepStatus::Failed, StepStatus::Failed))
        .or_else(|| at(StepStatus::Pending, StepStatus::Pending))
}

/// One sentence: the status of a run, and whom it is waiting for.
pub(super) fn summary(run: &RunView) -> String {
    let status = run.status;
    if let Some(waiting) = run.waiting.first() {
        let (kind, step) = (waiting.kind, waiting.step.as_deref().unwrap_or("a step"));
        return format!("{status} at `{step}` ({kind}){}", refused(run, step));
    }
    if let Some(problem) = &run.problem {
        return format!("{status}: {}", problem.message);
    }
    match current(run) {
        Some(step) => format!("{status} at `{}`", step.id),
        None => status.name().to_owned(),
    }
}

/// The issues with the last submission for a step.
fn refused(run: &RunView, step: &str) -> String {
    let due = run.due.iter().find(|due| due.step_id == step);
    let issues = due.map(|due| due.issues.as_slice()).unwrap_or_default();
    let issues: Vec<&str> = issues.iter().map(|issue| issue.message.as_str()).collect();
    if issues.is_empty() {
        return String::new();
    }
    let all = issues.join("\n");
    let all = known_secrets::beginning(&all, limits::ISSUES_CHARS);
    format!("; the last submission was rejected: {all}")
}

/// A caller that confirms everything.
struct Agreed(AgentCaller);

impl Caller for Agreed {
    fn ask(&self, _question: &str) -> Option<bool> {
        Some(true)
    }

    fn principal(&self) -> Option<&str> {
        self.0.principal()
    }
}
