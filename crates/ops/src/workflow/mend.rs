//! Applies all unambiguous fixes to a document, repeatedly until none is left.

use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::id::WorkflowId;
use milepost_store::Digest;
use milepost_store::workflows::{ExpectedVersion, WorkflowDraft};
use milepost_syntax::source::{Format, Source};

use super::{change, problem};
use crate::prelude::*;

/// A document after applying fixes.
#[derive(Debug)]
pub struct MendedDocument {
    pub document: Document,
    /// Its bytes, unchanged except for the fixes.
    pub bytes: Vec<u8>,
    /// The number of errors fixed.
    pub fixed: usize,
}

/// Applies the unambiguous fixes for errors until none are left; `None` if there is nothing to fix.
pub fn mended(document: &Document, world: World<'_>) -> Option<MendedDocument> {
    let mut mended: Option<MendedDocument> = None;
    for _ in 0..limits::MEND_ROUNDS {
        let before = mended.as_ref().map_or(document, |mended| &mended.document);
        let (Some(text), Some(source)) = (before.fixed(), &before.source) else { break };
        let bytes = source.with_text(&text);
        let after = Document::read(&bytes, Some(source.format()), world);
        // A fix without effect would be offered forever, and must not be written.
        if told(&after) == told(before) {
            break;
        }
        let round = fixable(before).saturating_sub(fixable(&after)).max(1);
        let fixed = mended.as_ref().map_or(0, |mended| mended.fixed) + round;
        mended = Some(MendedDocument { document: after, bytes, fixed });
    }
    mended
}

/// Replaces the source of a workflow with a fixed document. The old source is kept and can be
/// restored. A workflow that has changed in the meantime is left alone.
pub fn write(
    writer: &Writer,
    id: &WorkflowId,
    before: &Document,
    mended: &MendedDocument,
) -> Result<()> {
    let format = mended.document.source.as_ref().map_or(Format::Yaml, Source::format);
    let seen = before.source.as_ref().map(|source| source.with_text(source.text()));
    let expected =
        seen.map_or(ExpectedVersion::Any, |bytes| ExpectedVersion::Version(Digest::of(&bytes)));
    let id_found = mended.document.id.as_deref();
    let draft = WorkflowDraft { bytes: &mended.bytes, format, id: id_found };
    let saved = writer.workflows.save(id, draft, change(expected));
    saved.map(drop).map_err(|error| problem::of_change(error, &writer.reader))
}

/// The number of errors that have an unambiguous fix.
pub fn fixable(document: &Document) -> usize {
    let errors = document.violations.iter().filter(|one| one.severity == Severity::Error);
    errors.filter(|one| one.fix.is_some()).count()
}

/// The errors in a document, each identified by its rule and message.
fn told(document: &Document) -> Vec<(&'static str, &str)> {
    let errors = document.violations.iter().filter(|one| one.severity == Severity::Error);
    errors.map(|one| (one.rule.name(), one.message.as_str())).collect()
}
