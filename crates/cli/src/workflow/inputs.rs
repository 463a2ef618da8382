//! `milepost workflow inputs`.

use milepost_ops::inputs::preview_inputs::{InputView, PreviewInputs, Request, Response};
use milepost_ops::inputs::resolve_inputs::{self, ResolveInputs};
use milepost_ops::inputs::{Choice, Outcome, Provided, Status};
use serde_json::Value;

use super::opened;
use crate::args::{Inputs, Target};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::table;
use crate::terminal::{Terminal, safe};
use crate::wording;

pub(crate) fn run(arguments: &Inputs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let Target { target, json } = &arguments.target;
    let opened = opened(target, json.json, terminal)?;
    let partial_inputs = arguments.given.read(opened.workflow()?)?;
    let workflow_id = Some(opened.id.clone());
    let request = Request {
        manifest: None,
        workflow_id: workflow_id.clone(),
        partial_inputs: partial_inputs.clone(),
    };
    if !arguments.choices {
        let response = opened.session.run::<PreviewInputs>(request)?;
        match json.json {
            true => print(&response, terminal)?,
            false => show(&response, terminal)?,
        }
        return Ok(Exit::Done);
    }
    let resolving =
        resolve_inputs::Request { manifest: None, workflow_id, partial_inputs, all_choices: true };
    let resolved = opened.session.run::<ResolveInputs>(resolving)?;
    if json.json {
        print(&resolved, terminal)?;
        return Ok(Exit::Done);
    }
    show(&opened.session.run::<PreviewInputs>(request)?, terminal)?;
    for (name, provided) in &resolved.providers {
        show_choices(name, provided, terminal)?;
    }
    resolved.warnings.iter().for_each(|one| terminal.remark(&format!("note: {}", safe(one))));
    Ok(Exit::Done)
}

fn show(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    if response.inputs.is_empty() {
        terminal.line("it asks for nothing")?;
    } else {
        let rows: Vec<Vec<String>> = response.inputs.iter().map(row).collect();
        let headings = ["input", "type", "value", "status", "about"];
        terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    }
    for violation in &response.violations {
        let (message, then) =
            (safe(&violation.message), safe(&wording::said(&violation.suggestion)));
        terminal.complain(&format!("{}: {message}\nhint: {then}", violation.rule));
    }
    for warning in &response.warnings {
        terminal.remark(&format!("note: {}", safe(warning)));
    }
    Ok(())
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

fn status(status: Status) -> &'static str {
    match status {
        Status::Given => "given",
        Status::Default => "default",
        Status::Optional => "optional",
        Status::Missing => "missing",
        Status::Invalid => "invalid",
    }
}

fn show_choices(name: &str, provided: &Provided, terminal: &mut Terminal) -> Result<(), Failure> {
    let from = &provided.provider;
    let about = match provided.outcome {
        Outcome::Ready => format!("choices for {name}, from {from}"),
        Outcome::Cached => format!("choices for {name}, from {from}, as they were"),
        Outcome::NotAsked => format!("{from} was not asked for {name}"),
        Outcome::Manual => format!("{from} has no choices for {name}: type it"),
        Outcome::Prompt => {
            format!("{from} needs {} before it has choices for {name}", provided.needs.join(", "))
        }
        Outcome::Error => format!("{from} has no choices for {name}"),
    };
    terminal.line(&safe(&format!("\n{about}")))?;
    if let Some(message) = &provided.message {
        terminal.remark(&format!("note: {}", safe(message)));
    }
    if !provided.choices.is_empty() {
        let rows: Vec<Vec<String>> = provided.choices.iter().map(choice).collect();
        terminal.line(&table::render(&["value", "label"], &rows, terminal.width()))?;
    }
    if provided.more {
        terminal.remark("note: there are more");
    }
    Ok(())
}

fn choice(choice: &Choice) -> Vec<String> {
    vec![plain(&choice.value), choice.label.clone().unwrap_or_default()]
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
