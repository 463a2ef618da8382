//! How things stand: the open runs, who has to do what, and the one call to make next.

use milepost_engine::ports::{RunFilter, RunStatus};
use milepost_engine::state::Status;
use milepost_engine::view::WaitingKind;
use milepost_model::hint::Invocation;
use milepost_model::id::RunId;
use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::errors::of_run;
use super::list::{Listed, listed};
use super::next::Next;
use super::view::{RunView, WaitingView};
use crate::limits;
use crate::reader::Reader;

/// How things stand.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Overview {
    /// The runs that have not ended, of every workspace, newest first.
    pub open: Vec<Listed>,
    /// Whether there are more than those.
    pub more: bool,
    /// What waits for a person.
    pub waits_on_you: Vec<Asked>,
    /// What waits for an agent.
    pub waits_on_agent: Vec<Asked>,
    /// Why the configuration that counts here cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The one call to make next.
    pub next: Next,
}

/// What a run waits for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Asked {
    /// The run.
    pub run_id: String,
    /// Its workflow.
    pub workflow: String,
    /// `approval`, `lapsed`, `decision`, `person`, `budget`, `paused`, `adrift`, `damaged`,
    /// `agent` or `variable`.
    #[schemars(with = "String")]
    pub kind: AskedKind,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What is asked.
    pub message: String,
    /// What to do about it.
    pub next: Next,
}

/// What kind of thing a run waits for, those included that are not part of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedKind {
    /// What the run itself says it waits for.
    Waiting(WaitingKind),
    /// A person paused the run.
    Paused,
    /// Its journal is damaged.
    Damaged,
}

impl AskedKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            AskedKind::Waiting(kind) => kind.name(),
            AskedKind::Paused => "paused",
            AskedKind::Damaged => "damaged",
        }
    }
}

impl Serialize for AskedKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// Looks at all runs; makes nothing.
pub async fn overview(reader: &Reader) -> Result<Overview, Problem> {
    let runs = reader.runs();
    let open = RunFilter { open_only: true, ..RunFilter::default() };
    let page = runs.list(&open, limits::OVERVIEW_RUNS).await.map_err(|error| of_run(&error))?;
    let mut overview = Overview {
        open: listed(runs, &page.runs).await?,
        more: page.next.is_some(),
        waits_on_you: Vec::new(),
        waits_on_agent: Vec::new(),
        fault: reader.config().err().map(|problem| problem.message),
        next: doctor(),
    };
    for run in &overview.open {
        // A run that a step started is told of with the run that started it.
        if run.status != Status::Waiting || run.parent.is_some() {
            continue;
        }
        if run.quarantined {
            overview.waits_on_you.push(Asked {
                run_id: run.run_id.clone(),
                workflow: run.workflow.clone(),
                kind: AskedKind::Damaged,
                step: None,
                message: "its journal is damaged, and it was set aside".to_owned(),
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

/// What a run waits for: a person first, agents second.
fn asked(view: &RunView) -> (Vec<Asked>, Vec<Asked>) {
    let next = || view.next.clone().unwrap_or_else(|| Next::look(&view.run_id));
    let of = |kind: AskedKind, step: Option<String>, message: String| Asked {
        run_id: view.run_id.clone(),
        workflow: view.workflow.clone(),
        kind,
        step,
        message,
        next: next(),
    };
    if view.waiting.is_empty() {
        let paused = (view.status == Status::Paused)
            .then(|| of(AskedKind::Paused, None, "it was paused".to_owned()));
        return (paused.into_iter().collect(), Vec::new());
    }
    let all = view.waiting.iter();
    let of =
        |one: &WaitingView| of(AskedKind::Waiting(one.kind), one.step.clone(), one.message.clone());
    let (agent, person) = all.partition::<Vec<_>, _>(|one| one.kind.is_for_agent());
    (person.into_iter().map(of).collect(), agent.into_iter().map(of).collect())
}

fn doctor() -> Next {
    Next(Invocation::of("doctor"))
}

/// The one call that is of most use now.
async fn next(reader: &Reader, overview: &Overview) -> Result<Next, Problem> {
    if overview.fault.is_some() {
        return Ok(doctor());
    }
    let yours = &overview.waits_on_you;
    let is_asked = |one: &&Asked| {
        let drives = AskedKind::Waiting(WaitingKind::Adrift);
        let lapsed = AskedKind::Waiting(WaitingKind::Lapsed);
        one.kind != drives && one.kind != lapsed
    };
    let decides = yours.iter().find(is_asked).or(yours.first());
    if let Some(one) = decides.or(overview.waits_on_agent.first()) {
        return Ok(one.next.clone());
    }
    if let Some(run) = overview.open.first() {
        let logs = Invocation::of("run.events").with("run_id", run.run_id.as_str());
        return Ok(Next(logs.with("follow", true)));
    }
    let newest = reader.runs().list(&RunFilter::default(), 1).await;
    let newest = newest.map_err(|error| of_run(&error))?;
    Ok(match newest.runs.first() {
        // Where there have never been runs.
        None => Next(Invocation::of("demo")),
        Some(run) if run.standing.status == RunStatus::Failed => Next::plan(run.id.as_str()),
        Some(_) => Next(Invocation::of("workflow.list")),
    })
}
