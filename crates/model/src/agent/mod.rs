//! What agents are told, how their output is checked, and which step of a guide is due.
//!
//! Everything here is a function of the workflow and the caller's arguments; nothing is stored.

pub mod agent_prompt;
pub mod output_check;
pub mod placeholders;
pub mod rendered;
pub mod walk;
