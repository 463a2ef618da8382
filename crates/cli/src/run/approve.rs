//! `milepost approve` and `milepost reject`: each question is shown before it is answered, and its
//! form is filled in field by field on the terminal.

use std::path::Path;

use milepost_model::limits::OUTPUT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::untrusted;
use milepost_ops::Caller;
use milepost_ops::run::approve::{ApproveStep, RejectStep, Request};
use milepost_ops::run::question::QuestionLayout;
use milepost_ops::run::view::{RunView, WaitingKind, WaitingView};
use serde_json::{Map, Value};

use super::args::ApprovalArgs;
use super::{continue_run, follow};
use crate::argument_values::{file_text, value};
use crate::failure::CliResult;
use crate::session::CliSession;
use crate::terminal::Terminal;
use crate::{limits, terminal_user, tty};

pub(crate) fn answer(args: &ApprovalArgs, approve: bool, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    answer_as(&session, &session.user, args, approve, terminal)
}

/// Like [`answer`], for any caller. Several questions are answered one after another at a terminal.
pub(crate) fn answer_as(
    session: &CliSession,
    call: &dyn Caller,
    args: &ApprovalArgs,
    approve: bool,
    terminal: &mut Terminal,
) -> CliResult {
    let mut before = follow::view(session, &args.run)?;
    let step = args.step.as_deref();
    let command = if approve { "approve" } else { "reject" };
    tty::set_retry_command(format!("milepost {command} {}", before.run_id));
    if let Some(child) = asking_child(&before, step, command)? {
        if !terminal.is_json() {
            terminal.remark(format!("{}  is waiting for {child}, which asks:", before.run_id));
        }
        before = follow::view(session, &child)?;
    }
    let approval = Approval { session, call, args, approve };
    let mut open: Vec<_> = own_questions(&before, step).map(|one| one.step.clone()).collect();
    if open.len() < 2 || args.answer.is_some() || !terminal_user::has_terminal() {
        open = vec![args.step.clone()];
    }
    let mut view = before.clone();
    for (index, step) in open.iter().map(Option::as_deref).enumerate() {
        // The previous answer may have settled this question.
        if index == 0 || own_questions(&view, step).next().is_some() {
            view = approval.send(&view, step, terminal)?;
        }
    }
    continue_run(session, &view, before.seq, terminal)
}

struct Approval<'a> {
    session: &'a CliSession,
    call: &'a dyn Caller,
    args: &'a ApprovalArgs,
    approve: bool,
}

impl Approval<'_> {
    /// Shows a question and answers it.
    fn send(
        &self,
        before: &RunView,
        step: Option<&str>,
        terminal: &mut Terminal,
    ) -> CliResult<RunView> {
        let Approval { session, call, args, approve } = *self;
        let asked: Vec<_> = own_questions(before, step).collect();
        if !terminal.is_json() {
            for one in &asked {
                let text = follow::waiting_text(one, terminal);
                terminal.notice(text);
            }
        }
        // The decision applies only to what was shown, not to anything that arrived later.
        let only = asked.first().filter(|_| asked.len() == 1);
        let answer = match args.answer.as_deref() {
            Some(given) => Some(form_answer(given)?),
            None => only.filter(|_| approve).and_then(|it| ask(it, terminal_user::ask_line)),
        };
        if let Some(one) = only.filter(|_| answer.is_some() && !terminal.is_json()) {
            let lines = QuestionLayout::terminal(terminal.width()).above_prompt(one);
            lines.iter().for_each(|line| terminal.notice(line));
        }
        let request = Request {
            run_id: before.run_id.clone(),
            step_id: step.map(str::to_owned),
            digest: only.and_then(|one| one.digest.clone()),
            comment: args.comment.clone(),
            answer,
        };
        match approve {
            true => session.run_as::<ApproveStep>(call, request),
            false => session.run_as::<RejectStep>(call, request),
        }
    }
}

/// The value of `--answer`: JSON, or a file that contains it.
fn form_answer(given: &str) -> CliResult<Value> {
    match Path::new(given).is_file() {
        true => value(&file_text(given.as_ref(), OUTPUT_BYTES)?),
        false => value(given),
    }
}

/// The run's own questions.
fn own_questions<'v>(
    view: &'v RunView,
    step: Option<&'v str>,
) -> impl Iterator<Item = &'v WaitingView> {
    questions(view, step).filter(|one| one.run_id.is_none())
}

/// The questions that the run and its child runs ask.
fn questions<'v>(
    view: &'v RunView,
    step: Option<&'v str>,
) -> impl Iterator<Item = &'v WaitingView> {
    view.waiting.iter().filter(move |one| {
        one.kind == WaitingKind::Approval
            && step.is_none_or(|step| one.step.as_deref() == Some(step))
    })
}

/// The child run with a question, if the run itself has none. If there are several, the user must
/// name one.
fn asking_child(
    view: &RunView,
    step: Option<&str>,
    command: &str,
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
    let commands: Vec<String> =
        children.iter().map(|child| format!("`milepost {command} {child}`")).collect();
    let message = format!("several child runs of `{}` have questions", view.run_id);
    let hint = format!("choose one: {}", commands.join(" or "));
    Err(Problem::new(Code::ParamsInvalid, message, hint).context("run_id", view.run_id.as_str()))
}

/// A field of a question's form.
struct FormField<'f> {
    name: &'f str,
    schema: &'f Value,
}

impl FormField<'_> {
    /// The prompt for the field, which the question describes.
    fn prompt(&self) -> String {
        format!("value of `{}`: ", untrusted::inline(self.name, limits::FIELD_CHARS))
    }

    /// Converts the typed string to a value of the field's type.
    fn read(&self, typed: &str) -> Value {
        match self.schema.get("type").and_then(Value::as_str) {
            Some("string") => typed.into(),
            _ => serde_json::from_str(typed).unwrap_or_else(|_| typed.into()),
        }
    }
}

/// The fields of a question's form; empty without a form, or if the form is not an object.
fn fields(waiting: &WaitingView) -> Vec<FormField<'_>> {
    let Some(form) = &waiting.form else { return Vec::new() };
    let properties = form.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties.map(|(name, schema)| FormField { name, schema }).collect()
}

/// Asks for every field; `None` if there is nobody to ask.
fn ask(waiting: &WaitingView, ask: impl Fn(&str) -> Option<String>) -> Option<Value> {
    let fields = fields(waiting);
    if fields.is_empty() {
        return None;
    }
    let mut answer = Map::new();
    for field in &fields {
        let typed = ask(&field.prompt())?;
        if !typed.trim().is_empty() {
            answer.insert(field.name.to_owned(), field.read(typed.trim()));
        }
    }
    Some(Value::Object(answer))
}
