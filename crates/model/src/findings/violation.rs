//! What people and models see of a finding: pointer, line and column, and the fix.

use milepost_syntax::fix::{self, Alias, Fix};
use milepost_syntax::source::Source;
use milepost_syntax::span::Span;
use milepost_syntax::tree::SyntaxNode;
use serde_json::{Value, json};

use crate::finding::{Finding, Rule, Severity};
use crate::limits;

/// One finding in a document, complete.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Error or warning.
    pub severity: Severity,
    /// JSON pointer of what it is about.
    pub path: String,
    /// The rule it goes back to.
    pub rule: Rule,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What would be right.
    pub expected: Option<String>,
    /// What is there.
    pub actual: Option<String>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The one next action.
    pub suggestion: Option<String>,
    /// A change that mends exactly this, when one is certain.
    pub fix: Option<Fix>,
    /// The bytes it is about.
    pub at: Span,
    /// Another place that belongs to it, with its label.
    pub related: Option<(Span, &'static str)>,
}

impl Violation {
    /// The object every door shows: absent fields are absent.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "severity": self.severity.name(),
            "path": self.path,
            "rule": self.rule.name(),
            "message": self.message,
            "expected": self.expected,
            "actual": self.actual,
            "line": self.line,
            "column": self.column,
            "suggestion": self.suggestion,
            "fix": self.fix.as_ref().map(Fix::to_value),
        });
        value.as_object_mut().into_iter().for_each(|object| object.retain(|_, it| !it.is_null()));
        value
    }
}

/// Resolves a finding against the document it was found in; bytes that are no text have no source.
pub(crate) fn resolve(
    finding: Finding,
    source: Option<&Source>,
    root: Option<&SyntaxNode>,
    aliases: &[Alias],
) -> Violation {
    let key = root.filter(|_| finding.on_key).and_then(|root| {
        let (owner, index) = root.owner_of(finding.place.at)?;
        Some(owner.entries()[index].0.at)
    });
    let located = || Some(fix::locate(source?, root, finding.place));
    let at = key.or_else(located).unwrap_or(Span::START);
    let position = |start: u32| source.map_or((1, 1), |source| source.position(start));
    let (line, column) = finding.position.unwrap_or_else(|| position(at.start));
    let message = match finding.related {
        Some((first, label)) => {
            format!("{} ({label}: line {})", finding.message, position(first.start).0)
        }
        None => finding.message,
    };
    Violation {
        severity: finding.severity,
        path: root.map_or_else(String::new, |root| root.pointer(finding.place.at)),
        rule: finding.rule,
        message: clip(message),
        expected: finding.expected.map(clip),
        actual: finding.actual.map(clip),
        line,
        column,
        suggestion: finding.suggestion.map(clip),
        fix: finding.mend.and_then(|mend| fix::of(&mend, source?, root, aliases)),
        at,
        related: finding.related,
    }
}

/// A text that quotes something endless, with its middle left out.
pub(crate) fn clip(text: String) -> String {
    let count = if text.len() > limits::MESSAGE_CHARS { text.chars().count() } else { 0 };
    if count <= limits::MESSAGE_CHARS {
        return text;
    }
    let half = limits::MESSAGE_CHARS / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half + 1).collect();
    format!("{head}…{tail}")
}

/// The violations as the list every door shows.
pub fn to_values(violations: &[Violation]) -> Value {
    json!(violations.iter().map(Violation::to_value).collect::<Vec<_>>())
}
