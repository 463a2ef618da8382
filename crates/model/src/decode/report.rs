//! The findings so far, up to a limit, and the current position in the document.

use std::collections::{HashMap, HashSet};

use milepost_syntax::mend::Mend;
use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKey, SyntaxNode};

use crate::finding::{Finding, Rule, Severity};
use crate::limits;
use crate::pattern::Patterns;

/// Collects findings while a document is decoded and checked.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    pub(crate) left_out: usize,
    /// Whether one of the findings left out was an error.
    pub(crate) left_out_error: bool,
    /// The string with the latest finding, and the number of findings in it.
    crowded: (Span, usize),
    pub(crate) patterns: Patterns,
    expressions: usize,
    /// The document's text, for details that values do not preserve: `1.10` becomes the number
    /// `1.1`.
    text: String,
    /// The maps being decoded, outermost first. A misplaced key may belong in one of them.
    owners: Vec<Owner>,
}

pub(crate) type KnownKeys = &'static [&'static str];

/// A map that is being decoded.
#[derive(Debug)]
struct Owner {
    at: Span,
    /// The keys it accepts.
    keys: KnownKeys,
    /// The accepted keys that it does not have.
    absent: Vec<&'static str>,
    /// The unknown keys in the map.
    strays: Vec<String>,
}

impl Report {
    /// Counts expressions before they are parsed. Returns whether there are too many.
    pub(crate) fn charge_expressions(&mut self, at: Span, count: usize) -> bool {
        let before = self.expressions;
        self.expressions += count;
        let over = self.expressions > limits::EXPRESSIONS;
        if over && before <= limits::EXPRESSIONS {
            let message = format!("more than {} expressions", limits::EXPRESSIONS);
            self.add(Finding::error(at, Rule::Expression, message).suggest("split the workflow"));
        }
        over
    }

    /// Starts a map that accepts these keys.
    pub(crate) fn enter(&mut self, node: &SyntaxNode, keys: KnownKeys) {
        let absent = keys.iter().copied().filter(|key| node.get(key).is_none()).collect();
        let names = node.entries().iter().map(|(key, _)| &key.name);
        let strays = names.filter(|name| !keys.contains(&name.as_str())).cloned().collect();
        self.owners.push(Owner { at: node.at, keys, absent, strays });
    }

    /// Ends the innermost map. Returns the accepted keys that it does not have.
    pub(crate) fn leave(&mut self) -> Vec<&'static str> {
        self.owners.pop().map(|owner| owner.absent).unwrap_or_default()
    }

    /// Whether an enclosing map has an unknown key with this name.
    pub(crate) fn has_strayed(&self, name: &str) -> bool {
        self.owners.iter().any(|owner| owner.strays.iter().any(|stray| stray == name))
    }

    pub(crate) fn of_text(text: &str) -> Report {
        Report { text: text.to_owned(), ..Report::default() }
    }

    /// A value as its author wrote it; `None` for an alias, whose text is elsewhere.
    pub(crate) fn written(&self, node: &SyntaxNode) -> Option<String> {
        let written = self.text.get(node.at.start as usize..node.at.end as usize)?;
        (!written.is_empty() && !written.starts_with('*')).then(|| written.to_owned())
    }

    /// The fix for a key that is nested too deeply: moves it to the nearest enclosing map that
    /// accepts it.
    pub(crate) fn around(&self, key: &SyntaxKey) -> Option<Mend> {
        // The author may have meant the condition for the inner map.
        if matches!(key.name.as_str(), "if" | "when") {
            return None;
        }
        let owner = self.owners.iter().rev().find(|owner| owner.keys.contains(&&*key.name))?;
        let name = key.name.clone();
        let into = owner.at;
        owner.absent.contains(&&*key.name).then(|| Mend::Move {
            key: key.at,
            into,
            under: None,
            name,
        })
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.is_full() || self.is_enough_of(&finding) {
            self.leave_out(finding.severity);
        } else {
            self.findings.push(finding);
        }
    }

    /// Whether a node, or anything inside it, has an error. Such a node is only partly known, so a
    /// part that seems to be missing may be present after all.
    pub(crate) fn has_error_in(&self, at: Span) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error && at.holds(finding.place.at))
    }

    /// Whether a map has an unknown key, which may be a misspelling of one that seems to be
    /// missing.
    pub(crate) fn has_stray_in(&self, map: &SyntaxNode) -> bool {
        self.findings.iter().any(|finding| {
            let at = finding.place.at;
            finding.rule == Rule::UnknownKey && map.entries().iter().any(|(key, _)| key.at == at)
        })
    }

    /// Whether the current map accepts a key and does not have it yet.
    pub(crate) fn could_take(&self, key: &str) -> bool {
        self.owners.last().is_some_and(|owner| owner.absent.contains(&key))
    }

    /// Merges findings about the same unknown name into one at its first position.
    pub(crate) fn merge_repeats(&mut self) {
        let is_name = |one: &Finding| matches!(one.rule, Rule::UnknownName | Rule::UnknownPath);
        let mut counts: HashMap<String, usize> = HashMap::new();
        for one in self.findings.iter().filter(|one| is_name(one) && one.mend.is_none()) {
            *counts.entry(one.message.clone()).or_default() += 1;
        }
        counts.retain(|_, count| *count > 1);
        if counts.is_empty() {
            return;
        }
        self.findings.sort_by_key(|one| (one.place.at.start, one.place.inner.map(|at| at.start)));
        let mut told: HashSet<String> = HashSet::new();
        self.findings.retain_mut(|one| {
            let repeats = is_name(one) && one.mend.is_none();
            let Some(count) = counts.get(&one.message).filter(|_| repeats) else { return true };
            let first = told.insert(one.message.clone());
            one.message = format!("{} (in {count} places)", one.message);
            first
        });
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.left_out_error || self.findings.iter().any(|one| one.severity == Severity::Error)
    }

    /// Whether the limit has been reached, in which case a finding's message need not be built.
    pub(crate) fn is_full(&self) -> bool {
        self.findings.len() >= limits::FINDINGS
    }

    pub(crate) fn leave_out(&mut self, severity: Severity) {
        self.left_out += 1;
        self.left_out_error |= severity == Severity::Error;
    }

    /// The number of findings, including those left out.
    pub(crate) fn count(&self) -> usize {
        self.findings.len() + self.left_out
    }

    /// Whether a string already has the maximum number of findings. They are limited because each
    /// one has to be located in the string.
    fn is_enough_of(&mut self, finding: &Finding) -> bool {
        if finding.place.inner.is_none() {
            return false;
        }
        if self.crowded.0 != finding.place.at {
            self.crowded = (finding.place.at, 0);
        }
        self.crowded.1 += 1;
        self.crowded.1 > limits::FINDINGS_IN_TEXT
    }
}
