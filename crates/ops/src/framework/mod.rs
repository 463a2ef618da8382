//! The parts of every operation: its declaration, its caller, the argument check, the response, the
//! log, and the table that the interfaces read.

pub(crate) mod arguments;
mod caller;
pub mod correlation;
mod operation;
pub(crate) mod response;
mod table;
mod tool;
mod trace;

pub use caller::{
    AgentCaller, AgentCommand, Caller, CallerKind, ElicitedCaller, PromptError, SilentCaller,
};
pub use operation::Operation;
pub(crate) use operation::{OperationFuture, Respond, Services, operation};
pub use response::Response;
pub use table::{Door, OPERATIONS, OperationSpec, Operations, Safety};
pub use tool::{Profile, Task, Tool};
