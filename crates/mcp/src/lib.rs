//! The MCP door: everything between bytes and a contract.
//!
//! [`frame`] cuts bytes into lines, [`message`] reads a line. Neither reads or writes by itself.

pub mod fault;
pub mod frame;
pub mod limits;
pub mod message;
mod scan;

pub use fault::Fault;
