//! Every bound of reading a document, named once. A limit is inclusive.

/// Bytes of a document that becomes a tree.
pub const DOCUMENT_BYTES: usize = 1024 * 1024;
/// Bytes read again, in all, while the mends of a YAML document that does not parse are gathered.
pub const REPAIR_BYTES: usize = 2 * DOCUMENT_BYTES;
/// Lines before a fault that are searched for its cause.
pub const LOOK_BACK_LINES: usize = 40;
/// Nesting of lists and maps in a tree.
pub const DEPTH: usize = 64;
/// Nodes that all aliases of a YAML document may add up to.
pub const ALIAS_NODES: usize = 1_000;
/// Anchors of a YAML document.
pub const ANCHORS: usize = 1_000;
/// Keys and values of one tree.
pub const NODES: usize = 100_000;
/// Faults kept for one document; further ones are only counted.
pub const FAULTS: usize = 1_000;
/// Bytes of a text that a fix rewrites.
pub const FIX_BYTES: usize = 64 * 1024;
/// Bytes from the beginning of a line within which an unquoted `!` is taken for a negation. Checked
/// for every tag; no longer line has such a key.
pub(crate) const NEGATION_COLUMN_BYTES: usize = 512;
/// Lines, from the one where the parser gave up and upwards, that are searched for the mistake.
pub(crate) const CAUSE_LINES: usize = 20;
/// Nesting of lists and maps that the scanner can follow.
pub const SCAN_DEPTH: usize = 512;
/// Warnings kept for one text; further ones are only counted.
pub const READ_WARNINGS: usize = 100;
/// Entries of a map that are searched one by one; a larger map has its keys sorted.
pub(crate) const NARROW_MAP: usize = 16;
/// Characters before a number is checked: it may be too large for a float.
pub(crate) const FLOAT_DIGITS: usize = 300;
