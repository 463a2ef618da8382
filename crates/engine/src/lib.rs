//! Durable runs of workflows, as pure code: no clock, no randomness, no I/O, no dependence on hash
//! map order.
//!
//! - [`event`]: the contents of a run's journal, and how events from earlier versions are read.
//! - [`state`]: the current state of a run, as the fold of its events.
//! - [`interpreter`]: turns what happens into events to record and effects to carry out afterwards;
//!   the next step is a function of the workflow and the state ([`next()`]).
//! - [`signal`]: messages to a run and its replies; `admission` decides which messages are
//!   accepted.
//! - [`resume`]: how a run that has ended or stopped continues, and what that costs.
//! - [`effect_bound`]: what a run can change; [`consent`]: what a person has to agree to before
//!   anything is sent.
//! - [`view`]: a run as people and agents see it.
//! - [`ports`]: what a driver needs from its environment, such as a journal and a request sender.

mod admission;
pub mod consent;
pub mod effect_bound;
pub mod event;
pub mod interpreter;
pub mod limits;
pub mod ports;
pub mod resume;
mod secret_placeholder;
pub mod signal;
pub mod state;
mod submitted_context;
pub mod time;
pub mod view;
pub mod world;

pub use admission::engine_actor;
pub use event::cause::Cause;
pub use event::failure::Failure;
pub use event::step_key::StepKey;
pub use event::upcast;
pub use interpreter::budget::BudgetUsage;
pub use interpreter::command;
pub use interpreter::evaluator::next;
pub use interpreter::flow::{Flow, FlowNode};
pub use interpreter::retry::FailureKind;
pub use secret_placeholder::{
    mask_secrets, mask_text, replace_secrets, secret_names_in, secret_placeholder,
};

/// The engine's actor name when it cancels a run or rejects an approval because time is up.
pub(crate) const DEADLINE: &str = "deadline";
