//! The mock from outside: requests in, answers out.

mod answers;
mod corpus;
mod faults;
mod requests;
mod state;
mod support;
