//! Commands that an orchestration executes itself instead of sending a request. The engine calls
//! them like any other command, so they are journaled, retried and resumed in the same way.

use milepost_engine::command::StepCall;
use milepost_engine::event::CallAnswer;
use milepost_engine::interpreter::AttemptOutcome;
use milepost_engine::{Failure, FailureKind};

use super::{reject_secrets, values};
use crate::inputs::resolve_inputs::{self, ResolveInputs};
use crate::prelude::*;
use crate::run::errors::failure_of as failure;
use crate::run::stored_operation;
use crate::workflow::save::{self, SaveWorkflow};
use crate::workflow::validate::of_document;
use crate::workflow::{self, ViolationView};

/// The catalog that built-in commands pretend to belong to. No catalog with this name can be
/// imported.
pub(crate) const GROUP: &str = "milepost";

/// A command that Milepost executes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinCommand {
    /// Checks that a source is a workflow that can be saved; otherwise, the submission is rejected.
    Check,
    /// Saves a source as a workflow in the library.
    Save,
    /// Lists a workflow's missing inputs.
    Inputs,
    /// Checks that all of a workflow's inputs have valid values; otherwise, the submission is
    /// rejected.
    Ready,
    /// Executes an operation that a person has agreed to.
    Stored,
}

impl BuiltinCommand {
    /// The built-in command with this name, if there is one.
    pub(crate) fn of(command: &str) -> Option<BuiltinCommand> {
        let (GROUP, name) = command.split_once(' ')? else { return None };
        Some(match name {
            "workflow:check" => BuiltinCommand::Check,
            "workflow:save" => BuiltinCommand::Save,
            "workflow:inputs" => BuiltinCommand::Inputs,
            "workflow:ready" => BuiltinCommand::Ready,
            stored_operation::COMMAND => BuiltinCommand::Stored,
            _ => return None,
        })
    }

    pub(crate) fn writes(self) -> bool {
        matches!(self, BuiltinCommand::Save | BuiltinCommand::Stored)
    }

    /// Whether it may be executed again after its outcome was lost.
    pub(crate) fn may_repeat(self) -> bool {
        self != BuiltinCommand::Stored
    }

    /// Executes the command for the caller who started the run of this workflow.
    pub(crate) async fn run(
        self,
        writer: &Writer,
        starter: &dyn Caller,
        workflow: &str,
        call: &StepCall,
    ) -> AttemptOutcome {
        let done = match self {
            BuiltinCommand::Check => check(writer, &call.with),
            BuiltinCommand::Save => save(writer, &call.with).await,
            BuiltinCommand::Inputs => inputs(writer, starter, &call.with).await,
            BuiltinCommand::Ready => ready(writer, starter, &call.with).await,
            BuiltinCommand::Stored => return stored_operation::run(writer, workflow, call).await,
        };
        match done {
            Ok(output) => {
                let answer = CallAnswer { output, status: 200, ..CallAnswer::default() };
                AttemptOutcome::Answered { answer, duration_ms: 0 }
            }
            Err(failure) => AttemptOutcome::failed(failure, FailureKind::Unsendable, true),
        }
    }
}

fn text(with: &Map<String, Value>, name: &str) -> Option<String> {
    with.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn refuted(message: String, hint: &str) -> Failure {
    Failure::new(Code::ClaimRefuted, message, hint)
}

/// Violations as text for a model, one per line.
pub(crate) fn told(violations: &[ViolationView]) -> String {
    let line = |one: &ViolationView| {
        let hint = one.suggestion.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("- line {}, `{}`: {}{hint}", one.line, one.path, one.message)
    };
    violations.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(writer: &Writer, with: &Map<String, Value>) -> Result<Value, Failure> {
    let manifest = text(with, "manifest").unwrap_or_default();
    let document = workflow::read(&writer.reader, manifest.as_bytes(), None);
    let seen = of_document(&document);
    if !seen.valid {
        let message = format!("the workflow does not validate:\n{}", told(&seen.violations));
        return Err(refuted(message, "fix every finding, then submit the whole workflow"));
    }
    let given = values(with);
    let secret = document.workflow.as_ref().and_then(|own| reject_secrets::first(own, &given));
    if let Some(name) = secret {
        let message = format!("`{name}` was given in plain text, so it cannot be a secret input");
        let hint = "omit `secret`, or give the input another name";
        return Err(refuted(message, hint));
    }
    let id = seen.workflow_id.unwrap_or_default();
    if let Some(meant) = text(with, "workflow_id").filter(|meant| *meant != id) {
        let message = format!("the text has the id `{id}`, not `{meant}`");
        return Err(refuted(message, "keep the workflow's id"));
    }
    if text(with, "workflow_id").is_none() && writer.reader.workflow(&id).is_ok() {
        let message = format!("workflow `{id}` already exists");
        return Err(refuted(message, "give the new workflow a different id"));
    }
    Ok(json!({"valid": true, "workflow_id": id}))
}

async fn save(writer: &Writer, with: &Map<String, Value>) -> Result<Value, Failure> {
    let content = text(with, "manifest").unwrap_or_default();
    let version = milepost_store::Digest::of(content.as_bytes()).to_string();
    let document = workflow::read(&writer.reader, content.as_bytes(), None);
    let there = document.id.as_deref().and_then(|id| writer.reader.workflow(id).ok());
    let there = there.filter(|entry| entry.version == version);
    // An earlier attempt, whose outcome was not recorded, has already saved the workflow.
    if let (Some(_), Some(id)) = (there, &document.id) {
        return Ok(json!({"workflow_id": id, "version": version}));
    }
    let expected_version = text(with, "expected_version");
    let request = save::Request { content, expected_version, ..save::Request::default() };
    let saved = SaveWorkflow::run(writer, &SilentCaller, request).await;
    let saved = saved.map_err(|problem| failure(&problem))?;
    Ok(json!({"workflow_id": saved.workflow_id, "version": saved.version}))
}

async fn resolved(
    writer: &Writer,
    starter: &dyn Caller,
    with: &Map<String, Value>,
) -> Result<resolve_inputs::Response, Failure> {
    let request = resolve_inputs::Request {
        workflow_id: text(with, "workflow_id"),
        partial_inputs: values(with),
        ..resolve_inputs::Request::default()
    };
    let resolved = ResolveInputs::run(writer, starter, request).await;
    resolved.map_err(|problem: Problem| failure(&problem))
}

async fn inputs(
    writer: &Writer,
    starter: &dyn Caller,
    with: &Map<String, Value>,
) -> Result<Value, Failure> {
    let seen = resolved(writer, starter, with).await?;
    let entry = writer.reader.workflow(&seen.workflow_id).map_err(|problem| failure(&problem))?;
    let names: Vec<&str> = seen.violations.iter().filter_map(|one| input_of(&one.path)).collect();
    let secret = entry.document.workflow.as_ref().map(|own| reject_secrets::among(own, &names));
    if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
        return Err(failure(&reject_secrets::lacking(&secret)));
    }
    let missing = seen.violations.iter().map(|one| json!({"input": one.path, "why": one.message}));
    Ok(json!({"missing": missing.collect::<Vec<_>>()}))
}

/// The name of the input that a JSON pointer points into.
fn input_of(path: &str) -> Option<&str> {
    path.strip_prefix("/inputs/")?.split('/').next()
}

async fn ready(
    writer: &Writer,
    starter: &dyn Caller,
    with: &Map<String, Value>,
) -> Result<Value, Failure> {
    let seen = resolved(writer, starter, with).await?;
    if seen.violations.is_empty() {
        return Ok(json!({"ready": true}));
    }
    let lines: Vec<String> =
        seen.violations.iter().map(|one| format!("- `{}`: {}", one.path, one.message)).collect();
    Err(refuted(format!("the inputs are not valid:\n{}", lines.join("\n")), "give every value"))
}
