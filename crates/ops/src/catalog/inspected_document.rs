//! A document that somebody named, read and looked at as a whole: what validating it and planning
//! its import begin with.

use milepost_catalog::finding::DocumentFinding;
use milepost_catalog::import::{BaseUrl, Inspection};
use milepost_catalog::openapi::Api;
use milepost_store::catalogs::CatalogSource;
use url::Url;

use crate::prelude::*;
use crate::source::{self, DocumentSource, SourceDocument, SourceFailure};

/// What a document is, and all that was found in it.
#[derive(Debug)]
pub(super) struct InspectedDocument {
    pub(super) api: Api,
    /// What can be used of it; its findings are among those below.
    pub(super) inspection: Inspection,
    /// Where it is reached.
    pub(super) base: Option<Url>,
    /// What it was written as, when that is not the JSON in `api`.
    pub(super) written: Option<String>,
    /// What a record says of where it came from.
    pub(super) origin: CatalogSource,
    pub(super) warnings: Vec<DocumentFinding>,
    pub(super) violations: Vec<DocumentFinding>,
}

impl InspectedDocument {
    /// Reads a document and looks at everything in it once.
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
        call.progress("looking at every operation");
        let mut inspection = Inspection::of(&api);
        let base = BaseUrl::of(&api, base_url, url.as_ref());
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
