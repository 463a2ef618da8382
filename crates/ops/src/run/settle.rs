//! `workflow.decide`: a person decides the outcome of a request whose outcome is unknown, or of a
//! step without an acceptable submission.

use milepost_engine::StepKey;
use milepost_engine::event::Settlement;
use milepost_engine::mask_secrets;
use milepost_engine::signal::{Signal, settled_text};
use milepost_engine::state::{Phase, State};
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
    /// Its output, if it happened. To `accept`, the output that was shown.
    pub output: Option<Value>,
}

/// What happened to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettleOutcome {
    /// It happened.
    Happened,
    /// It did not happen, so it is repeated.
    DidNotHappen,
    /// The last submission counts, although it was rejected.
    Accept,
    /// The agent gets as many attempts again.
    MoreTries,
    /// The step fails.
    GiveUp,
}

impl SettleOutcome {
    /// The possible decisions about a request whose outcome is unknown.
    pub(crate) fn of_request() -> Vec<SettleOutcome> {
        vec![SettleOutcome::Happened, SettleOutcome::DidNotHappen, SettleOutcome::GiveUp]
    }

    /// The possible decisions about a step whose submissions were all rejected. Earlier versions
    /// did not keep the last submission, so that it cannot be accepted.
    pub(crate) fn of_submission(is_known: bool) -> Vec<SettleOutcome> {
        let accept = is_known.then_some(SettleOutcome::Accept).into_iter();
        accept.chain([SettleOutcome::MoreTries, SettleOutcome::GiveUp]).collect()
    }
}

operation! {
    /// Records what a person says happened to a request.
    SettleStep: "workflow.decide", "Record what happened to a step",
        "A person says what happened to a request that must not be repeated and \
         whose outcome is unknown: it happened, it did not, or the step should fail. If all \
         submissions for a step were rejected, a person accepts the last one, gives the agent \
         more attempts, or lets the step fail.";
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
    let of_request = matches!(snapshot.state.phase(&key), Phase::Unknown(_));
    let (decision, deed) = match (request.outcome, of_request) {
        (SettleOutcome::Happened, _) => {
            let output = request.output.ok_or_else(|| untold(&key))?;
            (
                Settlement::Happened { output },
                format!("record that `{key}` in run `{run}` happened"),
            )
        }
        (SettleOutcome::DidNotHappen, true) => (
            Settlement::DidNot,
            format!("record that `{key}` in run `{run}` did not happen and will be repeated"),
        ),
        (SettleOutcome::Accept, false) => {
            let output = accepted(&snapshot.state, &key, request.output)?;
            let deed = format!("accept the last output of `{key}` in run `{run}`");
            (Settlement::Happened { output }, deed)
        }
        (SettleOutcome::MoreTries | SettleOutcome::DidNotHappen, false) => {
            (Settlement::DidNot, format!("give an agent more tries at `{key}` in run `{run}`"))
        }
        (SettleOutcome::GiveUp, _) => {
            (Settlement::GiveUp, format!("record that `{key}` in run `{run}` has failed"))
        }
        (SettleOutcome::Accept | SettleOutcome::MoreTries, true) => return Err(not_tries(&key)),
    };
    let by = prepare::actor(call);
    let head = &snapshot.state.head;
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

/// The last output of a step, if it is the one that the person saw.
fn accepted(state: &State, key: &StepKey, shown: Option<Value>) -> Result<Value> {
    let last = state.step(key).and_then(|step| step.refused_output.clone());
    let last = last.ok_or_else(|| {
        let hint = Hint::text("give the output yourself with ")
            .given("outcome", "happened")
            .then(" and ")
            .argument("output");
        let message = format!("the last output of `{key}` was not kept");
        Problem::new(Code::RunConflict, message, hint)
    })?;
    let masked = mask_secrets(&state.head.nonce, &last);
    if shown.is_some_and(|shown| shown != masked) {
        let message = format!("the last output of `{key}` is no longer the one that was shown");
        let hint = Hint::text("look at it again with ").call(Invocation::of("inbox"));
        return Err(Problem::new(Code::RunConflict, message, hint));
    }
    Ok(last)
}

/// The problem when a decision about submissions is given for a request.
fn not_tries(key: &StepKey) -> Problem {
    let message = format!("`{key}` sent a request whose outcome is unknown");
    let hint = Hint::text("say what happened with ")
        .given("outcome", "happened")
        .then(", ")
        .given("outcome", "did-not-happen")
        .then(" or ")
        .given("outcome", "give-up");
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
