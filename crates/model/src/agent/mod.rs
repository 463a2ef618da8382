//! The prompts that agents receive, the checks of their output, and the step of a guide that is
//! due.
//!
//! Everything here depends only on the workflow and the caller's arguments; nothing is stored.

pub mod agent_prompt;
pub mod output_check;
pub mod placeholders;
pub mod rendered;
pub mod walk;
