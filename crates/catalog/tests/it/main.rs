//! Catalogs through the public API: reading, naming, building requests, searching and responses.

mod corpus;
mod document;
