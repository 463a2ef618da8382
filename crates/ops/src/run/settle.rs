//! `workflow.decide`: a person decides the outcome of a request whose outcome is unknown, or of a
//! step without an acceptable submission.

use milepost_engine::StepKey;
use milepost_engine::event::Settlement;
use milepost_engine::signal::{Signal, settled_text};
use milepost_engine::view::WaitingKind;

use super::view::RunView;
use super::{next_action, person, prepare};
use crate::masked_values;
use crate::prelude::*;

/// What happened to which step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Run id.
    pub run_id: String,
    /// The step; defaults to the waiting one.
    pub step_id: Option<String>,
    /// What happened.
    pub outcome: SettleOutcome,
    /// Its output, if it happened.
    pub output: Option<Value>,
}

/// What happened to a step.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettleOutcome {
    /// It happened.
    Happened,
    /// It did not happen, so it is repeated.
    DidNotHappen,
    /// The step fails.
    GiveUp,
}

operation! {
    /// Records what a person says happened to a request.
    SettleStep: "workflow.decide", "Record what happened to a step",
        "A person says what happened to a request that must not be repeated and \
         whose outcome is unknown: it happened, it did not, or the step should fail.";
    doors: [Door::Command("decide")];
    run: settle_step(Writer, Request) -> RunView;
    example: {
        "run_id": "run_00000000000000000000000001",
        "step_id": "refund",
        "outcome": "did_not_happen",
    };
}

async fn settle_step(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    let decide = Invocation::of(SettleStep::NAME);
    person::only_a_person(call, "only a person can decide this", decide)?;
    masked_values::refuse("output", request.output.as_ref())?;
    let runs = writer.runs()?;
    let run = super::find(runs, call, &request.run_id).await?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    let key = match request.step_id {
        Some(step) => step,
        None => waiting(&RunView::of(&snapshot))?,
    };
    let key = StepKey::of_walk(&key);
    // The decision applies to the attempt that is shown now, not to any later one.
    let asked = snapshot.state.step(&key).and_then(|step| step.asked);
    let (decision, word) = match request.outcome {
        SettleOutcome::Happened => {
            let output = request.output.ok_or_else(|| untold(&key))?;
            (Settlement::Happened { output }, "happened")
        }
        SettleOutcome::DidNotHappen => (Settlement::DidNot, "did not happen and will be repeated"),
        SettleOutcome::GiveUp => (Settlement::GiveUp, "has failed"),
    };
    let by = prepare::actor(call);
    let head = &snapshot.state.head;
    let deed = format!("record that `{key}` in run `{run}` {word}");
    let text = settled_text(&head.run, &key, asked, &decision);
    let proof = Some(person::proof(writer, call, head, &deed, &text).await?);
    let signal = Signal::Settle { key, by, decision, asked, proof };
    super::tell(runs, &run, signal).await?;
    super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await
}

/// The problem when a person decides that a request happened but gives no output. Later steps may
/// read the output.
fn untold(key: &StepKey) -> Problem {
    let message = format!("the output of `{key}` is missing");
    let hint = Hint::text("add ")
        .argument("output")
        .then(" with JSON, or ")
        .given("output", "null")
        .then(" if it has no output");
    Problem::new(Code::ParamsInvalid, message, hint)
}

/// The only step that is waiting for such a decision.
fn waiting(view: &RunView) -> Result<String> {
    let mut all = view.waiting.iter().filter(|one| is_meant(one.kind) && one.run_id.is_none());
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one.step.clone().unwrap_or_default()),
        (None, _) => Err(nothing_open()),
        (Some(_), Some(_)) => Err(several(view)),
    }
}

/// Whether `workflow.decide` applies to a step that is waiting for this kind of action.
pub fn is_meant(kind: WaitingKind) -> bool {
    matches!(kind, WaitingKind::Decision | WaitingKind::Person)
}

/// The problem when no step is waiting for such a decision.
pub fn nothing_open() -> Problem {
    let hint = Hint::text("see what is waiting with ").call(Invocation::of("inbox"));
    Problem::new(Code::RunConflict, "no step is waiting for such a decision", hint)
}

/// The problem when several steps are waiting for such a decision and the request names none.
pub fn several(view: &RunView) -> Problem {
    let open = view.waiting.iter().filter(|one| is_meant(one.kind));
    next_action::one_of(view, SettleStep::NAME, open, "several steps are waiting for a decision")
}
