//! How large a regular expression is at most when it is compiled, told from its parts.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use crate::limits::{PATTERN_CASE_STATES, PATTERN_RANGE_STATES, PATTERN_STATE_BYTES};

/// Whether a pattern takes no more than some bytes when it is compiled, in any case of its letters
/// or in the one they are written in. `false` where that cannot be told.
pub(crate) fn fits(tree: &Hir, caseless: bool, limit: usize) -> bool {
    if !caseless {
        return of(tree, None) <= limit;
    }
    // To find the other cases takes long, and most patterns are small however many there are.
    let tries: [CountCases; 2] = [other_cases_at_most, ranges_of_other_cases];
    tries.into_iter().any(|count| of(tree, Some(count)) <= limit)
}

/// How many ranges a class gets at most when the other cases of its characters are added.
type CountCases = fn(&ClassUnicode) -> usize;

/// At most how many bytes a pattern takes when it is compiled; with a count of cases, in any case
/// of its letters.
fn of(tree: &Hir, caseless: Option<CountCases>) -> usize {
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => PATTERN_STATE_BYTES,
        HirKind::Literal(literal) if caseless.is_some() => {
            PATTERN_CASE_STATES * PATTERN_STATE_BYTES * literal.0.len()
        }
        HirKind::Literal(literal) => PATTERN_STATE_BYTES * literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => {
            let other_cases = caseless.map_or(0, |count| count(class));
            PATTERN_STATE_BYTES * (class.ranges().len() + other_cases + PATTERN_RANGE_STATES)
        }
        HirKind::Class(Class::Bytes(class)) => {
            // Those of the 26 letters, and no others.
            let other_cases = if caseless.is_some() { 26 } else { 0 };
            PATTERN_STATE_BYTES * (class.ranges().len() + other_cases + 1)
        }
        HirKind::Capture(capture) => of(&capture.sub, caseless) + 2 * PATTERN_STATE_BYTES,
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            (of(&repetition.sub, caseless) + 2 * PATTERN_STATE_BYTES).saturating_mul(most as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let sizes = parts.iter().map(|part| of(part, caseless));
            sizes.fold(2 * PATTERN_STATE_BYTES, usize::saturating_add)
        }
    }
}

/// The characters that have another case: few, where classes such as `[^:]` have a million.
static CASED: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let tree = regex_syntax::parse(r"\p{Changes_When_Casemapped}").map(Hir::into_kind);
    match tree {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]),
    }
});

/// The ranges that a class gets when the other cases of its characters are added.
fn ranges_of_other_cases(class: &ClassUnicode) -> usize {
    let mut others = class.clone();
    others.intersect(&CASED);
    others.case_fold_simple();
    others.difference(class);
    others.ranges().len()
}

/// No less than those, from the ends of its ranges alone.
fn other_cases_at_most(class: &ClassUnicode) -> usize {
    let mut cased = class.clone();
    cased.intersect(&CASED);
    if cased == *CASED {
        // No case of any of them is missing.
        return 0;
    }
    let letters =
        |range: &ClassUnicodeRange| (range.end() as usize).abs_diff(range.start() as usize) + 1;
    // Letters of ASCII that follow each other do so in the other case, and of all of them two have
    // a third: the signs for kelvin and for a long s. Others may have three, each on its own.
    let others = |range: &ClassUnicodeRange| match range.end().is_ascii() {
        true => 2,
        false => 3 * letters(range),
    };
    let added = cased.ranges().iter().map(others).sum::<usize>() + 2;
    // What is in the class already parts what is added. Nor is more added than is not in it.
    let inside = class.ranges().iter().map(letters).sum::<usize>();
    (added + class.ranges().len()).min((char::MAX as usize + 1).saturating_sub(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern that is taken to be small enough can be compiled.
    #[test]
    fn a_pattern_is_never_larger_than_it_was_taken_for() {
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
            for (source, caseless) in [(pattern, false), (&format!("(?i){pattern}"), true)] {
                let size = of(&tree, caseless.then_some(ranges_of_other_cases));
                let rough = of(&tree, caseless.then_some(other_cases_at_most));
                assert!(rough >= size, "{source} was taken for {rough}, and then for {size}");
                let built =
                    fancy_regex::RegexBuilder::new(source).delegate_size_limit(size).build();
                assert!(built.is_ok(), "{source} takes more than {size}");
            }
        }
    }

    /// What is no cased character stands for itself alone in any case.
    #[test]
    fn every_character_with_another_case_is_known() {
        let mut uncased = CASED.clone();
        uncased.negate();
        for range in uncased.ranges() {
            for character in range.start()..=range.end() {
                let alone = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
                let mut folded = alone.clone();
                folded.case_fold_simple();
                assert_eq!(folded, alone, "{character:?}");
            }
        }
    }
}
