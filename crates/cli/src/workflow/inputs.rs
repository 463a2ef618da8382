//! `milepost workflow inputs`.

use milepost_ops::inputs::preview_inputs::{InputView, PreviewInputs, Request, Response};
use milepost_ops::inputs::resolve_inputs::{self, ResolveInputs};
use milepost_ops::inputs::{InputStatus, ProviderOutcome, ProviderView};

use super::args::WorkflowInputsArgs;
use crate::command::lists::{plain, show_choices};
use crate::document;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::{Terminal, safe};
use crate::wording;

pub(super) fn run(args: &WorkflowInputsArgs, terminal: &mut Terminal) -> CliResult {
    let loaded = document::load(&args.target)?;
    let workflow = loaded.valid_workflow(terminal)?;
    let session = loaded.open_session(workflow, terminal)?;
    let partial_inputs = args.given.read(workflow)?;
    let workflow_id = Some(workflow.id.value.to_string());
    let request = Request {
        manifest: None,
        workflow_id: workflow_id.clone(),
        partial_inputs: partial_inputs.clone(),
    };
    if !args.choices {
        let response = session.run::<PreviewInputs>(request)?;
        return terminal.answer(&response, |terminal| show(&response, terminal));
    }
    let resolving =
        resolve_inputs::Request { manifest: None, workflow_id, partial_inputs, all_choices: true };
    let resolved = session.run::<ResolveInputs>(resolving)?;
    if terminal.is_json() {
        return terminal.answer(&resolved, |_| {});
    }
    show(&session.run::<PreviewInputs>(request)?, terminal);
    for (name, provided) in &resolved.providers {
        show_provided(name, provided, terminal);
    }
    notes(&resolved.warnings, terminal);
    Ok(Exit::DONE)
}

fn notes(notes: &[String], terminal: &mut Terminal) {
    notes.iter().for_each(|note| terminal.remark(format!("note: {}", safe(note))));
}

fn show(response: &Response, terminal: &mut Terminal) {
    if response.inputs.is_empty() {
        terminal.line("the workflow has no inputs");
    } else {
        let headings = ["input", "type", "value", "status", "about"];
        terminal.table(&headings, response.inputs.iter().map(row));
    }
    for violation in &response.violations {
        let (message, hint) =
            (safe(&violation.message), safe(&wording::hint_text(&violation.suggestion)));
        terminal.notice(format!("{}: {message}\nhint: {hint}", violation.rule));
    }
    notes(&response.warnings, terminal);
}

fn row(input: &InputView) -> Vec<String> {
    let kind = match &input.mode {
        Some(_) => format!("{} list", input.kind.name()),
        None => input.kind.name().to_owned(),
    };
    let about = input.label.as_ref().or(input.description.as_ref()).or(input.hint.as_ref());
    vec![
        input.name.clone(),
        kind,
        input.value.as_ref().map(plain).unwrap_or_default(),
        status(input.status).to_owned(),
        about.cloned().unwrap_or_default(),
    ]
}

fn status(status: InputStatus) -> &'static str {
    match status {
        InputStatus::Given => "given",
        InputStatus::Default => "default",
        InputStatus::Optional => "optional",
        InputStatus::Missing => "missing",
        InputStatus::Invalid => "invalid",
    }
}

fn show_provided(name: &str, provided: &ProviderView, terminal: &mut Terminal) {
    let from = &provided.provider;
    let about = match provided.outcome {
        ProviderOutcome::Ready => format!("choices for {name}, from {from}"),
        ProviderOutcome::Cached => format!("choices for {name}, from an earlier call to {from}"),
        ProviderOutcome::NotAsked => format!("{from} was not called for {name}"),
        ProviderOutcome::Manual => format!("{from} has no choices for {name}: type the value"),
        ProviderOutcome::Prompt => {
            format!("{from} needs {} before it has choices for {name}", provided.needs.join(", "))
        }
        ProviderOutcome::Error => format!("{from} has no choices for {name}"),
    };
    terminal.line(format!("\n{}", safe(&about)));
    if let Some(message) = &provided.message {
        terminal.remark(format!("note: {}", safe(message)));
    }
    if !provided.choices.is_empty() {
        let choices = provided.choices.iter();
        show_choices(choices.map(|one| (&one.value, one.label.as_ref())), terminal);
    }
    if provided.more {
        terminal.remark(format!("note: more choices: `milepost command choices {}`", safe(from)));
    }
}
