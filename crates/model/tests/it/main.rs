//! Tests of the crate from the outside, in one binary.

mod depot;
mod expr;
mod golden;
mod mend;
