//! The document parser: what it accepts, what it notes, and what it refuses.

mod json;
mod properties;
mod real;
mod yaml;

use std::fmt::Write;

use expect_test::Expect;
use milepost_catalog::document::ParsedDocument;

fn read(text: &str) -> ParsedDocument {
    ParsedDocument::read(text.as_bytes()).expect("is read")
}

/// Compares the parsed value and its notes, or the error.
#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used")]
fn check(text: impl AsRef<[u8]>, expect: Expect) {
    let actual = match ParsedDocument::read(text.as_ref()) {
        Ok(ParsedDocument { document, notes, .. }) => {
            let mut lines = document.root().to_value().to_string();
            for note in notes {
                let (pointer, rule, message) = (note.pointer, note.rule, note.message);
                write!(lines, "\n{}:{} {pointer} {rule}: {message}", note.line, note.column)
                    .expect("writes");
            }
            lines
        }
        Err(error) => error.to_string(),
    };
    expect.assert_eq(&actual);
}
