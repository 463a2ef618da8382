//! The limits of the expression language, in one place.
//!
//! Every loop, recursion and buffer in the parser and the evaluator is bounded by one of these.

/// Maximum length of the source of one expression, in bytes.
pub const SOURCE_BYTES_MAX: usize = 8 * 1024;

/// Maximum nesting depth of an expression (parentheses, arguments, list and map literals).
///
/// It bounds recursion in the parser, in every traversal of the tree, and in dropping it. Chains
/// such as `a.b.c`, `1 + 1 + 1` and `a ? b : c ? d : e` are flat in the tree and do not count.
pub const NESTING_DEPTH_MAX: usize = 64;

/// The fuel for one evaluation, unless the caller sets a different amount.
pub const FUEL_DEFAULT: u64 = 100_000;

/// Maximum size of a result, in bytes of its compact JSON text.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;

/// Maximum nesting depth of a value: the depth that the JSON parser accepts when a result is read
/// back.
///
/// It bounds the recursion in every traversal of a value.
pub const RESULT_DEPTH_MAX: usize = 127;

/// The number of bytes of text that can be read or written for one unit of fuel.
pub(super) const BYTES_PER_FUEL: usize = 64;

/// The fuel for compiling a pattern that is only known at run time, in addition to its length.
pub(super) const PATTERN_FUEL: u64 = 1_000;

/// Maximum size of a compiled `matches` pattern, in bytes.
pub(super) const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// Maximum number of names that an error lists.
pub(super) const NAMES_SHOWN_MAX: usize = 8;

/// Maximum number of names considered for a suggestion.
pub(super) const NAMES_COMPARED_MAX: usize = 256;

/// Maximum length of a piece of source or data that an error quotes, in bytes.
pub(super) const QUOTED_BYTES_MAX: usize = 80;
