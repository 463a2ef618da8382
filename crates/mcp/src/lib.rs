//! The MCP door: everything between bytes and a contract.
//!
//! [`frame`] cuts bytes into lines, [`message`] reads a line, [`Session`] answers it. None of these
//! reads or writes: [`serve_stdio`] drives them over a pipe, and another transport may as well.
//! Nothing but answers ever goes to the client.

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
mod scan;
mod session;
mod signals;
mod stdio;
mod trace;
mod version;
pub mod workflows;

pub use contract::Contract;
pub use fault::Fault;
pub use pipe::serve_pipe;
pub use session::{Flow, Output, Session};
#[cfg(unix)]
pub use signals::UntilStopped;
pub use signals::{raw_stdout, stdin_until_signal};
pub use stdio::{ServeError, Served, serve_stdio};
pub use version::{Options, Revision, Surface};
