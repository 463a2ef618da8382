//! Mocks a catalog, or a document that has not been imported.

use std::sync::Arc;

use milepost_mock::{Mock, MockSettings, MockSource};
use milepost_model::id::CatalogId;
use milepost_store::catalogs::CatalogRecord;

use super::import;
use super::plan::ImportPlan;
use crate::prelude::*;

#[derive(Debug)]
pub struct MockedApi {
    /// The name of the API.
    pub title: String,
    /// The number of operations it mocks.
    pub operation_count: usize,
    pub mock: Mock,
}

/// Opens a mock of a catalog, by id or title, or of a document, by path or URL. A file takes
/// precedence over a catalog whose id merely starts with `which`.
pub async fn open(
    reader: &Reader,
    call: &dyn Caller,
    which: &str,
    settings: MockSettings,
) -> Result<MockedApi> {
    let shelf = &reader.shelf;
    if let Ok(Some(record)) = shelf.exact(which) {
        return of_catalog(reader, &record, settings);
    }
    // The real API's URL is irrelevant, and a document may lack one.
    let base_url = Some("http://localhost".to_owned());
    let (source, vendor) = (which.to_owned(), Some("mock".to_owned()));
    let asked = import::Request { source, vendor, base_url, ..import::Request::default() };
    let plan = match ImportPlan::of(&asked, reader, call).await {
        // If a valid id names no file, it must refer to a catalog.
        Err(problem) if problem.code == Code::FileNotFound && CatalogId::parse(which).is_ok() => {
            return of_catalog(reader, &shelf.record(which)?, settings);
        }
        plan => plan?,
    };
    let catalog = plan.record.id;
    let operations = MockSource { api: Arc::new(plan.api), rows: plan.table.rows, catalog };
    Ok(played(plan.record.title, operations, settings))
}

fn of_catalog(
    reader: &Reader,
    record: &Arc<CatalogRecord>,
    settings: MockSettings,
) -> Result<MockedApi> {
    let loaded = reader.shelf.load(record)?;
    let (rows, catalog) = (loaded.table.rows.clone(), record.id.clone());
    let operations = MockSource { api: loaded.api()?, rows, catalog };
    Ok(played(record.title.clone(), operations, settings))
}

fn played(title: String, operations: MockSource, mut settings: MockSettings) -> MockedApi {
    settings.schemes = operations.api.schemes().into_iter().collect();
    let operation_count = operations.rows.len();
    MockedApi { title, operation_count, mock: Mock::new(operations, settings) }
}
