//! Makes text that others wrote safe to show to people.
//!
//! Workflows, APIs and agents may write anything, including text that looks like a prompt or like
//! another line of the program. So their text is either escaped to a single line or quoted with a
//! gutter before every row; it never begins a line. What cannot be seen is escaped in both cases.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};
use unicode_width::UnicodeWidthChar as _;

use crate::limits;

/// The gutter before quoted text.
pub const GUTTER: &str = "│ ";

/// Characters that cannot be seen, or that change how the text around them is displayed.
const HIDDEN: &str = concat!(
    r"[\p{Control}\p{Format}\p{Unassigned}\p{Private_Use}\p{Line_Separator}",
    r"\p{Paragraph_Separator}\p{Default_Ignorable_Code_Point}",
    // A blank Braille pattern, the tag characters, and the variation selectors.
    r"\x{2800}\x{E0000}-\x{E0FFF}\x{FE00}-\x{FE0F}]"
);

static HIDDEN_RANGES: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let class = regex_syntax::parse(HIDDEN).expect("the pattern is constant");
    match class.into_kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        other => unreachable!("the pattern is a class of characters, not {other:?}"),
    }
});

/// Whether a character cannot be seen, or changes how the text around it is displayed.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let at = HIDDEN_RANGES.partition_point(|(_, last)| *last < c);
    HIDDEN_RANGES.get(at).is_some_and(|(first, _)| *first <= c)
}

/// The text in one line, with everything escaped that cannot be seen.
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // A pile of combining marks covers the lines above and below it.
            c if is_hidden(c) || marks > limits::COMBINING_MARKS => {
                shown.extend(c.escape_unicode());
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Escapes, in a JSON text, what cannot be seen. Outside its strings there is nothing to escape.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c != '\n' && is_hidden(c);
    if json.is_ascii() && !json.contains('\x7f') || !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("writing to a string does not fail");
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Cuts the middle out of a text that is longer than `chars_max` characters, and names its size.
pub fn cut(text: &str, chars_max: usize) -> Cow<'_, str> {
    if text.len() <= chars_max || text.chars().nth(chars_max).is_none() {
        return Cow::Borrowed(text);
    }
    let half = chars_max / 2;
    let head = text.char_indices().nth(half).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(half.saturating_sub(1)).map_or(0, |(at, _)| at);
    let bytes = text.len();
    Cow::Owned(format!("{} … [{bytes} bytes in all] … {}", &text[..head], &text[tail..]))
}

/// The text in one line, at most about `chars_max` characters long.
pub fn inline(text: &str, chars_max: usize) -> String {
    cut(&escape(&cut(text, chars_max)), chars_max).into_owned()
}

/// A quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted {
    /// Each begins with the gutter and fits the width, so that a terminal does not break it either.
    pub rows: Vec<String>,
    /// Whether the middle is missing.
    pub is_cut: bool,
}

/// Quotes a text; a long one is cut in the middle.
pub fn quote(text: &str, gutter: &str, width: usize) -> Quoted {
    let room = width.saturating_sub(columns(gutter)).max(limits::QUOTED_COLUMNS_MIN);
    let whole = text.len();
    let text = cut(text, limits::QUOTED_CHARS);
    let mut is_cut = text.len() != whole;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let mut rows: Vec<String> = lines
        .flat_map(|line| wrap(&escape(line), room))
        .map(|row| format!("{gutter}{row}"))
        .collect();
    if rows.len() > limits::QUOTED_ROWS {
        let half = limits::QUOTED_ROWS / 2;
        let omitted = rows.len() - 2 * half;
        let note = format!("{gutter}… [{omitted} rows are not shown] …");
        rows.splice(half..half + omitted, [note]);
        is_cut = true;
    }
    Quoted { rows, is_cut }
}

/// A line of the program that contains parts of others' text: the rows after the first have the
/// gutter, because nobody knows which part they begin with.
pub fn fold(line: &str, gutter: &str, width: usize) -> Vec<String> {
    let room = width.max(limits::QUOTED_COLUMNS_MIN);
    let line = escape(line);
    let mut rows = wrap(&line, room);
    if rows.len() > 1 {
        // The rows after the first are narrower.
        let rest = line[rows[0].len()..].trim_start();
        rows.truncate(1);
        rows.extend(quote(rest, gutter, width).rows);
    }
    rows
}

/// Breaks a line into rows, at blanks where possible.
fn wrap(line: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut used = 0;
    for c in line.chars() {
        let width = wide(c);
        if used + width > room {
            // Only a break near the end is worth a shorter row.
            let blank = row.rfind(' ').filter(|at| *at > row.len() / 2);
            let rest = blank.map_or_else(String::new, |at| row.split_off(at + 1));
            rows.push(row.trim_end().to_owned());
            (used, row) = (columns(&rest), rest);
        }
        used += width;
        row.push(c);
    }
    rows.push(row.trim_end().to_owned());
    rows
}

/// The most columns that a terminal may give to a character: some give two to characters whose
/// width is ambiguous.
fn wide(c: char) -> usize {
    c.width_cjk().unwrap_or(0).max(c.width().unwrap_or(0))
}

fn columns(text: &str) -> usize {
    text.chars().map(wide).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_hidden() {
        let hidden = [
            0x00, 0x07, 0x0a, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x34f, 0x378, 0x61c, 0x115f,
            0x1160, 0x17b4, 0x180b, 0x180e, 0x180f, 0x200b, 0x200d, 0x200f, 0x2028, 0x2029, 0x202e,
            0x2060, 0x2066, 0x2800, 0x3164, 0xe000, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0x1d173,
            0xe0041, 0xe01ef, 0xf0000, 0x10_ffff,
        ];
        for code in hidden {
            let c = char::from_u32(code).expect("a character");
            assert!(is_hidden(c), "U+{code:04X}");
        }
        for c in " azAZ09~é漢字ßОд№€…│→✓🙂\u{301}".chars() {
            assert!(!is_hidden(c), "{c}");
        }
    }

    #[test]
    fn a_pile_of_marks_is_escaped() {
        assert_eq!(escape("Việt e\u{301}"), "Việt e\u{301}");
        let pile = escape(&format!("e{}", "\u{301}".repeat(40))).into_owned();
        assert_eq!(pile.matches('\u{301}').count(), limits::COMBINING_MARKS);
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({"a\u{e0041}": "b\u{202e}\u{2028}\u{7f}\n\u{3164}🙂"});
        let json = value.to_string();
        let shown = escape_json(&json);
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("is JSON"), value);
    }

    #[test]
    fn a_long_text_is_cut_in_the_middle() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("é longer text", 6), "é l … [14 bytes in all] … ext");
        let Quoted { rows, is_cut } = quote(&"x".repeat(300_000), GUTTER, 80);
        assert!(is_cut);
        assert!(rows.len() <= limits::QUOTED_ROWS + 1, "{}", rows.len());
        assert!(rows.iter().any(|row| row.contains("[300000 bytes in all]")), "{rows:#?}");
        let Quoted { rows, is_cut } = quote(&"\n".repeat(1_900), GUTTER, 80);
        assert!(is_cut);
        assert!(rows.iter().any(|row| row.contains("rows are not shown")), "{rows:#?}");
    }

    /// A terminal breaks a row that is too long, and the rest would begin a line.
    #[test]
    fn every_row_has_the_gutter_and_fits() {
        let texts = [
            "a\nb\r\nc\u{2028}d\rapprove? [y/N]".to_owned(),
            format!("{}next: milepost approve run_1", "blank ".repeat(13)),
            "漢".repeat(90),
            "№①".repeat(60),
            format!("{}\u{1b}[2J", " ".repeat(200)),
        ];
        for text in texts {
            for width in [10, 40, 80, 120] {
                for row in quote(&text, GUTTER, width).rows {
                    assert!(row.starts_with(GUTTER) && !row.contains(is_hidden), "{row:?}");
                    let most = width.max(limits::QUOTED_COLUMNS_MIN + columns(GUTTER));
                    assert!(columns(&row) <= most, "{width}: {row:?}");
                }
            }
        }
        let quoted = quote("one\ntwo\n", GUTTER, 80);
        assert_eq!(quoted.rows, ["│ one", "│ two"]);
        assert!(!quoted.is_cut);
        assert_eq!(quote("", GUTTER, 80).rows, [GUTTER]);
    }
}
