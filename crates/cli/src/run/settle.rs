//! `milepost decide`: what became of a step, as it was given or as it is asked for.

use milepost_model::problem::{Code, Problem};
use milepost_ops::run::settle::{self, OutcomeWord, Request, Settle};
use milepost_ops::run::view::{RunView, WaitingView};
use serde_json::Value;

use super::{args, follow, go_on, value};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hidden;
use crate::person::{self, Person};
use crate::session::Session;
use crate::terminal::Terminal;

/// Says what became of a step; of several, one after the other.
pub(crate) fn run(arguments: &args::Decide, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let session = Session::open(Person::new(false, json))?;
    hidden::asks_again(format!("milepost decide {}", arguments.one.run));
    let output = arguments.output.as_deref().map(value).transpose()?;
    if let Some(outcome) = arguments.outcome {
        let (run, step) = (&arguments.one.run, arguments.step.as_deref());
        let view = session.run::<Settle>(request(run, step, outcome, output))?;
        let seq = view.seq;
        return go_on(&session, &view, seq, json, terminal);
    }
    let before = follow::view(&session, &arguments.one.run)?;
    let first = open(&before, arguments.step.as_deref());
    match first.len() {
        0 => return Err(settle::nothing_open().into()),
        // What came of it is said of one step.
        2.. if output.is_some() || !person::has_terminal() => {
            return Err(settle::several(&before).into());
        }
        _ => {}
    }
    let (mut view, mut settled) = (before.clone(), before);
    for asked in &first {
        // What was said about the one before may have settled it.
        let Some(one) = open(&view, Some(&asked.1)).into_iter().find(|one| one == asked) else {
            continue;
        };
        let (run, step) = &one;
        let (outcome, output) = self::asked(&view, &one, output.clone(), terminal)?;
        settled = session.run::<Settle>(request(run, Some(step), outcome, output))?;
        view = follow::view(&session, &arguments.one.run)?;
    }
    let seq = settled.seq;
    go_on(&session, &settled, seq, json, terminal)
}

/// A run and its step that somebody has to say something about.
type Open = (String, String);

/// Those of a run and of the runs of its steps.
fn open(view: &RunView, step: Option<&str>) -> Vec<Open> {
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
    outcome: args::Outcome,
    output: Option<Value>,
) -> Request {
    let outcome = match outcome {
        args::Outcome::Happened => OutcomeWord::Happened,
        args::Outcome::DidNotHappen => OutcomeWord::DidNotHappen,
        args::Outcome::GiveUp => OutcomeWord::GiveUp,
    };
    Request { run_id: run.to_owned(), step_id: step.map(str::to_owned), outcome, output }
}

/// Shows what is not known, and asks for it on the terminal.
fn asked(
    view: &RunView,
    (run, step): &Open,
    given: Option<Value>,
    terminal: &mut Terminal,
) -> Result<(args::Outcome, Option<Value>), Failure> {
    let is_shown = |one: &&WaitingView| {
        settle::is_meant(one.kind) && one.step.as_deref() == Some(step.as_str())
    };
    for one in view.waiting.iter().filter(is_shown) {
        terminal.complain(&follow::asked(one));
    }
    let several = open(view, None).len() > 1;
    let missing = || Failure::from(unsaid(run, several.then_some(step.as_str())));
    let question = "What became of it? [h]appened, [d]id not happen, [g]ive up: ";
    let word = person::line(question).ok_or_else(missing)?;
    let outcome = outcome(&word).ok_or_else(missing)?;
    let is_told = given.is_some() || !matches!(outcome, args::Outcome::Happened);
    if is_told {
        return Ok((outcome, given));
    }
    let question = "What came of it, as JSON (nothing for null): ";
    let typed = person::line(question).ok_or_else(missing)?;
    let output = if typed.trim().is_empty() { Value::Null } else { value(&typed)? };
    Ok((outcome, Some(output)))
}

fn outcome(word: &str) -> Option<args::Outcome> {
    Some(match word.trim().to_lowercase().as_str() {
        "h" | "happened" => args::Outcome::Happened,
        "d" | "did-not-happen" | "did not happen" => args::Outcome::DidNotHappen,
        "g" | "give-up" | "give up" => args::Outcome::GiveUp,
        _ => return None,
    })
}

/// The whole line, to be typed where nobody can be asked.
fn unsaid(run: &str, step: Option<&str>) -> Problem {
    let step = step.map(|step| format!(" --step {step}")).unwrap_or_default();
    let line = format!("milepost decide {run}{step} --outcome");
    let hint = format!(
        "look it up, then say `{line} happened --output '<JSON>'`, `{line} did-not-happen` or \
         `{line} give-up`"
    );
    Problem::new(Code::ParamsInvalid, "what became of the step is not said", hint)
        .context("run_id", run)
}
