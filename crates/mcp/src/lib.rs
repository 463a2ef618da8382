//! The MCP door: everything between bytes and a contract.
//!
//! [`frame`] cuts bytes into lines and [`message`] reads a line. A pipe is served by
//! [`serve_stdio`], HTTP by [`http`]; both answer from the same two tables, the guides and the
//! workflows of one [`WorkflowServer`](workflows::WorkflowServer). Nothing but answers ever goes
//! to the client.

mod answer;
pub mod frame;
pub mod guide;
pub mod http;
pub mod limits;
mod lock;
pub mod message;
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
pub use stdio::{Contracts, ServeError, serve_stdio};
pub use version::{Revision, SessionOptions, Surface};
