//! Failures that the engine itself finds, each in one place.

use milepost_model::expr::EvalError;
use milepost_model::problem::Code;
use milepost_model::suggest;

use crate::failure::Failure;
use crate::key::Key;

/// An expression that cannot be evaluated.
pub(crate) fn expression(place: &str, error: &EvalError) -> Failure {
    let message = format!("`{place}` cannot be evaluated: {error}");
    let hint = "look at the values of the steps it reads, then correct the workflow and resume";
    Failure::new(Code::ExpressionFailed, message, hint).with("place", place)
}

/// A value of the wrong type.
pub(crate) fn mistyped(place: &str, expected: &str, found: &str) -> Failure {
    let message = format!("`{place}` must yield {expected}: it yields {found}");
    let hint = "correct the expression, then resume with `--latest`";
    Failure::new(Code::ExpressionFailed, message, hint).with("place", place)
}

/// A list that is too long.
pub(crate) fn too_many_items(found: usize, limit: usize) -> Failure {
    let message = format!("the list has {found} items, and a step runs over at most {limit}");
    Failure::new(Code::ExpressionFailed, message, "cut the list in several steps")
}

/// The author's own.
pub(crate) fn authored(message: String) -> Failure {
    Failure::new(Code::FailedByAuthor, message, "the workflow ends here by its author's will")
}

/// A person's no.
pub(crate) fn rejected(key: &Key, comment: Option<&str>) -> Failure {
    let why = comment.map(|comment| format!(": {comment}")).unwrap_or_default();
    let message = format!("`{key}` was rejected{why}");
    Failure::new(Code::ApprovalRejected, message, "change what is asked for, then resume")
}

/// A question that nobody answered.
pub(crate) fn expired(key: &Key) -> Failure {
    let message = format!("nobody answered `{key}` in time");
    Failure::new(Code::ApprovalRejected, message, "resume from this step to ask again")
}

/// An agent without tries.
pub(crate) fn exhausted(key: &Key) -> Failure {
    let message = format!("no submission for `{key}` was accepted, and no tries are left");
    Failure::new(Code::SubmissionsExhausted, message, "resume from this step to offer it again")
}

/// A child that was stopped.
pub(crate) fn child_canceled() -> Failure {
    Failure::new(Code::RunCanceled, "the workflow it runs was canceled", "resume this run")
}

/// Polling without end.
pub(crate) fn polled(key: &Key, passes: u32, seconds: u64) -> Failure {
    let message = format!(
        "`repeat.until` of `{key}` did not hold after {passes} passes in {seconds} seconds"
    );
    let hint = "resume from this step to poll on, or give `repeat` more time";
    Failure::new(Code::RepeatExhausted, message, hint)
}

/// A claim that does not hold.
pub(crate) fn refuted(message: String) -> Failure {
    Failure::new(Code::ClaimRefuted, message, "do what the step asks for, then submit again")
}

/// An output that breaks its contract.
pub(crate) fn contract(key: &Key, field: &str, expected: &str, found: &str) -> Failure {
    let message = format!("the output of `{key}` has no `{field}` that is {expected}: {found}");
    let hint = "correct `output_contract`, or what yields the output";
    Failure::new(Code::OutputInvalid, message, hint).with("field", field)
}

/// A loop that cannot be walked.
pub(crate) fn unwalkable(key: &str, cause: &str) -> Failure {
    let message = format!("`{key}` cannot go on: {cause}");
    Failure::new(Code::StateInvalid, message, "give the variable with the next submission")
}

/// Too much time.
pub(crate) fn too_late() -> Failure {
    let hint = "resume the run, and give the workflow a longer `timeout`";
    Failure::new(Code::RunTimeout, "the run took longer than its workflow allows", hint)
}

/// Somebody's wish.
pub(crate) fn canceled() -> Failure {
    Failure::new(Code::RunCanceled, "it was canceled", "resume the run to go on")
}

/// Only one step was wanted.
pub(crate) fn incomplete(key: &Key) -> Failure {
    let message = format!("only `{key}` was run, and other steps are still to be done");
    Failure::new(Code::RunConflict, message, "resume the run to do the others")
}

/// Runs inside runs.
pub(crate) fn too_deep(limit: u32) -> Failure {
    let message = format!("more than {limit} workflows run inside each other");
    Failure::new(Code::RunConflict, message, "look for a workflow that runs itself")
}

/// Nobody saw how it ended.
pub(crate) fn interrupted(request: &str) -> Failure {
    let message = format!("`{request}` was under way when the process ended");
    let hint = "find out whether it took effect, then say so";
    Failure::new(Code::OutcomeUnknown, message, hint)
}

/// Too late for that.
pub(crate) fn has_ended() -> Failure {
    let hint = "look at it with `milepost show`, or resume it";
    Failure::new(Code::RunConflict, "the run has ended", hint)
}

/// The run is no longer where the plan was made.
pub(crate) fn moved_on() -> Failure {
    let hint = "look at the run again, then resume it";
    Failure::new(Code::RunConflict, "the run went on while this was worked out", hint)
}

/// A step that is not due.
pub(crate) fn not_due(named: &str, due: Option<&Key>) -> Failure {
    let message = format!("step `{named}` is not due");
    let hint = match due {
        Some(due) => format!("work on `{due}`: it is the one that is due"),
        None => "ask for the status of the run: it says who is to do what".to_owned(),
    };
    let failure = Failure::new(Code::StepNotDue, message, hint).with("step", named);
    match due {
        Some(due) => failure.with("due", due.as_str()),
        None => failure,
    }
}

/// No step has this name.
pub(crate) fn no_step(named: &str, near: Option<&str>) -> Failure {
    let message = format!("the workflow has no step `{named}` that could be due");
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "ask for the status of the run: it says who is to do what".to_owned(),
    };
    Failure::new(Code::StepNotFound, message, hint).with("step", named)
}

/// No step of the top level has this name.
pub(crate) fn unknown_step(named: &str, near: Option<&str>, all: &[&str]) -> Failure {
    let message = format!("the workflow has no step `{named}`");
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("name one of its steps: {}", suggest::list(all.iter().copied())),
    };
    Failure::new(Code::StepNotFound, message, hint).with("step", named)
}

/// Nothing for an agent.
pub(crate) fn nothing_due() -> Failure {
    let hint = "ask for the status of the run: it says who is to do what";
    Failure::new(Code::StepNotDue, "no step waits for an agent", hint)
}

/// Which one?
pub(crate) fn several_due(due: &[Key]) -> Failure {
    let names: Vec<&str> = due.iter().map(Key::as_str).collect();
    let message = format!("several steps are due: {}", names.join(", "));
    Failure::new(Code::StepNotDue, message, "say which one with `step_id`")
}

/// An older try.
pub(crate) fn stale(key: &Key, attempt: u32) -> Failure {
    let message = format!("`{key}` is at try {attempt} now");
    Failure::new(Code::StepNotDue, message, "read what was wrong, then submit for that try")
}

/// One at a time.
pub(crate) fn being_checked(key: &Key) -> Failure {
    let message = format!("another submission for `{key}` is being checked");
    Failure::new(Code::StepNotDue, message, "wait for its answer")
}

/// No question is open.
pub(crate) fn not_asked(key: &Key) -> Failure {
    let message = format!("`{key}` does not ask for a decision");
    Failure::new(Code::RunConflict, message, "see what waits with `milepost inbox`")
}

/// Another question than the one that was answered.
pub(crate) fn asked_again(key: &Key) -> Failure {
    let message = format!("`{key}` asks something else by now");
    Failure::new(Code::RunConflict, message, "look at it again, then decide")
}

/// Only people decide.
pub(crate) fn no_person() -> Failure {
    let message = "only a person can decide this";
    let hint = "stop, and ask the person to run `milepost inbox`";
    Failure::new(Code::PresenceRequired, message, hint)
}

/// Presence was not shown well enough.
pub(crate) fn absent(least: crate::event::Presence) -> Failure {
    let word = match least {
        crate::event::Presence::Policy => "configuration",
        crate::event::Presence::Terminal => "terminal",
        crate::event::Presence::Elicitation => "client",
        crate::event::Presence::Pin => "PIN",
    };
    let message = format!("this decision needs the person's {word}");
    Failure::new(Code::PresenceRequired, message, "decide in a terminal of your own")
}

/// A decision that nobody signed.
pub(crate) fn unsigned() -> Failure {
    let message = "the decision is not signed with the person's PIN";
    Failure::new(Code::PresenceRequired, message, "decide in a terminal of your own")
}

/// Somebody else's decision.
pub(crate) fn not_theirs(key: &Key, by: &[String]) -> Failure {
    let message = format!("`{key}` is for {} to decide", by.join(", "));
    Failure::new(Code::PresenceRequired, message, "ask one of them")
}

/// An answer that does not fit its form.
pub(crate) fn unfit_answer(cause: &str) -> Failure {
    let message = format!("the answer does not fit the form: {cause}");
    Failure::new(Code::ParamsInvalid, message, "give the answer as the form asks for it")
}

/// Nothing is unknown about it.
pub(crate) fn not_unknown(key: &Key) -> Failure {
    let message = format!("nobody has to say what became of `{key}`");
    Failure::new(Code::RunConflict, message, "see what waits with `milepost inbox`")
}
