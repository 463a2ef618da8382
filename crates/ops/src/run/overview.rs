//! How things stand: the open runs, who has to do what, and the one command to type next.

use milepost_engine::ports::{RunFilter, RunStatus};
use milepost_engine::state::Status;
use milepost_engine::view::WaitingKind;
use milepost_model::id::RunId;
use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::errors::of_run;
use super::list::{Listed, listed};
use super::next::{Deed, Next};
use super::view::{RunView, WaitingView};
use crate::reader::Reader;

/// Open runs that are looked at; of more, the newest.
const OPEN_MAX: usize = 50;
/// What to type where there have never been runs.
const FIRST: &str = "milepost demo";

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
    /// The one command to type next.
    pub next: String,
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
    /// What to type.
    pub next: String,
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
    let page = runs.list(&open, OPEN_MAX).await.map_err(|error| of_run(&error))?;
    let mut overview = Overview {
        open: listed(runs, &page.runs).await?,
        more: page.next.is_some(),
        waits_on_you: Vec::new(),
        waits_on_agent: Vec::new(),
        fault: reader.config().err().map(|problem| problem.message),
        next: String::new(),
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
                next: "milepost doctor".to_owned(),
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
    let look = || Next::new(&view.run_id, Deed::Look);
    let next = || view.next.clone().unwrap_or_else(look).to_string();
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

/// The one command that is of most use now.
async fn next(reader: &Reader, overview: &Overview) -> Result<String, Problem> {
    if overview.fault.is_some() {
        return Ok("milepost doctor".to_owned());
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
        return Ok(format!("milepost logs {} --follow", run.run_id));
    }
    let newest = reader.runs().list(&RunFilter::default(), 1).await;
    let newest = newest.map_err(|error| of_run(&error))?;
    Ok(match newest.runs.first() {
        None => FIRST.to_owned(),
        Some(run) if run.standing.status == RunStatus::Failed => {
            format!("milepost resume {} --plan", run.id)
        }
        Some(_) => "milepost workflow list".to_owned(),
    })
}
