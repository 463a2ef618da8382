//! Every bound of the library, named once.

/// Files that are looked at in one source.
pub const FILES: usize = 10_000;
/// How deep a source is searched.
pub const DEPTH: usize = 16;
