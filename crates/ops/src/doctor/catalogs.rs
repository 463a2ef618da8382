//! The catalogs: their records, their documents, and derived data.

use milepost_store::catalogs::{CatalogRecord, DocumentStanding, UnreadableRecord};

use super::{DoctorCheck, count, mended_or, or_ok};
use crate::prelude::*;

pub(super) fn checks(writer: &Writer) -> Vec<DoctorCheck> {
    let directory = writer.catalogs.path();
    let listing = match writer.catalogs.list() {
        Ok(listing) => listing,
        Err(error) => {
            let what = problems::of_file(&error).message;
            let fix = "give yourself read access to the directory";
            return vec![DoctorCheck::fault("catalog.record", what, fix).at(directory)];
        }
    };
    let mut records: Vec<DoctorCheck> =
        listing.unreadable.iter().map(|file| unreadable(file)).collect();
    let mut documents = Vec::new();
    let mut derived = Vec::new();
    for record in &listing.records {
        records.extend(unknown_keys(writer, record));
        documents.extend(document(writer, record));
        if let Some(path) = writer.reader.shelf.damaged(record) {
            let fix = mended_or("; otherwise it is rebuilt when needed");
            let what = "the catalog's derived data is damaged";
            derived.push(DoctorCheck::warning("catalog.derived", what, fix).at(&path));
        }
    }
    let number = count(listing.records.len(), "catalog");
    let mut checks = or_ok(records, || DoctorCheck::ok("catalog.record", number).at(directory));
    let unchanged = || DoctorCheck::ok("catalog.document", "all documents are unchanged");
    checks.extend(or_ok(documents, unchanged));
    checks.extend(or_ok(derived, || DoctorCheck::ok("catalog.derived", "derived data is intact")));
    checks
}

fn unreadable(file: &UnreadableRecord) -> DoctorCheck {
    let fix = match &file.id {
        Some(id) => Hint::text("correct the file, or remove it with ")
            .call(Invocation::of("catalog.remove").with("catalog_id", id.as_str()))
            .then(" and import again"),
        None => "correct the file".into(),
    };
    DoctorCheck::fault("catalog.record", file.fault.to_string(), fix).at(&file.path)
}

fn unknown_keys(writer: &Writer, record: &CatalogRecord) -> Vec<DoctorCheck> {
    let path = writer.catalogs.record_path(&record.id);
    let unknown = record.warnings.iter().map(|unknown| {
        let fix = match unknown.meant {
            Some(meant) => format!("write it as `{meant}`"),
            None => "remove it".to_owned(),
        };
        let what = format!("{}: unknown key `{}`", unknown.at, unknown.key);
        DoctorCheck::warning("catalog.record", what, fix).at(&path)
    });
    unknown.collect()
}

fn document(writer: &Writer, record: &CatalogRecord) -> Option<DoctorCheck> {
    const ID: &str = "catalog.document";
    let (id, source) = (&record.id, &record.source);
    let again = Invocation::of("catalog.import_openapi").with("source", source.to_string());
    let again = Hint::text("import it again: ").call(again.with("overwrite", true));
    let check = match writer.catalogs.examine(record) {
        DocumentStanding::Same => return None,
        DocumentStanding::Edited => {
            let what = format!("the document for `{id}` was changed after the import");
            DoctorCheck::warning(ID, what, again.then(", or leave it if that was intended"))
        }
        DocumentStanding::Unfinished => {
            let what = format!("an import of `{id}` was interrupted");
            DoctorCheck::warning(ID, what, mended_or("; otherwise the next use completes it"))
        }
        DocumentStanding::Missing => {
            DoctorCheck::fault(ID, format!("the document for `{id}` is missing"), again)
        }
        DocumentStanding::Unreadable(error) => {
            DoctorCheck::fault(ID, problems::of_file(&error).message, again)
        }
    };
    Some(check.at(&writer.catalogs.document_path(id, record.format)))
}
