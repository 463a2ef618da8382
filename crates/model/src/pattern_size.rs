//! How large a regular expression is at most when it is compiled, told from its parts.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

/// More than a state takes, with the links to the next ones.
const STATE: usize = 64;
/// How many states a letter is at most that may be written in any case: it has up to three others.
const CASES: usize = 8;
/// How many states a range is at most that goes through characters of every length in UTF-8.
const LENGTHS: usize = 27;

/// At most how many bytes a pattern takes when it is compiled, in any case of its letters or in
/// the one they are written in.
pub(crate) fn of(tree: &Hir, caseless: bool) -> usize {
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        HirKind::Literal(literal) if caseless => CASES * STATE * literal.0.len(),
        HirKind::Literal(literal) => STATE * literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => {
            let other_cases = if caseless { ranges_of_other_cases(class) } else { 0 };
            STATE * (class.ranges().len() + other_cases + LENGTHS)
        }
        HirKind::Class(Class::Bytes(class)) => {
            // Those of the 26 letters, and no others.
            let other_cases = if caseless { 26 } else { 0 };
            STATE * (class.ranges().len() + other_cases + 1)
        }
        HirKind::Capture(capture) => of(&capture.sub, caseless) + 2 * STATE,
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            (of(&repetition.sub, caseless) + 2 * STATE).saturating_mul(most as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let sizes = parts.iter().map(|part| of(part, caseless));
            sizes.fold(2 * STATE, usize::saturating_add)
        }
    }
}

/// The characters that have another case: few, where classes such as `[^:]` have a million.
static CASED: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let tree = regex_syntax::parse(r"\p{Changes_When_Casemapped}").map(Hir::into_kind);
    match tree {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::new([regex_syntax::hir::ClassUnicodeRange::new('\0', char::MAX)]),
    }
});

/// How many ranges a class gets at most when the other cases of its characters are added.
fn ranges_of_other_cases(class: &ClassUnicode) -> usize {
    let mut others = class.clone();
    others.intersect(&CASED);
    others.case_fold_simple();
    others.difference(class);
    others.ranges().len()
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::ClassUnicodeRange;

    use super::*;

    /// A pattern that is taken to be small enough can be compiled.
    #[test]
    fn a_pattern_is_never_larger_than_it_was_taken_for() {
        for pattern in [
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
                let size = of(&tree, caseless);
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
