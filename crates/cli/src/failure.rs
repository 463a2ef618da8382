//! What ends a command early: a problem to show, or a reader that went away.

use std::io;

use milepost_model::problem::Problem;
use milepost_model::violation;
use milepost_store::FileError;
use serde_json::json;

use crate::exit::Exit;
use crate::terminal::{Terminal, safe};

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
                let exit = Exit::of(problem.code);
                if json {
                    terminal.complain(&as_json(&problem).to_string());
                } else {
                    let (code, message) = (problem.code.name(), safe(&problem.message));
                    let hint = safe(&problem.hint);
                    terminal.complain(&format!("error[{code}]: {message}\nhint: {hint}"));
                }
                exit
            }
        }
    }
}

fn as_json(problem: &Problem) -> serde_json::Value {
    let mut error = json!({
        "error_code": problem.code.name(),
        "category": problem.code.category().name(),
        "message": problem.message,
        "context": problem.context,
        "suggested_action": problem.hint,
    });
    if !problem.violations.is_empty() {
        error["violations"] = violation::to_values(&problem.violations);
    }
    json!({"error": error})
}
