//! Catalogs from outside: what is read, named, built, searched and answered.

mod corpus;
mod document;
