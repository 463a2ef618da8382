//! The MCP door: everything between bytes and a contract.
//!
//! [`frame`] cuts bytes into lines and [`message`] reads a line. A pipe is served by
//! [`serve_stdio`], HTTP by [`http`]; both answer from the same two tables, the guides and the
//! workflows of one [`WorkflowServer`](workflows::WorkflowServer). Nothing but answers ever goes
//! to the client.

mod answer;
mod contract;
pub mod fault;
pub mod frame;
pub mod guide;
pub mod http;
pub mod limits;
pub mod message;
mod observed;
mod params;
mod pipe;
mod request;
mod runtime;
mod scan;
mod session;
mod signals;
mod stdio;
mod trace;
mod version;
pub mod workflows;

pub use contract::Contract;
pub use fault::Fault;
pub use runtime::LazyRuntime;
#[cfg(unix)]
pub use signals::UntilStopped;
pub use signals::{raw_stdout, stdin_until_signal};
pub use stdio::{ServeError, Tables, serve_stdio};
pub use version::{Options, Revision, Surface};
