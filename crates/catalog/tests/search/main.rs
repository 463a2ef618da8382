//! Finding commands and workflows with queries as people write them.

mod behaviour;
mod labelled;
mod properties;
mod real;
mod table;
