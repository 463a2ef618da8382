//! Errors of the crates below as problems.

use milepost_model::document::Document;
use milepost_model::judge::Undecidable;
use milepost_model::problem::{Code, Problem};
use milepost_model::walk::WalkError;
use milepost_store::{Cause, FileError, Invalid};

/// What is wrong with a file, for whoever named it.
pub fn of_file(error: &FileError) -> Problem {
    let message = error.to_string();
    match error {
        FileError::NotFound { path } => Problem::new(Code::FileNotFound, message, "check the path")
            .context("path", path.display().to_string()),
        FileError::NotRegular { path } => {
            Problem::new(Code::FileRefused, message, "name a regular file")
                .context("path", path.display().to_string())
        }
        FileError::Outside { path } => {
            Problem::new(Code::FileRefused, message, "put the file itself there")
                .context("path", path.display().to_string())
        }
        FileError::TooLarge { path, .. } => {
            Problem::new(Code::WorkflowInvalid, message, "split the document")
                .context("path", path.display().to_string())
        }
        FileError::Exists { path } => {
            Problem::new(Code::WorkflowExists, message, "choose another name or remove it")
                .context("path", path.display().to_string())
        }
        FileError::Io { path, source } => {
            let hint = "check that the path may be read and written";
            Problem::new(Code::StorageFailed, format!("{message}: {source}"), hint)
                .context("path", path.display().to_string())
        }
    }
}

pub(crate) fn no_workflow(id: &str, broken: usize, near: Option<&str>) -> Problem {
    let hint = match (near, broken) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, 0) => "see `milepost workflow list`".to_owned(),
        (None, _) => {
            format!("see `milepost workflow list`: {broken} files there are no workflows")
        }
    };
    let problem =
        Problem::new(Code::WorkflowNotFound, format!("there is no workflow `{id}`"), hint)
            .context("workflow_id", id);
    match near {
        Some(near) => problem.context("suggestion", near),
        None => problem,
    }
}

/// What is wrong with the only file that has an id.
pub fn of_invalid(id: &str, invalid: &Invalid) -> Problem {
    let (code, hint) = match invalid.cause {
        Cause::Text => (
            Code::WorkflowInvalid,
            "correct the file; `milepost workflow validate` shows every fault",
        ),
        Cause::Place => (Code::FileRefused, "put a regular file inside the directory"),
        Cause::System => (Code::StorageFailed, "make the file readable, then try again"),
    };
    let message = match invalid.cause {
        Cause::Text => format!("`{}`: {}", invalid.path.display(), invalid.reason),
        Cause::Place | Cause::System => invalid.reason.clone(),
    };
    let mut problem = Problem::new(code, message, hint)
        .context("workflow_id", id)
        .context("path", invalid.path.display().to_string());
    if let Some(document) = &invalid.document {
        problem.violations = errors(document);
    }
    problem
}

fn errors(document: &Document) -> Vec<milepost_model::violation::Violation> {
    use milepost_model::finding::Severity;
    let errors = document.violations.iter().filter(|one| one.severity == Severity::Error);
    errors.cloned().collect()
}

pub(crate) fn of_walk(error: &WalkError) -> Problem {
    match error {
        WalkError::UnknownStep { id, near } => no_step(id, near.as_deref()),
        WalkError::TooLong => {
            let hint = "lower `maxIterations`, or split the workflow";
            Problem::new(Code::StateInvalid, error.to_string(), hint)
        }
        WalkError::Variable { variable, expected, actual } => {
            let hint = format!("set `{variable}` in the context to {expected}");
            Problem::new(Code::StateInvalid, error.to_string(), hint)
                .context("variable", variable.as_str())
                .context("expected", *expected)
                .context("actual", actual.as_str())
        }
    }
}

pub(crate) fn no_step(id: &str, near: Option<&str>) -> Problem {
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a step of the workflow as `workflow_next` gave it".to_owned(),
    };
    let problem = Problem::new(Code::StepNotFound, format!("there is no step `{id}`"), hint)
        .context("step_id", id);
    match near {
        Some(near) => problem.context("suggestion", near),
        None => problem,
    }
}

pub(crate) fn undecidable(error: &Undecidable) -> Problem {
    let hint = "ask the author of the workflow for a simpler pattern";
    Problem::new(Code::CriteriaInvalid, error.to_string(), hint)
}

pub(crate) fn no_operation(name: &str, names: impl Iterator<Item = &'static str>) -> Problem {
    let hint = match milepost_model::suggest::nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "look at the list of operations".to_owned(),
    };
    Problem::new(Code::MethodNotFound, format!("there is no operation `{name}`"), hint)
}
