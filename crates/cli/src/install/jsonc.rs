//! A parser for JSON with comments and trailing commas, as editors write it, that records
//! positions.

use std::ops::Range;

use milepost_syntax::json::scan::{self, Dialect, ScanError, ScanErrorKind, ScanSink, Scanner};
use serde_json::{Map, Value};

use super::edit::EditFault;
use crate::limits;

/// A value and its position.
#[derive(Debug, Clone)]
pub(super) struct JsoncNode {
    pub(super) start: usize,
    pub(super) end: usize,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Object(Vec<Member>),
    Array(Vec<JsoncNode>),
    Plain(Value),
}

/// A key, its value, and the comma after it, if any.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) value: JsoncNode,
    pub(super) comma: Option<usize>,
}

impl JsoncNode {
    /// The members, if this is an object.
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.content {
            Content::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value without positions.
    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            Content::Plain(value) => value.clone(),
            Content::Array(items) => items.iter().map(JsoncNode::to_value).collect(),
            Content::Object(members) => {
                let pairs = members.iter().map(|one| (one.key.clone(), one.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

/// Parses a file; `None` if it contains only whitespace and comments.
pub(super) fn parse(text: &str) -> Result<Option<JsoncNode>, EditFault> {
    let mut scanner = Scanner::new(text, Dialect::Jsonc, limits::JSONC_DEPTH);
    if let Err(error) = scanner.peek() {
        return if error.kind == ScanErrorKind::ExpectedValue {
            Ok(None)
        } else {
            Err(fault(error))
        };
    }
    let mut tree = Tree { text, keys: Vec::new(), open: Vec::new(), root: None };
    scanner.walk(&mut tree).and_then(|_| scanner.end()).map_err(fault)?;
    Ok(tree.root)
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
        // A malformed number, or nothing that looks like a value.
        _ => "expected a value",
    };
    let is_unclosed = error.kind == ScanErrorKind::UnclosedString;
    EditFault::new(if is_unclosed { error.at } else { error.start }, message)
}

/// The values parsed so far.
struct Tree<'t> {
    text: &'t str,
    /// Keys whose values are incomplete, outermost first, with their offsets.
    keys: Vec<(usize, String)>,
    /// Objects and arrays that are still open.
    open: Vec<JsoncNode>,
    root: Option<JsoncNode>,
}

impl Tree<'_> {
    fn add(&mut self, node: JsoncNode) {
        match self.open.last_mut().map(|around| &mut around.content) {
            Some(Content::Object(members)) => {
                let Some((start, key)) = self.keys.pop() else { return };
                let mut behind = Scanner::new(&self.text[node.end..], Dialect::Jsonc, 0);
                let comma = (behind.peek() == Ok(b',')).then(|| node.end + behind.at());
                members.push(Member { key, start, value: node, comma });
            }
            Some(Content::Array(items)) => items.push(node),
            Some(Content::Plain(_)) | None => self.root = Some(node),
        }
    }
}

impl ScanSink for Tree<'_> {
    fn open(&mut self, start: usize, is_map: bool) {
        let content = if is_map { Content::Object(Vec::new()) } else { Content::Array(Vec::new()) };
        self.open.push(JsoncNode { start, end: start, content });
    }

    fn close(&mut self, end: usize) {
        if let Some(node) = self.open.pop() {
            self.add(JsoncNode { end, ..node });
        }
    }

    fn key(&mut self, span: Range<usize>, _: bool) {
        let written = &self.text[span.clone()];
        // A string with an unpaired surrogate is never one of our keys, so its raw form is good
        // enough.
        let key = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
        self.keys.push((span.start, key));
    }

    fn scalar(&mut self, Range { start, end }: Range<usize>, _: bool) {
        let written = &self.text[start..end];
        let value = serde_json::from_str(written).unwrap_or_else(|_| Value::from(written));
        self.add(JsoncNode { start, end, content: Content::Plain(value) });
    }

    fn check_number(&mut self, written: &str, _: usize) -> Result<(), ScanErrorKind> {
        match serde_json::from_str::<f64>(written) {
            Ok(_) => Ok(()),
            Err(_) => Err(ScanErrorKind::NumberTooLarge),
        }
    }

    fn check_lone_surrogate(&mut self, _: u32, _: usize) -> Result<(), ScanErrorKind> {
        Ok(())
    }
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

    use super::{behind_comments, parse};

    #[test]
    fn comments_and_commas_are_read_over() {
        let text = "// a\n{ /* b */ \"x\": [1, -2.5e3, true,], // c\n \
                    \"y\\u00e9\": {\"z\": null,}, }\n";
        let node = parse(text).expect("is read").expect("holds a value");
        assert_eq!(node.to_value(), json!({"x": [1, -2500.0, true], "yé": {"z": null}}));
        let members = node.members().expect("is an object");
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
