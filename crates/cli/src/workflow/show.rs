//! `milepost workflow show` and `graph`.

use milepost_model::document::{Document, version};
use milepost_model::input::Input;
use milepost_model::plan::{self, Plan};
use milepost_model::workflow::Workflow;
use serde_json::{Value, json};

use super::args::{GraphArgs, TargetArgs};
use crate::document;
use crate::failure::CommandResult;
use crate::terminal::{Terminal, count, safe};

pub(super) fn run(args: &TargetArgs, terminal: &mut Terminal) -> CommandResult {
    let loaded = document::load(&args.target)?;
    let workflow = loaded.valid_workflow(terminal)?;
    let name = &loaded.name;
    terminal.answer(&as_json(name, &loaded.document, workflow), |terminal| {
        let width = terminal.width();
        terminal.line(format!("{} ({})", safe(workflow.display_title()), workflow.id.value));
        if let Some(description) = &workflow.description {
            terminal.line(safe(description));
        }
        let spelling = workflow.spelling.name();
        let number = workflow.version.as_deref().unwrap_or("no version");
        terminal.line(format!("{spelling}, {number}, {}", safe(name)));
        if !workflow.inputs.0.is_empty() {
            terminal.line("");
            let rows = workflow.inputs.0.iter().map(|(name, input)| input_row(&name.value, input));
            terminal.table(&["input", "type", "required", "description"], rows);
        }
        let drawing = Plan::of(workflow).graph().to_text(width);
        let steps = count(workflow.all_steps().len(), "step");
        terminal.line(format!("\n{steps}\n{}", drawing.trim_end()));
    })
}

pub(super) fn graph(args: &GraphArgs, terminal: &mut Terminal) -> CommandResult {
    let loaded = document::load(&args.target)?;
    let graph = Plan::of(loaded.valid_workflow(terminal)?).graph();
    let (form, drawing) = if args.form.svg {
        ("svg", graph.to_svg())
    } else if args.form.mermaid {
        ("mermaid", graph.to_mermaid())
    } else {
        ("text", graph.to_text(terminal.width()))
    };
    let drawing = drawing.trim_end();
    terminal.answer(&json!({"form": form, "graph": drawing}), |terminal| terminal.line(drawing))
}

fn input_row(name: &str, input: &Input) -> Vec<String> {
    let kind = input.input_type().name();
    let kind = if input.is_secret() { format!("{kind}, secret") } else { kind.to_owned() };
    let required = match (&input.default, input.is_required()) {
        (_, true) => "yes".to_owned(),
        (Some(default), _) => format!("default from {}", default.0.from.name()),
        (None, _) => "no".to_owned(),
    };
    vec![name.to_owned(), kind, required, input.description.clone().unwrap_or_default()]
}

fn as_json(name: &str, document: &Document, workflow: &Workflow) -> Value {
    let source = document.source.as_ref();
    let bytes = source.map(|source| source.with_text(source.text())).unwrap_or_default();
    json!({
        "workflow_id": workflow.id.value.as_str(),
        "path": name,
        "kind": workflow.spelling.name(),
        "format": source.map(|source| source.format().name()),
        "content": source.map(milepost_syntax::source::Source::text),
        "parsed": document.parsed(),
        "version": version(&bytes),
        "plan_hash": plan::hash(document),
    })
}
