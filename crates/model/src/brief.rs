//! What an agent is told: the prompt with its variables filled in, and the sections around it.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::blanks::{self, Blank, NotSet, Piece};
use crate::condition::Variables;
use crate::expr::{Expr, Fuel, MapScope, Outcome};
use crate::guide::{BlockText, Confirmation, PromptBlocks};
use crate::limits;
use crate::step::{Prompt, PromptText};
use crate::template::{Part, Template};

/// A text whose variables have been filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filled {
    /// The text; a variable that is not set shows as `[unset: name]`.
    pub text: String,
    /// The variables that are not set, each once.
    pub missing: Vec<String>,
}

/// The prompt of a step of a guide before its variables are filled in: blocks as sections,
/// fragments whose conditions hold appended. A manifest's prompt is the text of its author.
pub fn prompt(prompt: &Prompt, context: &dyn Variables) -> Option<String> {
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

/// Whether a step's prompt is the same under every context.
pub fn is_fixed(prompt: &Prompt) -> bool {
    let PromptText::Guide { fragments, .. } = &prompt.text else { return false };
    fragments.iter().all(|fragment| fragment.when.is_none())
}

/// Whether a person confirms the step under a context.
pub fn is_confirmed(confirmation: &Confirmation, context: &dyn Variables) -> bool {
    match confirmation {
        Confirmation::Never => false,
        Confirmation::Always => true,
        Confirmation::When(condition) => condition.holds(context),
    }
}

/// Fills the blanks of a text from the context.
pub fn fill(text: &str, context: &dyn Variables) -> Filled {
    let mut filled = Filled { text: String::with_capacity(text.len()), missing: Vec::new() };
    for piece in blanks::pieces(text) {
        match piece {
            Piece::Text(text) => filled.text.push_str(&text),
            Piece::Blank(blank) => filled.blank(&blank, context),
        }
    }
    filled
}

impl Filled {
    /// Appends what a blank comes to.
    pub fn blank(&mut self, blank: &Blank, context: &dyn Variables) {
        if let Err(NotSet) = blank.write(context, &mut self.text) {
            unset(&blank.path, self);
        }
    }
}

fn unset(name: &str, filled: &mut Filled) {
    let _ = write!(filled.text, "[unset: {name}]");
    let told = filled.missing.len() >= limits::MISSING;
    if !told && !filled.missing.iter().any(|known| known == name) {
        filled.missing.push(name.to_owned());
    }
}

/// A manifest's prompt with its expressions evaluated: its `inputs` are the context.
pub fn evaluate(template: &Template, context: &dyn Variables) -> Filled {
    let (sole, parts) = match template {
        Template::Literal(text) => {
            return Filled { text: text.clone(), missing: Vec::new() };
        }
        Template::Sole(placed) => ([Part::Expr(placed.clone())], [].as_slice()),
        Template::Mixed(parts) => ([Part::Text(String::new())], parts.as_slice()),
    };
    let scope = inputs_scope(context);
    let mut filled = Filled::default();
    for part in sole.iter().chain(parts) {
        match part {
            Part::Text(text) => filled.text.push_str(text),
            Part::Expr(placed) => match placed.expr.eval(&scope, &mut Fuel::default()) {
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

/// Whether an expression of a manifest holds while a caller walks it; the cause when that cannot
/// be told from the context alone.
pub(crate) fn expression_holds(expr: &Expr, context: &dyn Variables) -> Result<bool, String> {
    let held = expr.eval_bool(&inputs_scope(context), &mut Fuel::default());
    held.map_err(|error| error.to_string())
}

/// Prompt blocks as sections, in their order.
fn sections(blocks: &PromptBlocks) -> String {
    let mut sections = Vec::new();
    if let Some(goal) = &blocks.goal {
        sections.push(format!("## Goal\n{}", block(goal)));
    }
    let lists = [
        ("Constraints", &blocks.constraints, false),
        ("Procedure", &blocks.procedure, true),
        ("Verify", &blocks.verify, false),
    ];
    for (title, list, numbered) in lists {
        if title == "Verify"
            && let Some(required) = &blocks.output_required
        {
            let lines =
                required.0.iter().map(|(name, text)| format!("- {}: {}", name.value, block(text)));
            sections.push(format!("## Output required\n{}", lines.collect::<Vec<_>>().join("\n")));
        }
        let Some(list) = list else { continue };
        let lines = list.iter().enumerate().map(|(index, text)| match numbered {
            true => format!("{}. {}", index + 1, block(text)),
            false => format!("- {}", block(text)),
        });
        sections.push(format!("## {title}\n{}", lines.collect::<Vec<_>>().join("\n")));
    }
    sections.join("\n\n")
}

/// Text of a block. Newer editions assemble it from parts: those that hold text are shown.
fn block(text: &BlockText) -> String {
    plain(&text.0)
}

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
