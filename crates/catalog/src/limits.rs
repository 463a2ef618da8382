//! All catalog limits. Every limit is inclusive.

/// Maximum size of a document as read, in bytes.
pub const DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// Maximum size of a document as JSON with its aliases expanded, in bytes.
pub const UNPACKED_BYTES: usize = 64 * 1024 * 1024;
/// Maximum nesting depth of lists and maps.
pub const DEPTH: usize = 512;
/// Maximum length of a chain of references.
pub const REF_HOPS: usize = 64;
/// Maximum number of characters in a command's name.
pub const NAME_CHARS: usize = 48;
/// Maximum number of characters in a summary.
pub const SUMMARY_CHARS: usize = 200;
/// Maximum number of characters in a description.
pub const DESCRIPTION_CHARS: usize = 2_000;

/// Maximum size of a compiled regular expression from a schema, in bytes.
pub const PATTERN_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of backtracking steps for a regular expression from a schema.
pub const PATTERN_STEPS: usize = 100_000;
/// Maximum number of characters in a finding's message.
pub const MESSAGE_CHARS: usize = 400;
/// Maximum number of findings kept for one document; any further ones are only counted.
pub const FINDINGS: usize = 2_000;
/// Maximum number of characters in a row's description, which is only used for search.
pub const ROW_DESCRIPTION_CHARS: usize = 400;
/// Maximum number of characters in a tag.
pub const TAG_CHARS: usize = 80;
/// Maximum number of characters in an `operationId`.
pub const OPERATION_ID_CHARS: usize = 200;
/// Maximum number of parameters per operation.
pub const PARAMETERS: usize = 1_000;
/// Maximum number of schemas that make up one command, including those it references.
pub const SCHEMA_PARTS: usize = 200_000;
/// Maximum number of characters in a description inside a schema.
pub const SCHEMA_TEXT_CHARS: usize = 500;
/// Maximum number of characters in the name of a schema definition.
pub const DEFINITION_NAME_CHARS: usize = 100;
/// Maximum number of media types per body.
pub const MEDIA_TYPES: usize = 50;
/// Maximum number of responses per operation.
pub const RESPONSES: usize = 100;
/// Maximum number of servers per document or operation.
pub const SERVERS: usize = 100;
/// Maximum number of files that make up one document.
pub const FILES: usize = 256;
/// Maximum number of bytes that YAML aliases and merge keys may add, as a multiple of the
/// document's size.
pub const ALIAS_FACTOR: usize = 4;
/// The number of bytes that aliases and merge keys may add even to a very small document.
pub const ALIAS_BYTES_FLOOR: usize = 64 * 1024;
/// Maximum number of anchors in a YAML document.
pub const ANCHORS: usize = 100_000;
/// Minimum size of a document that is read in excerpts, in bytes; a smaller one is quick to read
/// whole.
pub const EXCERPT_DOCUMENT_BYTES: usize = 256 * 1024;
/// Maximum size of a map that is read whole, in bytes; a larger one is split.
pub const EXCERPT_PART_BYTES: usize = 16 * 1024;
/// Maximum nesting depth to which maps are split.
pub const EXCERPT_DEPTH: usize = 6;
/// Maximum size of an excerpt in bytes; a command that needs more reads the whole document.
pub const EXCERPT_BYTES: usize = 2 * 1024 * 1024;
/// Maximum length of a request URL, in bytes.
pub const URL_BYTES: usize = 64 * 1024;
/// Maximum number of mismatches reported for one argument.
pub const MISFITS: usize = 8;
/// Maximum number of bytes of a value quoted in a message.
pub const SHOWN_VALUE_BYTES: usize = 60;
/// Maximum number of mistakes reported for one request.
pub const MISUSES: usize = 32;
/// Maximum size of a schema that arguments are validated against, including its definitions, in
/// bytes.
pub const CHECKED_SCHEMA_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of subschemas in an argument's schema after expanding its references.
pub const CHECKED_SCHEMA_PARTS: usize = 1_000_000;
/// Maximum nesting depth of an argument's schema after expanding its references.
pub const CHECKED_SCHEMA_DEPTH: usize = 256;
/// Maximum number of paths by which a value may return to the same recursive schema during
/// validation.
pub const CHECKED_WAYS: usize = 100_000;
/// Maximum number of media types listed in an `Accept` header.
pub const ACCEPT_TYPES: usize = 8;
/// Maximum nesting depth of values serialized to text, such as `deepObject` brackets and property
/// schemas.
pub const VALUE_DEPTH: usize = 32;
/// Maximum number of visited parts of a composed schema: references, `allOf`, `anyOf`, `oneOf`.
pub const COMPOSED_PARTS: usize = 500;
/// Maximum number of pages fetched for one call, unless the caller sets a lower limit.
pub const PAGES: usize = 1_000;
/// Maximum number of items collected for one call, unless the caller sets a lower limit.
pub const PAGED_ITEMS: usize = 100_000;
/// Maximum depth to which a response is searched for a cursor, a next-page link or a list.
pub const PAGE_FIELD_DEPTH: usize = 3;
/// Maximum number of response fields that are examined to detect pagination.
pub const PAGE_FIELDS: usize = 500;
/// Maximum number of path segments that are compared with other paths.
pub const PATH_PARTS: usize = 64;
/// Maximum number of nested references and alternatives that are followed to find a list in a
/// schema.
pub const SCHEMA_LAYERS: usize = 8;
/// Maximum number of schemas that are merged to determine the fields of one item.
pub const ITEM_SCHEMAS: usize = 200;
/// Maximum number of fields examined in one schema.
pub const ITEM_FIELDS: usize = 1_000;
/// Maximum number of lists with the same name that are compared to find the nearest one.
pub const LISTS_OF_ONE_NAME: usize = 256;
/// Maximum number of characters used from a query.
pub const SEARCH_QUERY_CHARS: usize = 400;
/// Maximum number of words used from a query.
pub const SEARCH_QUERY_WORDS: usize = 32;
/// Maximum length of an indexed word, in bytes.
pub const SEARCH_WORD_CHARS: usize = 64;
/// Maximum number of indexed words per entry.
pub const SEARCH_ENTRY_WORDS: usize = 2_000;
/// Maximum number of words in a path or summary that are compared with the query.
pub const SEARCH_TITLE_WORDS: usize = 24;
/// Maximum number of known words that may replace an unknown one.
pub const SEARCH_NEAR_WORDS: usize = 8;
/// Maximum number of misspelled words in a query that are compared with the whole vocabulary.
pub const SEARCH_MENDED_WORDS: usize = 8;
/// Maximum number of entries that are scored in detail for one query.
pub const SEARCH_CANDIDATES: usize = 400;
/// Maximum number of reported deviations from the specification.
pub const DEPARTURES: usize = 50;
/// Maximum size of a document that is validated against the specification's schema, in bytes.
pub const SPECIFICATION_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of allowed values that a message lists; if there are more, it lists none.
pub const SHOWN_CHOICES: usize = 30;
/// Maximum number of reported dangling references.
pub const DANGLING: usize = 100;
