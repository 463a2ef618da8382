//! JSON and YAML: bytes become a tree in which every node knows its position, and a change of the
//! tree becomes edits of the text.
//!
//! Nothing in this crate knows what a document is about, and nothing touches a file, a clock, the
//! network or the environment. Positions are byte ranges; [`source::Source`] turns them into lines
//! and columns when somebody looks.

pub mod escape;
pub mod fault;
pub mod fix;
pub mod json;
pub mod limits;
pub mod mend;
mod repair;
pub mod source;
mod source_map;
pub mod span;
pub mod tree;
pub mod untyped_tree;
pub mod yaml;
mod yaml_fault;
