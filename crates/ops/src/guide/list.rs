//! `guide.list`: which workflows can be walked.

use milepost_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::Call;
use crate::operation::{Door, SafeOperation};
use crate::reader::Reader;

/// Nothing is asked.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {}

/// Every workflow that can be walked, by id, and every file that is no workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListResponse {
    /// The workflows.
    pub workflows: Vec<Summary>,
    /// Files that are no workflow, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub invalid: Vec<Broken>,
}

/// A workflow in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Summary {
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

/// A file that is no workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Broken {
    /// The file.
    pub path: String,
    /// Why it is none.
    pub reason: String,
}

pub(crate) struct List;

impl SafeOperation for List {
    type Request = ListRequest;
    type Response = ListResponse;

    const NAME: &'static str = "guide.list";
    const TITLE: &'static str = "List workflows";
    const DESCRIPTION: &'static str = "Lists all available workflows";
    const DOORS: &'static [Door] = &[Door::GuideTool("workflow_list")];

    fn run(reader: &Reader, call: &dyn Call, _: ListRequest) -> Result<ListResponse, Problem> {
        let listing = reader.listing()?;
        for invalid in &listing.invalid {
            call.warn(&format!("{}: {}", invalid.path.display(), invalid.reason));
        }
        let walkable = listing.items.iter().filter(|item| item.agent_only);
        let workflows = walkable.map(|item| Summary {
            id: item.id.clone(),
            name: item.title.clone(),
            description: item.description.clone().unwrap_or_default(),
            category: item.category.clone().unwrap_or_else(|| "general".to_owned()),
            version: item.version_label.clone().unwrap_or_else(|| "0.0.0".to_owned()),
        });
        let invalid = listing.invalid.iter().map(|invalid| Broken {
            path: invalid.path.display().to_string(),
            reason: invalid.reason.clone(),
        });
        Ok(ListResponse { workflows: workflows.collect(), invalid: invalid.collect() })
    }

    fn example() -> Value {
        json!({})
    }

    fn fits(ListRequest {}: &ListRequest) -> bool {
        true
    }
}
