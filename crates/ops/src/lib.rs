//! Every operation of the product, once: its name, its safety, its request and response types, the
//! function that does it, its documentation, and the doors it is offered at.
//!
//! The doors (MCP, the command line) hold no logic of their own: they turn what they were given
//! into a request, call [`Operations::call`], and show the result or the [`Problem`]. Errors of the
//! crates below become problems here and nowhere else.

mod arguments;
pub mod author;
mod call;
pub mod catalog;
mod catalog_pin;
mod choices;
pub mod command;
mod commands;
mod compiled;
pub mod config;
pub mod correlation;
pub mod doctor;
mod finder;
pub mod guide;
pub mod init;
pub mod inputs;
mod later;
mod limits;
mod named;
mod operation;
mod plain;
pub mod preview;
mod problems;
pub mod prompts;
pub mod provider;
mod reader;
mod response;
pub mod run;
pub mod secret;
mod send;
mod shelf;
mod source;
mod standing;
mod strict;
mod tool;
mod trace;
pub mod workflow;
mod writer;

pub use call::{Alone, Call, Caller, Elicited, Untyped};
pub use commands::Known;
pub use later::Later;
pub use milepost_engine::time::rfc3339;
pub use milepost_model::problem::{Code, Problem};
pub use milepost_store::Confirm;
pub use operation::{Door, OPERATIONS, Operation, Operations, Safety};
pub use problems::{of_file as file_problem, of_invalid as invalid_file_problem};
pub use reader::Reader;
pub use response::Response;
pub use source::SourceType;
pub use strict::Strict;
pub use tool::{Profile, Task, Tool};
pub use writer::Writer;
