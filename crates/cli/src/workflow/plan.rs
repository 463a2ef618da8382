//! `milepost workflow plan`.

use milepost_ops::preview::preview_rendered::{self, PreviewRequests, RenderStatus, RenderedStep};
use milepost_ops::preview::step_plan::{PlanSteps, PlannedStepView, Request, Response};
use serde_json::Value;

use super::args::PlanArgs;
use crate::command::http;
use crate::command::lists::plain;
use crate::document;
use crate::failure::CommandResult;
use crate::terminal::{Terminal, count, safe};

pub(super) fn run(args: &PlanArgs, terminal: &mut Terminal) -> CommandResult {
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
    terminal.line(format!("{steps} in {waves}, at most {} at once", response.concurrency));
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

/// Every step with its requests, or with what has to be known first.
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
        let text = http::text(request).replace("\r\n", "\n");
        terminal.line(safe(&indented(&text)));
    }
    if let Some(text) = &step.text {
        terminal.line(safe(&indented(&plain(text))));
    }
    if step.requests.is_empty() && step.status == RenderStatus::Unknown && !step.with.is_empty() {
        let with = Value::Object(step.with.clone());
        terminal.line(safe(&indented(&format!("with {with}"))));
    }
    for note in &step.notes {
        terminal.remark(format!("note: {}: {}", safe(&step.id), safe(note)));
    }
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}
