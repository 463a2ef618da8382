//! Decides whether a submission from an agent or a decision from a person is accepted.

use milepost_model::output_check as rules;
use milepost_model::problem::Code;
use milepost_model::step::{Action, Prompt};
use milepost_model::suggest;
use serde_json::{Map, Value, json};

use crate::event::{
    Actor, ActorKind, ApprovalDecision, Event, Presence, Proof, Submission, SubmissionIssue,
};
use crate::interpreter::{WorldView, digest, run_variables};
use crate::signal::{DecisionSignal, Reply, SubmissionSignal};
use crate::state::{Phase, State, StepState};
use crate::{Cause, Failure, Flow, StepKey, submitted_context, view};

/// How a submission is handled.
pub(crate) enum Admission {
    /// Replied to immediately; the run does not change.
    Answer(Reply),
    /// It is recorded as this event. A submission that is already being checked is recorded again,
    /// because its sender is waiting for the same verdict.
    Take(Event),
}

/// Decides how to handle a submission from an agent.
pub(crate) fn submission(flow: &Flow, state: &State, submitted: SubmissionSignal) -> Admission {
    match read(flow, state, submitted) {
        Ok(read) => read,
        Err(failure) => Admission::Answer(Reply::Refused { failure }),
    }
}

fn read(flow: &Flow, state: &State, submitted: SubmissionSignal) -> Result<Admission, Failure> {
    let Some(output) = submitted.output.clone() else {
        if submitted.context.is_empty() {
            let hint = "pass `output` with the result, or `context` with variables";
            return Err(Failure::new(Code::ParamsInvalid, "nothing was submitted", hint));
        }
        if state.end.is_some() {
            return Err(Cause::HasEnded.into());
        }
        let keys: Vec<StepKey> = state.open().map(|(key, _)| key.clone()).collect();
        let sent = submitted.context;
        let values = submitted_context::agreed(flow, state, &keys, &Map::new(), sent)?;
        if values.is_empty() {
            return Ok(Admission::Answer(Reply::Done));
        }
        return Ok(Admission::Take(Event::ContextAdded { by: submitted.by, values }));
    };
    let wanted = digest(&json!({"output": output, "context": submitted.context}));
    let key = match state.end.is_some() {
        true => took(state, submitted.step.as_deref(), &wanted).ok_or(Cause::HasEnded)?,
        false => target(flow, state, submitted.step.as_deref(), &wanted)?,
    };
    let step = state.step(&key).ok_or_else(|| Cause::not_due(key.as_str(), None))?;
    // A repeated delivery gets the same reply. Without the number of its attempt, the same output
    // is a new submission while the step waits for one, so that it uses up an attempt.
    if let Some(judged) = step.judged.iter().rev().find(|judged| {
        let same = submitted.attempt.is_none_or(|attempt| attempt == judged.attempt);
        same && judged.digest == wanted
    }) {
        let current = matches!(step.phase, Phase::Offered(attempt) if attempt > judged.attempt);
        if submitted.attempt.is_some() || !current {
            return Ok(Admission::Answer(reply(flow, state, &key, judged.issues.clone())));
        }
    }
    if state.end.is_some() || state.canceling.is_some() && !flow.is_finally(&key) {
        return Err(Cause::HasEnded.into());
    }
    let attempt = match &step.phase {
        Phase::Offered(attempt) => *attempt,
        Phase::Verifying => {
            let same = step.submission.clone().filter(|own| own.digest == wanted);
            let same = same.ok_or(Cause::BeingChecked { key })?;
            return Ok(Admission::Take(Event::SubmissionReceived(same)));
        }
        _ => return Err(Cause::not_due(key.as_str(), due(flow, state).first()).into()),
    };
    if submitted.attempt.is_some_and(|given| given != attempt) {
        return Err(Cause::Stale { key, attempt }.into());
    }
    let Some(Action::Prompt(prompt)) = flow.of_key(&key).map(|step| &step.action) else {
        return Err(Cause::not_due(key.as_str(), None).into());
    };
    let submission = Submission {
        key: key.clone(),
        attempt,
        digest: wanted,
        output,
        context: submitted.context,
        by: submitted.by,
        messages: Vec::new(),
    };
    judged(flow, state, prompt, submission)
}

fn judged(
    flow: &Flow,
    state: &State,
    prompt: &Prompt,
    mut submission: Submission,
) -> Result<Admission, Failure> {
    let text = match &submission.output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let key = submission.key.clone();
    let structured = run_variables::object(flow, prompt, &submission.output);
    let own = run_variables::variables_in(flow, &key, structured.clone().unwrap_or_default());
    let sent = std::mem::take(&mut submission.context);
    submission.context =
        submitted_context::agreed(flow, state, std::slice::from_ref(&key), &own, sent)?;
    let mut context = view::variables(flow, state, &key);
    if let Some(context) = context.as_object_mut() {
        context.extend(submission.context.clone());
        run_variables::overlay(context, &own);
    }
    if flow.is_walked() {
        submitted_context::decides_rules(prompt, &context)?;
    }
    // Output that matches a schema is structured data for later steps, not text.
    if prompt.output_schema.is_some()
        && let Ok(parsed) = serde_json::from_str(&text)
    {
        submission.output = parsed;
    }
    let issues = rules::check_output(Some(prompt), &text, &context).map_err(|error| {
        let hint = "ask the workflow's author to fix the rule";
        Failure::new(Code::CriteriaInvalid, error.to_string(), hint)
    })?;
    let unloopable = submitted_context::loop_issues(flow, &own);
    if issues.is_empty() && !unloopable.is_empty() {
        return Ok(rejected(flow, state, submission, unloopable));
    }
    if !issues.is_empty() {
        let issues = issues.into_iter().map(|issue| SubmissionIssue {
            message: issue.message,
            suggestion: issue.suggestion.into(),
        });
        return Ok(rejected(flow, state, submission, issues.collect()));
    }
    if prompt.output_schema.is_none()
        && let Some(structured) = structured
    {
        submission.output = Value::Object(structured);
    }
    Ok(Admission::Take(match prompt.verify.is_empty() {
        true => Event::SubmissionAccepted(submission),
        false => Event::SubmissionReceived(submission),
    }))
}

fn rejected(
    flow: &Flow,
    state: &State,
    submission: Submission,
    issues: Vec<SubmissionIssue>,
) -> Admission {
    let Submission { key, attempt, digest, output, .. } = submission;
    // A person decides about the last one, and is shown it.
    let output = (attempts_left(flow, state, &key) <= 1).then_some(output);
    let counted = true;
    Admission::Take(Event::SubmissionRejected { key, attempt, digest, issues, counted, output })
}

/// The step execution that a submission is for.
fn target(
    flow: &Flow,
    state: &State,
    named: Option<&str>,
    wanted: &str,
) -> Result<StepKey, Failure> {
    let due = due(flow, state);
    let Some(named) = named else {
        return match due.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(Cause::NothingDue.into()),
            _ => Err(Cause::SeveralDue { due }.into()),
        };
    };
    // A step id refers to the execution that is due, or else to the one for which this exact output
    // was already judged.
    let of_name = |key: &&StepKey| key.as_str() == named || key.step() == named;
    let done = || took(state, Some(named), wanted);
    if let Some(key) = due.iter().find(of_name).cloned().or_else(done) {
        return Ok(key);
    }
    if flow.step(StepKey::of_walk(named).step()).is_some() {
        return Err(Cause::not_due(named, due.first()).into());
    }
    let ids = due.iter().map(StepKey::as_str);
    let near = suggest::closest(named, ids.chain(state.steps.keys().map(StepKey::as_str)));
    let near = near.or(due.first().map(StepKey::as_str)).map(str::to_owned);
    Err(Cause::NoStep { step: named.to_owned(), near }.into())
}

/// The execution for which this exact output was already judged.
fn took(state: &State, named: Option<&str>, wanted: &str) -> Option<StepKey> {
    let of_name =
        |key: &StepKey| named.is_none_or(|name| key.as_str() == name || key.step() == name);
    let took = |step: &StepState| step.judged.iter().any(|judged| judged.digest == wanted);
    let mut all = state.steps.iter().filter(|(key, step)| of_name(key) && took(step));
    all.next().map(|(key, _)| key.clone())
}

/// The executions that an agent may work on now.
pub(crate) fn due(flow: &Flow, state: &State) -> Vec<StepKey> {
    let open = state.open().filter(|(key, step)| {
        let prompt = flow.of_key(key).is_some_and(|def| matches!(def.action, Action::Prompt(_)));
        prompt && matches!(step.phase, Phase::Offered(_) | Phase::Verifying)
    });
    open.map(|(key, _)| key.clone()).collect()
}

/// The verdict in an event: the execution, and the issues with its submission (empty if accepted).
pub(crate) fn verdict(event: &Event) -> Option<(StepKey, Vec<SubmissionIssue>)> {
    match event {
        Event::SubmissionAccepted(submission) => Some((submission.key.clone(), Vec::new())),
        Event::SubmissionRejected { key, issues, .. } => Some((key.clone(), issues.clone())),
        _ => None,
    }
}

/// The reply to a submission.
pub(crate) fn reply(
    flow: &Flow,
    state: &State,
    key: &StepKey,
    issues: Vec<SubmissionIssue>,
) -> Reply {
    if issues.is_empty() {
        return Reply::Accepted { key: key.clone() };
    }
    let attempts_left = attempts_left(flow, state, key);
    Reply::Rejected { key: key.clone(), issues, attempts_left }
}

/// Checks a person's decision and returns the event to record, or `None` if it was recorded before.
pub(crate) fn decision(
    flow: &Flow,
    state: &State,
    world: &dyn WorldView,
    decided: DecisionSignal,
) -> Result<Option<Event>, Failure> {
    let key = &decided.key;
    // Repeating a decision changes nothing.
    let told = state.step(key).and_then(|step| Some((step.verdict.as_ref()?, &step.phase)));
    if let Some((verdict, phase)) = told {
        let same = verdict.digest == decided.digest && verdict.by == decided.by;
        let yes = matches!(phase, Phase::Succeeded | Phase::Voided | Phase::Decided(true));
        if same && *phase != Phase::Asking && yes == decided.approve {
            return Ok(None);
        }
    }
    let asked = state.step(key).filter(|step| step.phase == Phase::Asking);
    let request = asked.and_then(|step| step.request.as_deref());
    let request = request.ok_or_else(|| Cause::NotAsked { key: key.clone() })?;
    if request.digest != decided.digest {
        return Err(Cause::AskedAgain { key: key.clone() }.into());
    }
    if decided.by.kind != ActorKind::Person {
        return Err(Cause::NoPerson.into());
    }
    let proof = Proof { presence: decided.presence, signature: decided.signature.clone() };
    // An approval request may also be answered in the client that shows it.
    let text = decided.signed_text(&state.head.run);
    proven_by(state, world, Presence::Elicitation, Some(&proof), &text)?;
    if let Some(Action::Approve(approve)) = flow.of_key(key).map(|step| &step.action) {
        if !approve.by.is_empty() && !approve.by.contains(&decided.by.name) {
            return Err(Cause::NotTheirs { key: key.clone(), by: approve.by.clone() }.into());
        }
        if let Some(form) = approve.form.as_ref().filter(|_| decided.approve) {
            let answer = decided.answer.clone().unwrap_or(Value::Null);
            fits(form, &answer)?;
        }
    }
    let DecisionSignal { key, digest, approve, by, comment, answer, presence, signature } = decided;
    let comment = comment.filter(|comment| !comment.trim().is_empty());
    let verdict =
        Box::new(ApprovalDecision { key, digest, by, comment, answer, presence, signature });
    Ok(Some(if approve { Event::Approved(verdict) } else { Event::Rejected(verdict) }))
}

/// Checks that a person proved their presence at a terminal, or by stronger means if the run
/// requires it. Unattended approval by configuration covers only approvals.
pub(crate) fn proven(
    state: &State,
    world: &dyn WorldView,
    proof: Option<&Proof>,
    text: &str,
) -> Result<(), Failure> {
    proven_by(state, world, Presence::Terminal, proof, text)
}

/// Like [`proven`], with the minimum presence to require.
fn proven_by(
    state: &State,
    world: &dyn WorldView,
    least: Presence,
    proof: Option<&Proof>,
    text: &str,
) -> Result<(), Failure> {
    let head = &state.head;
    let least = head.presence.max(least);
    let proof = proof.filter(|proof| proof.presence >= least);
    let proof = proof.ok_or(Cause::Absent { least })?;
    let signature = proof.signature.as_deref().unwrap_or_default();
    match &head.person {
        Some(person) if !world.is_signed(person, text, signature) => Err(Cause::Unsigned.into()),
        _ => Ok(()),
    }
}

/// Whether the user's configuration approves this step unattended. It cannot fill in a form, and it
/// cannot replace approvers that the author named.
pub(crate) fn is_unattended(flow: &Flow, state: &State, key: &StepKey) -> bool {
    let plain = match flow.of_key(key).map(|step| &step.action) {
        Some(Action::Approve(approve)) => approve.form.is_none() && approve.by.is_empty(),
        _ => true,
    };
    state.head.presence == Presence::Policy && plain
}

fn fits(form: &milepost_model::json_schema::JsonSchema, answer: &Value) -> Result<(), Failure> {
    let misfits = form.misfits(answer).map_err(|error| Cause::UnfitAnswer { error })?;
    let misfit = misfits.first().map(|first| Cause::UnfitAnswer { error: first.message.clone() });
    misfit.map_or(Ok(()), |misfit| Err(misfit.into()))
}

/// Checks that a person may decide the outcome of a step.
pub(crate) fn settlement(
    flow: &Flow,
    state: &State,
    key: &StepKey,
    by: &Actor,
) -> Result<(), Failure> {
    if by.kind != ActorKind::Person {
        return Err(Cause::NoPerson.into());
    }
    let unknown = matches!(state.phase(key), Phase::Unknown(_));
    if state.end.is_none() && (unknown || is_exhausted(flow, state, key)) {
        return Ok(());
    }
    Err(Cause::NotUnknown { key: key.clone() }.into())
}

/// Whether the last submission was rejected and no attempts are left.
pub(crate) fn is_exhausted(flow: &Flow, state: &State, key: &StepKey) -> bool {
    *state.phase(key) == Phase::Rejected && attempts_left(flow, state, key) == 0
}

fn attempts_left(flow: &Flow, state: &State, key: &StepKey) -> u32 {
    let limit = flow.of_key(key).and_then(|step| match &step.action {
        Action::Prompt(prompt) => prompt.max_attempts,
        _ => None,
    });
    state.step(key).map_or(0, |step| step.tries_left(limit))
}

/// An actor that represents the engine itself; `name` is the role in which it acts.
pub fn engine_actor(name: &str) -> Actor {
    Actor { kind: ActorKind::Engine, name: name.to_owned() }
}
