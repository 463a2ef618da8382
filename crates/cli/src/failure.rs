//! What ends a command early: a problem to show, or output that cannot be written.

use std::ffi::OsStr;
use std::io;

use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::{Argument, Code, Problem};
use milepost_model::violation;
use milepost_store::FileError;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::terminal::{Terminal, safe, safe_lines};
use crate::wording;

/// The result of a command, or of a part of one.
pub(crate) type CliResult<T = Exit> = Result<T, CliError>;

/// Why a command did not finish.
#[derive(Debug)]
pub(crate) enum CliError {
    Problem(Box<Problem>),
    Output(io::Error),
}

impl From<Problem> for CliError {
    fn from(problem: Problem) -> CliError {
        CliError::Problem(Box::new(problem))
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> CliError {
        CliError::Output(error)
    }
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> CliError {
        milepost_ops::file_problem(&error).into()
    }
}

impl CliError {
    pub(crate) fn problem(&self) -> Option<&Problem> {
        match self {
            CliError::Problem(problem) => Some(problem),
            CliError::Output(_) => None,
        }
    }

    /// If the given document is invalid, replaces the hint with the command that lists its errors.
    pub(crate) fn about(mut self, target: &OsStr) -> CliError {
        if let CliError::Problem(problem) = &mut self
            && problem.code == Code::WorkflowInvalid
        {
            let path = target.to_string_lossy().into_owned();
            let validate = Invocation::of("workflow.validate").with("path", path);
            problem.hint = Hint::text("see every error with ").call(validate);
        }
        self
    }

    /// Prints the failure and returns the exit code.
    pub(crate) fn show(self, terminal: &mut Terminal) -> Exit {
        match self {
            CliError::Output(error) => {
                terminal.notice(format!("error: cannot write the result: {error}"));
                Exit::STORAGE_FAILED
            }
            CliError::Problem(problem) => {
                let exit = Exit::of(&problem);
                if terminal.is_json() {
                    terminal.notice(as_json(&problem).to_string());
                } else {
                    let more: Vec<String> = details(&problem).iter().map(as_line).collect();
                    let hint = wording::hint_text(&problem.hint);
                    show_problem(problem.code.name(), &problem.message, &more, &hint, terminal);
                }
                exit
            }
        }
    }
}

/// Formats a problem for people: what happened, details, the next action, and where to read more.
/// No other code does this.
pub(crate) fn show_problem(
    code: &str,
    message: &str,
    details: &[String],
    hint: &str,
    terminal: &mut Terminal,
) {
    terminal.notice(format!("error[{code}]: {}", safe(message)));
    details.iter().for_each(|line| terminal.notice(line));
    if !hint.is_empty() {
        terminal.notice(format!("hint: {}", safe_lines(hint)));
    }
    terminal.notice(format!("more: milepost docs {code}"));
}

/// The argument errors, unless the message already covers them.
fn details(problem: &Problem) -> &[Argument] {
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
    let fields = [
        ("path", argument.path.clone()),
        ("rule", argument.rule.to_owned()),
        ("message", argument.message.clone()),
        ("expected", argument.expected.clone()),
        ("actual", argument.actual.clone()),
        ("suggestion", wording::hint_text(&argument.suggestion)),
    ];
    let is_told = |(key, text): &(&str, String)| {
        ["path", "rule", "message"].contains(key) || !text.is_empty()
    };
    fields.into_iter().filter(is_told).collect()
}

fn as_json(problem: &Problem) -> Value {
    let mut error = json!({
        "error_code": problem.code.name(),
        "category": problem.code.category().name(),
        "message": problem.message,
        "context": problem.context,
        "suggested_action": wording::hint_text(&problem.hint),
    });
    if !problem.violations.is_empty() {
        error["violations"] = violation::to_values(&problem.violations);
    }
    if !problem.arguments.is_empty() {
        error["violations"] = problem.arguments.iter().map(argument_json).collect();
    }
    json!({"error": error})
}
