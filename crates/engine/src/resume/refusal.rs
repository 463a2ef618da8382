//! Checks whether a run can be resumed, and builds the error if it cannot.

use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::Code;

use super::selection::StepSelection;
use super::{Origin, ResolvedRequest, ResumeRequest};
use crate::event::{ActorKind, BudgetKind, Resumption};
use crate::interpreter::budget;
use crate::state::{End, IllegalEvent, Phase, State};
use crate::view::{self, Waiting};
use crate::{Cause, Failure, Flow, StepKey};

/// Checks that the run can be resumed in its current state, and by this actor.
pub(crate) fn of_run(flow: &Flow, state: &State, request: &ResumeRequest) -> Result<(), Failure> {
    let spends = budget::decided(state, &request.by, &request.budget).next().is_some();
    let decides = !request.overrides.is_empty() || spends;
    if decides && request.by.kind != ActorKind::Person {
        return Err(Cause::NoPerson.into());
    }
    let reason = request.reason.as_deref().unwrap_or_default();
    if !request.overrides.is_empty() && reason.trim().is_empty() {
        let message = "replacing an output requires a reason";
        return Err(refused(message, Hint::text("say why with ").argument("reason")));
    }
    if state.end.is_some() {
        return Ok(());
    }
    if state.canceling.is_some() {
        let hint = "wait until it has ended, then resume it";
        return Err(Failure::new(Code::RunConflict, "the run is being canceled", hint));
    }
    if let Some(budget) = state.parked {
        let limit = request.budget.get(&budget).or(state.head.budget.get(&budget));
        let enough = limit.is_none_or(|limit| *limit > state.spent.of(budget));
        return if enough { Ok(()) } else { Err(spent(budget, state.spent.of(budget))) };
    }
    if state.paused {
        return Ok(());
    }
    if let Some(waiting) = view::waiting(flow, state).first() {
        return Err(waits(waiting));
    }
    let hint = "wait until it has ended, or pause or cancel it first";
    Err(Failure::new(Code::RunConflict, "the run is still running", hint))
}

/// Checks that the request makes sense in this workflow.
pub(crate) fn of_wish(
    flow: &Flow,
    state: &State,
    wish: &ResolvedRequest<'_>,
) -> Result<(), Failure> {
    let Some(only) = &wish.only else { return Ok(()) };
    if flow.is_walked() {
        let message = "the steps of a guide run one after the other";
        return Err(refused(message, without_only("resume without ")));
    }
    let Some(index) = flow.index(only.as_str()) else { return Ok(()) };
    let nodes = flow.nodes();
    if nodes[index].finally {
        let message = format!("`{only}` runs at the end of the run and cannot run alone");
        return Err(refused(message, without_only("resume without ")));
    }
    let undone = flow.above(index).into_iter().find(|above| {
        !state.phase(&nodes[*above].key).is_closed()
            || super::selection::broke(flow, state, *above).is_some()
    });
    match undone {
        None => Ok(()),
        Some(above) => {
            let above = &nodes[above].key;
            let message = format!("`{only}` waits for `{above}`, which is not done");
            Err(refused(message, without_only(&format!("resume from `{above}`, or without "))))
        }
    }
}

/// Checks that something is left to do.
pub(crate) fn of_choice(
    flow: &Flow,
    state: &State,
    choice: &StepSelection,
    wish: &ResolvedRequest<'_>,
) -> Result<(), Failure> {
    let index = wish.only.as_ref().and_then(|only| flow.index(only.as_str()));
    let above = index.map(|index| flow.above(index)).unwrap_or_default();
    if let (Some(only), Some(asks)) =
        (&wish.only, above.into_iter().find(|above| choice.why.contains_key(above)))
    {
        let asks = &flow.nodes()[asks].key;
        let message = format!("`{only}` would repeat a write, which `{asks}` has to approve again");
        return Err(refused(message, without_only("resume without ")));
    }
    let request = wish.request;
    let plain = request.origin == Origin::Failed
        && request.redo.is_empty()
        && request.overrides.is_empty()
        && wish.changed.is_empty();
    let again = choice.why.keys().any(|index| !flow.nodes()[*index].finally);
    let over = flow.nodes().iter().all(|node| {
        state.phase(&node.key).is_closed() || (flow.is_walked() && state.step(&node.key).is_none())
    });
    if matches!(state.end, Some(End::Succeeded(_))) && plain && !again && over {
        let hint = Hint::text("name a step with ").argument("from").then(" or ").argument("redo");
        let hint = hint.then(", or resume from the start with ").given("from", "start");
        return Err(refused("the run succeeded, so there is no failed step to resume from", hint));
    }
    Ok(())
}

/// Checks that nothing in flight, or waiting for somebody, would be discarded.
pub(crate) fn of_open(state: &State, resumption: &Resumption) -> Result<(), Failure> {
    let open =
        state.open().filter(|(key, _)| resumption.reset.iter().any(|reset| key.is_within(reset)));
    for (key, step) in open {
        let hint = match &step.phase {
            Phase::Unknown(_) => see_inbox("decide its outcome first: see "),
            Phase::Asking | Phase::Decided(_) => see_inbox("approve or reject it: see "),
            Phase::Offered(_) | Phase::Rejected | Phase::Verifying | Phase::Accepted => {
                submit("submit its output with ")
            }
            Phase::Calling(_) | Phase::Child(_) | Phase::Answered | Phase::Failing(_) => {
                let message = format!("`{key}` is in progress");
                let hint = "wait until it is done, then resume";
                return Err(
                    Failure::new(Code::RunConflict, message, hint).with("step", key.as_str())
                );
            }
            _ => continue,
        };
        let message = format!("`{key}` is waiting for a person or an agent");
        return Err(refused(message, hint).with("step", key.as_str()));
    }
    Ok(())
}

fn waits(waiting: &Waiting) -> Failure {
    let (message, hint) = match waiting {
        Waiting::Approval(request) => (
            format!("`{}` is waiting for a person to decide", request.key),
            Hint::text("decide with ")
                .call(Invocation::of("workflow.approve"))
                .then(" or ")
                .call(Invocation::of("workflow.reject"))
                .and(see_inbox(": see ")),
        ),
        Waiting::Unknown { key, .. } => (
            format!("the outcome of `{key}` is unknown"),
            see_inbox("decide its outcome first: see "),
        ),
        Waiting::Exhausted { key, .. } => (
            format!("`{key}` has no attempts left and is waiting for a person"),
            see_inbox("decide how to continue first: see "),
        ),
        Waiting::Agent(key) => {
            (format!("`{key}` is waiting for an agent"), submit("submit its output with "))
        }
        Waiting::Variable { step, variable, .. } => (
            format!("`{step}` is waiting for the variable `{variable}`"),
            submit("give it as `context` with "),
        ),
        Waiting::Budget(_) => {
            ("the run has spent its budget".to_owned(), "raise the budget".into())
        }
    };
    refused(message, hint)
}

fn spent(budget: BudgetKind, used: u64) -> Failure {
    let name = budget.name();
    let message = format!("the run has spent its budget of `{name}`: {used}");
    refused(message, format!("resume with a limit of `{name}` above {used}")).with("budget", name)
}

/// The error for a step inside another step.
pub(crate) fn inside(named: &str) -> Failure {
    let message = format!("`{named}` is inside another step");
    let top = StepKey::of_walk(named);
    let hint = match named.contains(['@', ':']) {
        true => format!("name `{}`: if it failed, what succeeded inside it is kept", top.top()),
        false => "name the loop around it".to_owned(),
    };
    refused(message, hint).with("step", named)
}

/// The error for replacing a person's approval.
pub(crate) fn forged(key: &StepKey) -> Failure {
    let message = format!("`{key}` asks a person: its answer cannot be replaced");
    let hint = Hint::text("decide with ").call(Invocation::of("workflow.approve"));
    refused(message, hint).with("step", key.as_str())
}

/// The error for an output that does not match its step's schema.
pub(crate) fn misfit(key: &StepKey, cause: &str) -> Failure {
    let message = format!("the output for `{key}` does not match its schema: {cause}");
    Failure::new(Code::OutputInvalid, message, "give an output that matches the schema")
        .with("step", key.as_str())
}

/// The error for `only` without exactly one step.
pub(crate) fn only_one() -> Failure {
    let hint = Hint::text("name the one step with ")
        .argument("from")
        .then(", without ")
        .argument("redo")
        .then(" and ")
        .argument("overrides");
    refused("`only` runs one step", hint)
}

/// The error for a guide that became a manifest, or the reverse.
pub(crate) fn respelt() -> Failure {
    let message = "the newest version is a different kind of workflow";
    refused(message, "resume on the pinned version, or start a new run")
}

/// The error for a kept step that no longer exists.
pub(crate) fn removed(key: &StepKey) -> Failure {
    let message = format!("`{key}` would be kept, but the newest version has no such step");
    let hint = "resume on the pinned version, or from the start";
    refused(message, hint).with("step", key.as_str())
}

/// The error for a kept step that has changed.
pub(crate) fn rewired(key: &StepKey, how: &str) -> Failure {
    let message = format!("`{key}` would be kept, but in the newest version {how}");
    let hint = format!("resume from `{key}`, or on the pinned version");
    refused(message, hint).with("step", key.as_str())
}

/// The error for a resumption that does not fit the state.
pub(crate) fn illegal(illegal: &IllegalEvent) -> Failure {
    refused(illegal.to_string(), "look at the run again, then resume it")
}

fn without_only(text: &str) -> Hint {
    Hint::text(text).given("mode", "only")
}

fn see_inbox(text: &str) -> Hint {
    Hint::text(text).call(Invocation::of("inbox"))
}

fn submit(text: &str) -> Hint {
    Hint::text(text).call(Invocation::of("workflow.submit"))
}

fn refused(message: impl Into<String>, hint: impl Into<Hint>) -> Failure {
    Failure::new(Code::ResumeRefused, message, hint)
}
