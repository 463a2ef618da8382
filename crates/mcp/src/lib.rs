//! The MCP door: everything between bytes and a contract.
//!
//! [`frame`] cuts bytes into lines, [`message`] reads a line, [`Session`] answers it. None of these
//! reads or writes by itself.

mod answer;
mod contract;
pub mod fault;
pub mod frame;
pub mod limits;
pub mod message;
mod params;
mod scan;
mod session;
mod version;

pub use contract::Contract;
pub use fault::Fault;
pub use session::{Flow, Output, Session};
pub use version::{Options, Revision, Surface};
