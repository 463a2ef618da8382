//! Maps an offset in a string's value to the offset in its source text.
//!
//! Quotes, escapes, folding and indentation make the two differ, so both are walked in parallel.

/// The offset in `written` (a scalar with its quotes or block header) of the character at byte
/// `offset` of its decoded `value`; `None` if the two cannot be aligned.
pub(crate) fn offset(written: &str, value: &str, offset: usize) -> Option<usize> {
    let (start, style) = content(written);
    if written.get(start..start + value.len()) == Some(value) {
        return Some(start + offset);
    }
    let mut source = start;
    let mut target = 0;
    while target < offset {
        let wanted = value[target..].chars().next()?;
        let found = written[source..].chars().next()?;
        if let Some((length, decoded)) = escape(&written[source..], style) {
            source += length;
            if decoded {
                target += wanted.len_utf8();
            }
        } else if found == wanted || (is_break(found) && wanted == ' ') {
            source += found.len_utf8();
            target += wanted.len_utf8();
        } else if found.is_whitespace() {
            source += found.len_utf8();
        } else if wanted.is_whitespace() {
            target += wanted.len_utf8();
        } else {
            return None;
        }
    }
    // The next character may come after indentation, which is skipped.
    if let Some(wanted) = value[target.min(value.len())..].chars().next()
        && !wanted.is_whitespace()
    {
        let rest = &written[source..];
        source += rest.len() - rest.trim_start().len();
    }
    Some(source)
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Double,
    Single,
    Other,
}

/// Where the content starts, and how it is escaped.
fn content(written: &str) -> (usize, Style) {
    match written.as_bytes().first() {
        Some(b'"') => (1, Style::Double),
        Some(b'\'') => (1, Style::Single),
        Some(b'|' | b'>') => {
            let header = written.find('\n').map_or(written.len(), |newline| newline + 1);
            (header, Style::Other)
        }
        _ => (0, Style::Other),
    }
}

/// The length of the escape at this position, and whether it yields a character.
fn escape(rest: &str, style: Style) -> Option<(usize, bool)> {
    if style == Style::Single && rest.starts_with("''") {
        return Some((2, true));
    }
    if style != Style::Double || !rest.starts_with('\\') {
        return None;
    }
    let length = match rest.as_bytes().get(1)? {
        b'u' if rest.as_bytes().get(6..8) == Some(b"\\u") && is_high_surrogate(&rest[2..6]) => 12,
        b'u' => 6,
        b'x' => 4,
        b'U' => 10,
        b'\n' => return Some((2, false)),
        b'\r' => return Some((3, false)),
        _ => 1 + rest[1..].chars().next()?.len_utf8(),
    };
    Some((length.min(rest.len()), true))
}

fn is_high_surrogate(digits: &str) -> bool {
    u32::from_str_radix(digits, 16).is_ok_and(|unit| (0xd800..0xdc00).contains(&unit))
}

fn is_break(found: char) -> bool {
    found == '\n' || found == '\r'
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[track_caller]
    fn check(written: &str, value: &str, needle: &str, place: usize) {
        let at = value.find(needle).expect("the needle is in the value");
        assert_eq!(offset(written, value, at), Some(place), "{written:?} {needle:?}");
        let found = offset(written, value, at).expect("aligned");
        assert!(written[found..].starts_with(needle));
    }

    #[test]
    fn quotes_escapes_and_folds() {
        check("abc def", "abc def", "def", 4);
        check("\"a\\tb é x\"", "a\tb é x", "x", 9);
        check("\"\\ud83d\\ude00 x\"", "😀 x", "x", 14);
        check("'it''s x'", "it's x", "x", 7);
        check("|\n    one\n      two x", "one\n  two x\n", "two", 16);
        check(">\n  one\n  two", "one two\n", "two", 10);
        check("one\n   two", "one two", "two", 7);
        check("\"one\n   two\"", "one two", "two", 8);
    }

    #[test]
    fn strangers_are_not_aligned() {
        assert_eq!(offset("abc", "xyz", 2), None);
    }
}
