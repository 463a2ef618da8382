//! `milepost guide next`: the next step.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{call, context};
use crate::args::GuideNextArgs;
use crate::exit::Exit;
use crate::failure::CommandResult;
use crate::terminal::{Terminal, safe};

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

pub(super) fn run(args: &GuideNextArgs, terminal: &mut Terminal) -> CommandResult {
    let request = json!({
        "completedSteps": done(args),
        "context": context(args.context.as_deref())?,
    });
    let next: NextStep = call("guide.next", &args.target, request, terminal)?;
    if !terminal.is_json() {
        show(&next, args, terminal);
    }
    let waits = next.step.is_none() && !next.is_complete;
    Ok(if waits { Exit::WAITING_ON_AGENT } else { Exit::DONE })
}

/// The steps that are done; empty names in the list are ignored.
fn done(args: &GuideNextArgs) -> Vec<&str> {
    args.done.iter().map(|step| step.trim()).filter(|step| !step.is_empty()).collect()
}

fn show(next: &NextStep, args: &GuideNextArgs, terminal: &mut Terminal) {
    let guidance = &next.guidance;
    terminal.warnings(&guidance.warnings);
    if let Some(step) = &next.step {
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        terminal.line(format!("{} — {}\n", text("id"), safe(text("title"))));
    }
    terminal.line(safe(&guidance.prompt));
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
        // Never wrapped: it is there to be copied.
        terminal.remark(format!(
            "\nwhen it is done: milepost guide next {} --done {}{}",
            args.target.to_string_lossy(),
            done.join(","),
            context.unwrap_or_default()
        ));
    }
}
