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
/// Notes of the reader that are kept; what is more is counted.
pub const NOTES: usize = 100;
/// Entries of a map that are looked through one by one; a larger one has its keys sorted.
pub const NARROW_MAP: usize = 16;
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
