//! `milepost guide check`: whether an output meets the criteria of its step.

use serde::Deserialize;
use serde_json::json;

use super::{Opened, call, context, open, text};
use crate::args::GuideCheck;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::{Terminal, safe};

#[derive(Debug, Deserialize)]
struct Verdict {
    valid: bool,
    issues: Vec<String>,
    suggestions: Vec<String>,
}

pub(crate) fn run(arguments: &GuideCheck, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let Opened { operations, id } = open(&arguments.target, json, terminal)?;
    let request = json!({
        "workflowId": id,
        "stepId": arguments.step,
        "output": text(&arguments.output)?,
        "context": context(arguments.context.as_deref())?,
    });
    let verdict: Verdict = call(&operations, "guide.validate", request, json, terminal)?;
    if !json {
        if verdict.valid {
            terminal.line(&format!("{}: valid", arguments.step))?;
        }
        for (index, issue) in verdict.issues.iter().enumerate() {
            terminal.line(&format!("- {}", safe(issue)))?;
            if let Some(suggestion) = verdict.suggestions.get(index) {
                terminal.line(&format!("  {}", safe(suggestion)))?;
            }
        }
    }
    Ok(if verdict.valid { Exit::Done } else { Exit::Failed })
}
