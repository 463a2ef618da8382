//! Every limit of the workflow language, defined in one place.
//!
//! Limits are inclusive: the value itself is accepted, and one more is rejected.

/// Maximum number of findings kept for one document; any others are only counted.
pub const FINDINGS: usize = 1_000;
/// Maximum number of findings kept for one string, which may contain a great many expressions.
pub const FINDINGS_IN_TEXT: usize = 50;
/// Maximum number of characters in a message; a longer one is shortened in the middle.
pub const MESSAGE_CHARS: usize = 400;
/// Maximum number of dependency cycles reported.
pub const RINGS: usize = 20;
/// Maximum number of steps in one workflow, including loop bodies.
pub const STEPS: usize = 1_000;
/// Maximum number of inputs in one workflow.
pub const INPUTS: usize = 200;
/// Maximum number of problems reported for the value of one input.
pub const OBJECTIONS: usize = 20;
/// Maximum length of a regular expression, in bytes.
pub const PATTERN_BYTES: usize = 4 * 1024;
/// Maximum size of a compiled regular expression, in bytes.
pub const PATTERN_COMPILED_BYTES: usize = 1024 * 1024;
/// Maximum number of backtracking steps in one match with look-around or back-references.
pub const PATTERN_STEPS: usize = 1_000_000;
/// Maximum number of JSON Schema violations reported for one value.
pub const MISFITS: usize = 20;
/// Maximum size of an output that is checked, in bytes.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// Maximum size of a caller's context when serialized, in bytes.
pub const CONTEXT_BYTES: usize = 256 * 1024;
/// Maximum number of steps that a caller may report as completed.
pub const COMPLETED_STEPS: usize = 100_000;
/// Maximum number of steps and loops, counted per pass, that a walk visits to find the step that is
/// due.
pub const WALK_STEPS: usize = 2_000_000;
/// Maximum number of conditions reported as waiting for a variable.
pub const BLOCKED: usize = 100;
/// Maximum number of warnings reported for one walk.
pub const REMARKS: usize = 20;
/// Maximum number of characters between the braces around a variable in a prompt.
pub const REFERENCE_CHARS: usize = 256;
/// Maximum number of missing variables reported for one prompt.
pub const MISSING: usize = 100;
/// Maximum size in bytes of an output that is searched with an unanchored pattern that has
/// look-around or back-references. Each start position may cost time proportional to the length of
/// the output.
pub const UNANCHORED_BYTES: usize = 16 * 1024;
/// Maximum number of nodes in a JSON Schema after its references are expanded.
pub const SCHEMA_UNFOLDED: usize = 20_000;
/// Maximum size in bytes of an output that is searched a second time, ignoring case.
pub const OTHER_LETTERS_BYTES: usize = 64 * 1024;
/// Maximum number of oversized patterns that are compiled for one document; detecting that a
/// pattern is too large is slow.
pub const LARGE_PATTERNS: usize = 5;
/// Maximum size of a JSON Schema when serialized, in bytes.
pub const SCHEMA_BYTES: usize = 256 * 1024;
/// Maximum number of keys and values in a JSON Schema.
pub const SCHEMA_NODES: usize = 10_000;
/// Maximum number of characters in an identifier.
pub const ID_CHARS: usize = 64;
/// Maximum number of steps in one run that may run at the same time.
pub const CONCURRENCY: i64 = 64;
/// Maximum number of passes of a loop.
pub const ITERATIONS: i64 = 1_000;
/// Maximum number of characters in a guide's prompt.
pub const GUIDE_PROMPT_CHARS: usize = 8_192;
/// Maximum number of expressions in one document.
pub const EXPRESSIONS: usize = 20_000;
/// Maximum number of candidates that a "did you mean" suggestion considers.
pub const SUGGESTION_CANDIDATES: usize = 2_000;
/// Minimum length of a secret to be recognized in data, in characters. A shorter one would match
/// ordinary text.
pub const MASKED_CHARS_MIN: usize = 12;
/// Minimum length of a secret to be recognized in the request that was given it, in characters.
pub const GUARDED_CHARS_MIN: usize = 4;
/// Minimum length of a spelling of a secret, where a run of backslashes counts once.
pub const SPELLING_UNITS_MIN: usize = 4;
/// Minimum length of the beginning of a secret to be recognized at the end of truncated data.
pub const PART_UNITS_MIN: usize = 6;
/// Maximum length of the beginning of a secret at the end of truncated data, in bytes.
pub const PART_BYTES: usize = 16 << 10;
/// Maximum length of the name in a mark that stands for a secret, in characters.
pub const MARK_NAME_CHARS: usize = 200;
/// Maximum number of secrets that a process remembers in order to mask them.
pub const KNOWN_SECRETS: usize = 10_000;
/// Minimum length of a secret to be recognized in base64 or hexadecimal, in bytes; the encoding of
/// a shorter one would match by chance.
pub const MASKED_BASE64_BYTES_MIN: usize = 6;
/// Maximum duration in a document, in milliseconds: a leap year.
pub const PERIOD_MS: u64 = 366 * 86_400_000;
/// The default number of attempts for a repeatable call, including the first.
pub const RETRY_ATTEMPTS: u32 = 3;
/// Maximum number of characters of a value quoted in a message; the rest is cut off.
pub(crate) const EXCERPT_CHARS: usize = 120;
/// Maximum depth of the schemas in a schema that are searched for the properties of an output.
pub(crate) const SCHEMA_PARTS_DEPTH: usize = 16;
/// Initial capacity for the key of a step. Most keys fit, so few need to be reallocated.
pub(crate) const WALK_KEY_CAPACITY_BYTES: usize = 128;

// Conservative estimates of the size of a compiled regular expression.

/// The number of bytes per state, including its transitions.
pub(crate) const PATTERN_STATE_BYTES: usize = 64;
/// The number of states for a case-insensitive letter, which has up to three other forms.
pub(crate) const PATTERN_CASE_STATES: usize = 8;
/// The number of states for a range that covers UTF-8 characters of every length.
pub(crate) const PATTERN_RANGE_STATES: usize = 27;

// Limits for drawings of a workflow.

/// Maximum depth to which loops are drawn as nested; deeper ones are drawn inside the last that
/// fits.
pub(crate) const GRAPH_NESTING: usize = 16;
/// Maximum number of boxes and dummies on one level; beyond it, long links are drawn straight.
pub(crate) const GRAPH_CELLS: usize = 4_000;
/// A trunk with at least this many branches in one row is drawn as a bus: a single horizontal line.
pub(crate) const GRAPH_BUS_BRANCHES_MIN: usize = 3;
/// The number of passes made to reduce link crossings.
pub(crate) const GRAPH_CROSSING_ROUNDS: usize = 6;
/// The number of passes made to move boxes toward their neighbors.
pub(crate) const GRAPH_POSITION_ROUNDS: usize = 6;
/// Maximum width of a row in drawing units; boxes that do not fit move to the next row.
pub(crate) const GRAPH_ROW_WIDTH: f64 = 1240.0;
/// Maximum width of a link's label in drawing units.
pub(crate) const GRAPH_LABEL_WIDTH: f64 = 150.0;
/// Divisor for the share of a text drawing's width that lanes may occupy: 4 means a quarter.
pub(crate) const GRAPH_LANES_SHARE: usize = 4;
/// Lists of at most this many step names are shown without a count.
pub(crate) const GRAPH_UNCOUNTED_NAMES: usize = 3;

// Limits for text that others wrote, where it is shown to people.

/// Maximum number of characters of a quoted text; a longer one is cut in the middle.
pub const QUOTED_CHARS: usize = 2_000;
/// Maximum number of rows of a quoted text.
pub const QUOTED_ROWS: usize = 40;
/// Minimum number of columns of quoted text, whatever the width of the page.
pub(crate) const QUOTED_COLUMNS_MIN: usize = 20;
/// Maximum number of consecutive combining marks that are shown as they are.
pub(crate) const COMBINING_MARKS: usize = 4;
