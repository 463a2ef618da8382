//! Reads JSON and YAML into a tree in which every node knows its position, and turns changes to the
//! tree into edits to the text.
//!
//! This crate does not interpret documents, and it does not access files, the clock, the network or
//! the environment. Positions are byte ranges; [`source::Source`] turns them into lines and columns
//! when they are displayed.

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
