//! Multipart bodies: framing, and a boundary derived from the content.

use std::borrow::Cow;
use std::fmt::Write;

use milepost_model::document::hex;
use sha2::{Digest, Sha256};

use super::{MultipartPart, PartContent, Piece};

/// A boundary for the parts; equal parts get an equal boundary.
pub(crate) fn boundary(parts: &[MultipartPart]) -> String {
    // A part that contains the boundary would have to predict its own hash, so the first boundary
    // almost always works.
    let mut boundaries = (0_u64..).map(|salt| hashed(parts, salt));
    boundaries.find(|boundary| !occurs(boundary, parts)).unwrap_or_default()
}

fn hashed(parts: &[MultipartPart], salt: u64) -> String {
    let mut hash = Sha256::new();
    hash.update(salt.to_le_bytes());
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for part in parts {
        add(head(part).as_bytes());
        match &part.content {
            PartContent::Bytes(bytes) => add(bytes),
            PartContent::File(path) => add(path.as_bytes()),
        }
    }
    format!("milepost-{}", hex(&hash.finalize()[..16]))
}

/// Whether a part contains the boundary.
pub(crate) fn occurs(boundary: &str, parts: &[MultipartPart]) -> bool {
    let find = memchr::memmem::Finder::new(boundary);
    parts.iter().any(|part| match &part.content {
        PartContent::Bytes(bytes) => find.find(bytes).is_some(),
        PartContent::File(_) => false,
    })
}

/// The framed parts.
pub(crate) fn pieces<'p>(boundary: &str, parts: &'p [MultipartPart]) -> Vec<Piece<'p>> {
    let mut pieces = Vec::new();
    let mut frame = String::new();
    for part in parts {
        // Writing to a string cannot fail.
        let _ = write!(frame, "--{boundary}\r\n{}\r\n", head(part));
        pieces.push(Piece::Bytes(Cow::Owned(std::mem::take(&mut frame).into_bytes())));
        pieces.push(part.content.piece());
        frame.push_str("\r\n");
    }
    let _ = write!(frame, "--{boundary}--\r\n");
    pieces.push(Piece::Bytes(Cow::Owned(frame.into_bytes())));
    pieces
}

fn head(part: &MultipartPart) -> String {
    let mut head = format!("Content-Disposition: form-data; name=\"{}\"", escaped(&part.name));
    if let Some(filename) = &part.filename {
        let _ = write!(head, "; filename=\"{}\"", escaped(filename));
    }
    head.push_str("\r\n");
    if let Some(content_type) = &part.content_type {
        let _ = write!(head, "Content-Type: {content_type}\r\n");
    }
    head
}

/// Escapes a name as browsers do, because a quote or a line break would end the header.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
