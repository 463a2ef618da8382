//! The names of a catalog's files. Made of parsed ids only, so none leaves the directory.

use milepost_model::id::CatalogId;
use milepost_syntax::source::Format;

use super::error::RecordFault;
use super::record::CatalogRecord;
use super::text;

/// The file of a record.
pub(super) fn record(id: &CatalogId) -> String {
    format!("{id}.toml")
}

/// The file of a document.
pub(super) fn document(id: &CatalogId, format: Format) -> String {
    format!("{id}.source.{}", format.name())
}

/// Where a document waits until its record is written. Hidden: it is nobody's yet.
pub(super) fn next_document(id: &CatalogId, format: Format) -> String {
    format!(".{}.next", document(id, format))
}

/// Whether a file should be a record.
pub(super) fn is_record(name: &str) -> bool {
    name.strip_suffix(".toml").is_some()
}

/// The id in the name of a record.
pub(super) fn record_id(name: &str) -> Option<CatalogId> {
    CatalogId::parse(name.strip_suffix(".toml")?).ok()
}

/// A record whose id is that of its file.
pub(super) fn read_record(name: &str, bytes: &[u8]) -> Result<CatalogRecord, RecordFault> {
    let Some(id) = record_id(name) else { return Err(RecordFault::FileName) };
    let record = text::parse(bytes)?;
    if record.id != id {
        return Err(RecordFault::OtherId { found: record.id });
    }
    Ok(record)
}
