//! Every bound of a mock. A limit is inclusive.

/// Values in an answer that a mock makes up; past it only what is required.
pub(crate) const NODES: usize = 3_000;
/// Nesting to which a mock fills in what is optional.
pub(crate) const RICH_DEPTH: usize = 3;
/// Nesting of an answer that a mock makes up.
pub(crate) const DEPTH: usize = 40;
/// Times a mock makes an answer anew until it fits its schema.
pub(crate) const TRIES: usize = 40;
/// Times one place of an answer is made anew before it is left out.
pub(crate) const PLACE_TRIES: u32 = 9;
/// Faults of an answer that are looked at in one try.
pub(crate) const TRY_FAULTS: usize = 64;
/// Characters of a text that a mock makes up.
pub(crate) const TEXT_CHARS: usize = 4_096;
/// Texts that are made for a pattern until one fits.
pub(crate) const PATTERN_TRIES: u64 = 48;
/// Items of a list that a mock makes up.
pub(crate) const LIST_ITEMS: usize = 1_000;
/// References, parts and choices that apply to one place of an answer.
pub(crate) const SCHEMA_PARTS: usize = 512;
/// Resources that a fresh collection of a mock holds.
pub(crate) const FRESH_ITEMS: usize = 3;
/// Resources in one collection of a mock; the oldest goes first.
pub(crate) const COLLECTION_ITEMS: usize = 1_000;
/// Collections that a mock remembers; the one touched least lately goes first.
pub(crate) const COLLECTIONS: usize = 500;
/// Ids that a collection of a mock remembers to be gone.
pub(crate) const GONE_IDS: usize = 1_000;
/// Resources in one answer of a mock.
pub(crate) const PAGE_ITEMS: usize = 100;
/// Faults of a request that a mock tells.
pub(crate) const FAULTS: usize = 50;
/// Paths that a mock offers for one that is unknown.
pub(crate) const NEAR_PATHS: usize = 3;
/// Compiled schemas that a mock keeps.
pub(crate) const SCHEMAS: usize = 512;
/// Bytes of the schemas that a mock keeps compiled, as JSON; compiled they take several times that.
pub(crate) const SCHEMA_BYTES: usize = 8 * 1024 * 1024;
/// Commands that a mock keeps whole.
pub(crate) const COMMANDS: usize = 16;
/// Rounds in which a mock drops given fields that break the schema of an answer, before it answers
/// without them.
pub(crate) const OVERLAY_ROUNDS: usize = 12;
/// Resources that a mock makes up until one has an id that is not taken yet.
pub(crate) const ID_TRIES: usize = 12;
/// Combinations of a schema's branches that a mock tries to read the text of a parameter by.
pub(crate) const READINGS: usize = 8;
/// Milliseconds a mock lets wait at most.
pub(crate) const DELAY_MS: u64 = 60_000;
