//! Where workflows live on disk: which directories, which one wins, and how files are read and
//! written. The only crate that writes to disk.

mod builtin;
mod directory;
mod file;
mod identity;
mod index;
mod library;
pub mod limits;
mod listing;
mod locations;
mod look;
mod recent;
mod spread;
mod stamp;
mod together;
mod tree;

pub use directory::Directory;
pub use file::{FileError, read_document, write_atomic};
pub use library::{Entry, Found, Library};
pub use listing::{Cause, Invalid, Listing, SourceReport, Summary};
pub use locations::{Locations, SourceKind};
