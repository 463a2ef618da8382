//! `milepost workflow show`, `graph` and `plan`.

use milepost_model::document::{Document, version};
use milepost_model::input::Input;
use milepost_model::plan::{self, Plan};
use milepost_model::workflow::Workflow;
use milepost_ops::preview::preview_rendered::{self, PreviewRequests, RenderStatus, RenderedStep};
use milepost_ops::preview::step_plan::{PlanSteps, PlannedStepView, Request, Response};
use serde_json::{Value, json};

use super::args::{GraphArgs, PlanArgs, TargetArgs};
use crate::command::lists::plain;
use crate::command::request_text;
use crate::document;
use crate::failure::CliResult;
use crate::terminal::{Terminal, count, safe, safe_lines};

pub(super) fn show(args: &TargetArgs, terminal: &mut Terminal) -> CliResult {
    let loaded = document::load(&args.target)?;
    let workflow = loaded.valid_workflow(terminal)?;
    let name = &loaded.name;
    terminal.answer(&as_json(name, &loaded.document, workflow), |terminal| {
        let width = terminal.width();
        terminal.line(format!("{} ({})", safe(workflow.display_title()), workflow.id.value));
        if let Some(description) = &workflow.description {
            terminal.line(safe_lines(description));
        }
        let spelling = workflow.spelling.name();
        let number = workflow.version.as_deref().unwrap_or("version not set");
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

pub(super) fn graph(args: &GraphArgs, terminal: &mut Terminal) -> CliResult {
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

pub(super) fn run(args: &PlanArgs, terminal: &mut Terminal) -> CliResult {
    let loaded = document::load(&args.target)?;
    let workflow = loaded.valid_workflow(terminal)?;
    let session = loaded.open_session(workflow, terminal)?;
    let inputs = args.inputs.read(workflow)?;
    let workflow_id = Some(workflow.id.value.to_string());
    if args.requests {
        let request = preview_rendered::Request { manifest: None, workflow_id, inputs };
        let response = session.run::<PreviewRequests>(request)?;
        return terminal.answer(&response, |terminal| show_requests(&response, terminal));
    }
    let response = session.run::<PlanSteps>(Request { manifest: None, workflow_id, inputs })?;
    terminal.answer(&response, |terminal| show_plan(&response, terminal))
}

fn show_plan(response: &Response, terminal: &mut Terminal) {
    let steps = || response.steps.iter().filter(|step| step.inside.is_none());
    let headings = ["#", "wave", "step", "does", "waits for", "runs"];
    terminal.table(&headings, steps().enumerate().map(|(index, step)| row(index, step)));
    let (steps, waves) = (count(steps().count(), "step"), count(response.waves, "wave"));
    terminal.line(format!("{steps} in {waves}, at most {} at a time", response.concurrency));
    if !response.can_change.is_empty() {
        terminal.line("what this run can change and call:");
        response.can_change.iter().for_each(|line| terminal.line(format!("  {}", safe(line))));
    }
}

fn row(index: usize, step: &PlannedStepView) -> Vec<String> {
    let runs = match (&step.condition, step.condition_holds) {
        (None, _) => if step.finally { "always" } else { "yes" }.to_owned(),
        (Some(_), Some(true)) => "yes, its condition is true".to_owned(),
        (Some(_), Some(false)) => "no, its condition is false".to_owned(),
        (Some(condition), None) => format!("if {condition}"),
    };
    vec![
        (index + 1).to_string(),
        step.wave.to_string(),
        step.id.clone(),
        does(step),
        step.depends_on.join(", "),
        runs,
    ]
}

/// `run`, or `run POST` if the call is known.
fn does(step: &PlannedStepView) -> String {
    match step.call.as_ref().and_then(|call| call.method.as_deref()) {
        Some(method) => format!("{} {method}", step.kind.name()),
        None => step.kind.name().to_owned(),
    }
}

/// Shows every step with its requests, or with what has to be known first.
pub(crate) fn show_requests(response: &preview_rendered::Response, terminal: &mut Terminal) {
    response.steps.iter().for_each(|step| show_step(step, terminal));
}

fn show_step(step: &RenderedStep, terminal: &mut Terminal) {
    let target = step.target.as_deref().unwrap_or(step.kind.name());
    let about = match step.status {
        RenderStatus::Known => String::new(),
        RenderStatus::Unknown => format!(" (not known yet: {})", step.unknown.join(", ")),
        RenderStatus::Skipped => " (its condition is false)".to_owned(),
        RenderStatus::Problem => format!(" (would fail: {})", step.problems.join("; ")),
    };
    terminal.line(safe(&format!("{}: {target}{about}", step.id)));
    for request in &step.requests {
        terminal.line(safe_lines(&indented(&request_text(request))));
    }
    if let Some(text) = &step.text {
        terminal.line(safe_lines(&indented(&plain(text))));
    }
    if step.requests.is_empty() && step.status == RenderStatus::Unknown && !step.with.is_empty() {
        let with = Value::Object(step.with.clone());
        terminal.line(safe_lines(&indented(&format!("with {with}"))));
    }
    for note in &step.notes {
        terminal.remark(format!("note: {}: {}", safe(&step.id), safe(note)));
    }
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}
