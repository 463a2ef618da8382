//! Every bound of a mock. Limits are inclusive.

/// Values in a generated response; beyond that, only required values are generated.
pub(crate) const NODES: usize = 3_000;
/// Depth to which optional values are filled in.
pub(crate) const RICH_DEPTH: usize = 3;
/// Depth of a generated response.
pub(crate) const DEPTH: usize = 40;
/// Attempts to generate a response that fits its schema.
pub(crate) const TRIES: usize = 40;
/// Attempts at one location of a response before it is left out.
pub(crate) const PLACE_TRIES: u32 = 9;
/// Validation errors examined per attempt.
pub(crate) const TRY_FAULTS: usize = 64;
/// Characters in a generated text.
pub(crate) const TEXT_CHARS: usize = 4_096;
/// Texts generated for a pattern until one matches.
pub(crate) const PATTERN_TRIES: u64 = 48;
/// Items in a generated list.
pub(crate) const LIST_ITEMS: usize = 1_000;
/// References, parts and branches that apply to one location of a response.
pub(crate) const SCHEMA_PARTS: usize = 512;
/// Resources in a new collection.
pub(crate) const FRESH_ITEMS: usize = 3;
/// Resources in a collection; the oldest is dropped first.
pub(crate) const COLLECTION_ITEMS: usize = 1_000;
/// Collections kept; the least recently used is dropped first.
pub(crate) const COLLECTIONS: usize = 500;
/// Deleted ids that a collection remembers.
pub(crate) const GONE_IDS: usize = 1_000;
/// Resources in one response.
pub(crate) const PAGE_ITEMS: usize = 100;
/// Faults reported about a request.
pub(crate) const FAULTS: usize = 50;
/// Suggestions for an unknown path.
pub(crate) const NEAR_PATHS: usize = 3;
/// Compiled schemas kept.
pub(crate) const SCHEMAS: usize = 512;
/// Bytes of JSON of the compiled schemas kept; compiled, they take several times as much.
pub(crate) const SCHEMA_BYTES: usize = 8 * 1024 * 1024;
/// Fully loaded commands kept.
pub(crate) const COMMANDS: usize = 16;
/// Rounds of dropping given fields that violate a response's schema, before responding without any
/// of them.
pub(crate) const OVERLAY_ROUNDS: usize = 12;
/// Resources generated until one has an unused id.
pub(crate) const ID_TRIES: usize = 12;
/// Combinations of a schema's branches tried when parsing the text of a parameter.
pub(crate) const READINGS: usize = 8;
/// Maximum delay in milliseconds.
pub(crate) const DELAY_MS: u64 = 60_000;
