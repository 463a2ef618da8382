//! How things stand: the open runs, who has to do what, and the one command to type next.

use milepost_model::id::RunId;
use milepost_model::problem::Problem;
use milepost_store::runs::{RunFilter, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;

use super::list::{Listed, listed};
use super::next::{Deed, Next};
use super::view::{ADRIFT, LAPSED, RunView};
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
    pub kind: String,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What is asked.
    pub message: String,
    /// What to type.
    pub next: String,
}

/// Looks at all runs; makes nothing.
pub fn overview(reader: &Reader) -> Result<Overview, Problem> {
    let runs = reader.runs();
    let page = runs.list(&RunFilter { open_only: true, ..RunFilter::default() }, OPEN_MAX)?;
    let mut overview = Overview {
        open: listed(&runs, &page.runs)?,
        more: page.next.is_some(),
        waits_on_you: Vec::new(),
        waits_on_agent: Vec::new(),
        fault: reader.config().err().map(|problem| problem.message),
        next: String::new(),
    };
    for run in &overview.open {
        // A run that a step started is told of with the run that started it.
        if run.status != RunStatus::Waiting.as_str() || run.parent.is_some() {
            continue;
        }
        if run.quarantined {
            overview.waits_on_you.push(Asked {
                run_id: run.run_id.clone(),
                workflow: run.workflow.clone(),
                kind: "damaged".to_owned(),
                step: None,
                message: "its journal is damaged, and it was set aside".to_owned(),
                next: "milepost doctor".to_owned(),
            });
        } else if let Some(view) = RunId::parse(&run.run_id).ok().map(|id| runs.view(&id)) {
            let (person, agent) = asked(&view?);
            overview.waits_on_you.extend(person);
            overview.waits_on_agent.extend(agent);
        }
    }
    overview.next = next(reader, &overview)?;
    Ok(overview)
}

/// What a run waits for: a person first, agents second.
fn asked(view: &RunView) -> (Vec<Asked>, Vec<Asked>) {
    let look = || Next::new(&view.run_id, Deed::Look);
    let next = || view.next.clone().unwrap_or_else(look).to_string();
    let of = |kind: &str, step: Option<String>, message: String| Asked {
        run_id: view.run_id.clone(),
        workflow: view.workflow.clone(),
        kind: kind.to_owned(),
        step,
        message,
        next: next(),
    };
    if view.waiting.is_empty() {
        return match view.status.as_str() {
            "paused" => (vec![of("paused", None, "it was paused".to_owned())], Vec::new()),
            _ => (Vec::new(), Vec::new()),
        };
    }
    let all = view.waiting.iter();
    let all = all.map(|one| of(&one.kind, one.step.clone(), one.message.clone()));
    all.partition(|one| !matches!(one.kind.as_str(), "agent" | "variable"))
}

/// The one command that is of most use now.
fn next(reader: &Reader, overview: &Overview) -> Result<String, Problem> {
    if overview.fault.is_some() {
        return Ok("milepost doctor".to_owned());
    }
    let yours = &overview.waits_on_you;
    let is_asked = |one: &&Asked| ![ADRIFT, LAPSED].contains(&one.kind.as_str());
    let decides = yours.iter().find(is_asked).or(yours.first());
    if let Some(one) = decides.or(overview.waits_on_agent.first()) {
        return Ok(one.next.clone());
    }
    if let Some(run) = overview.open.first() {
        return Ok(format!("milepost logs {} --follow", run.run_id));
    }
    let newest = reader.runs().list(&RunFilter::default(), 1)?;
    Ok(match newest.runs.first() {
        None => FIRST.to_owned(),
        Some(run) if run.standing.status == RunStatus::Failed => {
            format!("milepost resume {} --plan", run.id)
        }
        Some(_) => "milepost workflow list".to_owned(),
    })
}
