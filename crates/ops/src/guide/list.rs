//! `guide.list`: lists the workflows that can be walked through.

use crate::prelude::*;

/// No arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {}

/// Every walkable workflow, by id, and every invalid file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListResponse {
    /// The workflows.
    pub workflows: Vec<GuideSummary>,
    /// Invalid files, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub invalid: Vec<InvalidGuideFile>,
}

/// A workflow in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GuideSummary {
    /// Unique workflow identifier
    pub id: String,
    /// Human-friendly workflow name
    pub name: String,
    /// Brief description of what the workflow accomplishes
    pub description: String,
    /// Workflow category
    pub category: String,
    /// Workflow version following semantic versioning
    pub version: String,
}

/// An invalid workflow file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InvalidGuideFile {
    /// The file.
    pub path: String,
    /// Why it is invalid.
    pub reason: String,
}

operation! {
    ListGuides: "guide.list", "List workflows", "Lists all available workflows";
    doors: [Door::GuideTool("workflow_list")];
    run: list_guides(Reader, ListRequest) -> ListResponse;
    example: {};
}

async fn list_guides(reader: &Reader, call: &dyn Caller, _: ListRequest) -> Result<ListResponse> {
    let listing = reader.listing()?;
    for invalid in &listing.invalid {
        call.warn(&format!("{}: {}", invalid.path.display(), invalid.reason));
    }
    let walkable = listing.items.iter().filter(|item| item.agent_only);
    let workflows = walkable.map(|item| GuideSummary {
        id: item.id.clone(),
        name: item.title.clone(),
        description: item.description.clone().unwrap_or_default(),
        category: item.category.clone().unwrap_or_else(|| "general".to_owned()),
        version: item.version_label.clone().unwrap_or_else(|| "0.0.0".to_owned()),
    });
    let invalid = listing.invalid.iter().map(|invalid| InvalidGuideFile {
        path: invalid.path.display().to_string(),
        reason: invalid.reason.clone(),
    });
    Ok(ListResponse { workflows: workflows.collect(), invalid: invalid.collect() })
}
