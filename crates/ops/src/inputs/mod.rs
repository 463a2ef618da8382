//! What a run begins with: the values that were given, the defaults of the others, the choices
//! there are, and every reason why it cannot begin, all at once.
//!
//! The value of a secret input leaves this module in [`Resolved::secrets`] and nowhere else.

mod argument;
mod fault;
mod gather;
mod offer;
mod past;
pub mod preview_inputs;
mod resolve;
pub mod resolve_inputs;
pub mod rules;
mod subject;
pub mod typed;

pub use fault::Violation;
pub(crate) use gather::{Gathered, gather};
pub use gather::{Origin, Status};
pub use offer::{Choice, Outcome, Provided};
pub use past::{NoPast, Past};
pub use resolve::{Resolved, resolve};
pub(crate) use resolve::{known_roots, secret_default, secret_variables};
pub(crate) use subject::Subject;
