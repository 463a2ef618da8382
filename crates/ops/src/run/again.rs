//! Runs of steps that go on when the run above them does: what succeeded in them is not done again.

use std::collections::BTreeMap;
use std::time::Duration;

use milepost_engine::engine;
use milepost_engine::event::Budget;
use milepost_engine::resume::{self, Needs, ResumePlan, ResumeRequest};
use milepost_engine::signal::{Reply, Signal};
use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};
use milepost_store::runs::InboxId;

use super::clock::now_ms;
use super::drive::{Child, Drive};
use super::journal::Loaded;

/// How long the run has to take it in.
const PATIENCE: Duration = Duration::from_secs(5);

/// What going on with the run of a step would do.
pub(crate) fn planned(
    drive: &Drive,
    run: &RunId,
    loaded: &Loaded,
    rest: &BTreeMap<Budget, u64>,
) -> Result<ResumePlan, Problem> {
    let mut wish = ResumeRequest::of(&loaded.state, engine("parent"));
    wish.deadline_ms = now_ms() + loaded.flow.allowed_ms();
    let (flow, state) = (&loaded.flow, &loaded.state);
    // What is left above may have become less; whether it may spend more, a person decides.
    wish.budget =
        rest.iter().map(|(budget, rest)| (*budget, state.spent.of(*budget) + rest)).collect();
    wish.budget
        .retain(|budget, limit| state.head.budget.get(budget).is_none_or(|own| *limit < *own));
    let planned = resume::plan(flow, flow, state, &drive.inner.caller, &wish);
    planned.map_err(|failure| super::refused(&failure, run))
}

/// Lets the run of a step go on at what failed in it. What only a person decides about it is for
/// them to decide there.
pub(crate) async fn go_on(
    drive: &Drive,
    child: &Child,
    loaded: &Loaded,
    id: &InboxId,
) -> Result<(), Problem> {
    let run = &child.run;
    let resumption = planned(drive, run, loaded, &child.rest)?.resumption;
    if let Needs::Person(deed) | Needs::Proof(deed) =
        resume::needs(&loaded.flow, &loaded.state, &resumption)
    {
        let message = format!("only a person can decide to {deed}");
        let hint = format!("go on with `milepost resume {run}` first");
        return Err(Problem::new(Code::PresenceRequired, message, hint));
    }
    let signal = Signal::Resume { seq: loaded.state.seq, resumption: Box::new(resumption) };
    match drive.tell(run, id, &signal, PATIENCE).await? {
        Some(Reply::Refused { failure }) => Err(super::refused(&failure, run)),
        _ => Ok(()),
    }
}
