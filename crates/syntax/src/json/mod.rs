//! JSON, read for three purposes.
//!
//! [`scan`] skips over values and verifies that they are valid JSON; it builds nothing. On top of
//! it, [`tape`] and [`document`] index a large document with twelve bytes per key or value, because
//! the largest documents have a million of them and only a few hundred are read. [`read_tree`]
//! builds the tree of a document that an author is still editing: it recovers from faults in order
//! to offer fixes for them, so it cannot share the strict grammar.

pub mod document;
pub mod scan;
pub mod tape;
mod tree_reader;

pub use tree_reader::read_tree;
pub(crate) use tree_reader::{
    literal_backslashes, not_finite, number, report_duplicates, too_deep, too_many,
};
