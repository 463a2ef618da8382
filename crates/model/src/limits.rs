//! Every limit of the workflow language, defined in one place.
//!
//! Limits are inclusive: the value itself is accepted, one more is rejected.

/// Findings kept for one document; any others are only counted.
pub const FINDINGS: usize = 1_000;
/// Findings kept for one string, which may contain a great many expressions.
pub const FINDINGS_IN_TEXT: usize = 50;
/// Characters of a message; a longer one is shortened in the middle.
pub const MESSAGE_CHARS: usize = 400;
/// Cycles of steps that are reported at once.
pub const RINGS: usize = 20;
/// Steps of one workflow, loop bodies included.
pub const STEPS: usize = 1_000;
/// Inputs of one workflow.
pub const INPUTS: usize = 200;
/// Problems reported for the value of one input.
pub const OBJECTIONS: usize = 20;
/// Bytes of a regular expression.
pub const PATTERN_BYTES: usize = 4 * 1024;
/// Bytes of a compiled regular expression.
pub const PATTERN_COMPILED_BYTES: usize = 1024 * 1024;
/// Backtracking steps that one match with look-around or back-references may take.
pub const PATTERN_STEPS: usize = 1_000_000;
/// JSON Schema violations reported for one value.
pub const MISFITS: usize = 20;
/// Bytes of an output that is checked.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// Bytes of a caller's context, serialized.
pub const CONTEXT_BYTES: usize = 256 * 1024;
/// Steps that a caller may report as completed.
pub const COMPLETED_STEPS: usize = 100_000;
/// Steps and loops, counted per pass, that a walk visits to find the step that is due.
pub const WALK_STEPS: usize = 2_000_000;
/// Conditions reported as waiting for a variable.
pub const BLOCKED: usize = 100;
/// Warnings reported for one walk.
pub const REMARKS: usize = 20;
/// Characters between the braces of a variable in a prompt.
pub const REFERENCE_CHARS: usize = 256;
/// Missing variables reported for one prompt.
pub const MISSING: usize = 100;
/// Bytes of an output that is searched with an unanchored pattern that has look-around or
/// back-references: each start position may cost time proportional to the length of the output.
pub const UNANCHORED_BYTES: usize = 16 * 1024;
/// Nodes of a JSON Schema once its references are expanded.
pub const SCHEMA_UNFOLDED: usize = 20_000;
/// Bytes of an output that is searched again ignoring case.
pub const OTHER_LETTERS_BYTES: usize = 64 * 1024;
/// Oversized patterns that are compiled in one document: finding out that one is too large is slow.
pub const LARGE_PATTERNS: usize = 5;
/// Bytes of a JSON Schema, serialized.
pub const SCHEMA_BYTES: usize = 256 * 1024;
/// Keys and values of a JSON Schema.
pub const SCHEMA_NODES: usize = 10_000;
/// Characters of an identifier.
pub const ID_CHARS: usize = 64;
/// Steps of one run that may run at the same time.
pub const CONCURRENCY: i64 = 64;
/// Passes of a loop.
pub const ITERATIONS: i64 = 1_000;
/// Characters of a guide's prompt.
pub const GUIDE_PROMPT_CHARS: usize = 8_192;
/// Expressions of one document.
pub const EXPRESSIONS: usize = 20_000;
/// Candidates that a "did you mean" considers.
pub const SUGGESTION_CANDIDATES: usize = 2_000;
/// Characters of the shortest secret that is masked in text.
pub const MASKED_CHARS_MIN: usize = 4;
/// Bytes of the shortest secret that is masked in base64, where four characters mean little.
pub const MASKED_BASE64_BYTES_MIN: usize = 6;
/// The longest duration that a document may contain: a year, leap years included.
pub const PERIOD_MS: u64 = 366 * 86_400_000;
/// Attempts of a repeatable call, including the first, unless the author sets another number.
pub const RETRY_ATTEMPTS: u32 = 3;
/// Characters of a value quoted in a message; the rest is cut off.
pub(crate) const EXCERPT_CHARS: usize = 120;
/// Initial capacity for the key of a step. Most keys fit, so few need to be reallocated.
pub(crate) const WALK_KEY_CAPACITY_BYTES: usize = 128;

// Conservative estimates of the size of a compiled regular expression.

/// Bytes of one state, including its transitions.
pub(crate) const PATTERN_STATE_BYTES: usize = 64;
/// States of a case-insensitive letter, which has up to three other forms.
pub(crate) const PATTERN_CASE_STATES: usize = 8;
/// States of a range that covers UTF-8 characters of every length.
pub(crate) const PATTERN_RANGE_STATES: usize = 27;

// Limits for drawings of a workflow.

/// Nested loops that are drawn as nested; deeper ones are drawn inside the last that fits.
pub(crate) const GRAPH_NESTING: usize = 16;
/// Boxes and placeholders of one level; beyond it, long links are drawn straight.
pub(crate) const GRAPH_CELLS: usize = 4_000;
/// A trunk that leads to at least this many boxes of a row is drawn as a bus: one horizontal line.
pub(crate) const GRAPH_BUS_BRANCHES_MIN: usize = 3;
/// Passes that reduce the crossings of links.
pub(crate) const GRAPH_CROSSING_ROUNDS: usize = 6;
/// Passes that move boxes towards their neighbours.
pub(crate) const GRAPH_POSITION_ROUNDS: usize = 6;
/// Width of a row in drawing units; boxes that do not fit move to the next row.
pub(crate) const GRAPH_ROW_WIDTH: f64 = 1240.0;
/// Width of a link's label in drawing units.
pub(crate) const GRAPH_LABEL_WIDTH: f64 = 150.0;
/// Divisor for the share of a text drawing's width that lanes may take: 4 means a quarter.
pub(crate) const GRAPH_LANES_SHARE: usize = 4;
/// The longest list of step names shown without its count.
pub(crate) const GRAPH_UNCOUNTED_NAMES: usize = 3;
