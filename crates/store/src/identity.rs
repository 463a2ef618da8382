//! The workflow id of a file, determined without building a tree if possible.

use std::borrow::Cow;
use std::path::Path;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::limits::ID_CHARS;
use milepost_syntax::source::Format;
use serde::de::{Deserialize, Deserializer, IgnoredAny};

/// The format that a file's extension indicates.
pub(crate) fn format(path: &Path) -> Option<Format> {
    path.extension().and_then(|extension| extension.to_str()).and_then(Format::of_extension)
}

/// The id of a file that has not been read as a document.
pub(crate) fn of_bytes(bytes: &[u8], path: &Path) -> String {
    let peeked = if format(path) == Some(Format::Json) { peek(bytes) } else { None };
    let authored = peeked.or_else(|| {
        // The id does not depend on which commands exist.
        let world = World { commands: &NoCommands, env_allow: None };
        Document::read(bytes, format(path), world).id
    });
    authored.filter(|id| !id.is_empty()).unwrap_or_else(|| of_name(path))
}

/// The id of a file that has been read as a document.
pub(crate) fn of_document(document: &Document, bytes: &[u8], path: &Path) -> String {
    match &document.id {
        Some(id) if !id.is_empty() => id.clone(),
        // An error later in the file must not give it a different id from the one that `peek`
        // found.
        _ if format(path) == Some(Format::Json) => {
            peek(bytes).filter(|id| !id.is_empty()).unwrap_or_else(|| of_name(path))
        }
        _ => of_name(path),
    }
}

/// The fallback for a file without a readable id, so that it can be found and its error shown.
pub(crate) fn of_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The top-level keys that determine the id. A duplicate key, or a value that is not a string, is
/// an error here and leaves the decision to the full reader.
#[derive(serde::Deserialize)]
struct Top<'t> {
    #[serde(borrow, default, deserialize_with = "text")]
    workflow: Option<Cow<'t, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    id: Option<Cow<'t, str>>,
    name: Option<IgnoredAny>,
}

/// The string value of a key that is present: `null` is not the same as a missing key.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    #[derive(serde::Deserialize)]
    struct Text<'t>(#[serde(borrow)] Cow<'t, str>);
    Text::deserialize(deserializer).map(|text| Some(text.0))
}

/// The id found in a single pass over JSON. Covers only the simple cases of the rule that
/// `Document` implements.
fn peek(bytes: &[u8]) -> Option<String> {
    let top: Top<'_> = serde_json::from_slice(bytes).ok()?;
    let guide = top.id.filter(|_| top.name.is_some());
    let id = top.workflow.or(guide)?;
    Some(id.chars().take(ID_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the peeked id, and that it agrees with the full reader.
    fn check_peek(text: &str, expected: Option<&str>) {
        let peeked = peek(text.as_bytes());
        assert_eq!(peeked.as_deref(), expected, "{text}");
        let world = World { commands: &NoCommands, env_allow: None };
        let document = Document::read(text.as_bytes(), Some(Format::Json), world);
        if let Some(id) = document.id
            && peeked.is_some()
        {
            assert_eq!(peeked, Some(id), "{text}");
        }
    }

    #[test]
    fn plain_documents_are_peeked_at() {
        check_peek(r#"{"workflow": "a", "steps": [{"id": "x"}]}"#, Some("a"));
        check_peek(r#"{"steps": [{"id": "x"}], "name": 1, "id": "b\u0063"}"#, Some("bc"));
        check_peek(r#"{"id": "b", "name": "B", "workflow": "a"}"#, Some("a"));
        check_peek(&format!(r#"{{"workflow": "{}"}}"#, "é".repeat(99)), Some(&"é".repeat(64)));
    }

    #[test]
    fn everything_else_is_left_to_the_reader() {
        check_peek(r#"{"id": "b"}"#, None);
        check_peek(r#"{"id": "b", "id": "c", "name": "B"}"#, None);
        check_peek(r#"{"id": "b", "name": "B", "workflow": null}"#, None);
        check_peek(r#"{"id": 7, "name": "B"}"#, None);
        check_peek(r#"{"workflow": ["a"]}"#, None);
        check_peek(r#"["a"]"#, None);
        check_peek(r#"{"workflow": "a"} x"#, None);
        check_peek("\u{feff}{\"workflow\": \"a\"}", None);
        check_peek("", None);
    }

    #[test]
    fn a_file_without_an_id_counts_under_its_name() {
        let id = |name: &str, text: &str| of_bytes(text.as_bytes(), Path::new(name));
        assert_eq!(id("sub/foo.json", "{"), "foo");
        assert_eq!(id("foo.yaml", "title: x"), "foo");
        assert_eq!(id("foo.yaml", "workflow: bar"), "bar");
        assert_eq!(id("foo.json", r#"{"workflow": ""}"#), "foo");
        assert_eq!(id("foo.json", r#"{"id": "bar", "steps": []}"#), "bar");
    }
}
