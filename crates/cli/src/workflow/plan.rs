//! `milepost workflow plan`.

use milepost_ops::preview::preview_rendered::{self, Knowing, PreviewRendered, RenderedStep};
use milepost_ops::preview::step_plan::{Request, Response, StepPlan, StepView};
use serde_json::Value;

use super::{count, opened};
use crate::args::{Plan, Target};
use crate::command::http;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::table;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Plan, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let Target { target, json } = &arguments.target;
    let opened = opened(target, json.json, terminal)?;
    let inputs = arguments.inputs.read(opened.workflow()?)?;
    let workflow_id = Some(opened.id.clone());
    if arguments.requests {
        let request = preview_rendered::Request { manifest: None, workflow_id, inputs };
        let response = opened.session.run::<PreviewRendered>(request)?;
        match json.json {
            true => print(&response, terminal)?,
            false => response.steps.iter().try_for_each(|step| show(step, terminal))?,
        }
        return Ok(Exit::Done);
    }
    let request = Request { manifest: None, workflow_id, inputs };
    let response = opened.session.run::<StepPlan>(request)?;
    match json.json {
        true => print(&response, terminal)?,
        false => show_plan(&response, terminal)?,
    }
    Ok(Exit::Done)
}

fn show_plan(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    let steps: Vec<&StepView> =
        response.steps.iter().filter(|step| step.inside.is_none()).collect();
    let rows: Vec<Vec<String>> =
        steps.iter().enumerate().map(|(index, step)| row(index, step)).collect();
    let headings = ["#", "wave", "step", "does", "waits for", "runs"];
    terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    let (steps, waves) = (count(steps.len(), "step"), count(response.waves, "wave"));
    let at_once = response.concurrency;
    terminal.line(&format!("{steps} in {waves}, at most {at_once} at once"))?;
    Ok(())
}

fn row(index: usize, step: &StepView) -> Vec<String> {
    let runs = match (&step.condition, step.condition_holds) {
        (None, _) => if step.finally { "in every case" } else { "yes" }.to_owned(),
        (Some(_), Some(true)) => "yes, its condition holds".to_owned(),
        (Some(_), Some(false)) => "no, its condition does not hold".to_owned(),
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

/// `run`, and of a call that is known what it sends: `run POST`.
fn does(step: &StepView) -> String {
    match step.call.as_ref().and_then(|call| call.method.as_deref()) {
        Some(method) => format!("{} {method}", step.kind.name()),
        None => step.kind.name().to_owned(),
    }
}

/// A step with its requests, or with what has to be known first.
pub(crate) fn show(step: &RenderedStep, terminal: &mut Terminal) -> Result<(), Failure> {
    let target = step.target.as_deref().unwrap_or(step.kind.name());
    let head = format!("{}: {target}", step.id);
    let about = match step.status {
        Knowing::Known => String::new(),
        Knowing::Unknown => format!(" (unknown yet: {})", step.unknown.join(", ")),
        Knowing::Skipped => " (its condition does not hold)".to_owned(),
        Knowing::Problem => format!(" (would fail: {})", step.problems.join("; ")),
    };
    terminal.line(&safe(&format!("{head}{about}")))?;
    for request in &step.requests {
        let text = http::text(request).replace("\r\n", "\n");
        terminal.line(&safe(&indented(&text)))?;
    }
    if let Some(text) = &step.text {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        terminal.line(&safe(&indented(&text)))?;
    }
    if step.requests.is_empty() && step.status == Knowing::Unknown && !step.with.is_empty() {
        let with = Value::Object(step.with.clone());
        terminal.line(&safe(&indented(&format!("with {with}"))))?;
    }
    for note in &step.notes {
        terminal.remark(&format!("note: {}: {}", safe(&step.id), safe(note)));
    }
    Ok(())
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}
