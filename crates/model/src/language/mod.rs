//! The workflow language: the parts of a document.
//!
//! A document is written as a [`manifest`] or as a [`guide`]; both compile to one [`workflow`] of
//! [`step`]s. Each file here covers one part of the language: its Rust type, its decoder, its error
//! messages and its JSON Schema, declared together by the macros in `decode`.

pub mod condition;
pub mod criteria;
pub mod duration;
pub mod guide;
pub mod id;
pub mod input;
pub mod json_schema;
pub mod manifest;
pub(crate) mod pattern;
pub mod retry;
pub mod step;
pub mod target;
pub mod template;
pub mod templated;
pub mod version;
pub mod wait;
pub mod workflow;
