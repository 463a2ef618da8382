//! `runs.list`: lists runs, newest first.

use milepost_driver::RunReader;
use milepost_driver::clock::now_ms;
use milepost_engine::ports::{Cursor, RunFilter, RunRecord, RunStatus};
use milepost_engine::state::Status;
use milepost_engine::view::WaitingKind;

use crate::prelude::*;
use crate::workflow::id_of;

/// Which runs to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only runs with this status.
    pub status: Option<String>,
    /// Only runs of this workflow.
    pub workflow_id: Option<String>,
    /// Only runs that have not ended.
    #[serde(default)]
    pub open: bool,
    /// Runs in all workspaces, not just this one.
    #[serde(default)]
    pub all_workspaces: bool,
    /// Page size.
    pub limit: Option<usize>,
    /// `next_cursor` from the previous page.
    pub cursor: Option<String>,
}

/// A page of runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Newest first.
    pub runs: Vec<ListedRun>,
    /// Where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListedRun {
    /// Its id.
    pub run_id: String,
    /// Its workflow.
    pub workflow: String,
    /// The workflow's display name.
    pub title: String,
    /// Its status.
    #[schemars(with = "String")]
    pub status: Status,
    /// What it is waiting for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// Who started it.
    pub actor: String,
    /// The project it belongs to.
    pub workspace: String,
    /// The run that started it as a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_ms: u64,
    /// The time of its last event.
    pub updated_ms: u64,
    /// Whether it is quarantined because its journal is damaged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
}

impl ListedRun {
    fn of(row: &RunRecord) -> ListedRun {
        ListedRun {
            run_id: row.id.as_str().to_owned(),
            workflow: row.workflow.as_str().to_owned(),
            title: row.title.clone(),
            status: match row.standing.is_asleep() {
                // A sleeping run continues on its own, so it counts as running.
                true => Status::Running,
                false => of_index(row.standing.status),
            },
            waiting: row.standing.waiting.clone(),
            actor: row.actor.clone(),
            workspace: row.workspace.clone(),
            parent: row.parent.as_ref().map(|run| run.as_str().to_owned()),
            started_ms: row.created_ms,
            updated_ms: row.standing.updated_ms,
            quarantined: row.quarantined,
        }
    }
}

/// The status of a run according to the index. A pending run is about to be driven, so it counts as
/// running.
fn of_index(status: RunStatus) -> Status {
    match status {
        RunStatus::Pending | RunStatus::Running => Status::Running,
        RunStatus::Waiting => Status::Waiting,
        RunStatus::Succeeded => Status::Succeeded,
        RunStatus::Failed => Status::Failed,
        RunStatus::Canceled => Status::Canceled,
    }
}

/// Summarizes index rows, adding what is only in the journal: whether a run is waiting for someone
/// or is orphaned.
pub(crate) async fn listed(runs: &dyn RunReader, records: &[RunRecord]) -> Result<Vec<ListedRun>> {
    let mut all = Vec::with_capacity(records.len());
    for record in records {
        let mut listed = ListedRun::of(record);
        if record.standing.status.is_moving()
            && let Some(waiting) = waits_below(runs, record).await?
        {
            listed.status = Status::Waiting;
            listed.waiting = Some(waiting);
        }
        if let Some(waiting) = lapsed(runs, record).await? {
            listed.waiting = Some(waiting);
        }
        all.push(listed);
    }
    Ok(all)
}

/// What a run is waiting for even though the index lists it as active: one of its child runs, or a
/// process to drive it.
async fn waits_below(runs: &dyn RunReader, row: &RunRecord) -> Result<Option<String>> {
    if row.quarantined {
        return Ok(None);
    }
    let filter =
        RunFilter { parent: Some(row.id.clone()), open_only: true, ..RunFilter::default() };
    let open = runs.list(&filter, 1).await.or_problem()?;
    if !open.runs.is_empty() {
        let view = super::view(runs, &row.id).await?;
        let below = view.waiting.iter().find_map(|waiting| waiting.run_id.clone());
        if below.is_some() {
            return Ok(below);
        }
    }
    let orphaned = runs.is_orphaned(&row.id).await.or_problem()?;
    Ok(orphaned.then(|| WaitingKind::Adrift.name().to_owned()))
}

/// What a run is waiting for, marked as expired if the time to answer a question or the run's
/// deadline has passed. The index does not record this while no process is driving the run.
async fn lapsed(runs: &dyn RunReader, row: &RunRecord) -> Result<Option<String>> {
    let is_due = row.standing.wake_ms.is_some_and(|at| at <= now_ms());
    let waiting = row.standing.waiting.as_deref().filter(|_| is_due && !row.quarantined);
    let Some(waiting) = waiting else { return Ok(None) };
    let view = super::view(runs, &row.id).await?;
    let words = waiting.split(", ").map(|word| {
        let step = word.split_once(' ').map(|(_, step)| step);
        let is_over = |step: &&str| {
            let mut lapsed = view.waiting.iter().filter(|one| one.kind == WaitingKind::Lapsed);
            lapsed.any(|one| one.step.as_deref() == Some(step))
        };
        match step.filter(is_over) {
            Some(step) => format!("{} {step}", WaitingKind::Lapsed),
            None => word.to_owned(),
        }
    });
    Ok(Some(words.collect::<Vec<_>>().join(", ")))
}

operation! {
    ListRuns: "runs.list", "List runs",
        "List runs, newest first: those in this workspace unless \
         `all_workspaces` is given, filtered by status or workflow.";
    doors: [Door::Command("runs")];
    run: list_runs(Reader, Request) -> Response;
    example: {"open": true};
}

async fn list_runs(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let status = request.status.as_deref().map(status).transpose()?;
    let workflow = request.workflow_id.as_deref().map(id_of).transpose()?;
    let before = request.cursor.as_deref().map(str::parse::<u64>).transpose();
    let before = before.map_err(|_| {
        let hint = "pass the `next_cursor` of the previous page unchanged";
        Problem::new(Code::ParamsInvalid, "the cursor is not valid", hint)
    })?;
    // A run that is active according to the index may turn out to be waiting, so open runs are
    // filtered by status after they are listed.
    let open = status.filter(|status| {
        matches!(status, RunStatus::Pending | RunStatus::Running | RunStatus::Waiting)
    });
    let filter = RunFilter {
        status: status.filter(|_| open.is_none()),
        workflow,
        workspace: (!request.all_workspaces).then(|| reader.workspace().display().to_string()),
        open_only: request.open || open.is_some(),
        before: before.map(Cursor),
        ..super::visible(call)
    };
    let limit = request.limit.unwrap_or(limits::RUNS_PAGE);
    if !(1..=limits::RUNS_PAGE_MAX).contains(&limit) {
        let message =
            format!("`limit` must be between 1 and {}, not {limit}", limits::RUNS_PAGE_MAX);
        let hint = "use a limit in that range";
        return Err(Problem::new(Code::ParamsInvalid, message, hint));
    }
    page(reader.runs(), filter, open, limit).await
}

/// A page of runs that match the filter and, if a status is given, are listed with that status.
async fn page(
    runs: &dyn RunReader,
    mut filter: RunFilter,
    status: Option<RunStatus>,
    limit: usize,
) -> Result<Response> {
    let mut found = Vec::new();
    loop {
        let page = runs.list(&filter, limit - found.len()).await.or_problem()?;
        let fits = |run: &ListedRun| status.is_none_or(|status| run.status == of_index(status));
        found.extend(listed(runs, &page.runs).await?.into_iter().filter(fits));
        let next_cursor = page.next.map(|next| next.0.to_string());
        if next_cursor.is_none() || found.len() == limit {
            return Ok(Response { runs: found, next_cursor });
        }
        filter.before = page.next;
    }
}

fn status(word: &str) -> Result<RunStatus> {
    RunStatus::named(word).ok_or_else(|| {
        let hint = "use `running`, `waiting` (even if paused), `succeeded`, `failed` or `canceled`";
        Problem::new(Code::ParamsInvalid, format!("`{word}` is not a run status"), hint)
    })
}
