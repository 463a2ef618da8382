//! Commands and workflows are found by what people write.

mod behaviour;
mod labelled;
mod properties;
mod real;
mod table;
