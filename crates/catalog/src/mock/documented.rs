//! The operations of a document, made whole when they are first called.

use std::sync::Arc;

use milepost_model::id::CatalogId;
use milepost_model::target::CommandId;

use super::Operations;
use crate::command::{Command, Method};
use crate::openapi::Api;
use crate::table::Row;

/// The operations of a catalog's document.
#[derive(Debug)]
pub struct Documented {
    /// The document.
    pub api: Arc<Api>,
    /// Its commands in short.
    pub rows: Vec<Row>,
    /// The catalog that they belong to.
    pub catalog: CatalogId,
}

impl Operations for Documented {
    fn routes(&self) -> Vec<(Method, String)> {
        self.rows.iter().map(|row| (row.method, row.path.clone())).collect()
    }

    fn servers(&self) -> Vec<String> {
        self.api.servers().into_iter().map(|server| server.url).collect()
    }

    fn command(&self, method: Method, path: &str) -> Option<Arc<Command>> {
        let row = self.rows.iter().find(|row| row.method == method && row.path == path)?;
        let id = CommandId::parse(&format!("{} {}", self.catalog, row.name))?;
        self.api.command(id, row).map(Arc::new)
    }
}
