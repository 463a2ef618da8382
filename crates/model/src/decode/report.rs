//! What has been found so far, bounded, and where in the document the reading stands.

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
    /// One of those left out was an error.
    pub(crate) left_out_error: bool,
    /// The string that findings are being reported in, and how many.
    crowded: (Span, usize),
    pub(crate) patterns: Patterns,
    expressions: usize,
    /// The document's text, for what a value no longer shows: `1.10` is `1.1` to a number.
    text: String,
    /// The maps being read, outermost first: where a key that strayed inwards belongs.
    owners: Vec<Owner>,
}

/// A map that is being read: which keys it takes, and which of them it has.
#[derive(Debug)]
struct Owner {
    at: Span,
    keys: &'static [&'static str],
    present: u64,
    /// Keys it has and does not know.
    strays: Vec<String>,
}

impl Owner {
    fn of(node: &SyntaxNode, keys: &'static [&'static str]) -> Owner {
        let mut owner = Owner { at: node.at, keys, present: 0, strays: Vec::new() };
        for (key, _) in node.entries() {
            match keys.iter().position(|known| *known == key.name) {
                Some(index) => owner.present |= 1 << index,
                None => owner.strays.push(key.name.clone()),
            }
        }
        owner
    }

    fn lacks(&self, name: &str) -> bool {
        let index = self.keys.iter().position(|known| *known == name);
        index.is_some_and(|index| self.present & (1 << index) == 0)
    }
}

impl Report {
    /// Takes note of expressions before they are read; whether there are too many of them.
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

    /// A map begins that takes these keys.
    pub(crate) fn enter(&mut self, node: &SyntaxNode, keys: &'static [&'static str]) {
        self.owners.push(Owner::of(node, keys));
    }

    /// The map that began last ends.
    pub(crate) fn leave(&mut self) {
        self.owners.pop();
    }

    /// Whether a map around has a key of this name that it does not know.
    pub(crate) fn has_strayed(&self, name: &str) -> bool {
        self.owners.iter().any(|owner| owner.strays.iter().any(|stray| stray == name))
    }

    pub(crate) fn of_text(text: &str) -> Report {
        Report { text: text.to_owned(), ..Report::default() }
    }

    /// A scalar as its author wrote it; an alias is not written where it stands.
    pub(crate) fn written(&self, node: &SyntaxNode) -> Option<String> {
        let written = self.text.get(node.at.start as usize..node.at.end as usize)?;
        (!written.is_empty() && !written.starts_with('*')).then(|| written.to_owned())
    }

    /// The mend of a key that strayed inwards: out to the nearest map that takes it.
    pub(crate) fn around(&self, key: &SyntaxKey) -> Option<Mend> {
        // A condition inside another map may be a condition of that map, in its author's mind.
        if matches!(key.name.as_str(), "if" | "when") {
            return None;
        }
        let owner = self.owners.iter().rev().find(|owner| owner.keys.contains(&&*key.name))?;
        let name = key.name.clone();
        let into = owner.at;
        owner.lacks(&key.name).then(|| Mend::Move { key: key.at, into, under: None, name })
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.is_full() || self.is_enough_of(&finding) {
            self.leave_out(finding.severity);
        } else {
            self.findings.push(finding);
        }
    }

    /// Whether an error was found at a node or below it. What is known of such a node is only a
    /// part of what its author wrote, so nothing may be concluded from what it seems to lack.
    pub(crate) fn has_error_in(&self, at: Span) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error && at.holds(finding.place.at))
    }

    /// Whether a map has a key that nobody knows: what it seems to lack may be just that.
    pub(crate) fn has_stray_in(&self, map: &SyntaxNode) -> bool {
        self.findings.iter().any(|finding| {
            let at = finding.place.at;
            finding.rule == Rule::UnknownKey && map.entries().iter().any(|(key, _)| key.at == at)
        })
    }

    /// Whether the map being read could take a key that it does not have.
    pub(crate) fn could_take(&self, key: &str) -> bool {
        self.owners.last().is_some_and(|owner| owner.lacks(key))
    }

    /// A name that is nowhere is one finding, at its first place, however often it is read.
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

    /// Nothing more is kept: what it would take to word a finding can be saved.
    pub(crate) fn is_full(&self) -> bool {
        self.findings.len() >= limits::FINDINGS
    }

    pub(crate) fn leave_out(&mut self, severity: Severity) {
        self.left_out += 1;
        self.left_out_error |= severity == Severity::Error;
    }

    /// How many there have been, kept or not.
    pub(crate) fn count(&self) -> usize {
        self.findings.len() + self.left_out
    }

    /// Each finding inside a text is looked for in it, so their number is bounded as well.
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
