//! A run as people and agents see it, in the same form for every interface.

use std::collections::BTreeMap;

use milepost_driver::Snapshot;
use milepost_driver::clock::now_ms;
pub use milepost_engine::event::Presence;
use milepost_engine::event::{
    Actor, ActorKind, ApprovalRequest, CallExtras, RunCreated, ShownCall, UsedFile, UsedSecret,
};
use milepost_engine::state::{End, Phase, State, StepState};
pub use milepost_engine::state::{Status as RunStatus, StepStatus};
pub use milepost_engine::view::WaitingKind;
use milepost_engine::view::{self, StepBrief, Waiting};
use milepost_engine::{Failure, Flow, StepKey, mask_secrets};
use milepost_model::id::RunId;
use milepost_model::step::Action;
use milepost_model::wording::Worded;

use super::errors::{failure_of, world_missing};
use super::next_action::{NextAction, resume, resume_with};
use super::sent_request::{SentView, arrives_within_ms};
use super::settle::SettleOutcome;
use super::world;
use crate::prelude::*;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunView {
    /// Its id.
    pub run_id: String,
    /// Its workflow.
    pub workflow: String,
    /// `running`, `waiting`, `paused`, `succeeded`, `failed` or `canceled`.
    #[schemars(with = "String")]
    pub status: RunStatus,
    /// Its steps in order.
    pub steps: Vec<StepView>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_output: Option<Value>,
    /// Why it failed, or cannot continue here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ProblemView>,
    /// Who has to do what before it continues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingView>,
    /// The steps an agent may work on now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<DueView>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub next: Option<NextAction>,
    /// The number of its last event.
    pub seq: u64,
    /// When it started, in milliseconds since 1970.
    pub started_ms: u64,
    /// Its inputs; secrets are masked.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// It need not survive a power loss.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relaxed: bool,
    /// All calls are answered by mocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mock: bool,
    /// The run whose step started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Who an agent started it for, if that is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
}

/// A step of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StepView {
    /// The step, or one execution of it.
    pub id: String,
    /// Its name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `pending`, `running`, `waiting`, `succeeded`, `failed`, `skipped` or `canceled`.
    #[schemars(with = "String")]
    pub status: StepStatus,
    /// The number of attempts.
    pub attempts: u32,
    /// How long it took, including waits.
    pub duration_ms: u64,
    /// The child run, if it runs a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ProblemView>,
    /// The requests sent for it, if this step was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<SentView>,
}

/// A failure.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProblemView {
    /// Its code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// The next thing to do.
    #[serde(default, skip_serializing_if = "Worded::is_empty")]
    #[schemars(with = "String")]
    pub hint: Worded,
    /// Further details.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
}

/// What a run is waiting for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WaitingView {
    /// `approval`, `lapsed`, `decision`, `person`, `budget`, `adrift`, `agent` or `variable`.
    #[schemars(with = "String")]
    pub kind: WaitingKind,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The child run that is waiting, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The question or explanation.
    pub message: String,
    /// The digest of what is shown, for the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Accounts that may decide; anyone if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// The schema of the answer, if the question has a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// What happens after approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownView>,
    /// Steps that send something after approval, although it is not known yet what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<String>,
    /// What was submitted: to be confirmed, or as the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Value>,
    /// Why the last attempt was rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The possible answers, if it is not an approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<SettleOutcome>,
    /// The run that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<QuestionSource>>,
    /// Changes since the previous approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeView>,
    /// When it expires or expired, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// The minimum proof of presence: `elicitation`, `terminal` or `pin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub presence: Option<Presence>,
    /// The request with an unknown outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<SentView>>,
    /// The time until which the request may still arrive, in milliseconds since 1970; until then,
    /// you cannot record that it did not happen. Absent once the time has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_arrive_until_ms: Option<u64>,
}

/// A request that depends on an approval.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ShownView {
    /// The step.
    pub step: String,
    /// The request in brief.
    pub request: String,
    /// The request with its full URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Its arguments.
    pub arguments: Value,
    /// Its method; absent for a child run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Its URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Its headers, except the catalog's credentials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The start of its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The size of the whole body, if it is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// The profile of its credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// The secrets that are sent with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretView>,
    /// The files that are sent with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileView>,
    /// The requests that a child run may send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

/// A run that asks a question.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct QuestionSource {
    /// Its id.
    pub run_id: String,
    /// Its workflow.
    pub workflow: String,
    /// The workflow's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it runs in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

/// A secret that is sent with a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SecretView {
    /// Its name.
    pub name: String,
    /// Where it is written, such as `header X-Api-Key`.
    pub place: String,
}

/// A file that is sent with a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileView {
    /// Its path, as the workflow names it.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 digest of its contents; absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A change since the previous approval.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangeView {
    /// The step.
    pub step: String,
    /// What was shown.
    pub before: Value,
    /// What it is now.
    pub after: Value,
}

/// A step that is due.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DueView {
    /// The step.
    pub step_id: String,
    /// Its name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to do.
    pub prompt: String,
    /// Variables that the prompt reads and that are not set; send them in `context`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The role to take on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<String>,
    /// Hints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// What is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The schema of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The attempt number.
    pub attempt: u32,
    /// Remaining attempts, including this one.
    pub attempts_left: u32,
    /// The faults in the last submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueView>,
    /// A person's comment when sending it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// What must be true before the first step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<String>,
    /// What to ask the user before the first step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarification_prompts: Vec<String>,
    /// Hints for all steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meta_guidance: Vec<String>,
}

/// What is wrong with a submission.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IssueView {
    /// The fault.
    pub message: String,
    /// What to do.
    #[schemars(with = "String")]
    pub suggestion: Worded,
}

impl RunView {
    /// The view of a run, including what is not in its own journal: its child runs, and whether it
    /// is orphaned.
    pub(crate) fn of(snapshot: &Snapshot) -> RunView {
        let mut view = RunView::alone(&snapshot.flow, &snapshot.state, snapshot.relaxed);
        if !snapshot.below.is_empty() {
            view.next = None;
            snapshot.below.iter().for_each(|child| view.waits_with(RunView::of(child)));
        } else if snapshot.orphaned {
            view.is_adrift();
        }
        view
    }

    /// The view of a run from its own journal alone.
    fn alone(flow: &Flow, state: &State, relaxed: bool) -> RunView {
        let status = view::status(flow, state);
        let nonce = state.head.nonce.as_str();
        let (final_output, problem) = match &state.end {
            Some(End::Succeeded(output)) => {
                (output.as_ref().map(|one| mask_secrets(nonce, one)), None)
            }
            Some(End::Failed(failure)) => (None, Some(ProblemView::of(failure))),
            Some(End::Canceled) | None => (None, None),
        };
        let waits = view::waiting(flow, state);
        let now = now_ms().max(state.now_ms);
        let waiting =
            waits.iter().map(|one| WaitingView::of(flow, state, one).asked_by(flow, state));
        let deadline = state.deadline_ms().filter(|_| state.canceling.is_none());
        let late = deadline.filter(|deadline| now >= *deadline);
        let waiting = waiting.map(|one| match late {
            Some(deadline) => one.after(deadline),
            None => one.at(now),
        });
        let waiting: Vec<WaitingView> = waiting.collect();
        let briefs = view::briefs(flow, state).into_iter().filter(|_| late.is_none());
        let due: Vec<DueView> = briefs.map(DueView::of).collect();
        let variable = waits.iter().find_map(|one| match one {
            Waiting::Variable { variable, .. } => Some(variable.as_str()),
            _ => None,
        });
        let run = &state.head.run;
        let next = due_next(state, status).or_else(|| next(run, status, &waiting, variable, &due));
        RunView {
            run_id: state.head.run.clone(),
            workflow: state.head.workflow.clone(),
            status,
            steps: steps(flow, state),
            final_output,
            problem,
            waiting,
            due,
            next,
            seq: state.seq,
            started_ms: state.began_ms,
            inputs: view::shown_inputs(state),
            relaxed,
            mock: state.head.mock,
            parent: state.head.parent.as_ref().map(|parent| parent.run.clone()),
            principal: principal(&state.head.actor),
        }
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.status.has_ended()
    }

    /// Marks the run as waiting because no process is driving it.
    pub(crate) fn is_adrift(&mut self) {
        self.status = RunStatus::Waiting;
        let message = "no process is driving this run".to_owned();
        self.waiting.push(WaitingView::new(WaitingKind::Adrift, None, message));
        self.next = Some(NextAction::resume(&self.run_id));
    }

    /// Reports which part of its world is missing, if that keeps it from being driven.
    pub(crate) async fn lacks(&mut self, reader: &Reader, run: &RunId) {
        let Ok(snapshot) = reader.runs().snapshot(run).await else { return };
        if let Some(missing) = world::missing(reader, &snapshot.state.head).await {
            self.problem = Some(ProblemView::of(&failure_of(&world_missing(run, &missing))));
        }
    }

    /// Whether the run is waiting for this kind of action.
    pub(crate) fn waits_for(&self, kind: WaitingKind) -> bool {
        self.waiting.iter().any(|waiting| waiting.kind == kind)
    }

    /// Whether the run only needs a process to drive it, because everything else that it was
    /// waiting for has expired.
    pub(crate) fn goes_on_by_itself(&self) -> bool {
        let drives = |kind| matches!(kind, WaitingKind::Adrift | WaitingKind::Lapsed);
        !self.waiting.is_empty() && self.waiting.iter().all(|waiting| drives(waiting.kind))
    }

    /// Adds what a child run is waiting for.
    pub(crate) fn waits_with(&mut self, child: RunView) {
        self.status = RunStatus::Waiting;
        let run = child.run_id;
        self.waiting.extend(child.waiting.into_iter().map(|waiting| {
            let run_id = waiting.run_id.clone().or_else(|| Some(run.clone()));
            WaitingView { run_id, ..waiting }
        }));
        self.next = self.next.take().or(child.next);
    }
}

fn principal(actor: &Actor) -> Option<String> {
    let is_named = actor.kind == ActorKind::Agent && !actor.name.is_empty();
    is_named.then(|| actor.name.clone())
}

/// The steps in workflow order, each followed by its executions.
fn steps(flow: &Flow, state: &State) -> Vec<StepView> {
    let mut all = Vec::new();
    for node in flow.nodes() {
        let own = state.step(&node.key);
        let inner = state.below(&node.key).filter(|(key, step)| {
            // Checks on a submission are part of its step.
            let own = !key.as_str().contains("::verify@");
            own && (step.began_ms.is_some() || step.phase.is_closed())
        });
        let inner: Vec<(&StepKey, &StepState)> = inner.collect();
        // A loop in a guide has no execution of its own.
        let walked = own.is_none() && !inner.is_empty();
        if !walked {
            let pending = StepState::default();
            all.push(step(flow, &node.key, own.unwrap_or(&pending), state));
        }
        all.extend(inner.into_iter().map(|(key, own)| step(flow, key, own, state)));
    }
    all
}

fn step(flow: &Flow, key: &StepKey, own: &StepState, state: &State) -> StepView {
    let end = own.ended_ms.unwrap_or(state.now_ms);
    let took = own.began_ms.map_or(0, |began| end.saturating_sub(began));
    let failed = matches!(own.phase, Phase::Failed | Phase::Backoff(_) | Phase::Unknown(_));
    // A list may succeed even though some of its items failed.
    let failed = failed || own.items.is_some() && own.phase == Phase::Succeeded;
    let output = own.output.as_ref().filter(|_| own.phase == Phase::Succeeded);
    StepView {
        id: key.as_str().to_owned(),
        title: flow.of_key(key).and_then(|step| step.title.clone()),
        status: own.phase.status(),
        attempts: own.attempts,
        duration_ms: took,
        run_id: own.child.as_ref().map(|child| child.run.clone()),
        output: output.map(|output| mask_secrets(&state.head.nonce, output)),
        problem: own.failure.as_ref().filter(|_| failed).map(ProblemView::of),
        sent: Vec::new(),
    }
}

impl ProblemView {
    pub(crate) fn of(failure: &Failure) -> ProblemView {
        ProblemView {
            code: failure.code.clone(),
            message: failure.message().into_owned(),
            hint: failure.hint().into(),
            context: failure.context.as_deref().cloned().unwrap_or_default(),
        }
    }

    /// The problem code, if it is a known one.
    pub fn kind(&self) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == self.code)
    }
}

impl WaitingView {
    /// The view at a given time. A question that can no longer be answered is shown without
    /// anything to approve.
    fn at(mut self, now_ms: u64) -> WaitingView {
        self.may_arrive_until_ms = self.may_arrive_until_ms.filter(|until| *until > now_ms);
        if self.kind != WaitingKind::Approval || self.expires_ms.is_none_or(|at| at > now_ms) {
            return self;
        }
        let message = format!("nobody answered in time: {}", self.message);
        WaitingView { message, ..self }.lapsed()
    }

    /// The view after the run's deadline, when no question can be answered anymore.
    fn after(self, deadline_ms: u64) -> WaitingView {
        let message = format!("this run's deadline has passed: {}", self.message);
        let (expires_ms, may_arrive_until_ms) = (Some(deadline_ms), None);
        WaitingView { message, expires_ms, may_arrive_until_ms, ..self }.lapsed()
    }

    fn lapsed(self) -> WaitingView {
        let lapsed = WaitingView::new(WaitingKind::Lapsed, None, self.message);
        WaitingView {
            step: self.step,
            run_id: self.run_id,
            expires_ms: self.expires_ms,
            sent: self.sent,
            may_arrive_until_ms: self.may_arrive_until_ms,
            source: self.source,
            ..lapsed
        }
    }

    /// Adds the run to a question.
    fn asked_by(self, flow: &Flow, state: &State) -> WaitingView {
        if !self.kind.is_question() {
            return self;
        }
        let source = QuestionSource {
            run_id: state.head.run.clone(),
            workflow: state.head.workflow.clone(),
            title: flow.workflow().title.clone(),
            folder: state.head.workspace.clone(),
        };
        WaitingView { source: Some(Box::new(source)), ..self }
    }

    /// A view with only the given fields.
    fn new(kind: WaitingKind, step: Option<&str>, message: String) -> WaitingView {
        WaitingView { kind, step: step.map(str::to_owned), message, ..WaitingView::default() }
    }

    fn of(flow: &Flow, state: &State, waiting: &Waiting) -> WaitingView {
        let plain =
            |step: Option<&str>, message: String| WaitingView::new(waiting.kind(), step, message);
        match waiting {
            Waiting::Approval(request) => approval(flow, state, request),
            Waiting::Unknown { key, failure } => {
                let sent = in_doubt(state, key);
                let doubtful = state.step(key).and_then(StepState::doubtful_ms);
                let may_arrive_until_ms = doubtful.map(|(began_ms, timeout_ms)| {
                    began_ms.saturating_add(arrives_within_ms(timeout_ms))
                });
                let asked = plain(Some(key.as_str()), failure.message().into_owned());
                let choices = SettleOutcome::of_request();
                WaitingView { choices, sent, may_arrive_until_ms, ..asked }
            }
            Waiting::Exhausted { key, issues } => {
                let last = issues.first().map(|issue| format!(": {}", issue.message));
                let message = format!("no submission was accepted{}", last.unwrap_or_default());
                let step = state.step(key);
                let submitted = step.and_then(|step| step.refused_output.as_ref());
                WaitingView {
                    submitted: submitted.map(|output| mask_secrets(&state.head.nonce, output)),
                    faults: issues.iter().map(|issue| issue.message.clone()).collect(),
                    choices: SettleOutcome::of_submission(submitted.is_some()),
                    ..plain(Some(key.as_str()), message)
                }
            }
            Waiting::Budget(budget) => {
                let (name, spent) = (budget.name(), state.spent.of(*budget));
                let limit = state.head.budget.get(budget).copied().unwrap_or(0);
                let below = ", the rest by child runs";
                let rest = if spent < limit { below } else { "" };
                let used = format!("{spent} of {limit} spent{rest}");
                plain(None, format!("the budget `{name}` is used up: {used}"))
            }
            Waiting::Agent(key) => plain(Some(key.as_str()), "waiting for an agent".to_owned()),
            Waiting::Variable { step, variable, expected } => {
                let values = expected.clone().map(Value::from);
                let values = values.map(|values| format!("; expected: {values}"));
                let message = format!("`{variable}` is not set{}", values.unwrap_or_default());
                plain(Some(step), message)
            }
        }
    }
}

/// The request that a step sent, if its outcome is unknown.
fn in_doubt(state: &State, key: &StepKey) -> Option<Box<SentView>> {
    let step = state.step(key)?;
    let attempt = step.in_doubt.as_deref()?;
    let began_ms = step.attempt_ms.map_or(state.now_ms, |(began_ms, _)| began_ms);
    Some(Box::new(SentView::of(attempt, began_ms)))
}

/// The minimum proof of presence for a run. If the person has a PIN, it is always required.
fn presence(head: &RunCreated) -> Presence {
    match (head.presence, &head.person) {
        (Presence::Pin, _) | (_, Some(_)) => Presence::Pin,
        (Presence::Terminal, None) => Presence::Terminal,
        (Presence::Elicitation | Presence::Policy, None) => Presence::Elicitation,
    }
}

fn approval(flow: &Flow, state: &State, request: &ApprovalRequest) -> WaitingView {
    let authored = match flow.of_key(&request.key).map(|step| &step.action) {
        Some(Action::Approve(approve)) => Some(approve),
        _ => None,
    };
    // A confirmation is about what was submitted.
    let submitted = state.step(&request.key).and_then(|step| step.submission.as_ref());
    let changes = request.changes.iter().map(|change| ChangeView {
        step: change.key.as_str().to_owned(),
        before: change.before.clone(),
        after: change.after.clone(),
    });
    let (step, message) = (Some(request.key.as_str()), request.message.clone());
    WaitingView {
        by: authored.map(|approve| approve.by.clone()).unwrap_or_default(),
        form: authored.and_then(|approve| Some(approve.form.as_ref()?.value.clone())),
        digest: Some(request.digest.clone()),
        shown: request.shown.iter().map(ShownView::of).collect(),
        unshown: request.unshown.iter().map(|key| key.as_str().to_owned()).collect(),
        submitted: submitted.map(|one| mask_secrets(&state.head.nonce, &one.output)),
        changes: changes.collect(),
        expires_ms: request.expires_at_ms,
        presence: Some(presence(&state.head)),
        ..WaitingView::new(WaitingKind::Approval, step, message)
    }
}

impl ShownView {
    fn of(shown: &ShownCall) -> ShownView {
        let mut view = ShownView {
            step: shown.key.as_str().to_owned(),
            request: shown.request.clone(),
            target: shown.target.clone(),
            arguments: shown.arguments.clone(),
            ..ShownView::default()
        };
        if let Some(sent) = shown.sent.as_deref() {
            view.method.clone_from(&sent.method);
            view.url.clone_from(&sent.url);
            view.headers = sent.headers.iter().cloned().collect();
            view.body.clone_from(&sent.body);
            view.body_bytes = sent.body_bytes;
        }
        if let Some(extras) = shown.extras.as_deref() {
            let CallExtras { profile, secrets, files, targets } = extras.clone();
            let secret = |one: UsedSecret| SecretView { name: one.name, place: one.place };
            let file =
                |one: UsedFile| FileView { path: one.path, bytes: one.bytes, sha256: one.sha256 };
            view.secrets = secrets.into_iter().map(secret).collect();
            view.files = files.into_iter().map(file).collect();
            (view.profile, view.targets) = (profile, targets);
        }
        view
    }
}

impl DueView {
    fn of(brief: StepBrief) -> DueView {
        DueView {
            step_id: brief.key.as_str().to_owned(),
            title: brief.title,
            prompt: brief.prompt,
            missing: brief.missing,
            agent_role: brief.role,
            guidance: brief.guidance,
            checks: brief.checks,
            output_schema: brief.output_schema,
            attempt: brief.attempt,
            attempts_left: brief.attempts_left,
            issues: brief.issues.into_iter().map(IssueView::of).collect(),
            feedback: brief.feedback,
            preconditions: brief.about.preconditions,
            clarification_prompts: brief.about.clarification_prompts,
            meta_guidance: brief.about.meta_guidance,
        }
    }
}

impl IssueView {
    pub(crate) fn of(issue: milepost_engine::event::SubmissionIssue) -> IssueView {
        IssueView { message: issue.message, suggestion: issue.suggestion.into() }
    }
}

/// The next action that follows from the state alone: to supply a missing secret, or to raise a
/// limit.
fn due_next(state: &State, status: RunStatus) -> Option<NextAction> {
    let run = &state.head.run;
    match status {
        RunStatus::Paused => state.open().find_map(|(_, step)| lacked(run, step.failure.as_ref()?)),
        RunStatus::Waiting => {
            let budget = state.parked?;
            let limit = state.head.budget.get(&budget).copied().unwrap_or(0);
            let most = limit.max(state.spent.of(budget));
            Some(NextAction::budget(run, budget.name(), most.saturating_mul(2).max(1)))
        }
        _ => None,
    }
}

/// The call that supplies the missing secret.
fn lacked(run: &str, failure: &Failure) -> Option<NextAction> {
    if !failure.is(Code::SecretNotFound) {
        return None;
    }
    let hint = failure.hint();
    let told = hint.calls().find(|call| call.operation == "workflow.resume").cloned();
    told.or_else(|| told_by_0_1(run, failure)).map(NextAction)
}

/// Like [`lacked`], for failures stored by version 0.1.0: a command line that ends with the input.
fn told_by_0_1(run: &str, failure: &Failure) -> Option<Invocation> {
    let line = failure.context.as_deref()?.get("next")?.as_str()?;
    let input = line.rsplit_once(" -i ").map(|(_, input)| input.trim_end_matches("=…"));
    Some(input.map_or_else(|| resume(run), |input| resume_with(run, input)))
}

/// The next action, depending on who has to act.
fn next(
    run: &str,
    status: RunStatus,
    waiting: &[WaitingView],
    variable: Option<&str>,
    due: &[DueView],
) -> Option<NextAction> {
    let of = |kind: WaitingKind| waiting.iter().any(|one| one.kind == kind);
    Some(match status {
        RunStatus::Running => NextAction::look(run),
        RunStatus::Paused => NextAction::resume(run),
        RunStatus::Failed | RunStatus::Canceled => NextAction::plan(run),
        RunStatus::Succeeded => return None,
        RunStatus::Waiting if of(WaitingKind::Approval) => NextAction::approve(run),
        RunStatus::Waiting if of(WaitingKind::Decision) || of(WaitingKind::Person) => {
            NextAction::decide(run)
        }
        RunStatus::Waiting if of(WaitingKind::Lapsed) => NextAction::resume(run),
        RunStatus::Waiting if let Some(name) = variable => NextAction::variable(run, name),
        RunStatus::Waiting => {
            let step = waiting.iter().find_map(|one| one.step.as_deref()).unwrap_or_default();
            let due = due.iter().find(|due| due.step_id == step);
            NextAction::submit(run, step, due.map(|due| &*due.missing).unwrap_or_default())
        }
    })
}
