//! Imports real and malicious documents into command tables.

mod corpus;
mod hostile;
mod names;
mod read;
mod specification;
