//! The text that an agent receives: the prompt with its variables filled in, and the sections
//! around it.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::condition::Variables;
use crate::decode::Spot;
use crate::expr::{Expr, Fuel, MapScope, Outcome};
use crate::guide::{BlockText, Confirmation, PromptBlocks};
use crate::limits;
use crate::placeholders::{self, Placeholder, TextPiece, UnsetVariable};
use crate::step::{Prompt, PromptText};
use crate::template::{Template, TemplatePart};

/// Text whose variables have been filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilledText {
    /// The text; a variable that is not set shows as `[unset: name]`.
    pub text: String,
    /// The variables that are not set, without duplicates.
    pub missing: Vec<String>,
}

/// A guide step's prompt before its variables are filled in: its text, its blocks as sections, and
/// the fragments whose conditions hold. `None` for a manifest, whose prompt is a template.
pub fn assemble(prompt: &Prompt, context: &dyn Variables) -> Option<String> {
    let PromptText::Guide { text, blocks, fragments } = &prompt.text else { return None };
    let mut parts: Vec<String> = text.iter().cloned().collect();
    parts.extend(blocks.as_deref().map(sections).filter(|text| !text.is_empty()));
    for fragment in fragments {
        if fragment.when.as_ref().is_none_or(|when| when.holds(context)) {
            parts.push(fragment.text.clone());
        }
    }
    Some(parts.join("\n\n"))
}

/// Whether a guide step's prompt, before its variables are filled in, is the same in every context.
/// Always false for a manifest.
pub fn is_context_free(prompt: &Prompt) -> bool {
    let PromptText::Guide { fragments, .. } = &prompt.text else { return false };
    fragments.iter().all(|fragment| fragment.when.is_none())
}

/// Whether a person must confirm the step in this context.
pub fn needs_confirmation(confirmation: &Confirmation, context: &dyn Variables) -> bool {
    match confirmation {
        Confirmation::Never => false,
        Confirmation::Always => true,
        Confirmation::When(condition) => condition.holds(context),
    }
}

/// Fills in a prompt's placeholders from the context.
pub fn fill(text: &str, context: &dyn Variables) -> FilledText {
    let mut filled = FilledText { text: String::with_capacity(text.len()), missing: Vec::new() };
    for piece in placeholders::split(text) {
        match piece {
            TextPiece::Text(text) => filled.text.push_str(&text),
            TextPiece::Placeholder(placeholder) => filled.placeholder(&placeholder, context),
        }
    }
    filled
}

/// Fills in the prompt of a step in a durable run, where a variable that is not set can be sent
/// with a submission.
pub fn fill_in_run(text: &str, context: &dyn Variables) -> FilledText {
    let mut filled = FilledText { text: String::with_capacity(text.len()), missing: Vec::new() };
    for piece in placeholders::split(text) {
        match piece {
            TextPiece::Text(text) => filled.text.push_str(&text),
            TextPiece::Placeholder(placeholder) => {
                if let Err(UnsetVariable) = placeholder.write(context, &mut filled.text) {
                    let name = &placeholder.path;
                    let _ = write!(filled.text, "`{name}` (not set: send it in `context`)");
                    filled.miss(name);
                }
            }
        }
    }
    filled
}

impl FilledText {
    /// Appends a placeholder's value.
    pub fn placeholder(&mut self, placeholder: &Placeholder, context: &dyn Variables) {
        if let Err(UnsetVariable) = placeholder.write(context, &mut self.text) {
            unset(&placeholder.path, self);
        }
    }

    fn miss(&mut self, name: &str) {
        let told = self.missing.len() >= limits::MISSING;
        if !told && !self.missing.iter().any(|known| known == name) {
            self.missing.push(name.to_owned());
        }
    }
}

fn unset(name: &str, filled: &mut FilledText) {
    let _ = write!(filled.text, "[unset: {name}]");
    filled.miss(name);
}

/// Evaluates the expressions in a manifest's prompt, with the context as `inputs`.
pub fn evaluate(template: &Template, context: &dyn Variables) -> FilledText {
    let scope = inputs_scope(context);
    let mut filled = FilledText::default();
    for part in &template.parts {
        match part {
            TemplatePart::Text(text) => filled.text.push_str(text),
            TemplatePart::Expr(placed) => match placed.expr.eval(&scope, &mut Fuel::default()) {
                Ok(Outcome::Value(Value::String(text))) => filled.text.push_str(&text),
                Ok(Outcome::Value(value)) => filled.text.push_str(&value.to_string()),
                Ok(Outcome::Omit) | Err(_) => unset(placed.expr.source().trim(), &mut filled),
            },
        }
    }
    filled
}

fn inputs_scope(context: &dyn Variables) -> MapScope {
    MapScope::new(Map::from_iter([("inputs".to_owned(), context.to_value())]))
}

/// Whether an expression in a manifest holds during a walk. The error explains why it cannot be
/// evaluated from the context alone.
pub(crate) fn expression_holds(expr: &Expr, context: &dyn Variables) -> Result<bool, String> {
    let held = expr.eval_bool(&inputs_scope(context), &mut Fuel::default());
    held.map_err(|error| error.to_string())
}

/// Formats prompt blocks as sections, in order.
fn sections(blocks: &PromptBlocks) -> String {
    let listed = |list: &Option<Vec<BlockText>>| {
        let bullet = |text: &BlockText| format!("- {}", plain(&text.0));
        list.as_ref().map(|list| list.iter().map(bullet).collect())
    };
    let numbered =
        |(index, text): (usize, &BlockText)| format!("{}. {}", index + 1, plain(&text.0));
    let procedure = blocks.procedure.as_ref();
    let output = blocks.output_required.as_ref();
    let named =
        |(name, text): &(Spot<String>, BlockText)| format!("- {}: {}", name.value, plain(&text.0));
    let sections: [(&str, Option<Vec<String>>); 5] = [
        ("Goal", blocks.goal.as_ref().map(|goal| vec![plain(&goal.0)])),
        ("Constraints", listed(&blocks.constraints)),
        ("Procedure", procedure.map(|list| list.iter().enumerate().map(numbered).collect())),
        ("Output required", output.map(|all| all.0.iter().map(named).collect())),
        ("Verify", listed(&blocks.verify)),
    ];
    let told = sections
        .into_iter()
        .filter_map(|(title, lines)| Some(format!("## {title}\n{}", lines?.join("\n"))));
    told.collect::<Vec<_>>().join("\n\n")
}

/// The text of a block. Newer editions of the contract assemble a block from parts; a part without
/// text is shown as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(map) => match map.get("text") {
            Some(text) => plain(text),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}
