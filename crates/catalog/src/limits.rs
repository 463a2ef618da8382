//! Every bound of catalogs, named once. A limit is inclusive.

/// Bytes of a document as it is read.
pub const DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a document as JSON, its aliases written out.
pub const UNPACKED_BYTES: usize = 64 * 1024 * 1024;
/// Nesting of lists and maps.
pub const DEPTH: usize = 512;
/// References that are followed from one to the next.
pub const REF_HOPS: usize = 64;
/// Characters of a command's name.
pub const NAME_CHARS: usize = 48;
/// Characters of a summary.
pub const SUMMARY_CHARS: usize = 200;
/// Characters of a description.
pub const DESCRIPTION_CHARS: usize = 2_000;

/// Bytes of a compiled pattern of a schema.
pub const PATTERN_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// Steps back that a pattern of a schema may take.
pub const PATTERN_STEPS: usize = 100_000;
/// Characters of a finding's message.
pub const MESSAGE_CHARS: usize = 400;
/// Findings kept for one document; more are counted, not kept.
pub const FINDINGS: usize = 2_000;
/// Characters of a row's description, which only search reads.
pub const ROW_DESCRIPTION_CHARS: usize = 400;
/// Characters of a tag.
pub const TAG_CHARS: usize = 80;
/// Characters of an operation's id.
pub const OPERATION_ID_CHARS: usize = 200;
/// Parameters of one operation.
pub const PARAMETERS: usize = 1_000;
/// Schemas that make up one command, those that are referred to included.
pub const SCHEMA_PARTS: usize = 200_000;
/// Characters of a description inside a schema.
pub const SCHEMA_TEXT_CHARS: usize = 500;
/// Characters of the name a schema is kept under.
pub const DEFINITION_NAME_CHARS: usize = 100;
/// Media types of one body.
pub const MEDIA_TYPES: usize = 50;
/// Answers of one operation.
pub const RESPONSES: usize = 100;
/// Servers of one document or operation.
pub const SERVERS: usize = 100;
/// Files one document is made of.
pub const FILES: usize = 256;
/// Bytes that aliases and merge keys of YAML may add, as a multiple of the document's own.
pub const ALIAS_FACTOR: usize = 4;
/// Bytes that aliases and merge keys may add to a document however small it is.
pub const ALIAS_BYTES_FLOOR: usize = 64 * 1024;
/// Anchors of a YAML document.
pub const ANCHORS: usize = 100_000;
/// Bytes of a document of which less is read than the whole: below it, that takes no time.
pub const EXCERPT_DOCUMENT_BYTES: usize = 256 * 1024;
/// Bytes of a map that is read whole; a larger one is parted.
pub const EXCERPT_PART_BYTES: usize = 16 * 1024;
/// Maps within maps that are parted.
pub const EXCERPT_DEPTH: usize = 6;
/// Bytes of an excerpt; what needs more needs the whole.
pub const EXCERPT_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of the URL of a request.
pub const URL_BYTES: usize = 64 * 1024;
/// Faults of one argument that are told.
pub const MISFITS: usize = 8;
/// Bytes of a value that is shown in a message.
pub const SHOWN_VALUE_BYTES: usize = 60;
/// Faults of one request that are told.
pub const MISUSES: usize = 32;
/// Bytes of a schema that arguments are checked against, with all it refers to.
pub const CHECKED_SCHEMA_BYTES: usize = 2 * 1024 * 1024;
/// Parts such a schema unfolds to when its references are followed.
pub const CHECKED_SCHEMA_PARTS: usize = 1_000_000;
/// Nesting of such a schema with its references followed.
pub const CHECKED_SCHEMA_DEPTH: usize = 256;
/// Ways on which a value may come back to the same schema while it is checked.
pub const CHECKED_WAYS: usize = 100_000;
/// Media types that an `Accept` header names.
pub const ACCEPT_TYPES: usize = 8;
/// Nesting of values that become text: brackets of `deepObject`, schemas of properties.
pub const VALUE_DEPTH: usize = 32;
/// Parts of a composed schema that are looked at: references, `allOf`, `anyOf`, `oneOf`.
pub const COMPOSED_PARTS: usize = 500;
/// Pages that are fetched for one call unless the caller says less.
pub const PAGES: usize = 1_000;
/// Items that are gathered for one call unless the caller says less.
pub const PAGED_ITEMS: usize = 100_000;
/// Nesting in an answer at which a cursor, a link to the next page or a list is looked for.
pub const PAGE_FIELD_DEPTH: usize = 3;
/// Fields of an answer that are looked at to find out how it is paged.
pub const PAGE_FIELDS: usize = 500;
/// Parts of a path that are compared with those of others.
pub const PATH_PARTS: usize = 64;
/// Schemas within each other, by references and choices, that are looked through for a list.
pub const SCHEMA_LAYERS: usize = 8;
/// Schemas that are put together to know the fields of one item.
pub const ITEM_SCHEMAS: usize = 200;
/// Fields of one schema that are looked at.
pub const ITEM_FIELDS: usize = 1_000;
/// Lists of one name among which the nearest is looked for.
pub const LISTS_OF_ONE_NAME: usize = 256;
/// Characters of a query that are read.
pub const SEARCH_QUERY_CHARS: usize = 400;
/// Words of a query that are read.
pub const SEARCH_QUERY_WORDS: usize = 32;
/// Bytes of a word that can be found.
pub const SEARCH_WORD_CHARS: usize = 64;
/// Words of one entry that can be found.
pub const SEARCH_ENTRY_WORDS: usize = 2_000;
/// Words of a path or summary that are compared with those of a query.
pub const SEARCH_TITLE_WORDS: usize = 24;
/// Words that may stand for one that is not known.
pub const SEARCH_NEAR_WORDS: usize = 8;
/// Words of a query that are compared with every word there is.
pub const SEARCH_MENDED_WORDS: usize = 8;
/// Entries that are looked at closely for one query.
pub const SEARCH_CANDIDATES: usize = 400;
/// Departures from the specification that are told.
pub const DEPARTURES: usize = 50;
/// Bytes of a document that is compared with the specification's schema.
pub const SPECIFICATION_BYTES: usize = 16 * 1024 * 1024;
/// Values that a parameter can have and that are all told.
pub const SHOWN_CHOICES: usize = 30;
/// References that lead nowhere and are told.
pub const DANGLING: usize = 100;
