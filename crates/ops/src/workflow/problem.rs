//! Explains why a workflow was not changed.

use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_store::workflows::WorkflowError;

use super::elsewhere;
use crate::prelude::*;

/// Converts the error of a failed change.
pub(super) fn of_change(error: WorkflowError, reader: &Reader) -> Problem {
    let message = error.to_string();
    match error {
        WorkflowError::NotFound { id } => missing(reader, &id),
        WorkflowError::Exists { id, version, path } => {
            let hint = Hint::text("to replace it, give ")
                .given("overwrite", true)
                .then(", or ")
                .given("expected_version", "<VERSION>")
                .then(" if you know the current one");
            Problem::new(Code::WorkflowExists, message, hint)
                .context("workflow_id", id.as_str())
                .context("version", version.to_string())
                .context("path", path.display().to_string())
        }
        WorkflowError::Conflict { id, expected, found } => {
            let (now, hint) = match found {
                Some(found) => {
                    let hint =
                        Hint::text("read it again, repeat your edit on that text, and pass ")
                            .given("expected_version", "<VERSION>");
                    (format!("it is {:.12}", found.to_string()), hint)
                }
                None => {
                    ("it no longer exists".to_owned(), "omit the version to create it again".into())
                }
            };
            let found = found.map(|found| found.to_string());
            Problem::new(Code::WorkflowVersionConflict, format!("{message}: {now}"), hint)
                .context("workflow_id", id.as_str())
                .context("expected", expected.to_string())
                .context("found", found)
        }
        WorkflowError::Taken { id, path } => {
            let hint = format!("rename the existing file, or give `{id}` another id");
            Problem::new(Code::WorkflowExists, message, hint)
                .context("workflow_id", id.as_str())
                .context("path", path.display().to_string())
        }
        WorkflowError::OtherId { id, found } => {
            let hint = format!("set the id in the text to `{id}`, or save it as `{found}`");
            Problem::new(Code::WorkflowInvalid, message, hint).context("workflow_id", id.as_str())
        }
        WorkflowError::NoHold { id } => {
            let hint = "write the id as a plain word that nothing else in the document refers to";
            Problem::new(Code::WorkflowInvalid, message, hint).context("workflow_id", id.as_str())
        }
        WorkflowError::Unfit { id, violations } => {
            let why = violations.first().map(|one| one.message.clone()).unwrap_or_default();
            let message = format!("{message}: {why}");
            let mut problem = Problem::new(Code::WorkflowInvalid, message, "choose another id")
                .context("workflow_id", id.as_str());
            problem.violations = violations;
            problem
        }
        WorkflowError::NoVersion { id, version } => no_version(&id, &version.to_string()),
        WorkflowError::Damaged { path } => {
            Problem::new(Code::StorageFailed, message, "restore another version")
                .context("path", path.display().to_string())
        }
        WorkflowError::File(error) => problems::of_file(&error),
    }
}

/// The problem when the workflow does not exist, or exists only in a read-only source.
pub(super) fn missing(reader: &Reader, id: &WorkflowId) -> Problem {
    let Some((there, _)) = elsewhere(reader, id) else { return reader.no_workflow(id.as_str()) };
    let message = format!("workflow `{id}` comes from a read-only source ({})", there.source);
    let copy = Invocation::of("workflow.copy").with("workflow_id", id.as_str());
    let hint = Hint::text("copy it with ").call(copy.with("from", id.as_str()));
    let hint = hint.then(", then save it: your copy takes precedence");
    Problem::new(Code::WorkflowReadOnly, message, hint)
        .context("workflow_id", id.as_str())
        .context("source", there.source)
        .context("path", there.path)
}

pub(super) fn no_version(id: &WorkflowId, version: &str) -> Problem {
    let message = format!("workflow `{id}` has no version `{version}`");
    Problem::new(Code::WorkflowVersionNotFound, message, see_versions(id))
        .context("workflow_id", id.as_str())
        .context("version", version)
}

pub(super) fn see_versions(id: &WorkflowId) -> Hint {
    let versions = Invocation::of("workflow.versions").with("workflow_id", id.as_str());
    Hint::text("see ").call(versions)
}

/// The problem with a document that cannot be saved or run because it has errors.
pub(crate) fn invalid(document: &Document, what: &str) -> Problem {
    let errors = problems::errors(document);
    let (first, more) = (errors.first(), problems::and_more(errors.len()));
    let message = match first {
        Some(one) => format!("{what} is not valid: line {}: {}{more}", one.line, one.message),
        None => format!("{what} is not valid"),
    };
    let suggestion = first.and_then(|one| one.suggestion.clone());
    let hint = suggestion.unwrap_or_else(|| "fix every violation, then try again".to_owned());
    let mut problem = Problem::new(Code::WorkflowInvalid, message, hint);
    if let Some(one) = first {
        problem = problem.context("line", one.line).context("column", one.column);
    }
    if let Some(id) = &document.id {
        problem = problem.context("workflow_id", id.as_str());
    }
    problem.violations = errors;
    problem
}
