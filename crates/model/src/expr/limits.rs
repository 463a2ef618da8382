//! The limits of the expression language, in one place.
//!
//! Every loop, recursion and buffer of the parser and the evaluator is bounded by one of these.

/// The longest source of one expression, in bytes.
pub const SOURCE_BYTES_MAX: usize = 8 * 1024;

/// How deep an expression may nest (parentheses, arguments, list and map literals).
///
/// It bounds the recursion of the parser, of every walk over the tree, and of its drop: chains such
/// as `a.b.c`, `1 + 1 + 1` and `a ? b : c ? d : e` are flat in the tree and do not count.
pub const NESTING_DEPTH_MAX: usize = 64;

/// The fuel one evaluation gets unless the caller says otherwise.
pub const FUEL_DEFAULT: u64 = 100_000;

/// The largest result, in bytes of its compact JSON text.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;

/// How deep a value may nest: what the JSON reader accepts when a result is read back.
///
/// It bounds the recursion of every walk over a value.
pub const RESULT_DEPTH_MAX: usize = 127;

/// How many bytes of text one unit of fuel reads or writes.
pub(super) const BYTES_PER_FUEL: usize = 64;

/// The fuel that compiling a pattern known only at run time costs, whatever its length.
pub(super) const PATTERN_FUEL: u64 = 1_000;

/// The largest compiled pattern of `matches`, in bytes.
pub(super) const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// How many names an error lists.
pub(super) const NAMES_SHOWN_MAX: usize = 8;

/// How many names are looked at for a near one.
pub(super) const NAMES_COMPARED_MAX: usize = 256;

/// The longest piece of source or data an error quotes, in bytes.
pub(super) const QUOTED_BYTES_MAX: usize = 80;
