//! A document, represented by its JSON text and a flat list of positions in that text. No tree of
//! owned values is built, because the largest documents have a million values and a command needs
//! only a few hundred.
//!
//! The reader determines whether the bytes are JSON, YAML or neither. It does not interpret the
//! content or open any files.

use milepost_syntax::json::document::{JsonDocument, JsonKind};
use milepost_syntax::json::scan::{Dialect, ScanError, ScanErrorKind};
use milepost_syntax::json::tape::{ReadWarnings, Tape};

use crate::limits;
use crate::yaml;

/// A document with the reader's notes.
#[derive(Debug)]
pub struct ParsedDocument {
    pub document: JsonDocument,
    /// Warnings in document order.
    pub notes: Vec<Note>,
    /// The YAML source that the document was converted from; `None` if it was JSON.
    pub written: Option<String>,
}

/// A place in the document that could be read in more than one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// JSON pointer to the value.
    pub pointer: String,
    /// Line in the file, starting at 1.
    pub line: u32,
    /// Column in characters, starting at 1.
    pub column: u32,
    /// The kind of note: `duplicate-key`, `number`, `lone-surrogate`, `control-characters`,
    /// `yaml-merge`, `yaml-key`, or `more-notes`.
    pub rule: &'static str,
    /// The problem and how the reader resolved it.
    pub message: String,
}

/// The reason why bytes could not be read as a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The document contains only whitespace and comments.
    #[error("the document is empty; give an OpenAPI document in JSON or YAML")]
    Empty,
    /// The document has too many bytes, either as given or after expanding aliases.
    #[error("the document is larger than {} MiB; import a part of it", limit / (1024 * 1024))]
    TooLarge {
        /// The maximum number of bytes.
        limit: usize,
    },
    /// The text is not valid UTF-8.
    #[error("the document is not valid UTF-8 at byte {byte}; save it as UTF-8")]
    NotUtf8 {
        /// Offset of the first invalid byte, starting at 0.
        byte: usize,
    },
    /// UTF-16 text, as some editors save it.
    #[error("the document is UTF-16; save it as UTF-8")]
    Utf16,
    /// An HTML page, which is what a URL behind a login usually returns.
    #[error(
        "the document is an HTML page, not JSON or YAML; open the URL in a browser: \
         it may require a login, or link to the raw file"
    )]
    Html,
    /// XML, such as a WSDL.
    #[error("the document is XML; give an OpenAPI document in JSON or YAML")]
    Xml,
    /// A syntax error.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, starting at 1.
        line: u32,
        /// Column in characters, starting at 1.
        column: u32,
        /// What was found or expected.
        message: String,
    },
    /// Lists and maps nested too deeply.
    #[error(
        "line {line}, column {column}: nested deeper than {} levels; \
         move the inner part to `components`",
        limits::DEPTH
    )]
    TooDeep {
        /// Line, starting at 1.
        line: u32,
        /// Column in characters, starting at 1.
        column: u32,
    },
    /// Aliases or merge keys that make the document grow too much.
    #[error(
        "line {line}: aliases and merge keys add more than {limit} bytes to the document; \
         use `$ref` for repeated parts"
    )]
    TooManyAliases {
        /// Line of the alias that exceeded the limit, starting at 1.
        line: u32,
        /// The maximum number of bytes that aliases and merge keys may add to this document.
        limit: usize,
    },
    /// More anchors than the limit.
    #[error("line {line}: more than {} anchors; use `$ref` for repeated parts", limits::ANCHORS)]
    TooManyAnchors {
        /// Line of the anchor that exceeded the limit, starting at 1.
        line: u32,
    },
    /// A stream of several YAML documents.
    #[error("line {line}: a second YAML document starts here; put each into its own file")]
    SeveralDocuments {
        /// Line of the second document, starting at 1.
        line: u32,
    },
    /// A root value that cannot contain `openapi` and `paths`.
    #[error("the document is {found}, not a map; an OpenAPI document starts with `openapi:`")]
    NotAMap {
        /// The kind of value found, such as `a list`.
        found: &'static str,
    },
}

impl ParsedDocument {
    /// Reads a document. Its first characters determine whether it is JSON or YAML.
    pub fn read(bytes: &[u8]) -> Result<ParsedDocument, Unreadable> {
        ParsedDocument::read_owned(bytes.to_vec())
    }

    /// Like [`ParsedDocument::read`], but takes ownership of the bytes to avoid a copy.
    pub fn read_owned(bytes: Vec<u8>) -> Result<ParsedDocument, Unreadable> {
        let text = decoded(bytes)?;
        let start = text.trim_start();
        let end = text.trim_end().len();
        if start.is_empty() {
            return Err(Unreadable::Empty);
        }
        refuse_markup(start)?;
        if !is_json(start) {
            return read_yaml(text);
        }
        let mut warnings = ReadWarnings::default();
        let tape = Tape::read(&text, Dialect::Json, limits::DEPTH, &mut warnings);
        let tape = tape.map_err(|error| refused(&error, &text, |at| at.min(end)))?;
        let document = JsonDocument::new(text, tape);
        let notes = notes(&document, warnings, document.text(), |at| at);
        ParsedDocument { document, notes, written: None }.with_map()
    }

    fn with_map(self) -> Result<ParsedDocument, Unreadable> {
        match self.document.root().kind() {
            JsonKind::Map => Ok(self),
            kind => Err(Unreadable::NotAMap { found: kind.name() }),
        }
    }
}

/// Decodes the bytes as UTF-8 and strips the byte order mark.
fn decoded(bytes: Vec<u8>) -> Result<String, Unreadable> {
    if bytes.len() > limits::DOCUMENT_BYTES {
        return Err(Unreadable::TooLarge { limit: limits::DOCUMENT_BYTES });
    }
    // UTF-16 is recognized even without a byte order mark, because a document always starts with an
    // ASCII character.
    let is_utf16 = matches!(bytes[..], [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..])
        || matches!(bytes[..], [0, 1..=0x7F, ..] | [1..=0x7F, 0, ..]);
    if is_utf16 {
        return Err(Unreadable::Utf16);
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|error| Unreadable::NotUtf8 { byte: error.utf8_error().valid_up_to() })?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(text)
}

fn refuse_markup(start: &str) -> Result<(), Unreadable> {
    let Some(rest) = start.strip_prefix('<') else { return Ok(()) };
    match rest.as_bytes().first() {
        Some(b'?') => Err(Unreadable::Xml),
        Some(b'!' | b'a'..=b'z' | b'A'..=b'Z') => Err(Unreadable::Html),
        // A document may start with the merge key `<<`.
        _ => Ok(()),
    }
}

/// A `{` that is not followed by `"` or `}` starts a YAML flow map.
fn is_json(start: &str) -> bool {
    if let Some(rest) = start.strip_prefix('{') {
        return matches!(rest.trim_start().as_bytes().first(), None | Some(b'"' | b'}'));
    }
    start.starts_with('[')
}

fn read_yaml(written: String) -> Result<ParsedDocument, Unreadable> {
    let (yaml::Written { text, places, mut warnings }, source) = yaml::write(&written)?;
    // Only keys are recorded; a value is located by its key.
    let origin = |at: usize| match places.partition_point(|(json, _)| *json as usize <= at) {
        0 => 0,
        after => places[after - 1].1 as usize,
    };
    let tape = Tape::read(&text, Dialect::Json, limits::DEPTH, &mut warnings)
        .map_err(|error| refused(&error, &source, origin))?;
    let document = JsonDocument::new(text, tape);
    let notes = notes(&document, warnings, &source, origin);
    drop(source);
    ParsedDocument { document, notes, written: Some(written) }.with_map()
}

/// Turns warnings into notes, in file order. `source` is the text of the file, and `origin` maps a
/// position in the JSON text to a position in the file.
fn notes(
    document: &JsonDocument,
    warnings: ReadWarnings,
    source: &str,
    origin: impl Fn(usize) -> usize,
) -> Vec<Note> {
    let ReadWarnings { mut kept, left_out } = warnings;
    kept.sort_by_key(|warning| warning.at);
    let note = |(pointer, at, rule, message): (String, usize, &'static str, String)| {
        let (line, column) = place(source, at);
        Note { pointer, line, column, rule, message }
    };
    let mut notes: Vec<Note> = kept
        .into_iter()
        .map(|one| (document.pointer_at(one.at), origin(one.at), one.rule, one.message))
        .map(note)
        .collect();
    if left_out > 0 {
        let message = format!("further notes not shown: {left_out}");
        notes.push(note((String::new(), 0, "more-notes", message)));
    }
    notes
}

fn refused(error: &ScanError, source: &str, origin: impl Fn(usize) -> usize) -> Unreadable {
    let (line, column) = place(source, origin(error.start));
    match error.kind {
        ScanErrorKind::TooDeep => Unreadable::TooDeep { line, column },
        _ => Unreadable::Syntax { line, column, message: error.message().to_owned() },
    }
}

/// Line and column of a byte offset, both starting at 1.
pub(crate) fn place(text: &str, at: usize) -> (u32, u32) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let is_first = |byte: &&u8| !(0x80..0xC0).contains(*byte);
    let column = before[start..].iter().filter(is_first).count();
    (line as u32 + 1, column as u32 + 1)
}
