//! `provider.list`: which commands yield choices, and for what.

use milepost_catalog::provider::InferredProvider;

use crate::catalog_cache::LoadedCatalog;
use crate::prelude::*;

/// Restricts the list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only this catalog, by id or title.
    pub catalog: Option<String>,
    /// Only those that serve this command.
    pub command: Option<String>,
}

/// Every provider.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Grouped by catalog, in document order.
    pub providers: Vec<ProviderItem>,
}

/// A command that yields choices.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProviderItem {
    /// `group name` of the list command.
    pub provider: String,
    /// JSON pointer to the list in the response.
    pub list_at: String,
    /// The item field with the value.
    pub value_field: String,
    /// The item field with a readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_field: Option<String>,
    /// Required arguments, and the parameter that supplies each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_parameters: Vec<ProviderArgument>,
    /// The parameters it yields values for.
    pub serves: Vec<FilledParameter>,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// Why it was inferred.
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProviderArgument {
    /// The argument.
    pub parameter: String,
    /// The parameter of the served command that gives its value.
    pub from: String,
}

/// A parameter that has choices.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FilledParameter {
    /// `group name`.
    pub command: String,
    /// The parameter.
    pub parameter: String,
}

operation! {
    ListProviders: "provider.list", "List providers", include_str!("list.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("command providers")];
    run: list_providers(Reader, Request) -> Response;
    example: {};
}

async fn list_providers(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let shelf = &reader.shelf;
    let (loaded, only) = match (&request.command, &request.catalog) {
        (Some(command), _) => {
            let (loaded, row) = shelf.command(command)?;
            let name = loaded.table.rows[row].name.clone();
            (vec![loaded], Some(name))
        }
        (None, Some(which)) => (vec![shelf.load(&shelf.record(which)?)?], None),
        (None, None) => (shelf.enabled()?, None),
    };
    let mut providers = Vec::new();
    for catalog in &loaded {
        let all = catalog.table.providers.iter();
        providers.extend(all.filter_map(|provider| item(catalog, provider, only.as_deref())));
    }
    Ok(Response { providers })
}

fn item(
    catalog: &LoadedCatalog,
    provider: &InferredProvider,
    only: Option<&str>,
) -> Option<ProviderItem> {
    let group = &catalog.record.id;
    let wanted = provider.serves.iter();
    let wanted = wanted.filter(|one| only.is_none_or(|name| one.command == name));
    let serves = wanted.map(|one| FilledParameter {
        command: format!("{group} {}", one.command),
        parameter: one.parameter.clone(),
    });
    let serves: Vec<FilledParameter> = serves.collect();
    let binds = provider.binds.iter().map(|bind| ProviderArgument {
        parameter: bind.parameter.clone(),
        from: bind.from.clone(),
    });
    (!serves.is_empty()).then(|| ProviderItem {
        provider: format!("{group} {}", provider.command),
        list_at: provider.list_at.clone(),
        value_field: provider.value_field.clone(),
        label_field: provider.label_field.clone(),
        required_parameters: binds.collect(),
        serves,
        confidence: provider.confidence.value(),
        reason: provider.reason.clone(),
    })
}
