//! Splits bytes into lines. The framer is fed chunks and does no I/O itself.
//!
//! A line that lies within one chunk is passed on without copying. Only the start of an unfinished
//! line is buffered, and never more than the maximum line length.

use std::mem;

use crate::limits;

/// The content between two line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line without its line break; not necessarily UTF-8.
    Line(&'a [u8]),
    /// A line of more than [`limits::LINE_BYTES`] bytes; its content was discarded.
    Oversized,
}

/// Splits chunks of any size into lines.
#[derive(Debug, Default)]
pub struct Framer {
    /// The start of a line whose end has not arrived yet.
    partial: Vec<u8>,
    /// Whether the line in `partial` has been returned; the next call clears it.
    spent: bool,
    /// Whether the current line is too long: everything up to its end is discarded.
    skipping: bool,
}

impl Framer {
    /// Returns the next line that ends in `chunk` and advances `chunk` past it. `None` means that
    /// the chunk is used up.
    pub fn next<'a, 'c: 'a>(&'a mut self, chunk: &mut &'c [u8]) -> Option<Frame<'a>> {
        self.forget_spent();
        let Some(end) = memchr::memchr(b'\n', chunk) else {
            self.keep(mem::take(chunk));
            return None;
        };
        let (line, rest) = (&chunk[..end], &chunk[end + 1..]);
        *chunk = rest;
        if !self.skipping && self.partial.is_empty() {
            return Some(frame(line));
        }
        self.keep(line);
        Some(self.take())
    }

    /// Returns the last line if the input ended without a line break.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        self.forget_spent();
        if self.skipping || !self.partial.is_empty() { Some(self.take()) } else { None }
    }

    fn take(&mut self) -> Frame<'_> {
        self.spent = true;
        let skipped = mem::take(&mut self.skipping);
        if skipped { Frame::Oversized } else { frame(&self.partial) }
    }

    fn keep(&mut self, part: &[u8]) {
        // One byte more than the maximum length of a line, because the last byte may be the
        // carriage return before the newline.
        if self.skipping || self.partial.len() + part.len() > limits::LINE_BYTES + 1 {
            self.skipping = true;
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(part);
        }
    }

    fn forget_spent(&mut self) {
        if mem::take(&mut self.spent) {
            give_back(&mut self.partial);
        }
    }
}

/// Clears a buffer, and frees its memory if it has grown large.
pub(crate) fn give_back(buffer: &mut Vec<u8>) {
    if buffer.capacity() > limits::KEPT_BYTES {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}

fn frame(line: &[u8]) -> Frame<'_> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() > limits::LINE_BYTES { Frame::Oversized } else { Frame::Line(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text of each line in these chunks; a long line is replaced by a description.
    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        fn shown(frame: Frame<'_>) -> String {
            match frame {
                Frame::Line(line) if line.len() > 100 => format!("{} bytes", line.len()),
                Frame::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Frame::Oversized => "oversized".to_owned(),
            }
        }
        let mut framer = Framer::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            let mut rest = *chunk;
            while let Some(frame) = framer.next(&mut rest) {
                lines.push(shown(frame));
            }
        }
        lines.extend(framer.finish().map(shown));
        lines
    }

    #[test]
    fn a_line_ends_where_its_line_end_is() {
        assert_eq!(lines(&[b"a\nb\r\n\nc"]), ["a", "b", "", "c"]);
        assert_eq!(lines(&[b"a", b"", b"b\nc", b"\n"]), ["ab", "c"]);
        assert_eq!(lines(&[b"a\r", b"\n"]), ["a"]);
        assert_eq!(lines(&[]), [""; 0]);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        for (length, expected) in
            [(-1, "4194303 bytes"), (0, "4194304 bytes"), (1, "oversized"), (2, "oversized")]
        {
            let length = limits::LINE_BYTES.checked_add_signed(length).expect("is small");
            for end in ["\n", "\r\n", ""] {
                let mut input = vec![b'x'; length];
                input.extend_from_slice(end.as_bytes());
                assert_eq!(lines(&[&input]), [expected], "{length} {end:?}");
                let chunks: Vec<&[u8]> = input.chunks(limits::READ_BYTES).collect();
                assert_eq!(lines(&chunks), [expected], "{length} {end:?} in chunks");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_held() {
        let chunk = vec![b'x'; limits::READ_BYTES];
        let mut framer = Framer::default();
        for _ in 0..1_000 {
            assert_eq!(framer.next(&mut chunk.as_slice()), None);
            assert!(framer.partial.capacity() <= 2 * limits::LINE_BYTES);
        }
        assert_eq!(framer.partial.capacity(), 0);
        let mut rest: &[u8] = b"x\nnext\n";
        assert_eq!(framer.next(&mut rest), Some(Frame::Oversized));
        assert_eq!(framer.next(&mut rest), Some(Frame::Line(b"next")));
    }

    #[test]
    fn memory_of_a_large_line_is_given_back() {
        let chunk = vec![b'x'; limits::LINE_BYTES];
        let mut framer = Framer::default();
        assert_eq!(framer.next(&mut chunk.as_slice()), None);
        let mut rest: &[u8] = b"\nab";
        assert!(matches!(framer.next(&mut rest), Some(Frame::Line(_))));
        assert_eq!(framer.next(&mut rest), None);
        assert!(framer.partial.capacity() < 100);
    }
}
