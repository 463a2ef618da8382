//! What one execution of a step does next, depending on its action and its phase.

use std::sync::Arc;

use milepost_model::decode::Entries;
use milepost_model::duration::Period;
use milepost_model::problem::Code;
use milepost_model::step::{Action, Approve, ForEach, OnError, Repeat, Run, Step};
use milepost_model::target::Target;
use milepost_model::templated::{Dynamic, named_files};
use milepost_model::wait::Wait;
use serde_json::{Map, Value, json};

use crate::event::{ActorKind, ApprovalDecision, Event, SubmissionIssue};
use crate::interpreter::command::{
    ApprovalDraft, ChildStart, KeyedCall, NextCommand, PlannedCall, StepCall,
};
use crate::interpreter::evaluator::{Execution, RunEvaluator, field, is_loop};
use crate::interpreter::flow::FlowNode;
use crate::interpreter::output_contract;
use crate::interpreter::scope::RunScope;
use crate::state::{Phase, StepState};
use crate::{Cause, Failure, StepKey, limits, time};

impl<'s> RunEvaluator<'s> {
    /// Continues an execution that has started.
    pub(crate) fn advance(
        &self,
        one: &Execution<'_, 's>,
        state: &StepState,
    ) -> Option<NextCommand> {
        match &state.phase {
            Phase::Pending => self.is_free(one.key).then(|| self.act(one)),
            Phase::Voided => Some(match one.step.action {
                Action::Prompt(_) => self.confirm(one.key),
                _ => self.act(one),
            }),
            Phase::Listed if is_loop(one.step) => self.looped(one.key, one.step),
            Phase::Listed => self.listed(one, state),
            Phase::Answered => Some(answered(one, state)),
            Phase::Failing(failure) => {
                let (key, failure) = (one.key.clone(), (**failure).clone());
                Some(NextCommand::record(Event::StepFailed { key, failure }))
            }
            Phase::Verifying => self.verify(one, state),
            Phase::Rejected if !self.is_free(one.key) => None,
            Phase::Rejected => offered_again(one.key, one.step, state),
            Phase::Accepted => Some(self.accepted(one, state)),
            Phase::Decided(yes) => self.decided(one, state, *yes),
            Phase::Calling(_)
            | Phase::Backoff(_)
            | Phase::Between(_)
            | Phase::Sleeping(_)
            | Phase::Unknown(_)
            | Phase::Offered(_)
            | Phase::Asking
            | Phase::Child(_)
            | Phase::Succeeded
            | Phase::Failed
            | Phase::Skipped
            | Phase::Canceled => None,
        }
    }

    /// Performs the step's action.
    pub(crate) fn act(&self, one: &Execution<'_, 's>) -> NextCommand {
        let key = one.key.clone();
        let listed = one.step.for_each.is_some() && !key.is_item();
        let done = match &one.step.action {
            _ if listed => items(one),
            Action::Run(run) => self.run(one, run),
            Action::Prompt(_) => {
                let attempt = self.state.step(&key).map_or(0, |state| state.offered) + 1;
                Ok(NextCommand::record(Event::PromptOffered { key: key.clone(), attempt }))
            }
            Action::Approve(approve) => self.ask(one, approve),
            Action::Wait(wait) => self.wait(one, wait),
            Action::Set(values) => {
                let rendered = entries("set", values, &one.names);
                rendered.map(Value::Object).map(|output| {
                    misfit(one, &output).unwrap_or_else(|| succeeded(&key, Some(output)))
                })
            }
            Action::Fail(message) => {
                let message = one.names.text("fail", message);
                message.and_then(|message| Err(Cause::Authored { message }.into()))
            }
            Action::Loop(_) => Ok(scheduled(&key, Vec::new())),
        };
        done.unwrap_or_else(|failure| failed(&key, failure))
    }

    /// Runs the items of a list, with as much concurrency as allowed.
    fn listed(&self, one: &Execution<'_, 's>, state: &StepState) -> Option<NextCommand> {
        let each = one.step.for_each.as_ref()?;
        let items = state.items.as_ref()?;
        let name = each.name.as_ref().map(|name| name.value.as_str());
        let names = |index: usize| self.names(one.key).item(name, index, items[index].clone());
        let (mut open, mut first) = (0, None);
        // Items start in order, so the first one that has not started ends the search.
        for index in state.items_over..items.len() {
            let key = one.key.item(index);
            let item = self.state.step(&key);
            match item.filter(|item| item.is_open()) {
                Some(item) => {
                    let one = Execution { key: &key, step: one.step, names: names(index) };
                    if let Some(command) = self.advance(&one, item) {
                        return Some(command);
                    }
                    open += 1;
                }
                None if *self.state.phase(&key) == Phase::Pending => {
                    first = Some(index);
                    break;
                }
                None => {}
            }
        }
        let failed_item = state.item_failed.and_then(|index| self.state.step(&one.key.item(index)));
        let broken = failed_item.and_then(|item| item.failure.clone());
        let stops = broken.is_some() && one.step.on_error == OnError::Fail;
        if let Some(index) = first.filter(|_| !stops) {
            let room = open < each.concurrency as usize && self.is_free(one.key);
            let key = one.key.item(index);
            let next = Execution { key: &key, step: one.step, names: names(index) };
            return room.then(|| self.act(&next));
        }
        if open > 0 {
            return None;
        }
        Some(match broken.filter(|_| stops) {
            Some(failure) => failed(one.key, failure),
            None => succeeded(one.key, Some(self.outputs(one.key, items.len()))),
        })
    }

    fn outputs(&self, key: &StepKey, count: usize) -> Value {
        let output = |index: usize| {
            let item = self.state.step(&key.item(index));
            item.and_then(|item| item.output.clone()).unwrap_or_default()
        };
        (0..count).map(output).collect()
    }

    fn run(&self, one: &Execution<'_, 's>, run: &Run) -> Result<NextCommand, Failure> {
        let last = self.state.step(one.key).and_then(|state| state.answer.as_ref());
        let polling;
        let names = if run.repeat.is_some() {
            polling = one.names.clone().with_self(last.map(|answer| &answer.output));
            &polling
        } else {
            &one.names
        };
        Ok(match does(run, one.step, one.key.clone(), names)? {
            PlannedCall::Call(calling) => NextCommand::Call(Box::new(calling)),
            PlannedCall::Child(starting) => NextCommand::Child(Box::new(starting)),
        })
    }

    fn ask(&self, one: &Execution<'_, 's>, approve: &Approve) -> Result<NextCommand, Failure> {
        let message = one.names.text("approve", &approve.message)?;
        let deeds = self.deeds_below(one.key);
        let expires =
            approve.expires.as_ref().map(|period| self.state.now_ms.saturating_add(millis(period)));
        let (key, expires_at_ms) = (one.key.clone(), expires);
        Ok(NextCommand::Ask(Box::new(ApprovalDraft { key, message, deeds, expires_at_ms })))
    }

    /// The calls that depend on a step, if they are already known.
    pub(crate) fn deeds_below(&self, key: &StepKey) -> Vec<PlannedCall> {
        self.nodes_below(key).flat_map(|node| self.deeds_of(node).unwrap_or_default()).collect()
    }

    /// The executions that send something once a question is answered; for a list whose items are
    /// not known yet, the step itself.
    pub(crate) fn senders_below(&self, key: &StepKey) -> Vec<StepKey> {
        let sends = |node: &&FlowNode| {
            let step = self.flow.of_key(&node.key);
            // `finally` steps also run after a rejection.
            !node.finally && step.is_some_and(|step| matches!(step.action, Action::Run(_)))
        };
        let keys = |node: &FlowNode| match self.deeds_of(node) {
            Some(deeds) => deeds.iter().map(|deed| deed.key().clone()).collect(),
            None => vec![node.key.clone()],
        };
        self.nodes_below(key).filter(sends).flat_map(keys).collect()
    }

    fn nodes_below(&self, key: &StepKey) -> impl Iterator<Item = &'s FlowNode> {
        let below = self.flow.index(key.as_str()).map(|index| self.flow.below(index));
        below.into_iter().flatten().map(|index| &self.flow.nodes()[index])
    }

    /// The calls that the run will make as far as they are already certain, and the other steps
    /// that send something.
    pub(crate) fn calls_ahead(&self) -> (Vec<PlannedCall>, Vec<StepKey>) {
        let (mut known, mut open) = (Vec::new(), Vec::new());
        for node in self.flow.nodes() {
            let Some(step) = self.flow.of_key(&node.key) else { continue };
            let sends = matches!(step.action, Action::Run(_));
            if !sends || self.state.has_begun(&node.key) {
                continue;
            }
            match self.deeds_of(node).filter(|_| self.is_certain(step)) {
                Some(deeds) => known.extend(deeds),
                None => open.push(node.key.clone()),
            }
        }
        (known, open)
    }

    /// Whether a step reads only values that no longer change.
    fn is_certain(&self, step: &Step) -> bool {
        let item = step.for_each.as_ref().map(ForEach::item_name);
        step.exprs().iter().all(|located| {
            let timeless = !located.expr.source().contains("now(");
            timeless
                && located.expr.references().iter().all(|reference| match reference.root.as_str() {
                    "inputs" | "env" | "run" => true,
                    "index" => item.is_some(),
                    "steps" => field(reference, 0)
                        .is_some_and(|id| self.state.phase(&StepKey::of_walk(id)).is_closed()),
                    other => item == Some(other),
                })
        })
    }

    /// A step's calls: a single call, or one per item of its list; `None` if they are not known
    /// yet.
    fn deeds_of(&self, node: &FlowNode) -> Option<Vec<PlannedCall>> {
        let step = self.flow.of_key(&node.key)?;
        let Action::Run(run) = &step.action else { return None };
        let names = RunScope::of(self.state).for_step(self.flow, &node.key);
        let names = if run.repeat.is_some() { names.with_self(None) } else { names };
        let Some(each) = &step.for_each else {
            return Some(vec![does(run, step, node.key.clone(), &names).ok()?]);
        };
        // A list that has started keeps its items.
        let begun = self.state.step(&node.key).and_then(|state| state.items.clone());
        let list = || match names.value("for_each", &each.items) {
            Ok(Some(Value::Array(items))) => Some(Arc::new(items)),
            _ => None,
        };
        let items = begun.or_else(list).filter(|items| items.len() <= limits::SHOWN_ITEMS)?;
        let name = each.name.as_ref().map(|name| name.value.as_str());
        let deed = |(index, item): (usize, &Value)| {
            let names = names.clone().item(name, index, item.clone());
            does(run, step, node.key.item(index), &names).ok()
        };
        items.iter().enumerate().map(deed).collect()
    }

    fn wait(&self, one: &Execution<'_, 's>, wait: &Wait) -> Result<NextCommand, Failure> {
        let now = self.state.now_ms;
        let until = match wait {
            Wait::For(period) => now.saturating_add(millis(period)),
            Wait::Until(moment) => time::parse(&moment.value).unwrap_or(now),
            Wait::Computed(text) => {
                let text = one.names.text("wait", text)?;
                let period =
                    Period::parse(text.trim()).map(|period| now.saturating_add(millis(&period)));
                let moment = || time::parse(text.trim());
                period.or_else(moment).ok_or_else(|| {
                    Cause::mistyped("wait", "a duration or a timestamp", &format!("`{text}`"))
                })?
            }
        };
        Ok(NextCommand::record(Event::TimerSet { key: one.key.clone(), at_ms: until }))
    }

    /// Runs the `verify` requests for an agent's submission, one at a time.
    fn verify(&self, one: &Execution<'_, 's>, state: &StepState) -> Option<NextCommand> {
        let Action::Prompt(prompt) = &one.step.action else { return None };
        let submission = state.submission.as_ref()?;
        for (index, check) in prompt.verify.iter().enumerate() {
            let key = one.key.check(index);
            let names = || one.names.clone().with_self(Some(&submission.output));
            let checked = self.state.step(&key);
            match checked.map_or(&Phase::Pending, |checked| &checked.phase) {
                Phase::Pending if !self.is_free(&key) => return None,
                Phase::Pending => {
                    let call = check_call(check, one.step, &names());
                    return Some(match call {
                        Ok(call) => NextCommand::Call(Box::new(KeyedCall { key, call })),
                        Err(failure) => failed(&key, failure),
                    });
                }
                Phase::Answered => {
                    let answer = checked.and_then(|checked| checked.answer.clone())?;
                    let names = names().answered(&answer);
                    return Some(match names.holds("verify.check", &check.check) {
                        Ok(true) => succeeded(&key, None),
                        Ok(false) => {
                            let source = check.check.expr.source().trim();
                            let told = check.message.clone();
                            let told = told.unwrap_or_else(|| format!("`{source}` does not hold"));
                            failed(&key, Cause::Refuted { message: told }.into())
                        }
                        Err(failure) => failed(&key, failure),
                    });
                }
                Phase::Failing(failure) => return Some(failed(&key, (**failure).clone())),
                Phase::Failed => {
                    let failure = checked.and_then(|checked| checked.failure.as_ref())?;
                    // A check that may not be sent never will be, whatever is submitted.
                    if failure.is(Code::ApprovalRejected) || failure.is(Code::RequestRefused) {
                        return Some(failed(one.key, failure.clone()));
                    }
                    return Some(refused(one.key, state, failure));
                }
                Phase::Succeeded => {}
                _ => return None,
            }
        }
        Some(NextCommand::record(Event::SubmissionAccepted(submission.clone())))
    }

    fn accepted(&self, one: &Execution<'_, 's>, state: &StepState) -> NextCommand {
        // An output that a person supplied instead of the agent needs no further confirmation.
        if let (Action::Prompt(prompt), Some(submission)) = (&one.step.action, &state.submission)
            && self.is_confirmed(one.key, prompt, &submission.output)
        {
            return self.confirm(one.key);
        }
        let output = state.submission.as_ref().map(|submission| submission.output.clone());
        let given = || state.answer.as_ref().map(|answer| answer.output.clone());
        let output = output.or_else(given).unwrap_or_default();
        misfit(one, &output).unwrap_or_else(|| succeeded(one.key, None))
    }

    /// Asks a person to confirm an agent's submission.
    fn confirm(&self, key: &StepKey) -> NextCommand {
        NextCommand::Ask(Box::new(ApprovalDraft {
            key: key.clone(),
            // This message is part of the digest of what was shown, so rewording it voids the
            // answers in older runs.
            message: format!("Confirm what was handed in for `{key}`?"),
            deeds: self.deeds_below(key),
            expires_at_ms: None,
        }))
    }

    fn decided(
        &self,
        one: &Execution<'_, 's>,
        state: &StepState,
        yes: bool,
    ) -> Option<NextCommand> {
        let verdict = state.verdict.as_ref()?;
        let key = one.key.clone();
        Some(match (&one.step.action, yes) {
            (Action::Approve(_), true) => {
                let output = told(verdict);
                misfit(one, &output).unwrap_or_else(|| succeeded(&key, Some(output)))
            }
            (Action::Approve(approve), false) => {
                return self.sent_back(&key, approve, state, verdict);
            }
            (_, true) => {
                let output = state.submission.as_ref().map(|one| one.output.clone());
                misfit(one, &output.unwrap_or_default()).unwrap_or_else(|| succeeded(&key, None))
            }
            (_, false) => {
                let comment = verdict.comment.as_deref().unwrap_or("no reason given");
                let message = format!("a person rejected it: {comment}");
                let suggestion = "do the step again with that in mind".into();
                rejected(&key, state, SubmissionIssue { message, suggestion }, true)
            }
        })
    }

    /// Handles a rejection. If the workflow defines where to go back to, that step and everything
    /// after it run again; otherwise the step fails.
    fn sent_back(
        &self,
        key: &StepKey,
        approve: &Approve,
        state: &StepState,
        verdict: &ApprovalDecision,
    ) -> Option<NextCommand> {
        let expired = verdict.by.kind == ActorKind::Engine;
        let comment = verdict.comment.as_deref();
        let back = approve.on_reject.as_ref().filter(|back| {
            let max = back.max.map_or(limits::SENT_BACK, milepost_model::decode::Int::get);
            state.sent_back < max && !expired
        });
        let target = back.and_then(|back| self.flow.index(back.to.value.as_str()));
        let Some(index) = target else {
            let cause = match expired {
                true => Cause::Expired { key: key.clone() },
                false => Cause::Rejected { key: key.clone(), comment: comment.map(str::to_owned) },
            };
            return Some(failed(key, cause.into()));
        };
        let nodes = self.flow.nodes();
        let mut reset: Vec<StepKey> =
            self.flow.below(index).into_iter().map(|below| nodes[below].key.clone()).collect();
        reset.insert(0, nodes[index].key.clone());
        if !reset.contains(key) {
            reset.push(key.clone());
        }
        // A request in flight, or one with an unknown outcome, is never discarded.
        let held = |key: &StepKey| {
            let mut within = self.state.open().filter(|(other, _)| other.is_within(key));
            within.any(|(_, step)| step.phase.is_busy() || matches!(step.phase, Phase::Unknown(_)))
        };
        if reset.iter().any(held) {
            return None;
        }
        let reason = comment.unwrap_or("no reason was given").to_owned();
        let to = nodes[index].key.clone();
        Some(NextCommand::record(Event::WentBack { from: key.clone(), to, reason, reset }))
    }
}

fn items(one: &Execution<'_, '_>) -> Result<NextCommand, Failure> {
    let Some(each) = &one.step.for_each else { return Ok(scheduled(one.key, Vec::new())) };
    match one.names.value("for_each", &each.items)? {
        Some(Value::Array(items)) if items.len() <= limits::ITEMS => Ok(scheduled(one.key, items)),
        Some(Value::Array(items)) => {
            Err(Cause::TooManyItems { found: items.len(), limit: limits::ITEMS }.into())
        }
        found => {
            let found = found.as_ref().map_or("nothing", kind_of);
            Err(Cause::mistyped("for_each", "a list", found).into())
        }
    }
}

/// The call that an execution of a step makes.
fn does(
    run: &Run,
    step: &Step,
    key: StepKey,
    names: &RunScope<'_>,
) -> Result<PlannedCall, Failure> {
    Ok(match &run.target.value {
        Target::Command(_) => PlannedCall::Call(KeyedCall { key, call: call(run, step, names)? }),
        Target::Workflow(id) => {
            let inputs = entries("with", &run.with, names)?;
            PlannedCall::Child(ChildStart { key, workflow: id.as_str().to_owned(), inputs })
        }
    })
}

fn answered(one: &Execution<'_, '_>, state: &StepState) -> NextCommand {
    let empty = crate::event::CallAnswer::default();
    let answer = state.answer.as_ref().unwrap_or(&empty);
    if let Action::Run(run) = &one.step.action
        && let Some(repeat) = &run.repeat
    {
        let names = one.names.clone().answered(answer).with_self(Some(&answer.output));
        match names.holds("repeat.until", &repeat.until) {
            Ok(true) => {}
            Ok(false) => return polled(one.key, repeat, state, names.now_ms()),
            Err(failure) => return failed(one.key, failure),
        }
    }
    misfit(one, &answer.output).unwrap_or_else(|| succeeded(one.key, None))
}

/// When polling has to stop.
pub(crate) fn polls_until(repeat: &Repeat, began: u64) -> Option<u64> {
    let total = repeat.timeout.as_ref().map(millis);
    // If the author sets no limit, a default timeout applies.
    let total = total.or(repeat.max_attempts.is_none().then_some(limits::POLL_TOTAL_MS));
    total.map(|total| began.saturating_add(total))
}

/// Schedules the next polling pass, or gives up.
fn polled(key: &StepKey, repeat: &Repeat, state: &StepState, now: u64) -> NextCommand {
    let every = repeat.every.as_ref().map_or(limits::POLL_MS, millis);
    let most = repeat.max_attempts.map(milepost_model::decode::Int::get);
    let began = state.began_ms.unwrap_or(now);
    let late = polls_until(repeat, began).is_some_and(|until| now.saturating_add(every) > until);
    let often = most.is_some_and(|most| state.passes + 1 >= most);
    if late || often {
        let (passes, seconds) = (state.passes + 1, (now - began) / 1000);
        return failed(key, Cause::Polled { key: key.clone(), passes, seconds }.into());
    }
    NextCommand::record(Event::TimerSet { key: key.clone(), at_ms: now.saturating_add(every) })
}

fn offered_again(key: &StepKey, step: &Step, state: &StepState) -> Option<NextCommand> {
    let Action::Prompt(prompt) = &step.action else { return None };
    let left = state.tries_left(prompt.max_attempts);
    let attempt = state.offered + 1;
    (left > 0).then(|| NextCommand::record(Event::PromptOffered { key: key.clone(), attempt }))
}

/// Rejects a submission because of a failed check. If the check itself could not be performed, the
/// attempt does not count.
fn refused(key: &StepKey, state: &StepState, failure: &Failure) -> NextCommand {
    let refuted = failure.is(milepost_model::problem::Code::ClaimRefuted);
    let (message, suggestion) = match refuted {
        true => (failure.message().into_owned(), failure.hint()),
        false => (
            format!("it could not be checked: {}", failure.message()),
            "submit it again once it can be checked".into(),
        ),
    };
    rejected(key, state, SubmissionIssue { message, suggestion }, refuted)
}

fn rejected(
    key: &StepKey,
    state: &StepState,
    issue: SubmissionIssue,
    counted: bool,
) -> NextCommand {
    let submission = state.submission.as_ref();
    let attempt = submission.map_or(0, |one| one.attempt);
    let digest = submission.map(|one| one.digest.clone()).unwrap_or_default();
    // The submission itself was recorded when it was received.
    let (key, issues, output) = (key.clone(), vec![issue], None);
    NextCommand::record(Event::SubmissionRejected { key, attempt, digest, issues, counted, output })
}

fn call(run: &Run, step: &Step, names: &RunScope<'_>) -> Result<StepCall, Failure> {
    Ok(StepCall {
        command: run.target.value.to_string(),
        with: entries("with", &run.with, names)?,
        body: run.body.as_ref().map(|body| names.value("body", body)).transpose()?.flatten(),
        headers: entries("headers", &run.headers, names)?,
        files: named_files(Some(&run.with), run.body.as_ref()),
        idempotent: run.idempotent,
        timeout_ms: step.timeout.as_ref().map_or(limits::ATTEMPT_MS, millis),
    })
}

fn check_call(
    check: &milepost_model::step::Verify,
    step: &Step,
    names: &RunScope<'_>,
) -> Result<StepCall, Failure> {
    let with = check.with.as_ref().map(|with| entries("verify.with", with, names));
    let body = check.body.as_ref().map(|body| names.value("verify.body", body));
    Ok(StepCall {
        command: check.run.value.to_string(),
        with: with.transpose()?.unwrap_or_default(),
        body: body.transpose()?.flatten(),
        files: named_files(check.with.as_ref(), check.body.as_ref()),
        timeout_ms: step.timeout.as_ref().map_or(limits::ATTEMPT_MS, millis),
        ..StepCall::default()
    })
}

fn entries(
    place: &str,
    entries: &Entries<Dynamic>,
    names: &RunScope<'_>,
) -> Result<Map<String, Value>, Failure> {
    let mut all = Map::new();
    for (name, value) in &entries.0 {
        let place = format!("{place}.{}", name.value);
        if let Some(value) = names.value(&place, value)? {
            all.insert(name.value.clone(), value);
        }
    }
    Ok(all)
}

/// A person's decision, as expressions see it.
fn told(verdict: &ApprovalDecision) -> Value {
    let mut all = json!({"approved": true, "by": verdict.by.name});
    if let Some(comment) = &verdict.comment {
        all["comment"] = comment.clone().into();
    }
    if let Some(answer) = &verdict.answer {
        all["answer"] = answer.clone();
    }
    all
}

pub(crate) fn millis(period: &Period) -> u64 {
    u64::try_from(period.0.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn scheduled(key: &StepKey, items: Vec<Value>) -> NextCommand {
    NextCommand::record(Event::StepScheduled { key: key.clone(), items })
}

/// Fails the execution if its output violates the step's output contract.
fn misfit(one: &Execution<'_, '_>, output: &Value) -> Option<NextCommand> {
    let misfit = output_contract::misfit(one.key, one.step, output);
    misfit.map(|failure| failed(one.key, failure))
}

pub(crate) fn succeeded(key: &StepKey, output: Option<Value>) -> NextCommand {
    NextCommand::record(Event::StepSucceeded { key: key.clone(), output })
}

pub(crate) fn failed(key: &StepKey, failure: Failure) -> NextCommand {
    NextCommand::record(Event::StepFailed { key: key.clone(), failure })
}
