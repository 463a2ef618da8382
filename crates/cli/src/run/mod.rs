//! Starting, watching and deciding runs.

pub(crate) mod args;
mod detach;
mod follow;
mod form;
mod inbox;
mod list;
mod person;
mod resume;
mod settle;
mod words;

use milepost_model::problem::{Code, Problem};
use milepost_ops::Call;
use milepost_ops::preview::preview_rendered::{PreviewRendered, Request};
use milepost_ops::run::cancel::{Cancel, Request as CancelRequest};
use milepost_ops::run::decide::{Approve, Reject, Request as DecideRequest};
use milepost_ops::run::pause::{Pause, Request as PauseRequest};
use milepost_ops::run::start::{Request as StartRequest, Start};
use milepost_ops::run::submit::{Request as SubmitRequest, Submit};
use milepost_ops::run::view::{RunStatus, RunView, WaitingKind, WaitingView};
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::hidden;
use crate::person::Person;
use crate::session::{self, Session};
use crate::target;
use crate::terminal::{Terminal, safe};
use crate::wording;

pub(crate) use inbox::run as inbox;
pub(crate) use list::{backup, forget, logs, overview, restore, run as runs};
pub(crate) use person::run as person;
pub(crate) use resume::run as resume;
pub(crate) use settle::run as decide;
pub(crate) use words::kind;

/// `milepost run`.
pub(crate) fn start(arguments: &args::Start, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    if arguments.detach {
        return detach::run(json, terminal);
    }
    let session = Session::open(Person::new(false, json))?;
    let (manifest, inputs) = wanted(arguments)?;
    let told = |failure: Failure| failure.about(&arguments.target);
    if arguments.dry_run {
        return dry_run(&session, manifest, inputs, json, terminal).map_err(told);
    }
    let request = StartRequest {
        manifest,
        inputs,
        mock: arguments.mock,
        relaxed: arguments.durability == args::DurabilityWord::Relaxed,
        ..StartRequest::default()
    };
    let view = session.run::<Start>(request).map_err(told)?;
    if arguments.detached {
        terminal.line(&view.run_id)?;
    } else if !json {
        terminal.remark(&format!("{}  {}", view.run_id, safe(&view.workflow)));
    }
    follow::follow(&session, &view.run_id, 0, json, terminal)
}

/// The text to run, and the values for its inputs.
fn wanted(arguments: &args::Start) -> Result<(Option<Value>, Map<String, Value>), Failure> {
    // Only who names inputs has to know how they are declared; whoever runs it reads it anyway.
    if arguments.given.is_empty()
        && let Some(text) = target::text(&arguments.target)
    {
        return Ok((Some(Value::from(text)), Map::new()));
    }
    let loaded = target::load(&arguments.target)?;
    let inputs = match &loaded.document.workflow {
        Some(workflow) => arguments.given.read(workflow)?,
        // What is wrong with it is told when it is to be run.
        None => Map::new(),
    };
    let manifest = loaded.document.source.as_ref().map(|source| Value::from(source.text()));
    Ok((manifest, inputs))
}

fn dry_run(
    session: &Session,
    manifest: Option<Value>,
    inputs: Map<String, Value>,
    json: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let request = Request { manifest, inputs, ..Request::default() };
    let rendered = session.run::<PreviewRendered>(request)?;
    if json {
        session::print(&rendered, terminal)?;
    } else {
        for step in &rendered.steps {
            crate::workflow::plan::show(step, terminal)?;
        }
    }
    Ok(Exit::Done)
}

/// `milepost show`.
pub(crate) fn show(arguments: &args::Show, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let session = Session::open(Person::new(false, json))?;
    let view = follow::view_of(&session, &arguments.one.run, arguments.step.as_deref())?;
    if json {
        session::print(&view, terminal)?;
    } else if arguments.step.is_some() {
        list::steps(&view, terminal)?;
        list::sent(&view, terminal)?;
    } else {
        list::steps(&view, terminal)?;
        follow::finish(&view, false, terminal)?;
    }
    Ok(Exit::Done)
}

/// `milepost cancel`.
pub(crate) fn cancel(arguments: &args::Cancel, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let session = Session::open(Person::new(arguments.yes, json))?;
    let before = follow::view(&session, &arguments.one.run)?;
    if before.has_ended() {
        if !json {
            let (run, status) = (&before.run_id, &before.status);
            terminal.remark(&format!("{run} has ended already ({status}): nothing to cancel"));
        }
        return follow::finish(&before, json, terminal).map(|_| Exit::Done);
    }
    let (run_id, reason) = (before.run_id, arguments.reason.clone());
    let view = session.run::<Cancel>(CancelRequest { run_id, reason })?;
    follow::finish(&view, json, terminal).map(|_| Exit::Done)
}

/// `milepost pause`.
pub(crate) fn pause(arguments: &args::One, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let view = session.run::<Pause>(PauseRequest { run_id: arguments.run.clone() })?;
    follow::finish(&view, json, terminal).map(|_| Exit::Done)
}

/// `milepost approve` and `milepost reject`: the question is shown before it is answered.
pub(crate) fn verdict(
    arguments: &args::Verdict,
    approve: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let session = Session::open(Person::new(false, arguments.one.json.json))?;
    decide_as(&session, &session.person, arguments, approve, terminal)
}

/// The same, where it is known who is asked. Several questions are answered one after the other,
/// by a person at a terminal.
pub(crate) fn decide_as(
    session: &Session,
    call: &dyn Call,
    arguments: &args::Verdict,
    approve: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let mut before = follow::view(session, &arguments.one.run)?;
    let step = arguments.step.as_deref();
    let word = if approve { "approve" } else { "reject" };
    hidden::asks_again(format!("milepost {word} {}", before.run_id));
    if let Some(child) = asking_child(&before, step, approve)? {
        if !json {
            terminal.remark(&format!("{}  waits for {child}, which asks:", before.run_id));
        }
        before = follow::view(session, &child)?;
    }
    let mut verdict = Verdict { session, call, arguments, approve };
    let open = own_questions(&before, step).map(|one| one.step.clone());
    let open: Vec<Option<String>> = open.collect();
    let in_turn = open.len() > 1 && arguments.answer.is_none() && crate::person::has_terminal();
    if !in_turn {
        let view = verdict.give(&before, step, terminal)?;
        return go_on(session, &view, before.seq, json, terminal);
    }
    let mut view = before.clone();
    for step in open.iter().map(Option::as_deref) {
        // What was said about the one before may have settled it.
        if own_questions(&view, step).next().is_some() {
            view = verdict.give(&view, step, terminal)?;
        }
    }
    go_on(session, &view, before.seq, json, terminal)
}

/// A word of a person on what a run asks.
struct Verdict<'v> {
    session: &'v Session,
    call: &'v dyn Call,
    arguments: &'v args::Verdict,
    approve: bool,
}

impl Verdict<'_> {
    /// Shows a question and answers it.
    fn give(
        &mut self,
        before: &RunView,
        step: Option<&str>,
        terminal: &mut Terminal,
    ) -> Result<RunView, Failure> {
        let Verdict { session, call, arguments, approve } = *self;
        let asked: Vec<_> = own_questions(before, step).collect();
        if !arguments.one.json.json {
            asked.iter().for_each(|one| terminal.complain(&follow::asked(one)));
        }
        // What was shown is what is decided on, and nothing that came after it.
        let one = asked.first().filter(|_| asked.len() == 1);
        let digest = one.and_then(|one| one.digest.clone());
        let answer = match arguments.answer.as_deref() {
            Some(given) => Some(answer(given)?),
            None => one.filter(|_| approve).and_then(|one| form::asked(one, crate::person::line)),
        };
        let request = DecideRequest {
            run_id: before.run_id.clone(),
            step_id: step.map(str::to_owned),
            digest,
            comment: arguments.comment.clone(),
            answer,
        };
        match approve {
            true => session.run_as::<Approve>(call, request),
            false => session.run_as::<Reject>(call, request),
        }
    }
}

/// What a run itself asks.
fn own_questions<'v>(
    view: &'v RunView,
    step: Option<&'v str>,
) -> impl Iterator<Item = &'v WaitingView> {
    questions(view, step).filter(|one| one.run_id.is_none())
}

/// What a run asks, and what the runs of its steps ask.
fn questions<'v>(
    view: &'v RunView,
    step: Option<&'v str>,
) -> impl Iterator<Item = &'v WaitingView> {
    view.waiting.iter().filter(move |one| {
        one.kind == WaitingKind::Approval
            && step.is_none_or(|step| one.step.as_deref() == Some(step))
    })
}

/// The run of a step that asks in the place of a run that asks nothing itself. Of several, the
/// person says which one is meant.
fn asking_child(
    view: &RunView,
    step: Option<&str>,
    approve: bool,
) -> Result<Option<String>, Problem> {
    let mut children = Vec::new();
    for one in questions(view, step) {
        let Some(child) = &one.run_id else { return Ok(None) };
        if !children.contains(child) {
            children.push(child.clone());
        }
    }
    if children.len() < 2 {
        return Ok(children.pop());
    }
    let word = if approve { "approve" } else { "reject" };
    let lines: Vec<String> =
        children.iter().map(|child| format!("`milepost {word} {child}`")).collect();
    let message = format!("several runs that `{}` waits for ask something", view.run_id);
    let hint = format!("say which one: {}", lines.join(" or "));
    Err(Problem::new(Code::ParamsInvalid, message, hint).context("run_id", view.run_id.as_str()))
}

/// `milepost submit`.
pub(crate) fn submit(arguments: &args::Submit, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let output = match &arguments.output {
        Some(file) => Some(Value::from(crate::guide::text(file)?)),
        None if arguments.context.is_some() => None,
        None => return Err(nothing(&arguments.run, arguments.step.as_deref()).into()),
    };
    let context = match crate::guide::context(arguments.context.as_deref())? {
        Value::Object(context) => context,
        _ => Map::new(),
    };
    let request = SubmitRequest {
        run_id: arguments.run.clone(),
        step_id: arguments.step.clone(),
        output,
        context,
        attempt: None,
    };
    let answer = session.run::<Submit>(request)?;
    if json {
        session::print(&answer, terminal)?;
    } else {
        for issue in &answer.issues {
            terminal.complain(&format!("issue: {}", safe(&issue.message)));
            terminal.complain(&format!("hint: {}", safe(&wording::said(&issue.suggestion))));
        }
    }
    match answer.accepted {
        Some(false) => Ok(Exit::Failed),
        _ if json => Ok(follow::exit(&answer.run)),
        _ => go_on(&session, &answer.run, answer.run.seq, json, terminal),
    }
}

fn nothing(run: &str, step: Option<&str>) -> Problem {
    let step = step.unwrap_or("<step>");
    let hint = format!("name a file: `milepost submit {run} {step} result.json`");
    Problem::new(Code::ParamsInvalid, "there is nothing to submit", hint)
}

/// Drives a run on that was let go of, until it ends or waits again, and then the run that it is a
/// part of.
fn go_on(
    session: &Session,
    view: &RunView,
    after: u64,
    json: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let exit = go_on_alone(session, view, after, json, terminal)?;
    let Some(above) = view.parent.as_deref().filter(|_| !json && exit != Exit::Interrupted) else {
        return Ok(exit);
    };
    let ended = follow::view(session, &view.run_id)?.has_ended();
    let before = follow::view(session, above)?;
    if !ended || before.has_ended() {
        return Ok(exit);
    }
    terminal.remark(&format!("{above}  {}  goes on", safe(&before.workflow)));
    session.wait(session.operations.hand_on_runs());
    follow::follow(session, above, before.seq, json, terminal)
}

/// The same for the run alone. What happened behind an event is told, however quickly it came.
fn go_on_alone(
    session: &Session,
    view: &RunView,
    after: u64,
    json: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let is_news = !json && view.seq > after;
    if is_news || view.status == RunStatus::Running {
        return follow::follow(session, &view.run_id, after, json, terminal);
    }
    follow::finish(view, json, terminal)
}

/// An answer: JSON, or a file that holds it.
fn answer(given: &str) -> Result<Value, Failure> {
    match std::path::Path::new(given).is_file() {
        true => value(&crate::guide::text(given.as_ref())?),
        false => value(given),
    }
}

pub(crate) fn value(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("`{text}` is not valid JSON: {error}");
        Problem::new(Code::ParamsInvalid, message, "write it as JSON, texts in quotes").into()
    })
}
