//! Every operation of the product, defined once: its name, its safety, its request and response
//! types, its function, its documentation, and the interfaces that offer it.
//!
//! The interfaces (*doors*: MCP and the command line) have no logic of their own. They turn their
//! input into a request, run the operation through [`Operations`], and show the result or the
//! [`Problem`]. Errors from lower crates become problems only here.

#![allow(
    clippy::unused_async,
    reason = "one macro declares all operations, so even those that never wait are async"
)]

pub mod author;
pub mod catalog;
mod catalog_cache;
mod catalog_client;
mod catalog_commands;
mod catalog_pin;
pub mod command;
mod command_index;
mod compiled_workflow;
pub mod config;
pub mod doctor;
mod fetched_choices;
mod framework;
pub mod guide;
pub mod inputs;
mod limits;
mod lru_cache;
mod masked_values;
pub mod policy;
mod prelude;
pub mod preview;
mod problems;
pub mod prompts;
pub mod provider;
mod reader;
pub mod run;
mod run_summary;
pub mod secret;
mod source;
mod strict;
pub mod trust;
pub mod workflow;
mod writer;

pub use catalog_commands::CatalogCommands;
pub use framework::{
    AgentCaller, AgentCommand, Caller, CallerKind, Door, ElicitedCaller, OPERATIONS, Operation,
    OperationSpec, Operations, Profile, PromptError, Response, Safety, SilentCaller, Task, Tool,
    correlation,
};
pub use milepost_engine::time::rfc3339;
pub use milepost_model::problem::{Code, Problem};
pub use problems::{of_file as file_problem, of_invalid as invalid_file_problem};
pub use reader::Reader;
pub use source::SourceType;
pub use strict::Strict;
pub use writer::Writer;
