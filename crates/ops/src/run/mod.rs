//! Durable runs: this process's engine, and the operations on runs, one file each.

pub mod approve;
pub(crate) mod call_extras;
pub mod cancel;
pub(crate) mod consent;
pub(crate) mod effect_bound;
pub(crate) mod errors;
pub mod events;
pub mod execute;
pub mod list;
pub mod next_action;
pub mod overview;
pub mod pause;
pub(crate) mod person;
pub mod pin;
pub mod pin_notice;
pub(crate) mod ports;
pub(crate) mod prepare;
pub mod question;
pub(crate) mod request_sender;
pub mod resume;
pub mod retention;
pub(crate) mod secret_placeholders;
pub mod sent_request;
pub mod settle;
pub mod start;
pub mod status;
pub mod stored_operation;
pub mod submit;
pub mod view;
pub(crate) mod world;

use std::time::Duration;

use milepost_driver::{RunReader, RunService, SignalRequest, Until, WaitOptions};
use milepost_engine::StepKey;
use milepost_engine::event::{Actor, ActorKind};
use milepost_engine::ports::RunFilter;
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::StepStatus;
use milepost_engine::view::who;
use milepost_model::id::RunId;

use crate::framework::AgentCaller;
use errors::refused;
use view::RunView;

use crate::prelude::*;

/// Sends a run a signal, and fails if the run rejects it or does not handle it in time.
pub(crate) async fn tell(runs: &dyn RunService, run: &RunId, signal: Signal) -> Result<()> {
    tell_with(runs, run, signal, None).await
}

/// Like [`tell`], but also passes the source of the workflow that the run continues with.
pub(crate) async fn tell_with(
    runs: &dyn RunService,
    run: &RunId,
    signal: Signal,
    text: Option<String>,
) -> Result<()> {
    let tell = SignalRequest { signal, id: None, text, patience: limits::TAKEN_IN_WAIT };
    match runs.send(run, tell).await.or_problem()? {
        Some(Reply::Refused { failure }) => Err(refused(&failure, run)),
        Some(Reply::Pausing { runs }) => Err(pausing(run, &runs)),
        Some(_) => Ok(()),
        None => Err(not_taken_in(run)),
    }
}

/// The problem for a run that is paused while some of its child runs have not handled the pause
/// yet.
fn pausing(run: &RunId, below: &[String]) -> Problem {
    let first = below.first().map(String::as_str).unwrap_or_default();
    let message = match below.len() {
        1 => format!("run `{run}` is pausing: its child run `{first}` has not paused yet"),
        several => format!(
            "run `{run}` is pausing: {several} child runs have not paused yet, `{first}` among them"
        ),
    };
    let look = Invocation::of("workflow.status").with("run_id", run.as_str());
    let hint = Hint::text("child runs start nothing new once a process drives them; check with ")
        .call(look);
    Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
}

/// The problem for a busy run, whose inbox still contains the message.
fn not_taken_in(run: &RunId) -> Problem {
    let message = format!("run `{run}` has not handled the message yet");
    let look = Invocation::of("workflow.status").with("run_id", run.as_str());
    let hint =
        Hint::text("wait until the process that drives the run has time; check with ").call(look);
    Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
}

/// Waits for an event after a given sequence number, for at most `patience`.
pub(crate) async fn next_event(
    runs: &dyn RunReader,
    run: &RunId,
    after: u64,
    patience: Duration,
) -> Result<()> {
    let wait = WaitOptions { after, until: Until::NextEvent, patience, gather: Duration::ZERO };
    runs.wait(run, wait).await.map(drop).or_problem()
}

/// Finds a run by its id or a prefix of it. A caller with an identity finds only its own runs, and
/// only by their full ids: anybody else's do not exist for it.
pub(crate) async fn find(runs: &dyn RunReader, call: &dyn Caller, named: &str) -> Result<RunId> {
    let Some(principal) = call.principal() else { return runs.find(named).await.or_problem() };
    let run = RunId::parse(named).map_err(|_| errors::no_run(named))?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    match snapshot.state.head.actor == agent(principal) {
        true => Ok(run),
        false => Err(errors::no_run(named)),
    }
}

/// The filter for a list of runs that a caller may see.
pub(crate) fn visible(call: &dyn Caller) -> RunFilter {
    let actor = call.principal().map(|principal| who(&agent(principal)));
    RunFilter { actor, ..RunFilter::default() }
}

/// The caller on whose behalf a run does something later.
pub(crate) fn starter(actor: &Actor) -> AgentCaller {
    let is_named = actor.kind == ActorKind::Agent && !actor.name.is_empty();
    AgentCaller { principal: is_named.then(|| actor.name.clone()) }
}

/// The actor of runs that a caller with an identity started.
fn agent(principal: &str) -> Actor {
    Actor { kind: ActorKind::Agent, name: principal.to_owned() }
}

/// The current view of a run.
pub(crate) async fn view(runs: &dyn RunReader, run: &RunId) -> Result<RunView> {
    let snapshot = runs.snapshot(run).await.or_problem()?;
    Ok(RunView::of(&snapshot))
}

/// Waits for at most `patience` until a run has ended or is waiting for someone, and returns its
/// view.
pub(crate) async fn follow(
    runs: &dyn RunReader,
    call: &dyn Caller,
    run: &RunId,
    patience: Duration,
) -> Result<RunView> {
    let told = |key: &StepKey, does: StepStatus| call.progress(&format!("`{key}` is {does}"));
    let snapshot = runs.follow(run, patience, &told).await;
    Ok(RunView::of(&snapshot.or_problem()?))
}
