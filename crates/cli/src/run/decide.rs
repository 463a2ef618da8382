//! `milepost decide`: records the outcome of a step, given as an argument or typed at a prompt.

use milepost_model::problem::{Code, Problem};
use milepost_ops::run::settle::{self, Request, SettleOutcome, SettleStep};
use milepost_ops::run::view::{RunView, WaitingKind, WaitingView};
use serde_json::Value;

use super::args::{DecideArgs, OutcomeChoice};
use super::{continue_run, follow};
use crate::argument_values::value;
use crate::failure::{CliError, CliResult};
use crate::session::CliSession;
use crate::terminal::Terminal;
use crate::{terminal_user, tty};

/// Records the outcome of a step; several steps are handled one after another.
pub(crate) fn run(args: &DecideArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    tty::set_retry_command(format!("milepost decide {}", args.run));
    let output = args.output.as_deref().map(value).transpose()?;
    if let Some(outcome) = args.outcome {
        let view =
            session.run::<SettleStep>(request(&args.run, args.step.as_deref(), outcome, output))?;
        return continue_run(&session, &view, view.seq, terminal);
    }
    let before = follow::view(&session, &args.run)?;
    let first = open_steps(&before, args.step.as_deref());
    match first.len() {
        0 => return Err(settle::nothing_open().into()),
        // A single result cannot belong to several steps.
        2.. if output.is_some() || !terminal_user::has_terminal() => {
            return Err(settle::several(&before).into());
        }
        _ => {}
    }
    let (mut view, mut decided) = (before.clone(), before);
    for step in &first {
        // The previous decision may have settled this step.
        if !open_steps(&view, Some(&step.1)).contains(step) {
            continue;
        }
        let (outcome, output) = ask(&view, step, output.clone(), terminal)?;
        decided = session.run::<SettleStep>(request(&step.0, Some(&step.1), outcome, output))?;
        view = follow::view(&session, &args.run)?;
    }
    continue_run(&session, &decided, decided.seq, terminal)
}

/// A run and one of its steps that needs a decision.
type OpenStep = (String, String);

/// The steps of a run and its child runs that need a decision.
fn open_steps(view: &RunView, step: Option<&str>) -> Vec<OpenStep> {
    let open = view.waiting.iter().filter(|one| settle::is_meant(one.kind));
    let open = open.filter_map(|one| {
        let run = one.run_id.as_ref().unwrap_or(&view.run_id);
        Some((run.clone(), one.step.clone()?))
    });
    open.filter(|(_, own)| step.is_none_or(|step| step == own)).collect()
}

fn request(
    run: &str,
    step: Option<&str>,
    outcome: OutcomeChoice,
    output: Option<Value>,
) -> Request {
    let outcome = match outcome {
        OutcomeChoice::Happened => SettleOutcome::Happened,
        OutcomeChoice::DidNotHappen => SettleOutcome::DidNotHappen,
        OutcomeChoice::Accept => SettleOutcome::Accept,
        OutcomeChoice::MoreTries => SettleOutcome::MoreTries,
        OutcomeChoice::GiveUp => SettleOutcome::GiveUp,
    };
    Request { run_id: run.to_owned(), step_id: step.map(str::to_owned), outcome, output }
}

/// Shows what has to be decided, and asks for the decision on the terminal.
fn ask(
    view: &RunView,
    (run, step): &OpenStep,
    given: Option<Value>,
    terminal: &mut Terminal,
) -> CliResult<(OutcomeChoice, Option<Value>)> {
    let is_shown = |one: &&WaitingView| {
        let own = one.run_id.as_ref().unwrap_or(&view.run_id);
        settle::is_meant(one.kind) && one.step.as_deref() == Some(step.as_str()) && own == run
    };
    let shown = view.waiting.iter().find(is_shown);
    if let Some(one) = shown {
        let text = follow::waiting_text(one, terminal);
        terminal.notice(text);
    }
    let several = open_steps(view, None).len() > 1;
    let is_request = shown.is_none_or(|one| one.kind == WaitingKind::Decision);
    let can_accept = shown.is_some_and(|one| one.choices.contains(&SettleOutcome::Accept));
    let missing = || CliError::from(no_outcome(run, several.then_some(step.as_str()), is_request));
    let question = match (is_request, can_accept) {
        (true, _) => "what was the outcome? [h]appened, [d]id not happen, [g]ive up: ",
        (false, true) => "what was decided? [a]ccept it, [m]ore tries, [g]ive up: ",
        (false, false) => "what was decided? [m]ore tries, [g]ive up: ",
    };
    let word = terminal_user::ask_line(question).ok_or_else(missing)?;
    let outcome = outcome(&word, is_request).ok_or_else(missing)?;
    if outcome == OutcomeChoice::Accept {
        // The decision applies only to what was shown.
        return Ok((outcome, shown.and_then(|one| one.submitted.clone())));
    }
    if given.is_some() || outcome != OutcomeChoice::Happened {
        return Ok((outcome, given));
    }
    let question = "result as JSON (leave empty for null): ";
    let typed = terminal_user::ask_line(question).ok_or_else(missing)?;
    let output = if typed.trim().is_empty() { Value::Null } else { value(&typed)? };
    Ok((outcome, Some(output)))
}

/// The decision that a word stands for: about a request, or about an agent's submissions.
fn outcome(word: &str, is_request: bool) -> Option<OutcomeChoice> {
    Some(match (word.trim().to_lowercase().as_str(), is_request) {
        ("h" | "happened", true) => OutcomeChoice::Happened,
        ("d" | "did-not-happen" | "did not happen", true) => OutcomeChoice::DidNotHappen,
        ("a" | "accept", false) => OutcomeChoice::Accept,
        ("m" | "more" | "more-tries" | "more tries", false) => OutcomeChoice::MoreTries,
        ("g" | "give-up" | "give up", _) => OutcomeChoice::GiveUp,
        _ => return None,
    })
}

/// The problem if no outcome was given; its hint contains the complete command lines.
fn no_outcome(run: &str, step: Option<&str>, is_request: bool) -> Problem {
    let step = step.map(|step| format!(" --step {step}")).unwrap_or_default();
    let line = format!("milepost decide {run}{step} --outcome");
    let hint = match is_request {
        true => format!(
            "find out what happened, then run `{line} happened --output '<JSON>'`, `{line} \
             did-not-happen` or `{line} give-up`"
        ),
        false => format!("run `{line} accept`, `{line} more-tries` or `{line} give-up`"),
    };
    Problem::new(Code::ParamsInvalid, "no outcome given", hint).context("run_id", run)
}
