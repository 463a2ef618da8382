//! JSON: one grammar, read for three purposes.
//!
//! [`scan`] passes over values and proves that they are JSON; it builds nothing. [`tape`] and
//! [`document`] index a large document on top of it: twelve bytes for each key and value, because
//! the largest documents have a million of them and a few hundred are looked at. [`read_tree`]
//! makes the tree of a document that somebody is writing: it reads past faults to offer their mends,
//! so it cannot share the strict grammar.

pub mod document;
pub mod scan;
pub mod tape;
mod tree_reader;

pub use tree_reader::read_tree;
pub(crate) use tree_reader::{
    literal_backslashes, not_finite, number, report_duplicates, too_deep, too_many,
};
