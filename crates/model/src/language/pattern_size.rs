//! How large a regular expression is at most when it is compiled, told from its parts.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::limits::{PATTERN_CASE_STATES, PATTERN_RANGE_STATES, PATTERN_STATE_BYTES};

/// At most how many bytes a pattern takes when it is compiled, in any case of its letters or in the
/// one they are written in; the largest number where that cannot be told.
pub(crate) fn compiled_bytes(tree: &Hir, caseless: bool) -> usize {
    let state = PATTERN_STATE_BYTES;
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => state,
        HirKind::Literal(literal) => {
            literal.0.len() * state * if caseless { PATTERN_CASE_STATES } else { 1 }
        }
        HirKind::Class(Class::Unicode(class)) => {
            // The other cases of ASCII letters follow each other too, and two of the letters have a
            // third case; other letters are not counted.
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
