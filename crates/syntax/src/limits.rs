//! Every limit on reading a document. Limits are inclusive.

/// The size of a document that is read into a tree, in bytes.
pub const DOCUMENT_BYTES: usize = 1024 * 1024;
/// The total number of bytes that are parsed again while collecting mends for a YAML document that
/// does not parse.
pub const REPAIR_BYTES: usize = 2 * DOCUMENT_BYTES;
/// How many lines before a fault are searched for its cause.
pub const LOOK_BACK_LINES: usize = 40;
/// How deeply lists and maps may be nested in a tree.
pub const DEPTH: usize = 64;
/// How many nodes the aliases of a YAML document may expand to in total.
pub const ALIAS_NODES: usize = 1_000;
/// The number of anchors in a YAML document.
pub const ANCHORS: usize = 1_000;
/// The number of keys and values in a tree.
pub const NODES: usize = 100_000;
/// Faults kept for one document; the rest are only counted.
pub const FAULTS: usize = 1_000;
/// The longest text that a fix may rewrite, in bytes.
pub const FIX_BYTES: usize = 64 * 1024;
/// How far from the start of a line an unquoted `!` may be and still be taken for a negation, in
/// bytes. This is checked for every tag, and no real key is that long.
pub(crate) const NEGATION_COLUMN_BYTES: usize = 512;
/// How many lines, counted upwards from where the parser gave up, are searched for the mistake.
pub(crate) const CAUSE_LINES: usize = 20;
/// How deeply lists and maps may be nested for the scanner.
pub const SCAN_DEPTH: usize = 512;
/// Warnings kept for one text; the rest are only counted.
pub const READ_WARNINGS: usize = 100;
/// Maps up to this size are searched linearly; larger maps have their keys sorted.
pub(crate) const NARROW_MAP: usize = 16;
/// Numbers longer than this are checked, because they may be too large for a float.
pub(crate) const FLOAT_DIGITS: usize = 300;
