//! `catalog.list`: lists every catalog, and every file that should be one but is unreadable.

use milepost_store::catalogs::CatalogSource;

use crate::prelude::*;

/// Which catalog to list; all if omitted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only this catalog, by id or title.
    pub catalog_id: Option<String>,
}

/// Every catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Sorted by id.
    pub catalogs: Vec<CatalogItem>,
    /// Files that should be catalogs but cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableCatalog>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CatalogItem {
    /// Its id, which is also its command group.
    pub catalog_id: String,
    /// Its title.
    pub title: String,
    /// The API's vendor.
    pub vendor: Option<String>,
    /// The API's URL.
    pub base_url: Option<String>,
    /// Whether its commands can be used.
    pub enabled: bool,
    /// The number of commands.
    pub command_count: usize,
    /// Where its document came from.
    pub source: String,
    /// The path of its record.
    pub catalog_path: String,
    /// The path of its document.
    pub manifest_path: String,
    /// Why it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An unreadable catalog file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadableCatalog {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

operation! {
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

pub(crate) fn source_text(source: &CatalogSource) -> String {
    match source {
        CatalogSource::File(path) => path.display().to_string(),
        CatalogSource::Url(url) => url.clone(),
    }
}
