//! An overview of open runs: who has to do what, and which call to make next.

use milepost_engine::ports::{RunFilter, RunStatus};
use milepost_engine::state::Status;
use milepost_engine::view::WaitingKind;
use milepost_model::id::RunId;

use super::list::{ListedRun, listed};
use super::next_action::NextAction;
use super::view::{RunView, WaitingView};
use crate::prelude::*;

/// An overview of the open runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunOverview {
    /// The open runs in all workspaces, newest first.
    pub open: Vec<ListedRun>,
    /// Whether more open runs exist.
    pub more: bool,
    /// What is waiting for a person.
    pub waits_on_you: Vec<WaitingItem>,
    /// What is waiting for an agent.
    pub waits_on_agent: Vec<WaitingItem>,
    /// What the person has to know about their PIN before they decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Why the current configuration cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The next call to make.
    #[schemars(with = "String")]
    pub next: NextAction,
}

/// What a run is waiting for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WaitingItem {
    /// The run's id.
    pub run_id: String,
    /// Its workflow.
    pub workflow: String,
    /// `approval`, `lapsed`, `decision`, `person`, `budget`, `paused`, `adrift`, `damaged`,
    /// `agent` or `variable`.
    #[schemars(with = "String")]
    pub kind: WaitingKind,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The question or explanation.
    pub message: String,
    /// What to do about it.
    #[schemars(with = "String")]
    pub next: NextAction,
}

/// Summarizes all open runs; read-only.
pub async fn overview(reader: &Reader) -> Result<RunOverview> {
    let runs = reader.runs();
    let open = RunFilter { open_only: true, ..RunFilter::default() };
    let page = runs.list(&open, limits::OVERVIEW_RUNS).await.or_problem()?;
    let mut overview = RunOverview {
        open: listed(runs, &page.runs).await?,
        more: page.next.is_some(),
        waits_on_you: Vec::new(),
        waits_on_agent: Vec::new(),
        pin: super::pin_notice::notice(reader).await,
        fault: reader.config().err().map(|problem| problem.message),
        next: doctor(),
    };
    for run in &overview.open {
        // A child run is reported as part of its parent.
        if run.status != Status::Waiting || run.parent.is_some() {
            continue;
        }
        if run.quarantined {
            overview.waits_on_you.push(WaitingItem {
                run_id: run.run_id.clone(),
                workflow: run.workflow.clone(),
                kind: WaitingKind::Damaged,
                step: None,
                message: "it is quarantined because its journal is damaged".to_owned(),
                next: doctor(),
            });
        } else if let Ok(id) = RunId::parse(&run.run_id) {
            let (person, agent) = asked(&super::view(runs, &id).await?);
            overview.waits_on_you.extend(person);
            overview.waits_on_agent.extend(agent);
        }
    }
    overview.next = next(reader, &overview).await?;
    Ok(overview)
}

/// What a run is waiting for: items for a person, then items for agents.
fn asked(view: &RunView) -> (Vec<WaitingItem>, Vec<WaitingItem>) {
    let next = || view.next.clone().unwrap_or_else(|| NextAction::look(&view.run_id));
    let of = |kind: WaitingKind, step: Option<String>, message: String| WaitingItem {
        run_id: view.run_id.clone(),
        workflow: view.workflow.clone(),
        kind,
        step,
        message,
        next: next(),
    };
    if view.waiting.is_empty() {
        let paused = (view.status == Status::Paused)
            .then(|| of(WaitingKind::Paused, None, "it was paused".to_owned()));
        return (paused.into_iter().collect(), Vec::new());
    }
    let all = view.waiting.iter();
    let of = |one: &WaitingView| of(one.kind, one.step.clone(), one.message.clone());
    let (agent, person) = all.partition::<Vec<_>, _>(|one| one.kind.is_for_agent());
    (person.into_iter().map(of).collect(), agent.into_iter().map(of).collect())
}

fn doctor() -> NextAction {
    NextAction(Invocation::of("doctor"))
}

/// The most useful call to make now.
async fn next(reader: &Reader, overview: &RunOverview) -> Result<NextAction> {
    if overview.fault.is_some() {
        return Ok(doctor());
    }
    let yours = &overview.waits_on_you;
    let is_asked =
        |one: &&WaitingItem| !matches!(one.kind, WaitingKind::Adrift | WaitingKind::Lapsed);
    let decides = yours.iter().find(is_asked).or(yours.first());
    if let Some(one) = decides.or(overview.waits_on_agent.first()) {
        return Ok(one.next.clone());
    }
    if let Some(run) = overview.open.first() {
        let logs = Invocation::of("run.events").with("run_id", run.run_id.as_str());
        return Ok(NextAction(logs.with("follow", true)));
    }
    let newest = reader.runs().list(&RunFilter::default(), 1).await.or_problem()?;
    Ok(match newest.runs.first() {
        // No run has ever been started.
        None => NextAction(Invocation::of("demo")),
        Some(run) if run.standing.status == RunStatus::Failed => NextAction::plan(run.id.as_str()),
        Some(_) => NextAction(Invocation::of("workflow.list")),
    })
}
