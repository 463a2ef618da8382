//! Text edits, their inverse, and the reasons why a file cannot be edited.

use serde::{Deserialize, Serialize};

/// A range of the text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextEdit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl TextEdit {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> TextEdit {
        TextEdit { start: at, end: at, text: text.into() }
    }

    pub(super) fn remove(start: usize, end: usize) -> TextEdit {
        TextEdit { start, end, text: String::new() }
    }
}

/// Applies edits, which must be sorted and must not overlap; `None` if they do not fit the text.
pub(super) fn apply(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        changed.push_str(text.get(done..edit.start)?);
        text.get(edit.start..edit.end)?;
        changed.push_str(&edit.text);
        done = edit.end;
    }
    changed.push_str(text.get(done..)?);
    Some(changed)
}

/// The edits that restore the original text from the changed one.
pub(super) fn inverse(text: &str, edits: &[TextEdit]) -> Vec<TextEdit> {
    let (mut added, mut removed) = (0, 0);
    let back = |edit: &TextEdit| {
        let start = edit.start + added - removed;
        added += edit.text.len();
        removed += edit.end - edit.start;
        let text = text[edit.start..edit.end].to_owned();
        TextEdit { start, end: start + edit.text.len(), text }
    };
    edits.iter().map(back).collect()
}

/// Why a file cannot be edited, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditFault {
    pub(super) offset: usize,
    pub(super) message: String,
}

impl EditFault {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> EditFault {
        EditFault { offset, message: message.into() }
    }
}

/// The edits that change an entry.
pub(super) type Edits = Result<Vec<TextEdit>, EditFault>;

/// Line and column of an offset, starting at 1; the column counts characters.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let start = line_start(text, offset);
    let column = text.get(start..offset).map_or(0, |before| before.chars().count());
    (text[..start].matches('\n').count() + 1, column + 1)
}

/// The start of the line that contains an offset.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}

/// The start of the line after the one that contains an offset, or the end of the text.
pub(super) fn next_line(text: &str, offset: usize) -> usize {
    let rest = &text.as_bytes()[offset.min(text.len())..];
    let newline = rest.iter().position(|byte| *byte == b'\n');
    newline.map_or(text.len(), |newline| offset + newline + 1)
}

/// The indentation of the line that contains an offset.
pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether only whitespace precedes an offset in its line.
pub(super) fn is_first_in_line(text: &str, offset: usize) -> bool {
    line_start(text, offset) + indentation(text, offset).len() == offset
}

/// The line ending of a file, taken from its first line.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::{
        TextEdit, apply, indentation, inverse, is_first_in_line, newline, next_line, position,
    };

    #[test]
    fn edits_are_taken_back_exactly() {
        let text = "one two three";
        let edits = [
            TextEdit { start: 0, end: 3, text: "eins".into() },
            TextEdit::insert(7, ","),
            TextEdit::insert(7, " zwei"),
            TextEdit::remove(8, 13),
        ];
        let changed = apply(text, &edits).expect("fits");
        assert_eq!(changed, "eins two, zwei ");
        assert_eq!(apply(&changed, &inverse(text, &edits)).as_deref(), Some(text));
        assert_eq!(apply("é", &[TextEdit::insert(1, "x")]), None);
        assert_eq!(apply("ab", &[TextEdit::remove(1, 3)]), None);
    }

    #[test]
    fn places() {
        let text = "a\r\n\tä b\r\nc";
        assert_eq!(newline(text), "\r\n");
        assert_eq!(newline("a"), "\n");
        assert_eq!(position(text, 7), (2, 4));
        assert_eq!(indentation(text, 7), "\t");
        assert!(is_first_in_line(text, 4) && !is_first_in_line(text, 7));
        assert_eq!((next_line(text, 4), next_line(text, 11)), (10, 11));
    }
}
