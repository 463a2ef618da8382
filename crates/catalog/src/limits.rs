//! All limits of catalogs. Every limit is inclusive.

/// Bytes of a document as read.
pub const DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a document as JSON, with its aliases expanded.
pub const UNPACKED_BYTES: usize = 64 * 1024 * 1024;
/// Nesting depth of lists and maps.
pub const DEPTH: usize = 512;
/// Length of a chain of references.
pub const REF_HOPS: usize = 64;
/// Characters in a command's name.
pub const NAME_CHARS: usize = 48;
/// Characters in a summary.
pub const SUMMARY_CHARS: usize = 200;
/// Characters in a description.
pub const DESCRIPTION_CHARS: usize = 2_000;

/// Bytes of a compiled regular expression from a schema.
pub const PATTERN_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// Backtracking steps of a regular expression from a schema.
pub const PATTERN_STEPS: usize = 100_000;
/// Characters in a finding's message.
pub const MESSAGE_CHARS: usize = 400;
/// Findings kept for one document; any further ones are only counted.
pub const FINDINGS: usize = 2_000;
/// Characters in a row's description, which is only used for search.
pub const ROW_DESCRIPTION_CHARS: usize = 400;
/// Characters in a tag.
pub const TAG_CHARS: usize = 80;
/// Characters in an `operationId`.
pub const OPERATION_ID_CHARS: usize = 200;
/// Parameters of one operation.
pub const PARAMETERS: usize = 1_000;
/// Schemas that make up one command, including those it references.
pub const SCHEMA_PARTS: usize = 200_000;
/// Characters in a description inside a schema.
pub const SCHEMA_TEXT_CHARS: usize = 500;
/// Characters in the name of a schema definition.
pub const DEFINITION_NAME_CHARS: usize = 100;
/// Media types of one body.
pub const MEDIA_TYPES: usize = 50;
/// Responses of one operation.
pub const RESPONSES: usize = 100;
/// Servers of one document or operation.
pub const SERVERS: usize = 100;
/// Files that make up one document.
pub const FILES: usize = 256;
/// Bytes that YAML aliases and merge keys may add, as a multiple of the document's size.
pub const ALIAS_FACTOR: usize = 4;
/// Bytes that aliases and merge keys may always add, however small the document.
pub const ALIAS_BYTES_FLOOR: usize = 64 * 1024;
/// Anchors in a YAML document.
pub const ANCHORS: usize = 100_000;
/// Bytes from which a document is read in excerpts; a smaller one is quick to read whole.
pub const EXCERPT_DOCUMENT_BYTES: usize = 256 * 1024;
/// Bytes up to which a map is read whole; a larger one is split.
pub const EXCERPT_PART_BYTES: usize = 16 * 1024;
/// Nesting depth to which maps are split.
pub const EXCERPT_DEPTH: usize = 6;
/// Bytes of an excerpt; anything that needs more reads the whole document.
pub const EXCERPT_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a request URL.
pub const URL_BYTES: usize = 64 * 1024;
/// Reported mismatches of one argument.
pub const MISFITS: usize = 8;
/// Bytes of a value quoted in a message.
pub const SHOWN_VALUE_BYTES: usize = 60;
/// Reported mistakes in one request.
pub const MISUSES: usize = 32;
/// Bytes of a schema that arguments are validated against, including its definitions.
pub const CHECKED_SCHEMA_BYTES: usize = 2 * 1024 * 1024;
/// Subschemas of such a schema after expanding its references.
pub const CHECKED_SCHEMA_PARTS: usize = 1_000_000;
/// Nesting depth of such a schema after expanding its references.
pub const CHECKED_SCHEMA_DEPTH: usize = 256;
/// Paths by which a value may return to the same recursive schema during validation.
pub const CHECKED_WAYS: usize = 100_000;
/// Media types listed in an `Accept` header.
pub const ACCEPT_TYPES: usize = 8;
/// Nesting depth of values serialized to text, such as `deepObject` brackets and property schemas.
pub const VALUE_DEPTH: usize = 32;
/// Parts of a composed schema that are visited: references, `allOf`, `anyOf`, `oneOf`.
pub const COMPOSED_PARTS: usize = 500;
/// Pages fetched for one call, unless the caller sets a lower limit.
pub const PAGES: usize = 1_000;
/// Items collected for one call, unless the caller sets a lower limit.
pub const PAGED_ITEMS: usize = 100_000;
/// Depth to which a response is searched for a cursor, a next-page link or a list.
pub const PAGE_FIELD_DEPTH: usize = 3;
/// Fields of a response that are examined to detect its pagination.
pub const PAGE_FIELDS: usize = 500;
/// Segments of a path that are compared with other paths.
pub const PATH_PARTS: usize = 64;
/// Nested references and alternatives that are followed to find a list in a schema.
pub const SCHEMA_LAYERS: usize = 8;
/// Schemas that are merged to determine the fields of one item.
pub const ITEM_SCHEMAS: usize = 200;
/// Fields of one schema that are examined.
pub const ITEM_FIELDS: usize = 1_000;
/// Lists with the same name among which the nearest is chosen.
pub const LISTS_OF_ONE_NAME: usize = 256;
/// Characters of a query that are used.
pub const SEARCH_QUERY_CHARS: usize = 400;
/// Words of a query that are used.
pub const SEARCH_QUERY_WORDS: usize = 32;
/// Bytes of an indexed word.
pub const SEARCH_WORD_CHARS: usize = 64;
/// Indexed words per entry.
pub const SEARCH_ENTRY_WORDS: usize = 2_000;
/// Words of a path or summary that are compared with the query.
pub const SEARCH_TITLE_WORDS: usize = 24;
/// Known words that may replace an unknown one.
pub const SEARCH_NEAR_WORDS: usize = 8;
/// Misspelled words of a query that are compared with the whole vocabulary.
pub const SEARCH_MENDED_WORDS: usize = 8;
/// Entries that are scored in detail for one query.
pub const SEARCH_CANDIDATES: usize = 400;
/// Reported deviations from the specification.
pub const DEPARTURES: usize = 50;
/// Bytes of a document that is validated against the specification's schema.
pub const SPECIFICATION_BYTES: usize = 16 * 1024 * 1024;
/// Allowed values of a parameter that are all listed in a message.
pub const SHOWN_CHOICES: usize = 30;
/// Reported dangling references.
pub const DANGLING: usize = 100;
