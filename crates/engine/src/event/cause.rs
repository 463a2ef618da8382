//! Why the engine itself fails or rejects something: each cause with its data. The journal contains
//! only the data; the message is built here when it is displayed.
//!
//! A message is visible to expressions (`steps.x.error.message`), so a run that is loaded from its
//! journal must see the same message: `failures.txt` in the tests pins every message.

use milepost_model::expr::EvalError;
use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::Code;
use milepost_model::suggest;
use serde::{Deserialize, Serialize};

use crate::event::Presence;
use crate::{StepKey, time};

/// Why something in a run failed or was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    #[error("`{place}` cannot be evaluated: {error}")]
    Expression { place: String, error: String },
    #[error("`{place}` must yield {expected}: it yields {found}")]
    Mistyped { place: String, expected: String, found: String },
    #[error("the list has {found} items, but a step can loop over at most {limit}")]
    TooManyItems { found: usize, limit: usize },
    #[error("{message}")]
    Authored { message: String },
    #[error("`{key}` was rejected{}", after_colon(comment.as_deref()))]
    Rejected { key: StepKey, comment: Option<String> },
    #[error("nobody answered `{key}` in time")]
    Expired { key: StepKey },
    #[error("no submission for `{key}` was accepted, and no attempts are left")]
    Exhausted { key: StepKey },
    #[error("the workflow it runs was canceled")]
    ChildCanceled,
    #[error("`repeat.until` in `{key}` did not hold within {seconds} s (passes: {passes})")]
    Polled { key: StepKey, passes: u32, seconds: u64 },
    #[error("{message}")]
    Refuted { message: String },
    #[error("`{field}` in the output of `{key}` must be of type {expected}, but is {found}")]
    Contract { key: StepKey, field: String, expected: String, found: String },
    #[error("`{key}` cannot continue: {error}")]
    Unwalkable { key: String, error: String },
    #[error("the run took longer than its workflow allows")]
    TooLate,
    #[error("the step was canceled")]
    Canceled,
    #[error("only `{key}` was run; other steps are still pending")]
    Incomplete { key: StepKey },
    #[error("more than {limit} nested workflows")]
    TooDeep { limit: u32 },
    #[error("`{request}` was in flight when the process ended")]
    Interrupted { request: String },
    #[error("the run has ended")]
    HasEnded,
    #[error("the run has changed since this was planned")]
    MovedOn,
    #[error("step `{step}` is not due")]
    NotDue { step: String, due: Option<StepKey> },
    #[error("the workflow has no step `{step}` that could be due")]
    NoStep { step: String, near: Option<String> },
    #[error("the workflow has no step `{step}`")]
    UnknownStep { step: String, near: Option<String>, all: Vec<String> },
    #[error("no step is waiting for an agent")]
    NothingDue,
    #[error("several steps are due: {}", joined(due))]
    SeveralDue { due: Vec<StepKey> },
    #[error("`{key}` is now at attempt {attempt}")]
    Stale { key: StepKey, attempt: u32 },
    #[error("another submission for `{key}` is being checked")]
    BeingChecked { key: StepKey },
    #[error("`{key}` is not asking for a decision")]
    NotAsked { key: StepKey },
    #[error("the question that `{key}` asks has changed")]
    AskedAgain { key: StepKey },
    #[error("only a person can decide this")]
    NoPerson,
    #[error("this decision needs {}", proof(*least))]
    Absent { least: Presence },
    #[error("the decision is not signed with the person's PIN")]
    Unsigned,
    #[error("only {} may decide on `{key}`", suggest::list(by))]
    NotTheirs { key: StepKey, by: Vec<String> },
    #[error("the answer does not match the form: {error}")]
    UnfitAnswer { error: String },
    #[error(
        "the request for `{key}` may still arrive until {}: until then you cannot record that it \
         did not happen, and it is not sent again",
        time::rfc3339(*from_ms)
    )]
    MayStillArrive { key: StepKey, from_ms: u64 },
    #[error("the outcome of `{key}` is not in question")]
    NotUnknown { key: StepKey },
    #[error("no person agreed to it{}", after_colon(comment.as_deref()))]
    Disagreed { key: StepKey, comment: Option<String> },
    #[error("it was not sent, because no person agreed to it")]
    NoConsent { key: StepKey },
    #[error("the policy forbids `{request}`")]
    Denied { request: String },
}

impl Cause {
    /// An expression that cannot be evaluated.
    pub(crate) fn expression(place: &str, error: &EvalError) -> Cause {
        Cause::Expression { place: place.to_owned(), error: error.to_string() }
    }

    /// A value of the wrong type.
    pub(crate) fn mistyped(place: &str, expected: &str, found: &str) -> Cause {
        let (place, expected) = (place.to_owned(), expected.to_owned());
        Cause::Mistyped { place, expected, found: found.to_owned() }
    }

    /// A step that is not due, with the step that is due.
    pub(crate) fn not_due(step: &str, due: Option<&StepKey>) -> Cause {
        Cause::NotDue { step: step.to_owned(), due: due.cloned() }
    }

    /// The problem code.
    pub fn code(&self) -> Code {
        match self {
            Cause::Expression { .. } | Cause::Mistyped { .. } | Cause::TooManyItems { .. } => {
                Code::ExpressionFailed
            }
            Cause::Authored { .. } => Code::FailedByAuthor,
            Cause::Rejected { .. }
            | Cause::Expired { .. }
            | Cause::Disagreed { .. }
            | Cause::NoConsent { .. } => Code::ApprovalRejected,
            Cause::Denied { .. } => Code::RequestRefused,
            Cause::Exhausted { .. } => Code::SubmissionsExhausted,
            Cause::ChildCanceled | Cause::Canceled => Code::RunCanceled,
            Cause::Polled { .. } => Code::RepeatExhausted,
            Cause::Refuted { .. } => Code::ClaimRefuted,
            Cause::Contract { .. } => Code::OutputInvalid,
            Cause::Unwalkable { .. } => Code::StateInvalid,
            Cause::TooLate => Code::RunTimeout,
            Cause::Interrupted { .. } => Code::OutcomeUnknown,
            Cause::Incomplete { .. }
            | Cause::TooDeep { .. }
            | Cause::HasEnded
            | Cause::MovedOn
            | Cause::NotAsked { .. }
            | Cause::AskedAgain { .. }
            | Cause::MayStillArrive { .. }
            | Cause::NotUnknown { .. } => Code::RunConflict,
            Cause::NoStep { .. } | Cause::UnknownStep { .. } => Code::StepNotFound,
            Cause::NotDue { .. }
            | Cause::NothingDue
            | Cause::SeveralDue { .. }
            | Cause::Stale { .. }
            | Cause::BeingChecked { .. } => Code::StepNotDue,
            Cause::NoPerson | Cause::Absent { .. } | Cause::Unsigned | Cause::NotTheirs { .. } => {
                Code::PresenceRequired
            }
            Cause::UnfitAnswer { .. } => Code::ParamsInvalid,
        }
    }

    /// The next action to take.
    pub fn hint(&self) -> Hint {
        let text = match self {
            Cause::Mistyped { .. } => {
                let latest = Hint::text("correct the expression, then resume with ");
                return latest.given("version", "latest");
            }
            Cause::HasEnded => {
                let show = Invocation::of("workflow.status");
                return Hint::text("look at it with ").call(show).then(", or resume it");
            }
            Cause::NotAsked { .. } | Cause::NotUnknown { .. } => {
                return Hint::text("see what is waiting with ").call(Invocation::of("inbox"));
            }
            Cause::NoPerson => {
                let stop = Hint::text("stop, and ask the person to run ");
                return stop.person(Invocation::of("inbox"));
            }
            Cause::NotDue { due: Some(due), .. } => {
                return Hint::text(format!("work on `{due}`: it is the one that is due"));
            }
            Cause::NoStep { step, near: Some(due) } if suggest::closest(step, [due]).is_none() => {
                return Hint::text(format!("the step that is due is `{due}`"));
            }
            Cause::NoStep { near: Some(near), .. }
            | Cause::UnknownStep { near: Some(near), .. } => {
                return Hint::text(format!("did you mean `{near}`?"));
            }
            Cause::UnknownStep { near: None, all, .. } => {
                let steps = suggest::list(all.iter().map(String::as_str));
                return Hint::text(format!("name one of its steps: {steps}"));
            }
            Cause::SeveralDue { .. } => {
                return Hint::text("say which one with ").argument("step_id");
            }
            cause => cause.sentence(),
        };
        text.into()
    }

    /// The hint for a cause for which no specific operation can be suggested.
    fn sentence(&self) -> &'static str {
        match self {
            Cause::Expression { .. } => {
                "check the values that the expression reads, then correct the workflow and resume"
            }
            Cause::TooManyItems { .. } => "split the list across several steps",
            Cause::Authored { .. } => "the workflow's author ended it here on purpose",
            Cause::Rejected { .. } => "change the request, then resume",
            Cause::Expired { .. } => "resume from this step to ask again",
            Cause::Exhausted { .. } => "resume from this step to offer it again",
            Cause::ChildCanceled => "resume this run",
            Cause::Polled { .. } => {
                "resume from this step to keep polling, or give `repeat` more time"
            }
            Cause::Refuted { .. } => "do what the step asks for, then submit again",
            Cause::Contract { .. } => {
                "correct `output_contract`, or the step that produces the output"
            }
            Cause::Unwalkable { .. } => "give the variable with the next submission",
            Cause::TooLate => "resume the run, and give the workflow a longer `timeout`",
            Cause::Canceled => "resume the run to continue",
            Cause::Incomplete { .. } => "resume the run to run the others",
            Cause::TooDeep { .. } => "look for a workflow that runs itself",
            Cause::Interrupted { .. } => "find out whether it took effect, then record the outcome",
            Cause::MovedOn => "look at the run again, then resume it",
            Cause::NotDue { .. } | Cause::NoStep { .. } | Cause::NothingDue => {
                "check the run's status to see who has to do what"
            }
            Cause::Stale { .. } => "read what was wrong, then submit for that attempt",
            Cause::BeingChecked { .. } => "wait for the verdict on that submission",
            Cause::AskedAgain { .. } => "read the new question, then decide",
            Cause::MayStillArrive { .. } => {
                "wait until then and check the API again, or record that it happened"
            }
            Cause::Absent { .. } | Cause::Unsigned => "decide in your own terminal",
            Cause::NotTheirs { .. } => "ask one of them",
            Cause::UnfitAnswer { .. } => "answer in the format that the form requires",
            Cause::Disagreed { .. } => "nothing more is sent; resume the run to ask again",
            Cause::NoConsent { .. } => "resume the run to ask again",
            Cause::Denied { .. } => {
                "the user can change `[policy]` in the configuration; nothing was sent"
            }
            Cause::Mistyped { .. }
            | Cause::HasEnded
            | Cause::NotAsked { .. }
            | Cause::NotUnknown { .. }
            | Cause::NoPerson
            | Cause::SeveralDue { .. }
            | Cause::UnknownStep { .. } => "",
        }
    }

    /// The failure data that programs need, by name.
    pub(crate) fn names(&self) -> Vec<(&'static str, &str)> {
        match self {
            Cause::Expression { place, .. } | Cause::Mistyped { place, .. } => {
                vec![("place", place)]
            }
            Cause::Contract { field, .. } => vec![("field", field)],
            Cause::NotDue { step, due: Some(due) } => vec![("step", step), ("due", due.as_str())],
            Cause::NotDue { step, due: None }
            | Cause::NoStep { step, .. }
            | Cause::UnknownStep { step, .. } => vec![("step", step)],
            _ => Vec::new(),
        }
    }
}

fn after_colon(comment: Option<&str>) -> String {
    comment.map(|comment| format!(": {comment}")).unwrap_or_default()
}

fn joined(keys: &[StepKey]) -> String {
    keys.iter().map(StepKey::as_str).collect::<Vec<_>>().join(", ")
}

fn proof(least: Presence) -> &'static str {
    match least {
        Presence::Policy => "approval in the user's configuration",
        Presence::Terminal => "a person at a terminal",
        Presence::Elicitation => "the person's answer in the client",
        Presence::Pin => "the person's PIN",
    }
}
