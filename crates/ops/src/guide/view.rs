//! A step as callers see it: everything its author wrote, with the prompt as one text.

use std::fmt::Write;
use std::sync::Arc;

use milepost_model::brief::{self, Filled};
use milepost_model::condition::Variables;
use milepost_model::document::Document;
use milepost_model::guide::Confirmation;
use milepost_model::rendered::Fixed;
use milepost_model::step::{Action, Prompt, PromptText, Step};
use milepost_model::walk::{Due, Pass};
use serde_json::{Map, Value, json};

use crate::response::Response;

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

/// JSON that is shown: a fixed part, or none, and what this answer alone has.
#[derive(Debug, Clone)]
pub struct Shown {
    fixed: Option<Arc<Fixed>>,
    /// How many bytes at the end of the fixed part this answer has instead of.
    cut: usize,
    own: String,
}

impl Shown {
    pub(super) fn made(own: String) -> Shown {
        Shown { fixed: None, cut: 0, own }
    }

    fn fixed(fixed: &Arc<Fixed>) -> Shown {
        Shown { fixed: Some(Arc::clone(fixed)), cut: 0, own: String::new() }
    }

    /// The same with its closing sign moved behind something more.
    fn with(mut self, more: &str, close: char) -> Shown {
        match &self.fixed {
            Some(_) => self.cut = 1,
            None => drop(self.own.pop()),
        }
        self.own.push_str(more);
        self.own.push(close);
        self
    }

    pub(super) fn write(&self, out: &mut Response) {
        if let Some(fixed) = &self.fixed {
            out.push_fixed(fixed, self.cut);
        }
        out.push(&self.own);
    }
}

/// A step as its author wrote it, as JSON: its prompt is one text and its confirmation decided.
pub(super) fn step(document: &Document, due: &Due<'_, '_>) -> Shown {
    let make = || Value::Object(authored(document, due)).to_string();
    let fixed = prompt_of(due.step).is_some_and(|prompt| {
        brief::is_fixed(prompt) && !matches!(prompt.confirmation, Confirmation::When(_))
    });
    let shown = match fixed {
        true => Shown::fixed(due.step.rendered.step(make)),
        false => Shown::made(make()),
    };
    let Some((pass, outer)) = due.loops.split_last() else { return shown };
    let mut around = shown_pass(pass);
    if !outer.is_empty() {
        around["within"] = outer.iter().map(shown_pass).collect();
    }
    // What is around a step is the only thing that differs from pass to pass.
    shown.with(&format!(",\"loop\":{around}"), '}')
}

fn authored(document: &Document, due: &Due<'_, '_>) -> Map<String, Value> {
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

/// The text an agent is given, as a literal of JSON: role, hints, prompt, loop. And the variables
/// that it lacks.
pub(super) fn guidance(
    document: &Document,
    due: &Due<'_, '_>,
    prompt: &Prompt,
) -> (Shown, Vec<String>) {
    let (told, missing) = if let Some(fixed) = fixed(document, due, prompt) {
        (Shown::fixed(fixed), Vec::new())
    } else {
        let filled = filled(document, due, prompt);
        (Shown::made(literal_of(&filled.text)), filled.missing)
    };
    if due.loops.is_empty() {
        return (told, missing);
    }
    let mut around = "\n\n## Loop\n".to_owned();
    let mut key = String::new();
    for pass in &due.loops {
        key.push_str(pass.id);
        describe(pass, &key, &mut around);
        let _ = write!(key, "@{}::", pass.iteration);
    }
    let around = literal_of(around.trim_end());
    // Exactly one quote on each side: a text may end in an escaped one.
    let inside = &around[1..around.len() - 1];
    (told.with(inside, '"'), missing)
}

/// A text as a literal of JSON.
pub(super) fn literal_of(text: &str) -> String {
    Value::from(text).to_string()
}

/// The literal of a prompt into which nothing is filled, made once.
fn fixed<'s>(document: &Document, due: &Due<'s, '_>, prompt: &Prompt) -> Option<&'s Arc<Fixed>> {
    if !brief::is_fixed(prompt) {
        return None;
    }
    due.step.rendered.prompt(|| {
        let text = unfilled(document, due, prompt);
        (!text.contains("{{")).then(|| literal_of(&text))
    })
}

fn filled(document: &Document, due: &Due<'_, '_>, prompt: &Prompt) -> Filled {
    let text = unfilled(document, due, prompt);
    match &prompt.text {
        PromptText::Guide { .. } => brief::fill(&text, &due.scope),
        PromptText::Template(templated) => {
            let filled = brief::evaluate(&templated.template, &due.scope);
            Filled { text: format!("{text}{}", filled.text), missing: filled.missing }
        }
    }
}

/// The same before its variables are filled in. The prompt of a manifest is left out: its
/// expressions are evaluated, not replaced.
fn unfilled(document: &Document, due: &Due<'_, '_>, prompt: &Prompt) -> String {
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
