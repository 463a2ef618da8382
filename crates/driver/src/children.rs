//! Child runs, which are started by steps of other runs: how they start, continue, and report their
//! end.

use std::collections::BTreeMap;

use milepost_engine::effect_bound::WriteCounts;
use milepost_engine::event::{BudgetKind, ChildOutcome, Parent};
use milepost_engine::interpreter::WorldView;
use milepost_engine::ports::{ChildRun, JournalError, MessageId, RunContext};
use milepost_engine::resume::{self, ResumeAuthority, ResumePlan, ResumeRequest};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{End, State};
use milepost_engine::{BudgetUsage, Failure, Flow, StepKey, engine_actor};
use milepost_model::hint::{Hint, Invocation};
use milepost_model::id::RunId;
use milepost_model::problem::Code;

use crate::active::WrittenRun;
use crate::heartbeat::HeartbeatPermit;
use crate::{Driver, RunError, limits};

/// A child run started by a step.
pub(crate) struct Child {
    pub(crate) parent: RunId,
    pub(crate) key: StepKey,
    pub(crate) run: RunId,
    pub(crate) workflow: String,
    pub(crate) inputs: serde_json::Map<String, serde_json::Value>,
    /// The budget that remains for it.
    pub(crate) rest: BTreeMap<BudgetKind, u64>,
    /// How many writes of each kind it may make.
    pub(crate) writes: WriteCounts,
    /// Set if the run did not succeed and is to be continued: the generation of its step.
    pub(crate) again: Option<u32>,
    /// Without a permit, an existing run is looked up, but no new one is started.
    pub(crate) permit: Option<HeartbeatPermit>,
}

/// Why a child run could not be started or continued.
#[derive(Debug)]
enum Hindrance {
    /// It may be possible later, here or in another process, so it will be retried.
    NotNow,
    /// The run cannot be read, so its effects are unknown.
    Unreadable(String),
    /// The step has failed.
    Failed(Failure),
}

impl From<RunError> for Hindrance {
    fn from(error: RunError) -> Hindrance {
        match &error {
            _ if error.passes() => Hindrance::NotNow,
            // Another process may have the world, or run the version that wrote the run.
            RunError::WorldMissing { .. }
            | RunError::NewerLanguage { .. }
            | RunError::TextReadOtherwise { .. }
            | RunError::Journal(
                JournalError::NewerEvent { .. } | JournalError::Newer { .. } | JournalError::Failed,
            ) => Hindrance::NotNow,
            RunError::Damaged { .. }
            | RunError::Journal(
                JournalError::Corrupt { .. }
                | JournalError::Quarantined { .. }
                | JournalError::Undecodable { .. },
            ) => Hindrance::Unreadable(error.to_string()),
            _ => Hindrance::Failed(failure_of(&error)),
        }
    }
}

impl From<Failure> for Hindrance {
    fn from(failure: Failure) -> Hindrance {
        Hindrance::Failed(failure)
    }
}

/// How a child run ended.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    outcome: ChildOutcome,
    spent: BudgetUsage,
    wrote: WriteCounts,
}

impl ChildEnd {
    /// The end of a run, if it has ended.
    pub(crate) fn of(state: &State) -> Option<ChildEnd> {
        let outcome = match state.end.as_ref()? {
            End::Succeeded(output) => {
                ChildOutcome::Succeeded { output: output.clone().unwrap_or_default() }
            }
            End::Failed(failure) => ChildOutcome::Failed { failure: (**failure).clone() },
            End::Canceled => ChildOutcome::Canceled,
        };
        Some(ChildEnd { outcome, spent: state.spent, wrote: state.written.clone() })
    }

    fn gone(run: &RunId) -> ChildEnd {
        ChildEnd::untold(format!(
            "child run `{run}` no longer exists: it is unknown what it did before it failed"
        ))
    }

    /// The end of a run whose outcome cannot be determined here.
    fn untold(message: String) -> ChildEnd {
        let hint = "check the APIs that it called, then record the outcome of the step";
        let failure = Failure::new(Code::OutcomeUnknown, message, hint);
        ChildOutcome::Gone { failure }.into()
    }
}

/// The end of a run whose spending is zero or unknown.
impl From<ChildOutcome> for ChildEnd {
    fn from(outcome: ChildOutcome) -> ChildEnd {
        ChildEnd { outcome, spent: BudgetUsage::default(), wrote: WriteCounts::new() }
    }
}

impl Driver {
    /// Starts a child run, continues it, or reports its end.
    pub(crate) async fn child(&self, child: Child) {
        let done = match self.inner.journal.run(&child.run).await {
            Ok(_) => self.go_on(&child).await,
            // The run existed before and its end was recorded. Its effects are unknown now, so
            // running it again could repeat them.
            Err(JournalError::NotFound { .. }) if child.again.is_some() => {
                return self.child_ended(&child, 0, ChildEnd::gone(&child.run)).await;
            }
            Err(JournalError::NotFound { .. }) => self.begin_child(&child).await,
            Err(error) => Err(RunError::from(error).into()),
        };
        let end = match done {
            Ok(()) | Err(Hindrance::NotNow) => return,
            Err(Hindrance::Unreadable(reason)) => ChildEnd::untold(format!(
                "it is unknown what this step's child run has done: {reason}"
            )),
            Err(Hindrance::Failed(failure)) => ChildOutcome::Failed { failure }.into(),
        };
        self.child_ended(&child, 0, end).await;
    }

    async fn go_on(&self, child: &Child) -> Result<(), Hindrance> {
        let written = self.inner.watcher.written(&child.run).await?;
        let Some(end) = ChildEnd::of(&written.state) else {
            // A sleeping run will be woken when it is due.
            if !self.inner.watcher.sleepers.contains(&child.run) {
                self.acquire_run(&child.run).await?;
            }
            return Ok(self.align(child, &written.state).await?);
        };
        let succeeded = matches!(end.outcome, ChildOutcome::Succeeded { .. });
        if let Some(generation) = child.again.filter(|_| !succeeded) {
            let id = message(&format!("again:{}:{generation}", child.run))?;
            // If it has already been continued, this is its new end.
            if self.inner.journal.answer(&id).await.map_err(RunError::from)?.is_none() {
                return self.continue_child(child, &written, id).await;
            }
        }
        self.child_ended(child, written.state.seq, end).await;
        Ok(())
    }

    /// Continues a child run from where it failed. Decisions that only a person can make must be
    /// made on the child run itself.
    async fn continue_child(
        &self,
        child: &Child,
        written: &WrittenRun,
        id: MessageId,
    ) -> Result<(), Hindrance> {
        let (run, flow, state) = (&child.run, &written.flow, &*written.state);
        let world = self.world(run, &state.head).await?;
        let planned = plan_continuation(&*world.sender, flow, state, &child.rest, self.now_ms())?;
        let mut resumption = planned.resumption;
        // A run that was started without a world is pinned to one before anything is sent.
        if let Some(pin) = world.pin {
            let pinned = self.keep_world(pin).await?;
            resumption.world = Some(Box::new(pinned));
        }
        if let ResumeAuthority::Person(deed) | ResumeAuthority::Proof(deed) =
            resume::needs(flow, state, &resumption)
        {
            let message = format!("only a person can decide to {deed}");
            let resume = Invocation::of("workflow.resume").with("run_id", run.as_str());
            let hint = Hint::text("continue with ").call(resume).then(" first");
            return Err(Failure::new(Code::PresenceRequired, message, hint).into());
        }
        let signal = Signal::Resume { seq: state.seq, resumption: Box::new(resumption) };
        match self.tell(run, &id, &signal, limits::CHILD_TOLD).await? {
            Some(Reply::Refused { failure }) => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// Makes a child run follow its parent, in case it missed a message: pauses it, or resumes it
    /// if the parent had paused it.
    async fn align(&self, child: &Child, state: &State) -> Result<(), RunError> {
        let above = self.inner.watcher.written(&child.parent).await?.state;
        let by = engine_actor("parent");
        let signal = match (above.paused, state.paused) {
            (true, false) => Signal::Pause { by },
            (false, true) if state.paused_by.as_ref() == Some(&by) => Signal::Unpause { by },
            _ => return Ok(()),
        };
        // The same states give the same message id, so repeating this has no effect.
        let Ok(id) = message(&format!("align:{}:{}:{}", child.run, above.seq, state.seq)) else {
            return Ok(());
        };
        if child.permit.as_ref().is_some_and(|permit| !permit.holds()) {
            return Ok(());
        }
        self.tell(&child.run, &id, &signal, limits::CHILD_TOLD).await.map(drop)
    }

    /// Pauses all child runs of a run at once; returns those that did not confirm in time that they
    /// will start no new work.
    pub(crate) async fn pause_children(&self, parent: &RunId) -> Vec<RunId> {
        let Ok(above) = self.inner.watcher.written(parent).await else { return Vec::new() };
        if !above.state.paused {
            return Vec::new();
        }
        let children = above.state.children().filter_map(|(.., run)| RunId::parse(run).ok());
        let mut telling = tokio::task::JoinSet::new();
        for run in children {
            let (driver, seq) = (self.clone(), above.state.seq);
            telling.spawn(async move {
                let paused = driver.pause_child(&run, seq).await;
                (run, paused.unwrap_or(false))
            });
        }
        let told = telling.join_all().await;
        told.into_iter().filter(|(_, paused)| !paused).map(|(run, _)| run).collect()
    }

    /// Pauses a child run; returns whether it is paused.
    async fn pause_child(&self, run: &RunId, seq: u64) -> Result<bool, RunError> {
        let last = match self.inner.journal.run(run).await {
            Ok(record) => record.last_seq,
            // It will not be started before its parent continues.
            Err(JournalError::NotFound { .. }) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let Ok(id) = message(&format!("pause:{run}:{seq}:{last}")) else { return Ok(false) };
        let signal = Signal::Pause { by: engine_actor("parent") };
        let told = self.tell(run, &id, &signal, limits::CHILD_TOLD).await?;
        // A run that has ended refuses the message, but it starts no new work either.
        Ok(matches!(told, Some(Reply::Done | Reply::Refused { .. })))
    }

    async fn begin_child(&self, child: &Child) -> Result<(), Hindrance> {
        let above = self.inner.watcher.written(&child.parent).await?;
        if above.state.paused {
            return Ok(());
        }
        if above.state.canceling.is_some() && !above.flow.is_finally(&child.key) {
            self.child_ended(child, 0, ChildOutcome::Canceled.into()).await;
            return Ok(());
        }
        let head = &above.state.head;
        let depth = head.parent.as_ref().map_or(0, |parent| parent.depth) + 1;
        let sender = self.world(&child.parent, head).await?.sender;
        let prepared = sender.prepare_child(ChildRun {
            run: child.run.clone(),
            workflow: child.workflow.clone(),
            inputs: child.inputs.clone(),
            rest: child.rest.clone(),
            writes: child.writes.clone(),
            parent: Parent { run: head.run.clone(), key: child.key.clone(), depth },
            actor: head.actor.clone(),
            durability: above.durability,
            above: context(&child.parent, &above.flow, &above.state),
        });
        let prepared = prepared.await?;
        // Without a permit, it is started when the parent is next driven.
        if child.permit.as_ref().is_some_and(HeartbeatPermit::holds) {
            self.start_run(prepared).await?;
        }
        Ok(())
    }

    /// Tells a parent that one of its child runs has ended.
    pub(crate) async fn child_ended(&self, child: &Child, seq: u64, end: ChildEnd) {
        // If the step was started again, a new message is needed, even if the child run ended only
        // once.
        let again = child.again.map(|again| format!(":{again}")).unwrap_or_default();
        let Ok(id) = message(&format!("child:{}:{seq}{again}", child.run)) else { return };
        let run = child.run.as_str().to_owned();
        let ChildEnd { outcome, spent, wrote } = end;
        let signal = Signal::ChildEnded { key: child.key.clone(), run, outcome, spent, wrote };
        // A message that does not arrive is sent again when the parent is acquired.
        let _ = self.tell(&child.parent, &id, &signal, limits::PARENT_TOLD).await;
    }
}

/// The information about a run that a request sender needs.
pub(crate) fn context(run: &RunId, flow: &Flow, state: &State) -> RunContext {
    RunContext::new(run.clone(), flow, state)
}

/// Plans how a child run would continue.
pub fn plan_continuation(
    world: &dyn WorldView,
    flow: &Flow,
    state: &State,
    rest: &BTreeMap<BudgetKind, u64>,
    now_ms: u64,
) -> Result<ResumePlan, Failure> {
    let mut wanted = ResumeRequest::of(state, engine_actor("parent"));
    wanted.deadline_ms = now_ms + flow.allowed_ms();
    // The parent's remaining budget may have shrunk; only a person may decide to spend more.
    let left = rest.iter().map(|(budget, rest)| (*budget, state.spent.of(*budget) + rest));
    wanted.budget = left.collect();
    let own = &state.head.budget;
    wanted.budget.retain(|budget, limit| own.get(budget).is_none_or(|own| *limit < *own));
    resume::plan(flow, flow, state, world, &wanted)
}

fn message(text: &str) -> Result<MessageId, Failure> {
    MessageId::parse(text).map_err(|error| Failure::new(Code::Internal, error.to_string(), ""))
}

/// Why a child run could not be started, as recorded in its step.
pub(crate) fn failure_of(error: &RunError) -> Failure {
    let code = match error {
        RunError::Refused { failure, .. } => return (**failure).clone(),
        RunError::Unknown { .. }
        | RunError::Ambiguous { .. }
        | RunError::Journal(JournalError::NotFound { .. }) => Code::RunNotFound,
        RunError::Journal(_)
        | RunError::Stalled { .. }
        | RunError::Damaged { .. }
        | RunError::NewerLanguage { .. }
        | RunError::TextReadOtherwise { .. } => Code::StorageFailed,
        RunError::WorldMissing { .. } => {
            let hint = "restore what is missing, then resume";
            return Failure::new(Code::RunWorldMissing, error.to_string(), hint);
        }
        RunError::Illegal(_) | RunError::NoRandomness => Code::Internal,
    };
    Failure::new(code, error.to_string(), "check the disk, then resume this run")
}
