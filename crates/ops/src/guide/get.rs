//! `guide.get`: describes a workflow and how it starts. Later steps are not shown.

use milepost_model::walk::{self, WalkPosition};
use milepost_store::LibraryEntry;

use super::{view, walkable, workflow_of};
use crate::prelude::*;

/// Which workflow, and how much detail.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    /// The workflow ID to retrieve
    #[schemars(length(min = 3, max = 64), regex(pattern = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)?$"))]
    pub id: String,
    /// The level of detail: metadata without steps, or also the first eligible step
    #[serde(default)]
    #[schemars(extend("default" = "preview"))]
    pub mode: GuideDetail,
}

/// How much detail is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("type" = "string", "enum" = ["metadata", "preview"]), transform = plain_enum)]
pub enum GuideDetail {
    /// No steps.
    Metadata,
    /// The first eligible step as well.
    #[default]
    Preview,
}

/// Turns the enum into a plain list of names instead of one schema per variant.
fn plain_enum(schema: &mut schemars::Schema) {
    schema.remove("oneOf");
}

/// A description of a workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuideOverview {
    /// Unique workflow identifier
    pub id: String,
    /// Human-friendly workflow name
    pub name: String,
    /// What the workflow accomplishes
    pub description: String,
    /// Workflow version following semantic versioning
    pub version: String,
    /// Requirements before it starts
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<String>")]
    pub preconditions: Option<Vec<String>>,
    /// What to ask before it starts
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<String>")]
    pub clarification_prompts: Option<Vec<String>>,
    /// Hints for all steps
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<String>")]
    pub meta_guidance: Option<Vec<String>>,
    /// The number of top-level steps
    pub total_steps: usize,
    /// The first step that is due, or null. Absent in `metadata` mode.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub first_step: Option<Option<Map<String, Value>>>,
}

operation! {
    GetGuide: "guide.get", "Get a workflow", "Retrieves a specific workflow by ID";
    doors: [Door::GuideTool("workflow_get")];
    run: get_guide(Reader, GetRequest) -> GuideOverview;
    example: {"id": "bug-investigation", "mode": "metadata"};
}

async fn get_guide(reader: &Reader, _: &dyn Caller, request: GetRequest) -> Result<GuideOverview> {
    let entry = walkable(reader, &request.id)?;
    let workflow = workflow_of(&entry)?;
    let guide = workflow.guide.as_ref();
    Ok(GuideOverview {
        id: entry.id.clone(),
        name: workflow.display_title().to_owned(),
        description: workflow.description.clone().unwrap_or_default(),
        version: workflow.version.clone().unwrap_or_else(|| "0.0.0".to_owned()),
        preconditions: guide.and_then(|guide| guide.preconditions.clone()),
        clarification_prompts: guide.and_then(|guide| guide.clarification_prompts.clone()),
        meta_guidance: guide.and_then(|guide| guide.meta_guidance.clone()),
        total_steps: entry.document.step_count(),
        first_step: match request.mode {
            GuideDetail::Metadata => None,
            GuideDetail::Preview => Some(first_step(&entry)?),
        },
    })
}

/// The first step that is due with an empty context, as `guide.next` would return it.
fn first_step(entry: &LibraryEntry) -> Result<Option<Map<String, Value>>> {
    let context = json!({});
    let walk = walk::next(workflow_of(entry)?, &[], &context);
    Ok(match walk.map(|walk| walk.position) {
        Ok(WalkPosition::Due(due)) => {
            serde_json::from_str(view::step(&entry.document, &due).json()).ok()
        }
        // For example, nothing is due if the workflow starts with a loop over a variable that is
        // not set yet.
        Ok(WalkPosition::Blocked(_) | WalkPosition::Complete { .. }) | Err(_) => None,
    })
}
