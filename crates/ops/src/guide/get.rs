//! `guide.get`: what a workflow is about, and how it begins. Later steps stay hidden.

use milepost_model::problem::Problem;
use milepost_model::walk::{self, Position};
use milepost_store::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{view, walkable, workflow_of};
use crate::call::Call;
use crate::operation::{Door, SafeOperation};
use crate::plain;
use crate::reader::Reader;
use crate::response::Response;

/// Which workflow, and how much of it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    /// The workflow ID to retrieve
    #[schemars(length(min = 3, max = 64), regex(pattern = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)?$"))]
    pub id: String,
    /// The level of detail: metadata without steps, or also the first eligible step
    #[serde(default)]
    #[schemars(extend("default" = "preview"))]
    pub mode: Mode,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("type" = "string", "enum" = ["metadata", "preview"]), transform = plain_enum)]
pub enum Mode {
    /// No steps.
    Metadata,
    /// The first eligible step as well.
    #[default]
    Preview,
}

/// Two words, not two schemas with a constant each.
fn plain_enum(schema: &mut schemars::Schema) {
    schema.remove("oneOf");
}

/// What a workflow is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Unique workflow identifier
    pub id: String,
    /// Human-friendly workflow name
    pub name: String,
    /// What the workflow accomplishes
    pub description: String,
    /// Workflow version following semantic versioning
    pub version: String,
    /// What must be so before it begins
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<String>")]
    pub preconditions: Option<Vec<String>>,
    /// What to ask before it begins
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<String>")]
    pub clarification_prompts: Option<Vec<String>>,
    /// Hints for all steps
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<String>")]
    pub meta_guidance: Option<Vec<String>>,
    /// How many steps stand at the top level
    pub total_steps: usize,
    /// The first step that is due; null when none is. Absent without steps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub first_step: Option<Option<Map<String, Value>>>,
}

pub(crate) struct Get;

impl SafeOperation for Get {
    type Request = GetRequest;
    type Response = Overview;

    const NAME: &'static str = "guide.get";
    const TITLE: &'static str = "Get a workflow";
    const DESCRIPTION: &'static str = "Retrieves a specific workflow by ID";
    const DOORS: &'static [Door] = &[Door::GuideTool("workflow_get")];

    fn run(reader: &Reader, _: &dyn Call, request: GetRequest) -> Result<Overview, Problem> {
        let entry = walkable(reader, &request.id)?;
        let workflow = workflow_of(&entry)?;
        let guide = workflow.guide.as_ref();
        Ok(Overview {
            id: entry.id.clone(),
            name: workflow.display_title().to_owned(),
            description: workflow.description.clone().unwrap_or_default(),
            version: workflow.version.clone().unwrap_or_else(|| "0.0.0".to_owned()),
            preconditions: guide.and_then(|guide| guide.preconditions.clone()),
            clarification_prompts: guide.and_then(|guide| guide.clarification_prompts.clone()),
            meta_guidance: guide.and_then(|guide| guide.meta_guidance.clone()),
            total_steps: entry.document.step_count(),
            first_step: match request.mode {
                Mode::Metadata => None,
                Mode::Preview => Some(first_step(&entry)?),
            },
        })
    }

    fn example() -> Value {
        json!({"id": "bug-investigation", "mode": "metadata"})
    }

    fn fits(request: &GetRequest) -> bool {
        plain::is_workflow_id(&request.id)
    }
}

/// The first step that is due under an empty context, as the next caller would get it.
fn first_step(entry: &Entry) -> Result<Option<Map<String, Value>>, Problem> {
    let context = json!({});
    let walk = walk::next(workflow_of(entry)?, &[], &context);
    Ok(match walk.map(|walk| walk.position) {
        Ok(Position::Due(due)) => {
            let mut json = Response::new();
            view::step(&entry.document, &due).write(&mut json);
            serde_json::from_str(json.json()).ok()
        }
        // A loop over a variable that nobody has set yet: nothing is due before it is.
        Ok(Position::Blocked(_) | Position::Complete { .. }) | Err(_) => None,
    })
}
