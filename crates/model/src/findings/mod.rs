//! Errors as data, from a finding in the tree to what people and models read.
//!
//! A check creates a `finding` in terms of the tree; a [`violation`] adds its pointer, line, column
//! and fix. A [`problem`] is what a call fails with; its [`hint`] names operations, and [`wording`]
//! writes them in the form that the reader uses.

pub mod finding;
pub mod hint;
pub mod problem;
pub mod violation;
pub mod wording;
