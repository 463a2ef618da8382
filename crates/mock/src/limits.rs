//! All mock limits. Every limit is inclusive.

/// Maximum number of values in a generated response; beyond that, only required values are
/// generated.
pub(crate) const NODES: usize = 3_000;
/// Maximum depth to which optional values are filled in.
pub(crate) const RICH_DEPTH: usize = 3;
/// Maximum depth of a generated response.
pub(crate) const DEPTH: usize = 40;
/// Maximum number of attempts to generate a response that fits its schema.
pub(crate) const TRIES: usize = 40;
/// Maximum number of attempts at one location in a response before it is left out.
pub(crate) const PLACE_TRIES: u32 = 9;
/// Maximum number of validation errors examined per attempt.
pub(crate) const TRY_FAULTS: usize = 64;
/// Maximum number of characters in a generated string.
pub(crate) const TEXT_CHARS: usize = 4_096;
/// Maximum number of strings generated for a pattern before giving up.
pub(crate) const PATTERN_TRIES: u64 = 48;
/// Maximum number of items in a generated list.
pub(crate) const LIST_ITEMS: usize = 1_000;
/// Maximum number of references, parts and branches that apply to one location in a response.
pub(crate) const SCHEMA_PARTS: usize = 512;
/// The number of resources in a new collection.
pub(crate) const FRESH_ITEMS: usize = 3;
/// Maximum number of resources in a collection; the oldest is dropped first.
pub(crate) const COLLECTION_ITEMS: usize = 1_000;
/// Maximum number of collections; the least recently used is dropped first.
pub(crate) const COLLECTIONS: usize = 500;
/// Maximum number of deleted ids that a collection remembers.
pub(crate) const GONE_IDS: usize = 1_000;
/// Maximum number of resources in one response.
pub(crate) const PAGE_ITEMS: usize = 100;
/// Maximum number of faults reported for a request.
pub(crate) const FAULTS: usize = 50;
/// Maximum number of suggestions for an unknown path.
pub(crate) const NEAR_PATHS: usize = 3;
/// Maximum number of compiled schemas in the cache.
pub(crate) const SCHEMAS: usize = 512;
/// Maximum total size of the cached schemas as JSON, in bytes; compiled, they take several times as
/// much memory.
pub(crate) const SCHEMA_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of fully loaded commands in the cache.
pub(crate) const COMMANDS: usize = 16;
/// Maximum number of rounds in which fields that violate a response's schema are dropped, before
/// the response is generated without any of them.
pub(crate) const OVERLAY_ROUNDS: usize = 12;
/// Maximum number of resources generated to find one with an unused id.
pub(crate) const ID_TRIES: usize = 12;
/// Maximum number of combinations of a schema's branches that are tried when parsing a parameter.
pub(crate) const READINGS: usize = 8;
/// Maximum delay in milliseconds.
pub(crate) const DELAY_MS: u64 = 60_000;
