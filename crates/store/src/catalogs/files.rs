//! A catalog's file names. They are built only from parsed ids, so they cannot point outside the
//! directory.

use milepost_model::id::CatalogId;
use milepost_syntax::source::Format;

use super::error::RecordFault;
use super::record::CatalogRecord;
use super::text;

/// The file name of a record.
pub(super) fn record(id: &CatalogId) -> String {
    format!("{id}.toml")
}

/// The file name of a document.
pub(super) fn document(id: &CatalogId, format: Format) -> String {
    format!("{id}.source.{}", format.name())
}

/// The temporary name of a new document until its record is written. It is hidden because it does
/// not belong to a catalog yet.
pub(super) fn next_document(id: &CatalogId, format: Format) -> String {
    format!(".{}.next", document(id, format))
}

/// Whether a file should be a record, judging by its name.
pub(super) fn is_record(name: &str) -> bool {
    name.strip_suffix(".toml").is_some()
}

/// The id in a record's file name.
pub(super) fn record_id(name: &str) -> Option<CatalogId> {
    CatalogId::parse(name.strip_suffix(".toml")?).ok()
}

/// Parses a record and checks that its id matches its file name.
pub(super) fn read_record(name: &str, bytes: &[u8]) -> Result<CatalogRecord, RecordFault> {
    let Some(id) = record_id(name) else { return Err(RecordFault::FileName) };
    let record = text::parse(bytes)?;
    if record.id != id {
        return Err(RecordFault::OtherId { found: record.id });
    }
    Ok(record)
}
