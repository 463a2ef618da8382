//! A document as its JSON text and a flat list of the places in it: no tree of owned values is
//! made, because the largest documents have a million of them and a command needs a few hundred.
//!
//! Reading decides what is JSON or YAML and what is neither. It never looks at what a document
//! says, and it never opens anything.

mod node;

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

pub use node::{Kind, Node};

use crate::json::{self, Fault, Remarks, Tape};
use crate::limits;
use crate::yaml;

/// A document that was read.
#[derive(Debug)]
pub struct Document {
    text: String,
    tape: Tape,
}

/// A document, and what the reader has to say about it.
#[derive(Debug)]
pub struct Reading {
    /// What was read.
    pub document: Document,
    /// Warnings, in the order of the document.
    pub notes: Vec<Note>,
    /// The YAML it was turned from; none when it was JSON.
    pub written: Option<String>,
}

/// Something that is read in one way although it could be meant in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The value it is about, as a JSON pointer.
    pub pointer: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// Character of the line, from 1.
    pub column: u32,
    /// The kind of note: `duplicate-key`, `number`, `lone-surrogate`, `control-characters`,
    /// `yaml-merge`, `yaml-key`, or `more-notes`.
    pub rule: &'static str,
    /// What is the matter, and what was made of it.
    pub message: String,
}

/// Why bytes are no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Nothing but white space and comments.
    #[error("the document is empty; give an OpenAPI document in JSON or YAML")]
    Empty,
    /// More bytes than are read, as given or with its aliases written out.
    #[error("the document has more than {limit} bytes; import a part of it")]
    TooLarge {
        /// The most bytes there may be.
        limit: usize,
    },
    /// A text in another encoding.
    #[error("the document is not UTF-8 at byte {byte}; save it as UTF-8")]
    NotUtf8 {
        /// The first byte that does not fit, from 0.
        byte: usize,
    },
    /// A text in UTF-16, as some editors save it.
    #[error("the document is UTF-16; save it as UTF-8")]
    Utf16,
    /// A web page, which is what an address behind a login answers.
    #[error(
        "the document is an HTML page, not JSON or YAML; open the address in a browser: \
         it may want a login, or the page links to the raw file"
    )]
    Html,
    /// XML, such as a WSDL.
    #[error("the document is XML; give an OpenAPI document in JSON or YAML")]
    Xml,
    /// Neither JSON nor YAML at this place.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: u32,
        /// Character of the line, from 1.
        column: u32,
        /// What was found or expected.
        message: String,
    },
    /// Lists and maps within lists and maps.
    #[error(
        "line {line}, column {column}: nested deeper than {} levels; \
         move the inner part to `components`",
        limits::DEPTH
    )]
    TooDeep {
        /// Line, from 1.
        line: u32,
        /// Character of the line, from 1.
        column: u32,
    },
    /// Aliases or merge keys that multiply the document.
    #[error(
        "line {line}: aliases and merge keys add more than {limit} bytes to the document; \
         use `$ref` for what is repeated"
    )]
    TooManyAliases {
        /// Line of the alias that was too much, from 1.
        line: u32,
        /// The most bytes they may add to this document.
        limit: usize,
    },
    /// More anchors than are kept.
    #[error("line {line}: more than {} anchors; use `$ref` for what is repeated", limits::ANCHORS)]
    TooManyAnchors {
        /// Line of the anchor that was too much, from 1.
        line: u32,
    },
    /// A stream of YAML documents.
    #[error("line {line}: a second YAML document begins; import each from a file of its own")]
    SeveralDocuments {
        /// Line of the second one, from 1.
        line: u32,
    },
    /// A value that cannot have `openapi` and `paths`.
    #[error("the document is {found}, not a map; an OpenAPI document begins with `openapi:`")]
    NotAMap {
        /// What it is, such as `a list`.
        found: &'static str,
    },
}

impl Document {
    /// Reads a document: JSON or YAML, by what it begins with.
    pub fn read(bytes: &[u8]) -> Result<Reading, Unreadable> {
        Document::read_owned(bytes.to_vec())
    }

    /// Reads a document that the caller does not need any more, without a copy of it.
    pub fn read_owned(bytes: Vec<u8>) -> Result<Reading, Unreadable> {
        let text = decoded(bytes)?;
        let start = text.trim_start();
        let end = text.trim_end().len();
        if start.is_empty() {
            return Err(Unreadable::Empty);
        }
        refuse_markup(start)?;
        if is_json(start) {
            let mut remarks = Remarks::default();
            let tape = json::read(&text, &mut remarks);
            let tape = tape.map_err(|fault| refused(&fault, &text, |at| at.min(end)))?;
            let document = Document { text, tape };
            let notes = document.notes(remarks, &document.text, |at| at);
            return Reading { document, notes, written: None }.with_map();
        }
        read_yaml(text)
    }

    /// The value of the whole document, which is a map.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// The document as JSON; for YAML, what it was turned into.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value a JSON pointer (RFC 6901) names.
    pub fn pointer(&self, pointer: &str) -> Option<Node<'_>> {
        self.descend(pointer, Cow::Borrowed)
    }

    /// The value the fragment of a reference names: `#/paths/~1a`, with or without its `#`.
    ///
    /// A fragment is percent-encoded as a whole, but there are authors who encode each part, and
    /// authors who encode nothing.
    pub fn fragment(&self, fragment: &str) -> Option<Node<'_>> {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        if !fragment.contains('%') {
            return self.pointer(fragment);
        }
        let decode = |text| percent_decode_str(text).decode_utf8_lossy();
        let whole = self.pointer(&decode(fragment));
        whole.or_else(|| self.descend(fragment, decode)).or_else(|| self.pointer(fragment))
    }

    fn descend<'p>(
        &self,
        pointer: &'p str,
        decode: impl Fn(&'p str) -> Cow<'p, str>,
    ) -> Option<Node<'_>> {
        if pointer.is_empty() {
            return Some(self.root());
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self.root(), |node, token| {
            let token = decode(token);
            let token = match token.contains('~') {
                true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
                false => token,
            };
            node.child(&token)
        })
    }

    /// The pointer to the innermost value that has this place of the text; a key is its value's.
    fn pointer_at(&self, at: usize) -> String {
        let slots = &self.tape.slots;
        let mut pointer = String::new();
        let mut node = self.root();
        while let Some((token, child)) =
            node.parts().find(|(_, child)| at < slots[child.index() as usize].end())
        {
            let start = slots[child.index() as usize].start();
            let key = u32::from(node.is_map());
            if at < slots[(child.index() - key) as usize].start() {
                break;
            }
            pointer.push('/');
            pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
            if at <= start {
                break;
            }
            node = child;
        }
        pointer
    }

    /// The notes of remarks, in the order of the file. `source` is the file, and `origin` says
    /// where in it a place of the JSON text comes from.
    fn notes(&self, remarks: Remarks, source: &str, origin: impl Fn(usize) -> usize) -> Vec<Note> {
        let Remarks { mut kept, left_out } = remarks;
        kept.sort_by_key(|remark| remark.at);
        let note = |(pointer, at, rule, message): (String, usize, &'static str, String)| {
            let (line, column) = place(source, at);
            Note { pointer, line, column, rule, message }
        };
        let mut notes: Vec<Note> = kept
            .into_iter()
            .map(|one| (self.pointer_at(one.at), origin(one.at), one.rule, one.message))
            .map(note)
            .collect();
        if left_out > 0 {
            let message = format!("{left_out} more notes of the reader are left out");
            notes.push(note((String::new(), 0, "more-notes", message)));
        }
        notes
    }
}

impl Reading {
    fn with_map(self) -> Result<Reading, Unreadable> {
        match self.document.root().kind() {
            Kind::Map => Ok(self),
            kind => Err(Unreadable::NotAMap { found: kind.name() }),
        }
    }
}

/// The text of the bytes, without its byte order mark.
fn decoded(bytes: Vec<u8>) -> Result<String, Unreadable> {
    if bytes.len() > limits::DOCUMENT_BYTES {
        return Err(Unreadable::TooLarge { limit: limits::DOCUMENT_BYTES });
    }
    // With its mark, or without one: the first sign of a document is ASCII in any language.
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
        // A document may begin with the merge key `<<`.
        _ => Ok(()),
    }
}

/// A brace that neither a quote nor another brace follows begins a map of YAML.
fn is_json(start: &str) -> bool {
    if let Some(rest) = start.strip_prefix('{') {
        return matches!(rest.trim_start().as_bytes().first(), None | Some(b'"' | b'}'));
    }
    start.starts_with('[')
}

fn read_yaml(written: String) -> Result<Reading, Unreadable> {
    let (yaml::Written { text, places, mut remarks }, source) = yaml::write(&written)?;
    // Keys are what is noted; a value is where its key is.
    let origin = |at: usize| match places.partition_point(|(json, _)| *json as usize <= at) {
        0 => 0,
        after => places[after - 1].1 as usize,
    };
    let tape = json::read(&text, &mut remarks).map_err(|fault| refused(&fault, &source, origin))?;
    let document = Document { text, tape };
    let notes = document.notes(remarks, &source, origin);
    drop(source);
    Reading { document, notes, written: Some(written) }.with_map()
}

fn refused(fault: &Fault, source: &str, origin: impl Fn(usize) -> usize) -> Unreadable {
    match *fault {
        Fault::Syntax { at, message } => {
            let (line, column) = place(source, origin(at));
            Unreadable::Syntax { line, column, message: message.to_owned() }
        }
        Fault::TooDeep { at } => {
            let (line, column) = place(source, origin(at));
            Unreadable::TooDeep { line, column }
        }
    }
}

/// Line and character of a place, both from 1.
pub(crate) fn place(text: &str, at: usize) -> (u32, u32) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let is_first = |byte: &&u8| !(0x80..0xC0).contains(*byte);
    let column = before[start..].iter().filter(is_first).count();
    (line as u32 + 1, column as u32 + 1)
}
