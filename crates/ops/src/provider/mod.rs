//! Operations on providers: commands that yield choices.

pub mod list;
pub mod values;
