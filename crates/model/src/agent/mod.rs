//! The prompts that agents receive, the checks on their output, and the walk that finds the next
//! step of a guide.
//!
//! Everything here depends only on the workflow and the caller's arguments; nothing is stored.

pub mod agent_prompt;
pub mod output_check;
pub mod placeholders;
pub mod rendered;
pub mod walk;
