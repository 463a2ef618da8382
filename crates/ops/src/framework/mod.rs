//! What every operation is made of: its declaration, whoever calls it, the check of its arguments,
//! the answer, the log, and the table that the doors read.

pub(crate) mod arguments;
mod caller;
pub mod correlation;
mod operation;
pub(crate) mod response;
mod table;
mod tool;
mod trace;

pub use caller::{Caller, CallerKind, ElicitedCaller, PromptError, SilentCaller};
pub use operation::Operation;
pub(crate) use operation::{OperationFuture, Respond, operation};
pub use response::Response;
pub use table::{Door, OPERATIONS, OperationSpec, Operations, Safety};
pub use tool::{Profile, Task, Tool};
