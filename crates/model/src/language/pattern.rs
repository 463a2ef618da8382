//! Regular expressions in documents, limited in source and compiled size.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::LazyLock;

use milepost_syntax::tree::SyntaxNode;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};
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

/// The patterns in one document. Each is compiled once; after too many of them turn out to be too
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
            Err("it was not tried, because too many other patterns are too large".to_owned())
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

/// The characters that have another case, in order: a few thousand, while classes such as `[^:]`
/// have a million.
static CASED: LazyLock<Vec<char>> = LazyLock::new(|| {
    match regex_syntax::parse(r"\p{Changes_When_Casemapped}").map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect()
        }
        _ => ('\0'..=char::MAX).collect(),
    }
});

/// An upper bound on the number of ranges that a class gains if the other cases of its characters
/// are added.
fn other_cases(class: &ClassUnicode) -> usize {
    if class.ranges().iter().all(|range| range.end().is_ascii()) {
        // The other cases of ASCII letters form contiguous ranges too, and two of the letters have
        // a third case.
        return 2 * class.ranges().len() + 2;
    }
    let (mut at, mut inside) = (0, 0);
    for range in class.ranges() {
        at += CASED[at..].iter().take_while(|cased| **cased < range.start()).count();
        let covered = CASED[at..].iter().take_while(|cased| **cased <= range.end()).count();
        (at, inside) = (at + covered, inside + covered);
    }
    // A character has at most three other cases, and only characters that are not in the class yet
    // can be added. Most classes contain either no cased characters or all of them.
    usize::min(3 * inside, CASED.len() - inside)
}

/// An upper bound, in bytes, on the compiled size of a pattern that ignores case if `caseless`.
pub(crate) fn compiled_bytes(tree: &Hir, caseless: bool) -> usize {
    let state = PATTERN_STATE_BYTES;
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => state,
        HirKind::Literal(literal) => {
            literal.0.len() * state * if caseless { PATTERN_CASE_STATES } else { 1 }
        }
        HirKind::Class(Class::Unicode(class)) => {
            let added = if caseless { other_cases(class) } else { 0 };
            state * (class.ranges().len() + added + PATTERN_RANGE_STATES)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_never_larger_than_its_estimate() {
        for pattern in [
            r"[A-Zk]|[^a-zA-Z0-9]|[ß-ſ]|[K-Z]|[a-km-rt-z]",
            r"\w",
            r"\W{0,4}",
            r"\S{1,9}",
            r"\p{L}+\d*",
            r"[a-zäöü]{3,20}",
            r"[a-z]{3,20}[^k]{1,3}",
            r"a{1000}",
            r"[^\n:]{0,40}",
            r"[\s\S]{40,}",
            r"(\w+|\d{4}|x)*y",
            r"straße|ΣΑΣ|kelvin",
            r"\p{Lu}|[A-Z]{8}|[\p{Ll}--[a-y]]",
            r"\x{10000}|[\x{80}-\x{10ffff}]",
            r".{0,60}",
        ] {
            let tree = regex_syntax::parse(pattern).expect(pattern);
            for (source, caseless) in
                [(pattern.to_owned(), false), (format!("(?i){pattern}"), true)]
            {
                let estimate = compiled_bytes(&tree, caseless);
                let compiled = RegexBuilder::new(&source).size_limit(estimate).build();
                assert!(compiled.is_ok(), "{source}: more than {estimate} bytes");
            }
        }
    }

    /// Compiling such a class takes a hundred times as long as estimating its size.
    #[test]
    fn common_classes_need_not_be_compiled() {
        for pattern in
            [r"(\w+ ){3}", r"^[^:]+: .+$", r"[\s\S]{1,40}", r"\bnot\b.{0,60}\S", r"(\s*-\s+\S+){9}"]
        {
            let tree = regex_syntax::parse(pattern).expect(pattern);
            assert!(compiled_bytes(&tree, true) <= limits::PATTERN_COMPILED_BYTES, "{pattern}");
        }
    }
}
