//! `milepost decide`: what became of a step, as it was given or as it is asked for.

use milepost_model::problem::{Code, Problem};
use milepost_ops::run::settle::{OutcomeWord, Request, Settle};
use milepost_ops::run::view::WaitingKind;
use serde_json::Value;

use super::{args, follow, go_on, value};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hidden;
use crate::person::{self, Person};
use crate::session::Session;
use crate::terminal::Terminal;

/// Says what became of a step.
pub(crate) fn run(arguments: &args::Decide, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let session = Session::open(Person::new(false, json))?;
    hidden::asks_again(format!("milepost decide {}", arguments.one.run));
    let output = arguments.output.as_deref().map(value).transpose()?;
    let (outcome, output) = match arguments.outcome {
        Some(outcome) => (outcome, output),
        None => asked(&session, arguments, output, terminal)?,
    };
    let request = Request {
        run_id: arguments.one.run.clone(),
        step_id: arguments.step.clone(),
        outcome: match outcome {
            args::Outcome::Happened => OutcomeWord::Happened,
            args::Outcome::DidNotHappen => OutcomeWord::DidNotHappen,
            args::Outcome::GiveUp => OutcomeWord::GiveUp,
        },
        output,
    };
    let view = session.run::<Settle>(request)?;
    let seq = view.seq;
    go_on(&session, &view, seq, json, terminal)
}

/// Shows what is not known, and asks for it on the terminal.
fn asked(
    session: &Session,
    arguments: &args::Decide,
    given: Option<Value>,
    terminal: &mut Terminal,
) -> Result<(args::Outcome, Option<Value>), Failure> {
    let view = follow::view(session, &arguments.one.run)?;
    let is_meant = |kind| matches!(kind, WaitingKind::Decision | WaitingKind::Person);
    for one in view.waiting.iter().filter(|one| is_meant(one.kind)) {
        terminal.complain(&follow::asked(one));
    }
    let missing = || Failure::from(unsaid(&view.run_id, arguments.step.as_deref()));
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
