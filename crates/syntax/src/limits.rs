//! Every limit on reading a document. Limits are inclusive.

/// Maximum size of a document that is read into a tree, in bytes.
pub const DOCUMENT_BYTES: usize = 1024 * 1024;
/// Maximum total number of bytes that are parsed again while collecting fixes for a YAML document
/// that does not parse.
pub const REPAIR_BYTES: usize = 2 * DOCUMENT_BYTES;
/// Maximum number of lines before a fault that are searched for its cause.
pub const LOOK_BACK_LINES: usize = 40;
/// Maximum nesting depth of lists and maps in a tree.
pub const DEPTH: usize = 64;
/// Maximum total number of nodes that the aliases of a YAML document may expand to.
pub const ALIAS_NODES: usize = 1_000;
/// Maximum number of anchors in a YAML document.
pub const ANCHORS: usize = 1_000;
/// Maximum number of keys and values in a tree.
pub const NODES: usize = 100_000;
/// Maximum number of faults kept for one document; the rest are only counted.
pub const FAULTS: usize = 1_000;
/// Maximum length of a string that a fix may rewrite, in bytes.
pub const FIX_BYTES: usize = 64 * 1024;
/// Maximum distance in bytes between the start of a line and an unquoted `!` that is taken for a
/// negation. This is checked for every tag, and no real key is that long.
pub(crate) const NEGATION_COLUMN_BYTES: usize = 512;
/// Maximum number of lines, counted upwards from where the parser gave up, that are searched for
/// the mistake.
pub(crate) const CAUSE_LINES: usize = 20;
/// Maximum nesting depth of lists and maps for the scanner.
pub const SCAN_DEPTH: usize = 512;
/// Maximum number of warnings kept for one JSON document; the rest are only counted.
pub const READ_WARNINGS: usize = 100;
/// Maps up to this size are searched linearly; larger maps have their keys sorted.
pub(crate) const NARROW_MAP: usize = 16;
/// Numbers longer than this are checked, because they may be too large for a float.
pub(crate) const FLOAT_DIGITS: usize = 300;
