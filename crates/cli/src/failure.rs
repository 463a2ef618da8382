//! What ends a command early: a problem to show, or a reader that went away.

use std::ffi::OsStr;
use std::io;

use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::{Argument, Code, Problem};
use milepost_model::violation;
use milepost_store::FileError;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::terminal::{Terminal, safe};
use crate::wording;

/// Why a command did not finish.
#[derive(Debug)]
pub(crate) enum Failure {
    Problem(Box<Problem>),
    Output(io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Problem(Box::new(problem))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        milepost_ops::file_problem(&error).into()
    }
}

impl Failure {
    /// The problem behind it, when there is one to tell.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        match self {
            Failure::Problem(problem) => Some(problem),
            Failure::Output(_) => None,
        }
    }

    /// The same about a document that the user named: what is wrong with it is shown by a command
    /// that can be typed as it stands.
    pub(crate) fn about(mut self, target: &OsStr) -> Failure {
        if let Failure::Problem(problem) = &mut self
            && problem.code == Code::WorkflowInvalid
        {
            let path = target.to_string_lossy().into_owned();
            let validate = Invocation::of("workflow.validate").with("path", path);
            problem.hint = Hint::text("see every fault with ").call(validate);
        }
        self
    }

    /// Tells the user, and says how the command ends.
    pub(crate) fn show(self, terminal: &mut Terminal, json: bool) -> Exit {
        match self {
            // The reader has what it wanted: `milepost … | head` is no failure.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Failure::Output(error) => {
                terminal.complain(&format!("error: cannot write the result: {error}"));
                Exit::StorageFailed
            }
            Failure::Problem(problem) => {
                let exit = Exit::of(&problem);
                if json {
                    terminal.complain(&as_json(&problem).to_string());
                } else {
                    let more: Vec<String> = told(&problem).iter().map(as_line).collect();
                    let hint = wording::said(&problem.hint);
                    trouble(problem.code.name(), &problem.message, &more, &hint, terminal);
                }
                exit
            }
        }
    }
}

/// What went wrong, in words: what happened, what else is known of it, the next action, and where
/// more stands. The one place that words a problem for people.
pub(crate) fn trouble(
    code: &str,
    message: &str,
    more: &[String],
    hint: &str,
    terminal: &mut Terminal,
) {
    terminal.complain(&format!("error[{code}]: {}", safe(message)));
    more.iter().for_each(|line| terminal.complain(line));
    if !hint.is_empty() {
        terminal.complain(&format!("hint: {}", safe(hint)));
    }
    terminal.complain(&format!("more: milepost docs {code}"));
}

/// What is wrong with the arguments, unless the message says all of it.
fn told(problem: &Problem) -> &[Argument] {
    match problem.arguments.as_slice() {
        [only] if problem.message.contains(&only.message) => &[],
        arguments => arguments,
    }
}

fn as_line(argument: &Argument) -> String {
    let (rule, message) = (argument.rule, safe(&argument.message));
    match argument.path.as_str() {
        "" => format!("  {rule}: {message}"),
        path => format!("  {rule} {}: {message}", safe(path)),
    }
}

fn argument_json(argument: &Argument) -> Value {
    let mut told = json!({
        "path": argument.path,
        "rule": argument.rule,
        "message": argument.message,
    });
    let suggestion = wording::said(&argument.suggestion);
    let more = [
        ("expected", &argument.expected),
        ("actual", &argument.actual),
        ("suggestion", &suggestion),
    ];
    for (key, text) in more {
        if !text.is_empty() {
            told[key] = Value::from(text.as_str());
        }
    }
    told
}

fn as_json(problem: &Problem) -> Value {
    let mut error = json!({
        "error_code": problem.code.name(),
        "category": problem.code.category().name(),
        "message": problem.message,
        "context": problem.context,
        "suggested_action": wording::said(&problem.hint),
    });
    if !problem.violations.is_empty() {
        error["violations"] = violation::to_values(&problem.violations);
    }
    if !problem.arguments.is_empty() {
        error["violations"] = problem.arguments.iter().map(argument_json).collect();
    }
    json!({"error": error})
}
