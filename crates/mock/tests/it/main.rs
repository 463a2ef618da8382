//! The mock from outside: requests in, answers out.

#![expect(clippy::print_stderr, reason = "tests say what they looked at, and what they skipped")]

mod answers;
mod corpus;
mod faults;
mod lifecycle;
mod requests;
mod state;
mod support;
