//! A position-tracking parser for JSON with comments and trailing commas, as editors write it.

use std::borrow::Cow;
use std::ops::Range;

use milepost_syntax::json::document::{JsonDocument, JsonNode};
use milepost_syntax::json::scan::{self, Dialect, ScanError, ScanErrorKind, Scanner};
use milepost_syntax::json::tape::{ReadWarnings, Tape};

use super::edit::EditFault;
use crate::limits;

/// A key, its value, and the comma after it, if any.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) value: Range<usize>,
    pub(super) comma: Option<usize>,
}

/// Parses the text of a file; `None` if it contains only whitespace and comments.
pub(super) fn parse(text: &str) -> Result<Option<JsonDocument>, EditFault> {
    let first = Scanner::new(text, Dialect::Jsonc, 0).peek();
    if first.is_err_and(|error| error.kind == ScanErrorKind::ExpectedValue) {
        return Ok(None);
    }
    let mut warnings = ReadWarnings::default();
    let tape = Tape::read(text, Dialect::Jsonc, limits::JSONC_DEPTH, &mut warnings);
    Ok(Some(JsonDocument::new(text.to_owned(), tape.map_err(fault)?)))
}

/// The members of an object, repeated keys included; `None` if it is not an object.
pub(super) fn members(text: &str, object: JsonNode<'_>) -> Option<Vec<Member>> {
    let member = |(at, key, value): (Range<usize>, Cow<'_, str>, JsonNode<'_>)| {
        let value = value.range();
        let mut behind = Scanner::new(&text[value.end..], Dialect::Jsonc, 0);
        let comma = (behind.peek() == Ok(b',')).then(|| value.end + behind.at());
        Member { key: key.into_owned(), start: at.start, value, comma }
    };
    object.is_map().then(|| object.written_entries().map(member).collect())
}

fn fault(error: ScanError) -> EditFault {
    let message = match error.kind {
        ScanErrorKind::TextAfterValue => "unexpected text after the end",
        ScanErrorKind::UnclosedComment => "unterminated comment",
        ScanErrorKind::TooDeep => "it is nested too deeply",
        ScanErrorKind::ExpectedKey | ScanErrorKind::TrailingComma => {
            "expected a key in double quotes, or `}`"
        }
        ScanErrorKind::ExpectedColon => "expected `:`",
        ScanErrorKind::ExpectedSeparatorInMap => "expected `,` or `}`",
        ScanErrorKind::ExpectedSeparatorInList => "expected `,` or `]`",
        ScanErrorKind::ControlCharacter | ScanErrorKind::UnclosedString => "unterminated string",
        ScanErrorKind::UnicodeEscape
        | ScanErrorKind::UnknownEscape
        | ScanErrorKind::LoneSurrogate => "invalid escape sequence",
        ScanErrorKind::ExpectedValue if error.is_end && error.start == error.at => {
            "unexpected end of file, expected a value"
        }
        // A malformed number, or something that is not a value at all.
        _ => "expected a value",
    };
    let is_unclosed = error.kind == ScanErrorKind::UnclosedString;
    EditFault::new(if is_unclosed { error.at } else { error.start }, message)
}

/// The end of the comments that follow an offset on the same line; the offset itself if there are
/// none.
pub(super) fn behind_comments(text: &str, offset: usize) -> usize {
    let mut end = offset;
    loop {
        let rest = text[end..].trim_start_matches([' ', '\t']);
        let comment = scan::comment(rest).map(|length| rest[..length].trim_end_matches('\r'));
        match comment.filter(|comment| !comment.contains('\n')) {
            Some(comment) => end = text.len() - rest.len() + comment.len(),
            None => return end,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{behind_comments, members, parse};

    #[test]
    fn comments_and_commas_are_read_over() {
        let text = "// a\n{ /* b */ \"x\": [1, -2.5e3, true,], // c\n \
                    \"y\\u00e9\": {\"z\": null,}, }\n";
        let document = parse(text).expect("is read").expect("holds a value");
        let value = document.root().to_value();
        assert_eq!(value, json!({"x": [1, -2500.0, true], "yé": {"z": null}}));
        let members = members(text, document.root()).expect("is an object");
        assert_eq!(&text[members[0].start..members[0].value.end], "\"x\": [1, -2.5e3, true,]");
        assert_eq!(members[1].comma.map(|at| &text[at..]), Some(", }\n"));
        assert!(parse(" // nothing\n/* here */").expect("is read").is_none());
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        let cases = [
            ("{\"a\" 1}", 5),
            ("{\"a\": 1 \"b\": 2}", 8),
            ("{\"a\": }", 6),
            ("{a: 1}", 1),
            ("{\"a\": 'b'}", 6),
            ("{\"a\": \"b\n\"}", 8),
            ("{\"a\": \"\\x\"}", 7),
            ("{} {}", 3),
            ("{,}", 1),
            ("[1,,2]", 3),
            ("{\"a\": 01}", 6),
            ("/* open", 0),
            ("{\"a\": [1", 8),
            ("{\"a\": NaN}", 6),
        ];
        for (text, offset) in cases {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.offset, offset, "{text}");
        }
        parse(&"[".repeat(100_000)).expect_err("is too deep");
    }

    #[test]
    fn the_end_of_comments_in_a_line() {
        let end = |text: &str| behind_comments(text, 1);
        assert_eq!(end("1 \n"), 1);
        assert_eq!(end("1 // a\r\n}"), 6);
        assert_eq!(end("1 /* a */ /* b */ }"), 17);
        assert_eq!(end("1 /* a\n */"), 1);
        assert_eq!(end("1 /* open"), 1);
    }
}
