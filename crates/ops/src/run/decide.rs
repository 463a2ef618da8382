//! `workflow.approve` and `workflow.reject`: a person decides.

use milepost_engine::Key;
use milepost_engine::event::Presence;
use milepost_engine::signal::{Decided, Signal};
use milepost_engine::view::WaitingKind;
use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::{Code, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::errors::of_run;
use super::view::{RunView, WaitingView};
use super::{begin, next};
use crate::call::{Alone, Call, Caller};
use crate::later::Later;
use crate::limits;
use crate::operation::Door;
use crate::writer::Writer;

/// Says yes.
#[derive(Debug)]
pub struct Approve;

/// Says no.
#[derive(Debug)]
pub struct Reject;

/// The decision.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run.
    pub run_id: String,
    /// The question; the one that is open unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    /// The digest of what was shown: another question is not answered by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The answer, when the question has a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

macro_rules! decision {
    ($name:ident, $approve:literal, $operation:literal, $title:literal, $told:literal,
     $door:literal) => {
        impl Later for $name {
            type Request = Request;
            type Response = RunView;
            type Hands = Writer;

            const NAME: &'static str = $operation;
            const TITLE: &'static str = $title;
            const DESCRIPTION: &'static str = $told;
            const DOORS: &'static [Door] = &[Door::Command($door)];

            async fn run(
                writer: &Writer,
                call: &dyn Call,
                request: Request,
            ) -> Result<RunView, Problem> {
                decide(writer, call, request, $approve).await
            }

            fn example() -> Request {
                let run_id = "run_00000000000000000000000001".to_owned();
                Request { run_id, ..Request::default() }
            }
        }
    };
}

decision!(
    Approve,
    true,
    "workflow.approve",
    "Approve",
    "A person approves what a run asks. What was shown is what will be done: if it changes, the \
     run asks again.",
    "approve"
);
decision!(
    Reject,
    false,
    "workflow.reject",
    "Reject",
    "A person rejects what a run asks; the run goes back or fails, as its author said.",
    "reject"
);

async fn decide(
    writer: &Writer,
    call: &dyn Call,
    request: Request,
    approve: bool,
) -> Result<RunView, Problem> {
    if call.caller() != Caller::Person {
        let inbox = Invocation::of("inbox");
        let hint = Hint::text("stop, and tell the person to run ").person(inbox);
        let message = "only a person can decide this";
        return Err(Problem::new(Code::PresenceRequired, message, hint));
    }
    if call.is_elicited() && request.digest.is_none() {
        let message = "a decision in a client says what was shown there";
        return Err(Problem::new(Code::ParamsInvalid, message, "give the digest of the question"));
    }
    let runs = writer.runs()?;
    let run = super::find(runs, &request.run_id).await?;
    let snapshot = runs.snapshot(&run).await.map_err(|error| of_run(&error))?;
    let view = RunView::of(&snapshot);
    let operation = if approve { Approve::NAME } else { Reject::NAME };
    let question = question(&view, request.step_id.as_deref(), operation)?;
    let asked = question.digest.clone().unwrap_or_default();
    let digest = request.digest.unwrap_or(asked);
    let mut decided = Decided {
        key: Key::of_walk(question.step.as_deref().unwrap_or_default()),
        digest,
        approve,
        by: begin::actor(call),
        comment: request.comment,
        answer: request.answer,
        presence: Presence::Policy,
        signature: None,
    };
    super::person::present(writer, call, &snapshot.state.head, &mut decided)?;
    super::tell(runs, &run, Signal::Decide(decided)).await?;
    super::follow(runs, &Alone, &run, limits::CONSEQUENCES_WAIT).await
}

/// The open question of a run.
fn question<'v>(
    view: &'v RunView,
    step: Option<&str>,
    operation: &'static str,
) -> Result<&'v WaitingView, Problem> {
    let is_meant = |one: &&WaitingView| step.is_none_or(|step| one.step.as_deref() == Some(step));
    let open: Vec<&WaitingView> =
        view.waiting.iter().filter(|one| one.kind == WaitingKind::Approval).collect();
    let found = match step {
        Some(step) => open.iter().find(|one| one.step.as_deref() == Some(step)).copied(),
        None if open.len() > 1 => {
            let open = open.into_iter();
            return Err(next::one_of(view, operation, open, "several questions are open"));
        }
        None => open.first().copied(),
    };
    found.ok_or_else(|| {
        let run = &view.run_id;
        let late = view.waiting.iter().filter(|one| one.kind == WaitingKind::Lapsed).find(is_meant);
        let (message, hint) = match late {
            Some(late) => (
                format!("{}: it is too late to answer", lapse(late)),
                Hint::default()
                    .call(next::resume(run))
                    .then(" lets the run go on without an answer"),
            ),
            None => (
                format!("run `{run}` asks nothing"),
                Hint::text("see what waits with ").call(Invocation::of("inbox")),
            ),
        };
        Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
    })
}

/// What lapsed, and when.
fn lapse(late: &WaitingView) -> String {
    let step = late.step.as_deref().unwrap_or_default();
    let at = late.expires_ms.map(|at| format!(" at {}", crate::rfc3339(at)));
    format!("the question `{step}` lapsed{}", at.unwrap_or_default())
}
