//! Regular expressions in documents, limited in source and compiled size.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use milepost_syntax::tree::SyntaxNode;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report};
use crate::finding::{Finding, Rule};
use crate::limits::{self, PATTERN_CASE_STATES, PATTERN_RANGE_STATES, PATTERN_STATE_BYTES};

/// A regular expression in a document.
#[derive(Debug, Clone)]
pub struct Pattern(pub Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Decode for Pattern {
    const WANT: &'static str = "a regular expression";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = String::decode(node, report)?;
        let compiled = report.patterns.compile(&text);
        compiled.map_err(|cause| report.add(invalid(node, Rule::Pattern, &cause))).ok().map(Pattern)
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string", "format": "regex"})
    }
}

pub(crate) fn invalid(node: &SyntaxNode, rule: Rule, cause: &str) -> Finding {
    Finding::error(node.at, rule, format!("the pattern does not compile: {cause}"))
        .expected("a regular expression")
        .suggest("fix the pattern, and escape characters that are meant literally")
}

/// The patterns of one document. Each is compiled once; after too many of them turn out to be too
/// large, no more are compiled.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<String, Result<Regex, String>>,
    /// The patterns of criteria, which have flags and use a different engine.
    sound: HashMap<(String, String), Result<(), String>>,
    large: usize,
}

impl Patterns {
    fn compile(&mut self, text: &str) -> Result<Regex, String> {
        once(&mut self.compiled, &mut self.large, text.to_owned(), || compile(text))
    }

    /// Checks whether a pattern is valid, once for each combination of pattern and flags.
    pub(crate) fn is_sound(
        &mut self,
        text: &str,
        flags: &str,
        compile: impl Fn(&str, &str) -> Result<(), String>,
    ) -> Result<(), String> {
        let key = (text.to_owned(), flags.to_owned());
        once(&mut self.sound, &mut self.large, key, || compile(text, flags))
    }
}

/// Compiles a pattern once and caches the result, unless too many patterns were too large.
fn once<K: Hash + Eq, T: Clone>(
    known: &mut HashMap<K, Result<T, String>>,
    large: &mut usize,
    key: K,
    make: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    match known.entry(key) {
        Entry::Occupied(found) => found.get().clone(),
        Entry::Vacant(_) if *large >= limits::LARGE_PATTERNS => {
            Err("not tried, since too many others are too large".to_owned())
        }
        Entry::Vacant(place) => {
            let result = make();
            *large += usize::from(result.as_ref().is_err_and(|cause| cause == TOO_LARGE));
            place.insert(result).clone()
        }
    }
}

pub(crate) const TOO_LARGE: &str =
    "it is too large when compiled; `[A-Za-z0-9_]` is far smaller than `\\w`";

/// Compiles a pattern within the limits.
fn compile(text: &str) -> Result<Regex, String> {
    if text.len() > limits::PATTERN_BYTES {
        return Err(format!("it is longer than {} bytes", limits::PATTERN_BYTES));
    }
    RegexBuilder::new(text)
        .size_limit(limits::PATTERN_COMPILED_BYTES)
        .nest_limit(64)
        .build()
        .map_err(|error| cause(&error))
}

/// The cause of an error without the library's rendering of the pattern.
fn cause(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => TOO_LARGE.to_owned(),
        other => {
            let words = other.to_string();
            let last = words.lines().last().unwrap_or("").trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

/// An upper bound for the compiled size of a pattern in bytes, case-insensitive if `caseless`;
/// `usize::MAX` if there is no estimate.
pub(crate) fn compiled_bytes(tree: &Hir, caseless: bool) -> usize {
    let state = PATTERN_STATE_BYTES;
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => state,
        HirKind::Literal(literal) => {
            literal.0.len() * state * if caseless { PATTERN_CASE_STATES } else { 1 }
        }
        HirKind::Class(Class::Unicode(class)) => {
            // The other cases of ASCII letters form contiguous ranges too, and two of the letters
            // have a third case; other letters are not estimated.
            let ranges = class.ranges().len();
            match class.ranges().iter().all(|range| range.end().is_ascii()) {
                _ if !caseless => state * (ranges + PATTERN_RANGE_STATES),
                true => state * (3 * ranges + 2 + PATTERN_RANGE_STATES),
                false => usize::MAX,
            }
        }
        HirKind::Class(Class::Bytes(class)) => {
            let other_cases = if caseless { 26 } else { 0 };
            state * (class.ranges().len() + other_cases + 1)
        }
        HirKind::Capture(capture) => {
            compiled_bytes(&capture.sub, caseless).saturating_add(2 * state)
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            let one = compiled_bytes(&repetition.sub, caseless).saturating_add(2 * state);
            one.saturating_mul(most as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let sizes = parts.iter().map(|part| compiled_bytes(part, caseless));
            sizes.fold(2 * state, usize::saturating_add)
        }
    }
}
