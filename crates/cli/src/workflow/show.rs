//! `milepost workflow show`.

use milepost_model::document::{self, Document};
use milepost_model::input::Input;
use milepost_model::plan::{self, Plan};
use milepost_model::workflow::Workflow;
use serde_json::{Value, json};

use super::{count, sound, workflow_of};
use crate::args::Target;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::table;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Target, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (name, document) = sound(&arguments.target, arguments.json.json, terminal)?;
    let workflow = workflow_of(&document)?;
    if arguments.json.json {
        terminal.line(&as_json(&name, &document, workflow).to_string())?;
        return Ok(Exit::Done);
    }
    let width = terminal.width();
    terminal.line(&format!("{} ({})", safe(workflow.display_title()), workflow.id.value))?;
    if let Some(description) = &workflow.description {
        terminal.line(&safe(description))?;
    }
    let spelling = workflow.spelling.name();
    let version = workflow.version.as_deref().unwrap_or("without a version");
    terminal.line(&format!("{spelling}, {version}, {}", safe(&name)))?;
    if !workflow.inputs.0.is_empty() {
        let rows: Vec<Vec<String>> =
            workflow.inputs.0.iter().map(|(name, input)| input_row(&name.value, input)).collect();
        let headings = ["input", "type", "needed", "description"];
        terminal.line(&format!("\n{}", table::render(&headings, &rows, width)))?;
    }
    let drawing = Plan::of(workflow).graph().to_text(width);
    let steps = count(workflow.all_steps().len(), "step");
    terminal.line(&format!("\n{steps}\n{}", drawing.trim_end()))?;
    Ok(Exit::Done)
}

fn input_row(name: &str, input: &Input) -> Vec<String> {
    let kind = input.input_type().name();
    let kind = if input.is_secret() { format!("{kind}, secret") } else { kind.to_owned() };
    let needed = match (&input.default, input.is_required()) {
        (_, true) => "yes".to_owned(),
        (Some(default), _) => format!("default from {}", default.0.from.name()),
        (None, _) => "no".to_owned(),
    };
    vec![name.to_owned(), kind, needed, input.description.clone().unwrap_or_default()]
}

fn as_json(name: &str, document: &Document, workflow: &Workflow) -> Value {
    let source = document.source.as_ref();
    let bytes = source.map(|source| source.with_text(source.text())).unwrap_or_default();
    json!({
        "workflow_id": workflow.id.value.as_str(),
        "path": name,
        "kind": workflow.spelling.name(),
        "format": source.map(|source| source.format().name()),
        "content": source.map(milepost_model::source::Source::text),
        "parsed": document.parsed(),
        "version": document::version(&bytes),
        "plan_hash": plan::hash(document),
    })
}
