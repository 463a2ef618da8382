//! The workflow language: documents, expressions, validation and plans, as pure values.
//!
//! Nothing in this crate touches a file, a clock, the network or the environment. Bytes go in
//! through [`document::Document::read`]; a [`workflow::Workflow`] and every
//! [`violation::Violation`] come out.

mod align;
pub mod blanks;
pub mod brief;
pub mod check;
pub mod commands;
pub mod condition;
pub mod criteria;
pub mod decimal;
pub mod decode;
pub mod digest;
pub mod document;
pub mod duration;
pub mod escape;
pub mod expr;
pub mod finding;
pub mod fix;
pub mod graph;
pub mod guide;
pub mod hint;
pub mod id;
pub mod input;
mod json;
pub mod json_schema;
pub mod judge;
mod lazy;
pub mod limits;
pub mod manifest;
mod order;
mod pattern;
mod pattern_size;
pub mod pinned;
pub mod plan;
pub mod problem;
pub mod reading;
pub mod rendered;
mod repair;
mod report;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod source;
pub mod step;
pub mod suggest;
pub mod target;
pub mod template;
pub mod templated;
pub mod tree;
pub mod version;
pub mod violation;
pub mod wait;
pub mod walk;
pub mod wording;
pub mod workflow;
mod yaml;
mod yaml_fault;
