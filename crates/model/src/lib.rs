//! The workflow language: documents, expressions, validation and plans.
//!
//! Nothing in this crate touches a file, a clock, the network or the environment.
//! [`document::Document::read`] turns bytes into a [`workflow::Workflow`] and a list of all
//! [`violation::Violation`]s.
//!
//! A document passes through several stages: `milepost-syntax` parses bytes into a tree, `decode`
//! turns the tree into the types in `language`, `check` applies the rules that need the whole
//! workflow, and `findings` turns the results into messages. [`plan`] orders the steps of a
//! workflow, [`graph`] draws them, [`expr`] evaluates their expressions, and `agent` serves callers
//! that work through them step by step.

mod agent;
pub mod check;
pub mod decode;
pub mod document;
pub mod expr;
mod findings;
pub mod graph;
mod language;
mod lazy;
pub mod limits;
pub mod plan;
pub mod secret;
pub mod untrusted;

pub use agent::{agent_prompt, output_check, placeholders, rendered, walk};
pub use check::catalog_lookup as commands;
pub use decode::{schema, suggest};
pub use findings::{finding, hint, problem, violation, wording};
pub use language::{
    condition, criteria, duration, guide, id, input, json_schema, manifest, retry, step, target,
    template, templated, version, wait, workflow,
};
pub use plan::{digest, pinned};

pub(crate) use decode::{named_enum, report};
pub(crate) use language::pattern;
pub(crate) use plan::order;
