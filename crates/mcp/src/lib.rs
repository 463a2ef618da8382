//! The MCP interface: everything between bytes and a contract.
//!
//! [`frame`] splits bytes into lines and [`message`] parses a line. [`serve_stdio`] serves a pipe
//! and [`http`] serves HTTP; both answer from the same two sets of tools, the guides and the
//! workflows of one [`WorkflowServer`](workflows::WorkflowServer). Only protocol messages are ever
//! sent to the client.

mod answer;
pub mod frame;
pub mod guide;
pub mod http;
pub mod limits;
mod lock;
pub mod message;
mod orphans;
mod pipe;
mod request;
pub mod rpc_error;
mod runtime;
mod session;
mod signals;
mod stdio;
mod trace;
mod traced_handler;
mod version;
pub mod workflows;

pub use guide::Contract;
pub use rpc_error::RpcError;
pub use runtime::LazyRuntime;
#[cfg(unix)]
pub use signals::UntilStopped;
pub use signals::{raw_stdout, stdin_until_signal};
pub use stdio::{Contracts, ServeError, serve_process, serve_stdio};
pub use version::{Revision, SessionOptions, Surface};
