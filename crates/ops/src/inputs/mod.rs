//! What a run starts with: the given values, defaults for the others, the available choices, and
//! every reason why it cannot start, all at once.
//!
//! The value of a secret input leaves this module only in [`ResolvedInputs::secrets`].

mod argument;
mod gather;
mod offer;
mod past_runs;
pub mod preview_inputs;
mod resolve;
pub mod resolve_inputs;
pub mod rules;
mod subject;
pub mod typed_inputs;
mod violation;

pub(crate) use gather::{GatheredInputs, gather};
pub use gather::{InputOrigin, InputState, InputStatus};
pub use offer::{InputChoice, ProviderOutcome, ProviderView};
pub(crate) use past_runs::PastRuns;
pub use resolve::{ResolvedInputs, resolve};
pub(crate) use resolve::{known_roots, secret_default, secret_variables};
pub(crate) use subject::WorkflowSubject;
pub use violation::InputViolation;
