//! Turns OpenAPI documents into commands. This crate performs no I/O.

pub mod bundle;
pub mod command;
pub mod diff;
pub mod document;
pub mod excerpt;
pub mod finding;
pub mod import;
pub mod limits;
pub mod naming;
pub mod openapi;
pub mod pagination;
pub mod provider;
pub mod refs;
pub mod request;
pub mod schema;
pub mod search;
pub mod specification;
pub mod table;
pub mod text;
mod yaml;
