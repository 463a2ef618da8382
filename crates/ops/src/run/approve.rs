//! `workflow.approve` and `workflow.reject`: a person's decision.

use milepost_engine::StepKey;
use milepost_engine::event::Presence;
use milepost_engine::signal::{DecisionSignal, Signal};
use milepost_engine::view::WaitingKind;

use super::view::{RunView, WaitingView};
use super::{next_action, prepare};
use crate::masked_values;
use crate::prelude::*;

/// The decision.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Run id.
    pub run_id: String,
    /// The question; defaults to the open one.
    pub step_id: Option<String>,
    /// The digest of what was shown, so that no other question is answered.
    pub digest: Option<String>,
    /// A comment.
    pub comment: Option<String>,
    /// The answer, if the question has a form.
    pub answer: Option<Value>,
}

operation! {
    /// Answers a run's open question with an approval.
    ApproveStep: "workflow.approve", "Approve",
        "A person approves what a run asks for. What was shown is what will be done: if it \
         changes, the run asks again.";
    doors: [Door::Command("approve")];
    run: approve_step(Writer, Request) -> RunView;
    example: {"run_id": "run_00000000000000000000000001"};
}

operation! {
    /// Answers a run's open question with a rejection.
    RejectStep: "workflow.reject", "Reject",
        "A person rejects what a run asks for; the run goes back to an earlier step or fails, \
         depending on the workflow.";
    doors: [Door::Command("reject")];
    run: reject_step(Writer, Request) -> RunView;
    example: {"run_id": "run_00000000000000000000000001"};
}

async fn approve_step(writer: &Writer, caller: &dyn Caller, request: Request) -> Result<RunView> {
    decide(writer, caller, request, true).await
}

async fn reject_step(writer: &Writer, caller: &dyn Caller, request: Request) -> Result<RunView> {
    decide(writer, caller, request, false).await
}

async fn decide(
    writer: &Writer,
    call: &dyn Caller,
    request: Request,
    approve: bool,
) -> Result<RunView> {
    super::person::by_a_person(call)?;
    if call.is_elicited() && request.digest.is_none() {
        let message = "a decision made in a client must include the digest of what was shown";
        return Err(Problem::new(Code::ParamsInvalid, message, "give the question's digest"));
    }
    masked_values::refuse("answer", request.answer.as_ref())?;
    let runs = writer.runs()?;
    let run = super::find(runs, call, &request.run_id).await?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    let view = RunView::of(&snapshot);
    let operation = if approve { ApproveStep::NAME } else { RejectStep::NAME };
    let question = question(&view, request.step_id.as_deref(), operation)?;
    let asked = question.digest.clone().unwrap_or_default();
    let digest = request.digest.unwrap_or(asked);
    let mut decided = DecisionSignal {
        key: StepKey::of_walk(question.step.as_deref().unwrap_or_default()),
        digest,
        approve,
        by: prepare::actor(call),
        comment: request.comment,
        answer: request.answer,
        presence: Presence::Policy,
        signature: None,
    };
    super::person::present(writer, call, &snapshot.state.head, &mut decided).await?;
    super::tell(runs, &run, Signal::Decide(decided)).await?;
    super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await
}

/// Finds the open question that the request refers to.
fn question<'v>(
    view: &'v RunView,
    step: Option<&str>,
    operation: &'static str,
) -> Result<&'v WaitingView> {
    let is_meant = |one: &&WaitingView| step.is_none_or(|step| one.step.as_deref() == Some(step));
    let open: Vec<&WaitingView> =
        view.waiting.iter().filter(|one| one.kind == WaitingKind::Approval).collect();
    let found = match step {
        Some(step) => open.iter().find(|one| one.step.as_deref() == Some(step)).copied(),
        None if open.len() > 1 => {
            let open = open.into_iter();
            return Err(next_action::one_of(view, operation, open, "several questions are open"));
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
                    .call(next_action::resume(run))
                    .then(" continues the run without an answer"),
            ),
            None => (
                format!("run `{run}` has no open question"),
                Hint::text("see what is waiting with ").call(Invocation::of("inbox")),
            ),
        };
        Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
    })
}

/// Describes which question expired, and when.
fn lapse(late: &WaitingView) -> String {
    let step = late.step.as_deref().unwrap_or_default();
    let at = late.expires_ms.map(|at| format!(" at {}", crate::rfc3339(at)));
    format!("the question `{step}` expired{}", at.unwrap_or_default())
}
