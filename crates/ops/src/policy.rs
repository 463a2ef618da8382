//! What the policy says about a command or a workflow, and which line decides. Available to people
//! only.

use std::sync::Arc;

use milepost_engine::effect_bound::{BoundedWrite, CallEffect, CommandEffect, is_read};
use milepost_engine::event::ActorKind;
use milepost_model::target::CommandId;
use milepost_model::workflow::Workflow;
use milepost_store::PolicyDecision;

use crate::prelude::*;
use crate::run::consent::{self, ConsentCase};
use crate::run::world::OpenedWorld;
use crate::trust::review;

/// What would happen to each write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyReport {
    /// The command or the workflow.
    pub target: String,
    /// Whether a person reviewed the workflow as it is now; absent for a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<bool>,
    /// One entry for each kind of write.
    pub writes: Vec<PolicyLine>,
}

/// What would happen to a kind of write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyLine {
    /// Such as `POST https://api.example/refunds`.
    pub write: String,
    /// If a person asks for it.
    pub person: PolicyVerdict,
    /// If an agent asks for it.
    pub agent: PolicyVerdict,
}

/// What a write needs, and what decides it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyVerdict {
    /// `allow`, `consent`, `approve` or `deny`.
    pub writes: String,
    /// The line of the configuration, or the workflow that guards the write; `default` if none
    /// decides.
    pub by: String,
}

impl PolicyVerdict {
    fn of(decided: PolicyDecision) -> PolicyVerdict {
        let by = decided.by.unwrap_or_else(|| "default".to_owned());
        PolicyVerdict { writes: decided.writes.name().to_owned(), by }
    }
}

/// What the policy says about `group name`, or about a workflow in the library.
pub fn check(writer: &Writer, target: &str) -> Result<PolicyReport> {
    match CommandId::parse(target) {
        Some(command) => of_command(writer, &command),
        None => of_workflow(writer, target),
    }
}

fn of_command(writer: &Writer, command: &CommandId) -> Result<PolicyReport> {
    let text = command.to_string();
    writer.reader.shelf.command(&text)?;
    let manifest = json!({"workflow": "policy", "steps": [{"id": "call", "run": text}]});
    let subject = crate::inputs::WorkflowSubject::own(&manifest)?;
    let workflow = Arc::new(subject.workflow()?.clone());
    let world = OpenedWorld::newest(writer, &workflow);
    let known = world.commands(&workflow);
    let Some(known) = known.get(&text) else { return Err(no_address(&text)) };
    let CommandEffect { method, origin, path } = known.effect.clone();
    let effect = CallEffect { method, origin, path };
    let called = BoundedWrite { effect, most: 1, open: false };
    let lines = match is_read(&called.effect.method) {
        true => Vec::new(),
        false => vec![line(&world, &workflow, &called, false, true)?],
    };
    Ok(PolicyReport { target: text, reviewed: None, writes: lines })
}

fn of_workflow(writer: &Writer, id: &str) -> Result<PolicyReport> {
    let entry = writer.reader.workflow(id)?;
    let workflow = entry.document.workflow.as_ref().ok_or_else(|| writer.reader.no_workflow(id))?;
    let world = OpenedWorld::newest(writer, workflow);
    let reviewed = review::is_reviewed(&world, workflow, &review::text_hash(&entry))?;
    let bound = world.bound_of_any(workflow);
    let found = bound.writes.iter().map(|one| line(&world, workflow, one, reviewed, false));
    let lines = found.collect::<Result<Vec<PolicyLine>>>()?;
    Ok(PolicyReport { target: id.to_owned(), reviewed: Some(reviewed), writes: lines })
}

fn line(
    world: &OpenedWorld,
    workflow: &Workflow,
    write: &BoundedWrite,
    reviewed: bool,
    direct: bool,
) -> Result<PolicyLine> {
    let writer = &world.writer;
    let pin = crate::run::person::of(writer).key().or_problem()?.is_some();
    let commands = world.commands(workflow);
    let verdict = |by: ActorKind| -> Result<PolicyVerdict> {
        let case = ConsentCase { by, reviewed, direct, pin };
        let guarded = match case.usual() {
            milepost_store::WriteRule::Allow => Vec::new(),
            _ => consent::guarded(writer)?,
        };
        let decided = consent::decide(&writer.reader, &commands, &guarded, write, case)?;
        Ok(PolicyVerdict::of(decided))
    };
    Ok(PolicyLine {
        write: write.effect.name(),
        person: verdict(ActorKind::Person)?,
        agent: verdict(ActorKind::Agent)?,
    })
}

fn no_address(command: &str) -> Problem {
    let message = format!("`{command}` has no address, so nothing can be sent");
    Problem::new(Code::BaseUrlMissing, message, "set the base URL of its catalog")
}
