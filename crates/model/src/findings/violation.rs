//! A finding as people and models see it: with pointer, line and column, and the fix.

use milepost_syntax::fix::{self, Alias, Fix};
use milepost_syntax::source::Source;
use milepost_syntax::span::Span;
use milepost_syntax::tree::SyntaxNode;
use serde_json::{Value, json};

use crate::finding::{Finding, Rule, Severity};
use crate::limits;

/// A finding in a document, with everything that is shown about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    pub severity: Severity,
    /// JSON pointer to the value or key it is about.
    pub path: String,
    /// The rule that was violated.
    pub rule: Rule,
    /// What is wrong, in one sentence.
    pub message: String,
    pub expected: Option<String>,
    /// What was found.
    pub actual: Option<String>,
    /// Line, starting at 1.
    pub line: u32,
    /// Column in characters, starting at 1.
    pub column: u32,
    /// The next action to take.
    pub suggestion: Option<String>,
    /// A change that fixes exactly this violation, if one is certain.
    pub fix: Option<Fix>,
    /// The byte range it is about.
    pub at: Span,
    /// A related position and its label.
    pub related: Option<(Span, &'static str)>,
}

impl Violation {
    /// The JSON object that every interface shows; absent fields are omitted.
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

/// Resolves a finding against its document. `source` is `None` if the bytes are not text.
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
            let label = label.trim_end_matches(" here");
            format!("{} ({label} on line {})", finding.message, position(first.start).0)
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

/// Shortens a message that is too long, leaving out its middle.
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

/// The violations as the JSON list that every interface shows.
pub fn to_values(violations: &[Violation]) -> Value {
    json!(violations.iter().map(Violation::to_value).collect::<Vec<_>>())
}
