//! `milepost guide next`: the step that is due.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Opened, call, context, open};
use crate::args::GuideNext;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::{Terminal, safe};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Next {
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

pub(crate) fn run(arguments: &GuideNext, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let Opened { operations, id } = open(&arguments.target, json, terminal)?;
    let request = json!({
        "workflowId": id,
        "completedSteps": done(arguments),
        "context": context(arguments.context.as_deref())?,
    });
    let next: Next = call(&operations, "guide.next", request, json, terminal)?;
    if !json {
        show(&next, arguments, terminal)?;
    }
    let waits = next.step.is_none() && !next.is_complete;
    Ok(if waits { Exit::WaitingOnAgent } else { Exit::Done })
}

/// What is done, as people write lists.
fn done(arguments: &GuideNext) -> Vec<&str> {
    arguments.done.iter().map(|step| step.trim()).filter(|step| !step.is_empty()).collect()
}

fn show(next: &Next, arguments: &GuideNext, terminal: &mut Terminal) -> Result<(), Failure> {
    let guidance = &next.guidance;
    for warning in &guidance.warnings {
        terminal.remark(&format!("warning: {}", safe(warning)));
    }
    if let Some(step) = &next.step {
        let title = step["title"].as_str().unwrap_or_default();
        terminal.line(&format!(
            "{} — {}\n",
            step["id"].as_str().unwrap_or_default(),
            safe(title)
        ))?;
    }
    terminal.line(&safe(&guidance.prompt))?;
    if !guidance.validation_criteria.is_empty() {
        terminal.line("\nThe output is checked for:")?;
        for message in &guidance.validation_criteria {
            terminal.line(&format!("- {}", safe(message)))?;
        }
    }
    if guidance.requires_confirmation {
        terminal.line("\nA person confirms this step.")?;
    }
    if !guidance.skipped.is_empty() {
        terminal.line(&format!("Skipped: {}", guidance.skipped.join(", ")))?;
    }
    if !guidance.missing.is_empty() {
        let names = guidance.missing.join(", ");
        terminal.remark(&format!("note: not set in the context: {}", safe(&names)));
    }
    if let Some(key) = &next.completed_step {
        let mut done = done(arguments);
        done.push(key);
        let context = arguments.context.as_ref();
        let context = context.map(|given| format!(" --context '{}'", given.to_string_lossy()));
        // Never wrapped: it is there to be copied.
        terminal.remark(&format!(
            "\nwhen it is done: milepost guide next {} --done {}{}",
            arguments.target.to_string_lossy(),
            done.join(","),
            context.unwrap_or_default()
        ));
    }
    Ok(())
}
