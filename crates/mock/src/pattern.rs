//! Generates strings that match a pattern by walking through the parsed pattern. This cannot handle
//! lookaround or backreferences, so strings are generated until one matches.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use fancy_regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::limits;
use crate::random::Random;

/// The allowed length of a string, in characters.
pub(crate) type Lengths = RangeInclusive<usize>;

/// A string that matches all patterns, or else one that may not match; `None` if no pattern can be
/// parsed.
pub(crate) fn matching(
    patterns: &[&str],
    lengths: &Lengths,
    random: &mut Random,
) -> Option<String> {
    let matchers: Vec<Regex> = patterns.iter().filter_map(|pattern| matcher(pattern)).collect();
    let mut best = None;
    for pattern in patterns {
        let Some(parts) = parse(pattern) else { continue };
        for round in 0..limits::PATTERN_TRIES {
            // Short repetitions first, because they read best; later rounds allow longer strings.
            let reach = [2, 6, 1, 16, 0, 40, 4, (*lengths.start()).min(400)][(round % 8) as usize];
            let mut text = String::new();
            write(&parts, reach, random, &mut text);
            let fitted = fit(text, lengths);
            let fits = |regex: &Regex| regex.is_match(&fitted).unwrap_or(false);
            if matchers.iter().all(fits) && lengths.contains(&fitted.chars().count()) {
                return Some(fitted);
            }
            best = best.or(Some(fitted));
        }
    }
    best
}

/// Pads or truncates a string, which helps with unanchored patterns.
fn fit(mut text: String, lengths: &Lengths) -> String {
    let count = text.chars().count();
    if count < *lengths.start() {
        let last = text.chars().next_back().unwrap_or('a');
        let more = (lengths.start() - count).min(limits::TEXT_CHARS);
        text.extend(std::iter::repeat_n(last, more));
    } else if count > *lengths.end() {
        text = text.chars().take(*lengths.end()).collect();
    }
    text
}

fn matcher(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&translate(pattern))
        .backtrack_limit(milepost_catalog::limits::PATTERN_STEPS)
        .delegate_size_limit(milepost_catalog::limits::PATTERN_COMPILED_BYTES)
        .build()
        .ok()
}

fn parse(pattern: &str) -> Option<Hir> {
    let mut parser = regex_syntax::ParserBuilder::new().nest_limit(100).build();
    parser.parse(&translate(&without_looks(pattern))).ok()
}

/// Translates an ECMA 262 pattern to the parser's dialect as far as possible.
fn translate(pattern: &str) -> String {
    let pattern = pattern.replace("\\Z", "\\z");
    jsonschema_regex::to_rust_regex(&pattern).map_or_else(|()| pattern.clone(), Cow::into_owned)
}

/// Removes lookaround groups, which the parser rejects.
fn without_looks(pattern: &str) -> String {
    const LOOKS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        if LOOKS.iter().any(|look| rest.starts_with(look)) {
            rest = &rest[group_end(rest)..];
            continue;
        }
        let length = match character {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            other => other.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// The end of the group at the start of `text`.
fn group_end(text: &str) -> usize {
    let (mut depth, mut in_class, mut escaped) = (0_usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Appends a string that matches a part of the pattern; open-ended repetitions exceed their minimum
/// by up to `reach`.
fn write(part: &Hir, reach: usize, random: &mut Random, out: &mut String) {
    if out.len() > limits::TEXT_CHARS {
        return;
    }
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(member(class, random)),
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(usize::MAX, |max| max as usize);
            let most = most.min(least.saturating_add(reach)).max(least);
            let count = least + random.below(most - least + 1);
            for _ in 0..count.min(limits::TEXT_CHARS) {
                write(&repetition.sub, reach, random, out);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, reach, random, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, reach, random, out)),
        HirKind::Alternation(parts) => {
            write(&parts[random.below(parts.len())], reach, random, out);
        }
    }
}

/// A character from a class: preferably a letter or digit, else a visible character, else the
/// first.
fn member(class: &Class, random: &mut Random) -> Option<char> {
    let class = match class {
        Class::Unicode(class) => class.clone(),
        Class::Bytes(class) => class.to_unicode_class()?,
    };
    let holds = |character: char| {
        class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&character))
    };
    let mut one_of = |from: Vec<char>| {
        let index = random.below(from.len());
        from.get(index).copied()
    };
    let nice = ('0'..='9').chain('a'..='z').chain('A'..='Z').filter(|c| holds(*c)).collect();
    let visible = || ('!'..='~').chain([' ']).filter(|c| holds(*c)).collect();
    let first = || class.ranges().first().map(regex_syntax::hir::ClassUnicodeRange::start);
    one_of(nice).or_else(|| one_of(visible())).or_else(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, min: usize, max: usize) {
        for seed in 0..20 {
            let text =
                matching(&[pattern], &(min..=max), &mut Random::new(seed, &[])).expect(pattern);
            let fits = Regex::new(&translate(pattern)).expect(pattern).is_match(&text);
            assert!(fits.expect("matches"), "`{text}` does not match `{pattern}`");
            assert!(
                (min..=max).contains(&text.chars().count()),
                "`{text}` does not have {min} to {max} characters"
            );
        }
    }

    #[test]
    fn patterns_of_real_documents_are_matched() {
        check("^[a-z]{2}-[A-Z]{2}$", 0, 10);
        check(r"^\d{3}-\d{4}$", 0, 10);
        check(r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", 3, 63);
        check(r"^(?=.*\d)[a-z0-9]{4,8}$", 4, 8);
        check(r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?$", 1, 64);
        check("^(0|-?[1-9][0-9]*)$", 0, 20);
        check(r"^#[0-9A-Fa-f]{6}$", 7, 7);
        check("^.*$", 12, 40);
        check(r"[\s\S]+", 3, 9);
        check(r"^[^/]+/[[\]]$", 0, 20);
        check(r"^arn:aws[a-z\-]*:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+$", 20, 2048);
        check(r"^\p{L}+$", 1, 20);
        check("^[가-힣]{2,4}$", 2, 4);
    }

    #[test]
    fn a_pattern_that_is_none_yields_nothing() {
        assert_eq!(matching(&["(["], &(0..=9), &mut Random::new(1, &[])), None);
    }
}
