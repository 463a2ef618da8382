//! Durable runs of workflows.
//!
//! A run's state is the fold of its events ([`state`]), and what to do next is a function of the
//! state ([`next()`]). An [`interpreter`] turns what happens into events to write down and effects
//! to carry out after that. All of this is pure: no clock, no randomness, no I/O, no order of a
//! hash map. What a driver needs from the world is named in [`ports`].

mod act;
mod board;
mod budget;
pub mod command;
mod contract;
mod decisive;
pub mod event;
mod failure;
mod failures;
mod flow;
pub mod interpreter;
mod judge;
mod key;
pub mod limits;
mod names;
mod next;
pub mod ports;
pub mod resume;
mod retry;
mod sent_request;
mod sentinel;
pub mod signal;
pub mod state;
pub mod time;
pub mod upcast;
pub mod view;
pub mod world;

pub use budget::Spent;
pub use failure::Failure;
pub use failures::Cause;
pub use flow::{Flow, Node};
pub use judge::engine;
pub use key::Key;
pub use next::next;
pub use retry::Trouble;
pub use sentinel::{
    into_shown, names_in, replaced_in, replaced_in_map, sentinel, shown, shown_text,
};

/// What the engine is called when it ends a run that takes too long.
pub(crate) const DEADLINE: &str = "deadline";

/// The name of a run.
pub(crate) fn run_name(bytes: &[u8]) -> String {
    let mut fixed = [0; 16];
    fixed.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    milepost_model::id::RunId::from_bytes(fixed).as_str().to_owned()
}
