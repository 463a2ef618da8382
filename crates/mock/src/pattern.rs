//! Texts that match a pattern: a walk through the pattern's parts. What such a walk cannot see
//! (looking ahead or behind, back references) is left to chance and a matcher: texts are made until
//! one matches.

use std::borrow::Cow;

use fancy_regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::limits;
use crate::random::Random;

/// Lengths in characters that a text must have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) min: usize,
    pub(crate) max: usize,
}

impl Lengths {
    pub(crate) fn hold(self, text: &str) -> bool {
        let count = text.chars().count();
        (self.min..=self.max).contains(&count)
    }
}

/// A text that matches every one of some patterns; nothing when none was found.
pub(crate) fn matching(patterns: &[&str], lengths: Lengths, random: &mut Random) -> Option<String> {
    let matchers: Vec<Regex> = patterns.iter().filter_map(|pattern| matcher(pattern)).collect();
    let mut best = None;
    for pattern in patterns {
        let Some(parts) = parse(pattern) else { continue };
        for round in 0..limits::PATTERN_TRIES {
            // Short repetitions first: they read best. Later rounds reach for longer texts.
            let reach = [2, 6, 1, 16, 0, 40, 4, lengths.min.min(400)][(round % 8) as usize];
            let mut text = String::new();
            write(&parts, reach, random, &mut text);
            let fitted = fit(text, lengths);
            let fits = |regex: &Regex| regex.is_match(&fitted).unwrap_or(false);
            if matchers.iter().all(fits) && lengths.hold(&fitted) {
                return Some(fitted);
            }
            best = best.or(Some(fitted));
        }
    }
    best
}

/// Makes a text longer or shorter, which helps patterns that are not anchored.
fn fit(mut text: String, lengths: Lengths) -> String {
    let count = text.chars().count();
    if count < lengths.min {
        let last = text.chars().next_back().unwrap_or('a');
        let more = (lengths.min - count).min(limits::TEXT_CHARS);
        text.extend(std::iter::repeat_n(last, more));
    } else if count > lengths.max {
        text = text.chars().take(lengths.max).collect();
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
    let plain = translate(&without_looks(pattern));
    let parser = || regex_syntax::ParserBuilder::new().nest_limit(100).build();
    parser().parse(&plain).ok()
}

/// A pattern of ECMA 262 in the dialect of the parser, as far as it has one.
fn translate(pattern: &str) -> String {
    let pattern = pattern.replace("\\Z", "\\z");
    jsonschema_regex::to_rust_regex(&pattern).map_or_else(|()| pattern.clone(), Cow::into_owned)
}

/// Takes out groups that look ahead or behind, and possessive marks, which the parser refuses.
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

/// Where the group ends that a text begins with.
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

/// Writes a text for a part; open repetitions go up to `reach` beyond their least.
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

/// A character of a class: a letter or digit when it has one, else a visible one, else the first.
fn member(class: &Class, random: &mut Random) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start() as u32, range.end() as u32)).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|r| (u32::from(r.start()), u32::from(r.end()))).collect()
        }
    };
    let holds = |character: char| {
        let code = character as u32;
        ranges.iter().any(|(start, end)| (*start..=*end).contains(&code))
    };
    let nice: Vec<char> =
        ('0'..='9').chain('a'..='z').chain('A'..='Z').filter(|c| holds(*c)).collect();
    if !nice.is_empty() {
        return Some(nice[random.below(nice.len())]);
    }
    let visible: Vec<char> = ('!'..='~').chain([' ']).filter(|c| holds(*c)).collect();
    if !visible.is_empty() {
        return Some(visible[random.below(visible.len())]);
    }
    let (start, end) = *ranges.first()?;
    (start..=end).find_map(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, min: usize, max: usize) {
        for seed in 0..20 {
            let lengths = Lengths { min, max };
            let text = matching(&[pattern], lengths, &mut Random::new(seed, &[])).expect(pattern);
            let fits = Regex::new(&translate(pattern)).expect(pattern).is_match(&text);
            assert!(fits.expect("matches"), "`{text}` does not match `{pattern}`");
            assert!(lengths.hold(&text), "`{text}` has not {min} to {max} characters");
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
        assert_eq!(matching(&["(["], Lengths { min: 0, max: 9 }, &mut Random::new(1, &[])), None);
    }
}
