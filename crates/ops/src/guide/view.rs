//! A step as callers see it: everything its author wrote, with the prompt rendered as one string.

use std::fmt::Write;

use milepost_model::agent_prompt::{self, FilledText};
use milepost_model::document::Document;
use milepost_model::guide::Confirmation;
use milepost_model::placeholders::TextPiece;
use milepost_model::step::{Action, Prompt, PromptText, Step};
use milepost_model::walk::{DueStep, LoopPass};

use crate::framework::Response;
use crate::prelude::*;

/// Blocks from newer language editions that can replace a prompt.
const STAND_INS: &[&str] =
    &["templateCall", "functionCalls", "parallelDelegations", "synthesis", "outputContract"];

/// The prompt of a step that is due. A loop is never due itself; its steps are.
pub(super) fn prompt_of(step: &Step) -> Option<&Prompt> {
    match &step.action {
        Action::Prompt(prompt) => Some(prompt),
        _ => None,
    }
}

/// A step in JSON, as its author wrote it, but with the prompt as one string and with the
/// confirmation requirement resolved.
pub(super) fn step(document: &Document, due: &DueStep<'_, '_>) -> Response {
    let make = || Value::Object(authored(document, due)).to_string();
    let fixed = prompt_of(due.step).is_some_and(|prompt| {
        agent_prompt::is_context_free(prompt)
            && !matches!(prompt.confirmation, Confirmation::When(_))
    });
    let mut shown = Response::default();
    // Only the enclosing loops differ between passes.
    let cut = usize::from(!due.loops.is_empty());
    if fixed {
        shown.push_fixed(due.step.rendered.step(make), cut);
    } else {
        let own = make();
        shown.push(&own[..own.len() - cut]);
    }
    if let Some((pass, outer)) = due.loops.split_last() {
        let mut within = view_of(pass);
        if !outer.is_empty() {
            within["within"] = outer.iter().map(view_of).collect();
        }
        shown.push(&format!(",\"loop\":{within}}}"));
    }
    shown
}

fn view_of(pass: &LoopPass<'_, '_>) -> Value {
    let mut view = json!({"id": pass.id, "iteration": pass.iteration});
    if let Some(item) = pass.item {
        view["item"] = item.clone();
    }
    view
}

fn authored(document: &Document, due: &DueStep<'_, '_>) -> Map<String, Value> {
    let mut step = match document.authored(due.step.at) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let Some(prompt) = prompt_of(due.step) else { return step };
    let text = agent_prompt::assemble(prompt, &due.scope);
    if let Some(text) = text.filter(|text| !text.is_empty()).or_else(|| stand_in(&step)) {
        step.insert("prompt".into(), text.into());
    }
    if let Confirmation::When(_) = &prompt.confirmation
        && let Some(condition) = step.remove("requireConfirmation")
    {
        step.insert("requireConfirmationWhen".into(), condition);
    }
    let confirmed = agent_prompt::needs_confirmation(&prompt.confirmation, &due.scope);
    step.insert("requireConfirmation".into(), confirmed.into());
    step
}

/// A substitute prompt for a step without one: its title and the blocks that replace the prompt.
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

/// The text for an agent as a JSON string (role, hints, prompt, loops), and the missing variables.
pub(super) fn guidance(
    document: &Document,
    due: &DueStep<'_, '_>,
    prompt: &Prompt,
) -> (Response, Vec<String>) {
    let mut told = Response::from("\"".to_owned());
    let missing = tell(document, due, prompt, &mut told);
    if !due.loops.is_empty() {
        let mut around = "\n\n## Loop\n".to_owned();
        let mut key = String::new();
        for pass in &due.loops {
            key.push_str(pass.id);
            describe(pass, &key, &mut around);
            let _ = write!(key, "@{}::", pass.iteration);
        }
        told.push_escaped(around.trim_end());
    }
    told.push("\"");
    (told, missing)
}

/// Writes the prompt with its variables filled in; the fixed parts are already escaped.
fn tell(
    document: &Document,
    due: &DueStep<'_, '_>,
    prompt: &Prompt,
    told: &mut Response,
) -> Vec<String> {
    if !agent_prompt::is_context_free(prompt) {
        let filled = filled(document, due, prompt);
        told.push_escaped(&filled.text);
        return filled.missing;
    }
    let mut filled = FilledText::default();
    for piece in due.step.rendered.prompt(|| unfilled(document, due, prompt)) {
        match piece {
            TextPiece::Text(fixed) => told.push_fixed(fixed, 0),
            TextPiece::Placeholder(placeholder) => {
                filled.text.clear();
                filled.placeholder(placeholder, &due.scope);
                told.push_escaped(&filled.text);
            }
        }
    }
    filled.missing
}

fn filled(document: &Document, due: &DueStep<'_, '_>, prompt: &Prompt) -> FilledText {
    let text = unfilled(document, due, prompt);
    match &prompt.text {
        PromptText::Guide { .. } => agent_prompt::fill(&text, &due.scope),
        PromptText::Template(templated) => {
            let filled = agent_prompt::evaluate(&templated.template, &due.scope);
            FilledText { text: format!("{text}{}", filled.text), missing: filled.missing }
        }
    }
}

/// The text before variables are filled in. Omits the prompt of a manifest, whose expressions are
/// evaluated rather than substituted.
fn unfilled(document: &Document, due: &DueStep<'_, '_>, prompt: &Prompt) -> String {
    let mut text = String::new();
    if let Some(role) = &prompt.agent_role {
        let _ = write!(text, "## Agent Role Instructions\n{role}\n\n");
    }
    if !prompt.guidance.is_empty() {
        text.push_str("## Step Guidance\n");
        for hint in &prompt.guidance {
            let _ = writeln!(text, "- {hint}");
        }
        text.push('\n');
    }
    if let PromptText::Guide { .. } = &prompt.text {
        let step = authored(document, due);
        text.push_str(step.get("prompt").and_then(Value::as_str).unwrap_or_default());
    }
    text
}

fn describe(pass: &LoopPass<'_, '_>, key: &str, text: &mut String) {
    let (id, number, spec) = (pass.id, pass.iteration + 1, pass.spec);
    let _ = match pass.total {
        Some(total) => write!(text, "`{id}`: pass {number} of {total}"),
        None => write!(text, "`{id}`: pass {number} of at most {}", spec.max_iterations.0),
    };
    if let Some(item) = pass.item {
        let name = spec.item_var.as_deref().unwrap_or("item");
        let _ = match item {
            Value::String(item) => write!(text, "\n- {name}: {item}"),
            item => write!(text, "\n- {name}: {item}"),
        };
    }
    for (name, value) in [(&spec.index_var, pass.iteration), (&spec.iteration_var, number)] {
        if let Some(name) = name {
            let _ = write!(text, "\n- {name}: {value}");
        }
    }
    if spec.condition.is_none() && pass.total.is_none() {
        let _ = write!(
            text,
            "\n- This loop continues until you end it: add `{key}` to completedSteps when it \
             is done."
        );
    }
    text.push('\n');
}
