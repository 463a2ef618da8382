//! `milepost guide check`: whether an output meets the criteria of its step.

use milepost_model::limits::OUTPUT_BYTES;
use serde::Deserialize;
use serde_json::json;

use super::{call, context};
use crate::args::GuideCheckArgs;
use crate::argument_values::file_text;
use crate::exit::Exit;
use crate::failure::CommandResult;
use crate::terminal::{Terminal, safe};

#[derive(Debug, Deserialize)]
struct CheckResult {
    valid: bool,
    issues: Vec<String>,
    suggestions: Vec<String>,
}

pub(super) fn run(args: &GuideCheckArgs, terminal: &mut Terminal) -> CommandResult {
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
