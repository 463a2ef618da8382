//! A step as callers see it: everything its author wrote, with the prompt as one text.

use std::fmt::Write;

use milepost_model::brief::{self, Filled};
use milepost_model::condition::Variables;
use milepost_model::document::Document;
use milepost_model::guide::Confirmation;
use milepost_model::step::{Action, Prompt, Step};
use milepost_model::walk::{Due, Pass};
use serde_json::{Map, Value, json};

/// Blocks of newer editions that may stand in for a prompt.
const STAND_INS: &[&str] =
    &["templateCall", "functionCalls", "parallelDelegations", "synthesis", "outputContract"];

/// The prompt of a step that is due; loops are never due, their steps are.
pub(super) fn prompt_of(step: &Step) -> Option<&Prompt> {
    match &step.action {
        Action::Prompt(prompt) => Some(prompt),
        _ => None,
    }
}

/// A step as its author wrote it, with its prompt as one text and its confirmation decided.
pub(super) fn step(document: &Document, due: &Due<'_, '_>) -> Map<String, Value> {
    let mut step = match document.authored(due.step.at) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let Some(prompt) = prompt_of(due.step) else { return step };
    let text = brief::prompt(prompt, &due.scope);
    if let Some(text) = text.filter(|text| !text.is_empty()).or_else(|| stand_in(&step)) {
        step.insert("prompt".into(), text.into());
    }
    if let Confirmation::When(_) = &prompt.confirmation
        && let Some(condition) = step.remove("requireConfirmation")
    {
        step.insert("requireConfirmationWhen".into(), condition);
    }
    let confirmed = brief::is_confirmed(&prompt.confirmation, &due.scope);
    step.insert("requireConfirmation".into(), confirmed.into());
    if let Some((pass, outer)) = due.loops.split_last() {
        let mut shown = shown_pass(pass);
        if !outer.is_empty() {
            shown["within"] = outer.iter().map(shown_pass).collect();
        }
        step.insert("loop".into(), shown);
    }
    step
}

fn shown_pass(pass: &Pass<'_, '_>) -> Value {
    let mut shown = json!({"id": pass.id, "iteration": pass.iteration});
    if let Some(item) = pass.item {
        shown["item"] = item.clone();
    }
    shown
}

/// A step without a prompt of its own: its title and the block that stands in for it.
fn stand_in(step: &Map<String, Value>) -> Option<String> {
    if step.get("prompt").is_some_and(Value::is_string) {
        return None;
    }
    let mut text = step.get("title")?.as_str()?.to_owned();
    for key in STAND_INS {
        if let Some(block) = step.get(*key) {
            let block = serde_json::to_string_pretty(block).unwrap_or_default();
            let _ = write!(text, "\n\n{key}:\n{block}");
        }
    }
    Some(text)
}

/// The text an agent is given: role, hints, prompt, loop.
pub(super) fn guidance(due: &Due<'_, '_>, prompt: &Prompt, text: &str) -> Filled {
    let role = prompt.agent_role.as_ref().map_or(0, String::len);
    let hints: usize = prompt.guidance.iter().map(|hint| hint.len() + 3).sum();
    let mut whole = String::with_capacity(text.len() + role + hints + 256);
    let mut missing = Vec::new();
    let mut add = |filled: Filled, whole: &mut String| {
        whole.push_str(&filled.text);
        for name in filled.missing {
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
    };
    if let Some(role) = &prompt.agent_role {
        whole.push_str("## Agent Role Instructions\n");
        add(brief::fill(role, &due.scope), &mut whole);
        whole.push_str("\n\n");
    }
    if !prompt.guidance.is_empty() {
        whole.push_str("## Step Guidance\n");
        for hint in &prompt.guidance {
            whole.push_str("- ");
            add(brief::fill(hint, &due.scope), &mut whole);
            whole.push('\n');
        }
        whole.push('\n');
    }
    add(brief::filled(prompt, text, &due.scope), &mut whole);
    if !due.loops.is_empty() {
        whole.push_str("\n\n## Loop\n");
        let mut key = String::new();
        for pass in &due.loops {
            key.push_str(pass.id);
            describe(pass, &key, &mut whole);
            let _ = write!(key, "@{}::", pass.iteration);
        }
        whole.truncate(whole.trim_end().len());
    }
    Filled { text: whole, missing }
}

fn describe(pass: &Pass<'_, '_>, key: &str, text: &mut String) {
    let number = pass.iteration + 1;
    let _ = match pass.total {
        Some(total) => write!(text, "`{}`: pass {number} of {total}", pass.id),
        None => {
            write!(text, "`{}`: pass {number} of at most {}", pass.id, pass.spec.max_iterations.0)
        }
    };
    if let Some(item) = pass.item {
        let name = pass.spec.item_var.as_deref().unwrap_or("item");
        let _ = match item {
            Value::String(item) => write!(text, "\n- {name}: {item}"),
            item => write!(text, "\n- {name}: {item}"),
        };
    }
    if let Some(name) = &pass.spec.index_var {
        let _ = write!(text, "\n- {name}: {}", pass.iteration);
    }
    if let Some(name) = &pass.spec.iteration_var {
        let _ = write!(text, "\n- {name}: {number}");
    }
    if pass.spec.condition.is_none() && pass.total.is_none() {
        let _ = write!(
            text,
            "\n- This loop goes on until you end it: add `{key}` to completedSteps when it is done."
        );
    }
    text.push('\n');
}

/// What an output of the step will be checked for under this context.
pub(super) fn checked_for(prompt: &Prompt, scope: &dyn Variables) -> Vec<String> {
    prompt.criteria.as_ref().map(|criteria| criteria.applicable(scope)).unwrap_or_default()
}
