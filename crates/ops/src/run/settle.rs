//! `workflow.decide`: a person says what became of a request nobody saw the end of, or of a step
//! that no submission was good enough for.

use milepost_engine::StepKey;
use milepost_engine::event::Settlement;
use milepost_engine::signal::{Signal, settled_text};
use milepost_engine::view::WaitingKind;

use super::view::RunView;
use super::{next_action, person, prepare};
use crate::prelude::*;

/// What became of which step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run.
    pub run_id: String,
    /// The step; the one that waits unless given.
    pub step_id: Option<String>,
    /// What became of it.
    pub outcome: SettleOutcome,
    /// What came of it, when it happened.
    pub output: Option<Value>,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettleOutcome {
    /// It happened.
    Happened,
    /// It did not: it is done again.
    DidNotHappen,
    /// The step has failed.
    GiveUp,
}

operation! {
    /// Says what became of a step.
    SettleStep: "workflow.decide", "Say what became of a step",
        "A person says what became of a request that must not be \
         repeated and whose end nobody saw: it happened, it did not, or give up.";
    doors: [Door::Command("decide")];
    run: settle_step(Writer, Request) -> RunView;
    example: {
        "run_id": "run_00000000000000000000000001",
        "step_id": "refund",
        "outcome": "did_not_happen",
    };
}

async fn settle_step(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    if call.kind() != CallerKind::Person {
        let decide = Invocation::of(SettleStep::NAME);
        let hint = Hint::text("stop, and ask the person to run ").person(decide);
        let message = "only a person can decide this";
        return Err(Problem::new(Code::PresenceRequired, message, hint));
    }
    let runs = writer.runs()?;
    let run = super::find(runs, &request.run_id).await?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    let key = match request.step_id {
        Some(step) => step,
        None => waiting(&RunView::of(&snapshot))?,
    };
    let key = StepKey::of_walk(&key);
    // The word is about the try that is shown now, and about no later one.
    let asked = snapshot.state.step(&key).and_then(|step| step.asked);
    let (decision, word) = match request.outcome {
        SettleOutcome::Happened => {
            let output = request.output.ok_or_else(|| untold(&key))?;
            (Settlement::Happened { output }, "happened")
        }
        SettleOutcome::DidNotHappen => (Settlement::DidNot, "did not happen and is done again"),
        SettleOutcome::GiveUp => (Settlement::GiveUp, "has failed"),
    };
    let by = prepare::actor(call);
    let head = &snapshot.state.head;
    let deed = format!("say that `{key}` of run `{run}` {word}");
    let text = settled_text(&head.run, &key, asked, &decision);
    let proof = Some(person::proof(writer, call, head, &deed, &text)?);
    let signal = Signal::Settle { key, by, decision, asked, proof };
    super::tell(runs, &run, signal).await?;
    super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await
}

/// What happened has an output, which the steps behind it may read.
fn untold(key: &StepKey) -> Problem {
    let message = format!("what came of `{key}` is not said");
    let hint = Hint::text("add ")
        .argument("output")
        .then(" with JSON; ")
        .given("output", "null")
        .then(" when nothing came of it");
    Problem::new(Code::ParamsInvalid, message, hint)
}

/// The one step that waits for such a word.
fn waiting(view: &RunView) -> Result<String> {
    let mut all = view.waiting.iter().filter(|one| is_meant(one.kind) && one.run_id.is_none());
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one.step.clone().unwrap_or_default()),
        (None, _) => Err(nothing_open()),
        (Some(_), Some(_)) => Err(several(view)),
    }
}

/// Whether such a word is waited for.
pub fn is_meant(kind: WaitingKind) -> bool {
    matches!(kind, WaitingKind::Decision | WaitingKind::Person)
}

/// No step waits for such a word.
pub fn nothing_open() -> Problem {
    let hint = Hint::text("see what waits with ").call(Invocation::of("inbox"));
    Problem::new(Code::RunConflict, "nobody has to say what became of a step", hint)
}

/// Several steps wait for such a word, and it is not said which one is meant.
pub fn several(view: &RunView) -> Problem {
    let open = view.waiting.iter().filter(|one| is_meant(one.kind));
    next_action::one_of(view, SettleStep::NAME, open, "several steps wait for that")
}
