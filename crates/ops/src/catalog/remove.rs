//! `catalog.remove`: removes a catalog.

use milepost_model::id::CatalogId;

use super::which;
use crate::prelude::*;

/// The catalog to remove.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub catalog_id: Option<String>,
    /// Its title, if the id is not known.
    pub catalog_title: Option<String>,
    /// Also removes its document.
    #[serde(default)]
    pub remove_manifest: bool,
}

/// What was removed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub removed_catalog_id: String,
    /// Whether its document was removed.
    pub manifest_removed: bool,
    /// How many catalogs are left.
    pub remaining_catalog_count: usize,
}

operation! {
    RemoveCatalog: "catalog.remove", "Remove a catalog", include_str!("remove.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("catalog remove")];
    run: remove_catalog(Writer, Request) -> Response;
    loss: loss;
    example: {"catalog_id": "shop"};
}

async fn loss(writer: &Writer, _: &dyn Caller, request: &Request) -> Result<Option<String>> {
    let id = meant(writer, request)?;
    let Ok(Some(record)) = writer.reader.shelf.known(&id) else {
        let kept = writer.catalogs.kept(&id).ok().flatten();
        if let Some(document) = kept.filter(|_| request.remove_manifest) {
            let path = document.path.display();
            return Ok(Some(format!("this removes the document `{path}` from a removed catalog")));
        }
        let lost = format!("this removes the unreadable record of catalog `{id}`");
        return Ok(Some(lost));
    };
    let (id, commands) =
        (&record.id, milepost_model::suggest::count(record.names.len(), "command"));
    let document = if request.remove_manifest { " and its document" } else { "" };
    Ok(Some(format!(
        "this removes catalog `{id}` ({}) with {commands}{document}: its settings and the names \
         of its secrets are lost",
        record.title,
    )))
}

async fn remove_catalog(writer: &Writer, _: &dyn Caller, request: Request) -> Result<Response> {
    let id = meant(writer, &request)?;
    let shelf = &writer.reader.shelf;
    let removed = writer.catalogs.remove(&id, request.remove_manifest).or_problem()?;
    // Best effort: leftover derived data does no harm.
    let _ = writer.derived.forget(&id);
    Ok(Response {
        removed_catalog_id: id.to_string(),
        manifest_removed: !removed.documents.is_empty(),
        remaining_catalog_count: shelf.listing()?.records.len(),
    })
}

/// The catalog to remove. An exact id takes precedence over one that starts with the given name,
/// even if its record is unreadable or only its document is left.
fn meant(writer: &Writer, request: &Request) -> Result<CatalogId> {
    let which = which(request.catalog_id.as_deref(), request.catalog_title.as_deref())?;
    let shelf = &writer.reader.shelf;
    if let Ok(Some(record)) = shelf.exact(which) {
        return Ok(record.id.clone());
    }
    if let Ok(id) = CatalogId::parse(which) {
        let kept = writer.catalogs.kept(&id).ok().flatten().filter(|_| request.remove_manifest);
        if kept.is_some() || shelf.is_unreadable(&id) {
            return Ok(id);
        }
    }
    match shelf.record(which) {
        Ok(record) => Ok(record.id.clone()),
        // A catalog with an unreadable record can be removed, too.
        Err(problem) => shelf.begun(which)?.ok_or(problem),
    }
}
