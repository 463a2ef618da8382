//! A document as its JSON text and a flat list of the places in it: no tree of owned values is
//! made, because the largest documents have a million of them and a command needs a few hundred.

use std::borrow::Cow;

use serde_json::Value;

/// A document that was read.
#[derive(Debug)]
pub struct Document {
    text: String,
}

/// A value of a document. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document,
    at: u32,
}
