//! A document from a caller, read and inspected as a whole: the first step of both validation and
//! import.

use milepost_catalog::finding::DocumentFinding;
use milepost_catalog::import::{Inspection, ResolvedBaseUrl};
use milepost_catalog::openapi::Api;
use milepost_store::catalogs::CatalogSource;
use url::Url;

use crate::prelude::*;
use crate::source::{self, DocumentSource, SourceDocument, SourceFailure};

/// A document, and everything that was found in it.
#[derive(Debug)]
pub(super) struct InspectedDocument {
    pub(super) api: Api,
    /// Its usable operations; their findings are in the lists below.
    pub(super) inspection: Inspection,
    /// The URL of the API.
    pub(super) base: Option<Url>,
    /// The original document, if it is not the JSON in `api`.
    pub(super) written: Option<String>,
    /// Where it came from, for the catalog's record.
    pub(super) origin: CatalogSource,
    pub(super) warnings: Vec<DocumentFinding>,
    pub(super) violations: Vec<DocumentFinding>,
}

impl InspectedDocument {
    /// Reads a document and inspects everything in it once.
    pub(super) async fn at(
        wanted: &DocumentSource<'_>,
        base_url: Option<&str>,
        reader: &Reader,
        call: &dyn Caller,
    ) -> Result<InspectedDocument, SourceFailure> {
        let SourceDocument { mut bundled, origin, url } = wanted.read(reader, call).await?;
        let written = bundled.reading.written.take();
        let (api, mut warnings, mut violations) =
            source::api(bundled).map_err(SourceFailure::NotADocument)?;
        call.progress("reading every operation");
        let mut inspection = Inspection::of(&api);
        let base = ResolvedBaseUrl::of(&api, base_url, url.as_ref());
        warnings.append(&mut inspection.warnings);
        warnings.extend(base.warnings);
        violations.append(&mut inspection.violations);
        violations.extend(base.violations);
        Ok(InspectedDocument {
            api,
            inspection,
            base: base.url,
            written,
            origin,
            warnings,
            violations,
        })
    }
}
