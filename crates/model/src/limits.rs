//! Every bound of the workflow language, named once.
//!
//! A limit is inclusive: the value itself is accepted, one more is refused.

/// Bytes of one workflow document.
pub const DOCUMENT_BYTES: usize = 1024 * 1024;
/// Bytes read again, in all, while the mends of a YAML document that does not parse are gathered.
pub const REPAIR_BYTES: usize = 2 * DOCUMENT_BYTES;
/// Lines before a fault that are searched for its cause.
pub const LOOK_BACK_LINES: usize = 40;
/// Nesting of lists and maps in a document.
pub const DEPTH: usize = 64;
/// Nodes that all aliases of a YAML document may add up to.
pub const ALIAS_NODES: usize = 1_000;
/// Anchors of a YAML document.
pub const ANCHORS: usize = 1_000;
/// Keys and values of one document.
pub const NODES: usize = 100_000;
/// Findings kept for one document; more are counted, not kept.
pub const FINDINGS: usize = 1_000;
/// Findings kept for one text, which may hold very many expressions.
pub const FINDINGS_IN_TEXT: usize = 50;
/// Characters of a message; of a longer one the middle is left out.
pub const MESSAGE_CHARS: usize = 400;
/// Bytes of a text that a fix rewrites.
pub const FIX_BYTES: usize = 64 * 1024;
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
