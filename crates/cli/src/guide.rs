//! `milepost guide …`: the guide operations for people. Agents call the same functions.

use std::ffi::OsStr;

use milepost_model::limits::OUTPUT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_ops::SilentCaller;
use milepost_syntax::limits::DOCUMENT_BYTES;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::args::{GuideCheckArgs, GuideCommand, GuideNextArgs};
use crate::argument_values::{file_text, object_or_file};
use crate::document;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::{Terminal, safe, safe_lines};

pub(crate) fn run(command: &GuideCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        GuideCommand::Next(args) => next(args, terminal),
        GuideCommand::Check(args) => check(args, terminal),
    }
}

/// Calls an operation on the workflow that the user named by id or file. With `--json`, the
/// response is printed as is.
fn call<T: DeserializeOwned>(
    operation: &str,
    target: &OsStr,
    mut request: Value,
    terminal: &mut Terminal,
) -> CliResult<T> {
    let loaded = document::load(target)?;
    let workflow = loaded.workflow(terminal)?;
    let session = loaded.open_session(workflow, terminal)?;
    request["workflowId"] = workflow.id.value.as_str().into();
    let response = session.operations.call(operation, &SilentCaller, request)?;
    if terminal.is_json() {
        terminal.line(response.json());
    }
    serde_json::from_str(response.json()).map_err(|error| {
        let message = format!("cannot read the response from `{operation}`: {error}");
        Problem::new(Code::Internal, message, "report this, including the command you ran").into()
    })
}

/// The value of `--context`.
pub(crate) fn context(given: Option<&OsStr>) -> CliResult<Map<String, Value>> {
    let Some(given) = given else { return Ok(Map::new()) };
    object_or_file("--context", &given.to_string_lossy(), DOCUMENT_BYTES)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NextStep {
    step: Option<Value>,
    completed_step: Option<String>,
    guidance: Guidance,
    is_complete: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Guidance {
    prompt: String,
    requires_confirmation: bool,
    validation_criteria: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    missing: Vec<String>,
    #[serde(default)]
    skipped: Vec<String>,
}

/// `milepost guide next`: the next step.
fn next(args: &GuideNextArgs, terminal: &mut Terminal) -> CliResult {
    let request = json!({
        "completedSteps": done(args),
        "context": context(args.context.as_deref())?,
    });
    let next: NextStep = call("guide.next", &args.target, request, terminal)?;
    if !terminal.is_json() {
        show_next(&next, args, terminal);
    }
    let waits = next.step.is_none() && !next.is_complete;
    Ok(if waits { Exit::WAITING_ON_AGENT } else { Exit::DONE })
}

/// The completed steps; empty names in the list are ignored.
fn done(args: &GuideNextArgs) -> Vec<&str> {
    args.done.iter().map(|step| step.trim()).filter(|step| !step.is_empty()).collect()
}

fn show_next(next: &NextStep, args: &GuideNextArgs, terminal: &mut Terminal) {
    let guidance = &next.guidance;
    terminal.warnings(&guidance.warnings);
    if let Some(step) = &next.step {
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        terminal.line(format!("{} — {}\n", text("id"), safe(text("title"))));
    }
    terminal.line(safe_lines(&guidance.prompt));
    if !guidance.validation_criteria.is_empty() {
        terminal.line("\nThe output is checked for:");
        for message in &guidance.validation_criteria {
            terminal.line(format!("- {}", safe(message)));
        }
    }
    if guidance.requires_confirmation {
        terminal.line("\nA person confirms this step.");
    }
    if !guidance.skipped.is_empty() {
        terminal.line(format!("Skipped: {}", guidance.skipped.join(", ")));
    }
    if !guidance.missing.is_empty() {
        let names = guidance.missing.join(", ");
        terminal.remark(format!("note: not set in the context: {}", safe(&names)));
    }
    if let Some(key) = &next.completed_step {
        let mut done = done(args);
        done.push(key);
        let context = args.context.as_ref();
        let context = context.map(|given| format!(" --context '{}'", given.to_string_lossy()));
        // Never wrapped, because users copy it.
        terminal.remark(format!(
            "\nwhen the step is done: milepost guide next {} --done {}{}",
            args.target.to_string_lossy(),
            done.join(","),
            context.unwrap_or_default()
        ));
    }
}

#[derive(Debug, Deserialize)]
struct CheckResult {
    valid: bool,
    issues: Vec<String>,
    suggestions: Vec<String>,
}

/// `milepost guide check`: whether an output meets the criteria of its step.
fn check(args: &GuideCheckArgs, terminal: &mut Terminal) -> CliResult {
    let request = json!({
        "stepId": args.step,
        "output": file_text(&args.output, OUTPUT_BYTES)?,
        "context": context(args.context.as_deref())?,
    });
    let result: CheckResult = call("guide.validate", &args.target, request, terminal)?;
    if !terminal.is_json() {
        if result.valid {
            terminal.line(format!("{}: valid", args.step));
        }
        for (index, issue) in result.issues.iter().enumerate() {
            terminal.line(format!("- {}", safe(issue)));
            if let Some(suggestion) = result.suggestions.get(index) {
                terminal.line(format!("  {}", safe(suggestion)));
            }
        }
    }
    Ok(if result.valid { Exit::DONE } else { Exit::FAILED })
}
