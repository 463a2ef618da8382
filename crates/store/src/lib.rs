//! Where workflows live on disk: which directories, which one wins, and how files are read and
//! written. The only crate that writes to disk.

mod builtin;
mod directory;
mod file;
mod library;
pub mod limits;
mod locations;

pub use directory::Directory;
pub use file::{FileError, read_document, write_atomic};
pub use library::{Entry, Invalid, Library, SourceReport};
pub use locations::{Locations, SourceKind};
