//! `milepost workflow plan`.

use milepost_model::input::InputType;
use milepost_model::plan::{self, PlannedStep};
use milepost_model::problem::{Code, Problem};
use milepost_model::step::When;
use milepost_model::suggest;
use milepost_model::workflow::{Spelling, Workflow};
use serde_json::{Map, Value, json};

use super::{count, sound, workflow_of};
use crate::args::{Plan, Target};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::table;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Plan, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let Target { target, json } = &arguments.target;
    let (_, document) = sound(target, json.json, terminal)?;
    let workflow = workflow_of(&document)?;
    let inputs = inputs(&arguments.inputs, workflow)?;
    let compiled = plan::Plan::of(workflow);
    if json.json {
        let steps: Vec<Value> = compiled.steps.iter().map(|step| as_json(step, &inputs)).collect();
        let answer = json!({
            "workflow_id": workflow.id.value.as_str(),
            "plan_hash": plan::hash(&document),
            "waves": compiled.waves(),
            "steps": steps,
        });
        terminal.line(&answer.to_string())?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> =
        compiled.steps.iter().enumerate().map(|(index, step)| row(index, step, &inputs)).collect();
    let headings = ["#", "wave", "step", "does", "waits for", "runs"];
    terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    let (steps, waves) = (count(compiled.steps.len(), "step"), count(compiled.waves(), "wave"));
    let at_once = workflow.concurrency;
    terminal.line(&format!("{steps} in {waves}, at most {at_once} at once"))?;
    Ok(Exit::Done)
}

fn row(index: usize, planned: &PlannedStep<'_>, inputs: &Map<String, Value>) -> Vec<String> {
    let step = planned.step;
    let runs = match (&step.when, decided(step.when.as_ref(), inputs)) {
        (None, _) => if planned.finally { "in every case" } else { "yes" }.to_owned(),
        (Some(_), Some(true)) => "yes, its condition holds".to_owned(),
        (Some(_), Some(false)) => "no, its condition does not hold".to_owned(),
        (Some(when), None) => format!("if {}", plan::words(when)),
    };
    vec![
        (index + 1).to_string(),
        planned.wave.to_string(),
        step.id.value.to_string(),
        step.action.name().to_owned(),
        planned.waits_for.join(", "),
        runs,
    ]
}

fn decided(when: Option<&When>, inputs: &Map<String, Value>) -> Option<bool> {
    plan::decided(when?, inputs)
}

fn as_json(planned: &PlannedStep<'_>, inputs: &Map<String, Value>) -> Value {
    let step = planned.step;
    json!({
        "id": step.id.value.as_str(),
        "title": step.title,
        "kind": step.action.name(),
        "wave": planned.wave,
        "depends_on": planned.waits_for,
        "finally": planned.finally,
        "condition": step.when.as_ref().map(plan::words),
        "condition_holds": decided(step.when.as_ref(), inputs),
    })
}

/// Reads `name=value` pairs against the inputs the workflow declares; every fault at once.
fn inputs(pairs: &[String], workflow: &Workflow) -> Result<Map<String, Value>, Failure> {
    let mut inputs = Map::new();
    let mut faults: Vec<Problem> = Vec::new();
    for pair in pairs {
        match input(pair, workflow) {
            Ok((name, _)) if inputs.contains_key(name) => {
                let message = format!("input `{name}` is given twice");
                faults.push(Problem::new(Code::InputInvalid, message, "give it once"));
            }
            Ok((name, value)) => drop(inputs.insert(name.to_owned(), value)),
            Err(problem) => faults.push(*problem),
        }
    }
    let Some(first) = faults.first() else { return Ok(inputs) };
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    Err(Problem::new(Code::InputInvalid, messages.join("; "), first.hint.clone()).into())
}

fn input<'p>(pair: &'p str, workflow: &Workflow) -> Result<(&'p str, Value), Box<Problem>> {
    let Some((name, text)) = pair.split_once('=') else {
        let message = format!("`{pair}` has no value");
        return Err(Box::new(Problem::new(Code::InputInvalid, message, "write `-i name=value`")));
    };
    let value = match workflow.inputs.get(name) {
        Some(input) => {
            let value = typed(name, text, input.input_type())?;
            if let Some((_, expected)) =
                input.validate.as_ref().and_then(|rules| rules.objection(&value))
            {
                let message = format!("input `{name}` breaks its rules: `{text}`");
                let hint = format!("use {expected}");
                let problem = Problem::new(Code::InputInvalid, message, hint);
                return Err(Box::new(problem.context("input", name)));
            }
            value
        }
        // A guide declares no inputs: what is given is its context.
        None if workflow.spelling == Spelling::Guide => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
        None => return Err(Box::new(unknown(name, workflow))),
    };
    Ok((name, value))
}

fn typed(name: &str, text: &str, kind: InputType) -> Result<Value, Box<Problem>> {
    let value = match kind {
        InputType::String => Value::from(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    };
    if kind.accepts(&value) {
        return Ok(value);
    }
    let message = format!("input `{name}` is no {}: `{text}`", kind.name());
    let hint = format!("give a value of type {}", kind.name());
    Err(Box::new(Problem::new(Code::InputInvalid, message, hint).context("input", name)))
}

fn unknown(name: &str, workflow: &Workflow) -> Problem {
    let hint = match suggest::nearest(name, workflow.inputs.names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "see `milepost workflow show` for its inputs".to_owned(),
    };
    let message = format!("workflow `{}` has no input `{name}`", workflow.id.value);
    Problem::new(Code::InputInvalid, message, hint).context("input", name)
}
