//! The API that is mocked: the operations of a catalog, each read when it is first called.

use std::sync::Arc;

use milepost_catalog::command::{ApiCommand, Method};
use milepost_catalog::openapi::Api;
use milepost_catalog::table::Row;
use milepost_model::id::CatalogId;
use milepost_model::target::CommandId;

/// A catalog to mock.
#[derive(Debug)]
pub struct MockSource {
    pub api: Arc<Api>,
    pub rows: Vec<Row>,
    pub catalog: CatalogId,
}

impl MockSource {
    /// Method and path template of every operation.
    pub fn routes(&self) -> impl Iterator<Item = (Method, &str)> {
        self.rows.iter().map(|row| (row.method, row.path.as_str()))
    }

    /// The operation of a method and a path template.
    pub fn command(&self, method: Method, path: &str) -> Option<ApiCommand> {
        let row = self.rows.iter().find(|row| row.method == method && row.path == path)?;
        let id = CommandId::parse(&format!("{} {}", self.catalog, row.name))?;
        self.api.command(id, row)
    }
}
