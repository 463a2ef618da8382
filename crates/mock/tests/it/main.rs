//! The mock through its public API: requests in, responses out.

#![expect(clippy::print_stderr, reason = "tests say what they looked at, and what they skipped")]

mod answers;
mod corpus;
mod faults;
mod lifecycle;
mod requests;
mod state;
mod support;
