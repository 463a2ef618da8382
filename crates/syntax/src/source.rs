//! The text of a document: decoding, format detection, and mapping byte offsets to lines and
//! columns.
//!
//! Parsing is done by `json` and `yaml`.

use crate::fault::SyntaxFault;
use crate::limits;
use crate::mend::Mend;
use crate::span::Span;

/// The format that a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Strict JSON.
    Json,
    /// YAML 1.2, core schema.
    Yaml,
}

impl Format {
    /// The format that a file extension implies, if any.
    pub fn of_extension(extension: &str) -> Option<Format> {
        match extension {
            "json" => Some(Format::Json),
            "yaml" | "yml" => Some(Format::Yaml),
            _ => None,
        }
    }

    /// JSON if the first significant character opens a JSON value, otherwise YAML.
    pub fn sniff(text: &str) -> Format {
        match text.trim_start().bytes().next() {
            Some(b'{' | b'[') => Format::Json,
            _ => Format::Yaml,
        }
    }

    /// `json` or `yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Yaml => "yaml",
        }
    }
}

/// A document's text, decoded and limited in size.
#[derive(Debug, Clone)]
pub struct Source {
    text: String,
    format: Format,
    /// Whether the text started with a byte order mark, which is kept when the text is written
    /// back.
    bom: bool,
    line_starts: Vec<u32>,
}

impl Source {
    /// Decodes bytes; the fault explains why they are not valid text.
    pub fn decode(bytes: &[u8], format: Option<Format>) -> Result<Source, Box<SyntaxFault>> {
        if bytes.len() > limits::DOCUMENT_BYTES {
            return Err(too_large(Some(bytes.len())));
        }
        let (bom, body) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        if looks_like_utf16(body) {
            return Err(refused(body, 0, "the file is UTF-16", "save it as UTF-8"));
        }
        let text = std::str::from_utf8(body).map_err(|error| {
            let at = error.valid_up_to();
            let what = format!("byte 0x{:02x} is not UTF-8", body[at]);
            refused(body, at, &what, "save the file as UTF-8")
        })?;
        if let Some(at) = text.find('\0') {
            return Err(refused(body, at, "a NUL character", "remove it"));
        }
        let format = format.unwrap_or_else(|| Format::sniff(text));
        Ok(Source::of_text(text, format, bom))
    }

    fn of_text(text: &str, format: Format, bom: bool) -> Source {
        let newlines = text.match_indices('\n').map(|(at, _)| at as u32 + 1);
        let line_starts = std::iter::once(0).chain(newlines).collect();
        Source { text: text.to_owned(), format, bom, line_starts }
    }

    /// The text without its byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The format of the text.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The content of the document's file if its text were `text`, with the byte order mark if it
    /// had one.
    pub fn with_text(&self, text: &str) -> Vec<u8> {
        let mark: &[u8] = if self.bom { b"\xef\xbb\xbf" } else { b"" };
        [mark, text.as_bytes()].concat()
    }

    /// The fault for the Markdown fence that models tend to put around documents, with its fix.
    pub fn fence(&self) -> Option<Box<SyntaxFault>> {
        let text = &self.text;
        let start = text.len() - text.trim_start().len();
        let word = text[start..].strip_prefix("```")?.lines().next()?.trim();
        if !word.chars().all(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        let edit = |at: Span| Mend::Edit { at, text: String::new() };
        let (_, first_end) = self.line_of(start as u32);
        let first = Span { start: start as u32, end: first_end };
        let mut mends = vec![edit(first)];
        let end = text.trim_end().len();
        let last = self.line_of(end as u32 - 1).0;
        if last >= first_end && text[last as usize..end].trim() == "```" {
            mends.push(edit(Span { start: last, end: text.len() as u32 }));
        }
        let fault = SyntaxFault::new(first, "a Markdown code fence around the document")
            .suggest("remove the lines with the three backticks");
        Some(fault.mend(Mend::All(mends)))
    }

    /// The text of a span; empty if the span is out of bounds.
    pub fn slice(&self, at: Span) -> &str {
        self.text.get(at.start as usize..at.end as usize).unwrap_or("")
    }

    /// The line and column of a byte offset, both starting at 1; columns count characters.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start as usize <= offset);
        let start = self.line_starts[line - 1] as usize;
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        (line as u32, column as u32 + 1)
    }

    /// The offset at which the line that contains an offset starts.
    pub fn line_start(&self, offset: u32) -> usize {
        self.line_of(offset).0 as usize
    }

    /// The start and end offsets of the line that contains an offset, including its line break.
    pub(crate) fn line_of(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len() as u32);
        (start, end)
    }
}

/// Whether the bytes look like UTF-16: they have its byte order mark, or at least a third of the
/// first bytes are NUL.
fn looks_like_utf16(bytes: &[u8]) -> bool {
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let head = &bytes[..bytes.len().min(64)];
    let zeros = head.iter().map(|byte| usize::from(*byte == 0)).sum::<usize>();
    marked || (head.len() >= 4 && zeros * 3 >= head.len())
}

/// The fault for a document over the size limit.
///
/// The size of a stream is unknown, because it is not read to its end.
pub fn too_large(bytes: Option<usize>) -> Box<SyntaxFault> {
    let limit = limits::DOCUMENT_BYTES;
    let size = bytes.map_or_else(|| format!("more than {limit}"), |bytes| bytes.to_string());
    SyntaxFault::new(Span::START, format!("the document is {size} bytes long"))
        .expected(format!("at most {limit} bytes"))
        .suggest("split it into a workflow that runs several smaller ones")
}

/// The fault for bytes that cannot be decoded, with the line and column computed from the bytes.
fn refused(bytes: &[u8], at: usize, what: &str, then: &str) -> Box<SyntaxFault> {
    let mut fault = SyntaxFault::new(Span::new(at, at), what).suggest(then);
    fault.position = Some(position_in(bytes, at));
    fault
}

fn position_in(bytes: &[u8], offset: usize) -> (u32, u32) {
    let before = String::from_utf8_lossy(&bytes[..offset]);
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) as u32 + 1;
    (line, column)
}
