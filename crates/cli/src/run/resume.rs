//! `milepost resume`: what is kept and what runs is shown first.

use std::collections::BTreeMap;

use milepost_model::problem::{Code, Problem};
use milepost_ops::Call;
use milepost_ops::run::resume::{Range, Request, Response, Resume, WorldChangeView, WorldPart};
use milepost_ops::run::view::RunView;
use serde_json::Map;

use super::{args, follow, go_on, value};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hidden;
use crate::limits;
use crate::person::Person;
use crate::session::{self, Session};
use crate::table;
use crate::terminal::{Terminal, safe};
use crate::wording;

/// Shows the plan, asks where a write may be repeated, and follows the run.
pub(crate) fn run(arguments: &args::Resume, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let session = Session::open(Person::new(arguments.yes, json))?;
    let before = follow::view(&session, &arguments.one.run)?;
    hidden::asks_again(format!("milepost resume {}", before.run_id));
    let request = request(arguments, &before.run_id)?;
    let moves = arguments.latest || arguments.latest_catalogs;
    if arguments.plan || before.has_ended() || moves {
        let planned = session.run::<Resume>(Request { plan_only: true, ..request.clone() })?;
        if arguments.plan && json {
            return session::print(&planned, terminal).map(|()| Exit::Done);
        }
        if !json {
            show(&planned, terminal)?;
        }
        if arguments.plan {
            going_on(&planned.run, terminal);
            return Ok(Exit::Done);
        }
        let writes: Vec<&str> =
            planned.plan.iter().filter_map(|step| step.write.as_deref()).collect();
        if !writes.is_empty() {
            confirmed(&session.person, &writes)?;
        }
        if moves {
            moved(&session.person, &planned.changes)?;
        }
    }
    let resumed = session.run::<Resume>(request)?;
    go_on(&session, &resumed.run, before.seq, json, terminal)
}

/// Of a run that has not ended: why it stands still, and what lets it go on.
fn going_on(run: &RunView, terminal: &mut Terminal) {
    for waiting in &run.waiting {
        terminal.remark(&follow::asked(waiting));
    }
    if let Some(next) = run.next.as_ref().filter(|_| !run.has_ended()) {
        terminal.remark(&format!("next: {}", wording::typed(next)));
    }
}

fn confirmed(person: &Person, writes: &[&str]) -> Result<(), Failure> {
    let question = format!("{} may be done once more. Go on?", writes.join(", "));
    if person.ask(&question) == Some(true) {
        return Ok(());
    }
    let message = format!("{} may be repeated", writes.join(", "));
    let hint = "repeat it with `--yes` if you mean it";
    Err(Problem::new(Code::ConfirmationRequired, message, hint).into())
}

/// Asks before requests go elsewhere, or with other credentials, than they did.
fn moved(person: &Person, changes: &[WorldChangeView]) -> Result<(), Failure> {
    let moves = |change: &&WorldChangeView| {
        matches!(change.part, WorldPart::Address | WorldPart::Credentials)
            && change.before.is_some()
    };
    let moves: Vec<String> = changes.iter().filter(moves).map(changed).collect();
    if moves.is_empty() {
        return Ok(());
    }
    if person.ask(&format!("{}. Go on?", moves.join("; "))) == Some(true) {
        return Ok(());
    }
    let message = format!("the run would go on with this: {}", moves.join("; "));
    let hint = "repeat it with `--yes` if you mean it";
    Err(Problem::new(Code::ConfirmationRequired, message, hint).into())
}

/// A change in a line: `address of shop: https://a.example -> https://b.example`.
fn changed(change: &WorldChangeView) -> String {
    let hash = matches!(change.part, WorldPart::Document | WorldPart::Workflow);
    let of = |value: Option<&String>| match value {
        Some(value) if hash => value.chars().take(limits::HASH_CHARS).collect(),
        Some(value) => safe(value),
        None => "none".to_owned(),
    };
    let (before, after) = (of(change.before.as_ref()), of(change.after.as_ref()));
    format!("{} of {}: {before} -> {after}", change.part.name(), safe(&change.name))
}

fn request(arguments: &args::Resume, run: &str) -> Result<Request, Failure> {
    let inputs = arguments.given.untyped()?;
    let mut overrides = Map::new();
    for pair in &arguments.overrides {
        let (step, text) = split(pair, "--set step=json")?;
        overrides.insert(step.to_owned(), value(text)?);
    }
    let mut budget = BTreeMap::new();
    for pair in &arguments.budget {
        let (name, text) = split(pair, "--budget http_calls=100")?;
        let limit = text.parse().map_err(|_| malformed(pair, "--budget http_calls=100"))?;
        budget.insert(name.to_owned(), limit);
    }
    Ok(Request {
        run_id: run.to_owned(),
        from: arguments.from.clone(),
        only: arguments.only,
        latest: arguments.latest,
        latest_catalogs: arguments.latest_catalogs,
        inputs,
        redo: arguments.redo.clone(),
        overrides,
        budget,
        reason: arguments.reason.clone(),
        plan_only: false,
        ..Request::default()
    })
}

fn split<'p>(pair: &'p str, example: &str) -> Result<(&'p str, &'p str), Failure> {
    pair.split_once('=').ok_or_else(|| malformed(pair, example))
}

fn malformed(pair: &str, example: &str) -> Failure {
    let message = format!("`{pair}` cannot be read");
    Problem::new(Code::ParamsInvalid, message, format!("write it as `{example}`")).into()
}

fn show(planned: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = planned
        .plan
        .iter()
        .map(|step| {
            let write = step.write.as_ref().map(|write| format!(": {write}"));
            let verdict = format!("{}{}", step.verdict.words(), write.unwrap_or_default());
            vec![step.step.clone(), step.kind.name().to_owned(), verdict, step.why.clone()]
        })
        .collect();
    let width = terminal.width();
    terminal.line(&table::render(&["step", "kind", "verdict", "why"], &rows, width))?;
    for change in &planned.changes {
        terminal.line(&changed(change))?;
    }
    if let Some(forecast) = &planned.forecast {
        let range = |range: Range| match range.most {
            Some(most) if most == range.least => most.to_string(),
            Some(most) => format!("{} to {most}", range.least),
            None => format!("at least {}", range.least),
        };
        terminal.line(&format!(
            "calls {}, writes {}, agent steps {}; saved: {} calls, {} writes, {} agent steps",
            range(forecast.calls),
            range(forecast.writes),
            range(forecast.agent_steps),
            forecast.saved_calls,
            forecast.saved_writes,
            forecast.saved_agent_steps,
        ))?;
    }
    Ok(())
}
