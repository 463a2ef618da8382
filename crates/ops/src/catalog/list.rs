//! `catalog.list`: every catalog, and every file that should be one.

use milepost_store::catalogs::CatalogSource;

use crate::prelude::*;

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// One catalog alone, by id or title.
    pub catalog_id: Option<String>,
}

/// Every catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Sorted by id.
    pub catalogs: Vec<CatalogItem>,
    /// Files that should be catalogs and cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableCatalog>,
}

/// A catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CatalogItem {
    /// Its id, which is the group of its commands.
    pub catalog_id: String,
    /// Its title.
    pub title: String,
    /// Who offers it.
    pub vendor: Option<String>,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// Whether its commands can be used.
    pub enabled: bool,
    /// How many commands it has.
    pub command_count: usize,
    /// Where its document came from.
    pub source: String,
    /// The file of its record.
    pub catalog_path: String,
    /// The file of its document.
    pub manifest_path: String,
    /// What is wrong with it, when it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A file that should be a catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadableCatalog {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

operation! {
    /// Lists catalogs.
    ListCatalogs: "catalog.list", "List catalogs", include_str!("list.md");
    doors: [Door::Command("catalog list"), Door::Command("catalog show")];
    run: list_catalogs(Reader, Request) -> Response;
    example: {};
}

async fn list_catalogs(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let shelf = &reader.shelf;
    let listing = shelf.listing()?;
    let records = match &request.catalog_id {
        Some(which) => vec![shelf.record(which)?],
        None => listing.records,
    };
    let catalogs = &shelf.catalogs;
    let items = records.iter().map(|record| {
        let loaded = shelf.load(record);
        CatalogItem {
            catalog_id: record.id.to_string(),
            title: record.title.clone(),
            vendor: record.vendor.clone(),
            base_url: record.base_url.as_ref().map(|base| base.url.clone()),
            enabled: record.enabled,
            command_count: loaded.as_ref().map_or(0, |loaded| loaded.table.rows.len()),
            source: source_text(&record.source),
            catalog_path: catalogs.record_path(&record.id).display().to_string(),
            manifest_path: catalogs.document_path(&record.id, record.format).display().to_string(),
            problem: loaded.err().map(|problem| problem.message),
        }
    });
    let unreadable = listing.unreadable.iter().map(|file| UnreadableCatalog {
        path: file.path.display().to_string(),
        message: file.fault.to_string(),
    });
    Ok(Response { catalogs: items.collect(), unreadable: unreadable.collect() })
}

/// A source as people write it.
pub(crate) fn source_text(source: &CatalogSource) -> String {
    match source {
        CatalogSource::File(path) => path.display().to_string(),
        CatalogSource::Url(url) => url.clone(),
    }
}
