//! Every bound of the workflow language, named once.
//!
//! A limit is inclusive: the value itself is accepted, one more is refused.

/// Findings kept for one document; more are counted, not kept.
pub const FINDINGS: usize = 1_000;
/// Findings kept for one text, which may hold very many expressions.
pub const FINDINGS_IN_TEXT: usize = 50;
/// Characters of a message; of a longer one the middle is left out.
pub const MESSAGE_CHARS: usize = 400;
/// Rings of steps that are reported at once.
pub const RINGS: usize = 20;
/// Steps of one workflow, loop bodies included.
pub const STEPS: usize = 1_000;
/// Inputs of one workflow.
pub const INPUTS: usize = 200;
/// Objections to the value of one input that are told.
pub const OBJECTIONS: usize = 20;
/// Bytes of a regular expression.
pub const PATTERN_BYTES: usize = 4 * 1024;
/// Bytes of a compiled regular expression.
pub const PATTERN_COMPILED_BYTES: usize = 1024 * 1024;
/// Steps a pattern with look-around or back-references may take on one text.
pub const PATTERN_STEPS: usize = 1_000_000;
/// Violations of a JSON Schema that are told of one value.
pub const MISFITS: usize = 20;
/// Bytes of an output that is judged.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// Bytes of a caller's context, serialised.
pub const CONTEXT_BYTES: usize = 256 * 1024;
/// Steps a caller may name as completed.
pub const COMPLETED_STEPS: usize = 100_000;
/// Steps and loops, pass by pass, that are looked at to find the one that is due.
pub const WALK_STEPS: usize = 2_000_000;
/// Conditions that wait for a variable, told at once.
pub const BLOCKED: usize = 100;
/// Remarks on one walk.
pub const REMARKS: usize = 20;
/// Characters between the braces of a variable in a prompt.
pub const REFERENCE_CHARS: usize = 256;
/// Variables of one text that are told to be missing.
pub const MISSING: usize = 100;
/// Bytes of an output that is searched by a pattern with look-around or back-references that may
/// begin anywhere: each beginning may cost as much as the output is long.
pub const UNANCHORED_BYTES: usize = 16 * 1024;
/// Parts a JSON Schema unfolds to when its references are followed.
pub const SCHEMA_UNFOLDED: usize = 20_000;
/// Bytes of an output in which other letters are looked for.
pub const OTHER_LETTERS_BYTES: usize = 64 * 1024;
/// Patterns too large to compile that are tried in one document: finding out takes a while.
pub const LARGE_PATTERNS: usize = 5;
/// Bytes of a JSON Schema, serialised.
pub const SCHEMA_BYTES: usize = 256 * 1024;
/// Keys and values of a JSON Schema.
pub const SCHEMA_NODES: usize = 10_000;
/// Characters of an identifier.
pub const ID_CHARS: usize = 64;
/// Steps that may run at once in one run.
pub const CONCURRENCY: i64 = 64;
/// Passes of a loop.
pub const ITERATIONS: i64 = 1_000;
/// Characters of a guide's prompt.
pub const GUIDE_PROMPT_CHARS: usize = 8_192;
/// Expressions of one document.
pub const EXPRESSIONS: usize = 20_000;
/// Candidates that a "did you mean" looks at.
pub const SUGGESTION_CANDIDATES: usize = 2_000;
/// Characters of the shortest secret that is looked for in texts.
pub const MASKED_CHARS_MIN: usize = 4;
/// Bytes of the shortest secret that is looked for in base64, where four characters mean little.
pub const MASKED_BASE64_BYTES_MIN: usize = 6;
/// The longest period of time that a document may write: a year, leap years included.
pub const PERIOD_MS: u64 = 366 * 86_400_000;
/// Tries of a call that may be repeated, the first one included, unless the author says otherwise.
pub const RETRY_ATTEMPTS: u32 = 3;
/// Characters of a text that is quoted in a message; the rest is cut off.
pub(crate) const EXCERPT_CHARS: usize = 120;
/// Room that is set aside for the key of a step: most keys fit, so that few of them are copied as
/// they grow.
pub(crate) const WALK_KEY_CAPACITY_BYTES: usize = 128;

// Estimates of how large a compiled regular expression gets, all on the safe side.

/// Bytes of one state, its links to the next ones included.
pub(crate) const PATTERN_STATE_BYTES: usize = 64;
/// States of a letter whose case is ignored: it has up to three other forms.
pub(crate) const PATTERN_CASE_STATES: usize = 8;
/// States of a range that has characters of every length in UTF-8.
pub(crate) const PATTERN_RANGE_STATES: usize = 27;

// Drawings of a workflow.

/// Loops inside loops that are drawn as such; a deeper one is drawn in the last that fits.
pub(crate) const GRAPH_NESTING: usize = 16;
/// Boxes and place holders of one level; past it, long links are drawn straight.
pub(crate) const GRAPH_CELLS: usize = 4_000;
/// A trunk that serves at least this many boxes of a row does so by a bus: one horizontal line.
pub(crate) const GRAPH_BUS_BRANCHES_MIN: usize = 3;
/// Rounds in which crossings of links are reduced.
pub(crate) const GRAPH_CROSSING_ROUNDS: usize = 6;
/// Rounds in which boxes are moved towards their neighbours.
pub(crate) const GRAPH_POSITION_ROUNDS: usize = 6;
/// Width of a row, in units of the drawing; what does not fit goes into the next row.
pub(crate) const GRAPH_ROW_WIDTH: f64 = 1240.0;
/// Width of the label of a link, in units of the drawing.
pub(crate) const GRAPH_LABEL_WIDTH: f64 = 150.0;
/// Lanes take at most one part in this many of a text's width.
pub(crate) const GRAPH_LANES_SHARE: usize = 4;
/// Names of steps that are listed as they are; a longer list begins with their number.
pub(crate) const GRAPH_UNCOUNTED_NAMES: usize = 3;
