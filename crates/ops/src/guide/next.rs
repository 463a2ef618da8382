//! `guide.next`: the step that is due, given the completed steps.

use milepost_model::agent_prompt;
use milepost_model::condition::Truth;
use milepost_model::guide::Confirmation;
use milepost_model::limits;
use milepost_model::walk::{self, BlockedStep, DueStep, WalkPosition};
use milepost_store::LibraryEntry;

use super::{context_of, view, walkable, workflow_of};
use crate::framework::{Respond, Response};
use crate::prelude::*;

/// The caller's progress.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NextRequest {
    /// The workflow ID
    #[schemars(length(min = 3, max = 64), regex(pattern = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)?$"))]
    pub workflow_id: String,
    /// Current step ID (optional)
    #[serde(default)]
    #[schemars(with = "String", length(min = 1), regex(pattern = "^[A-Za-z0-9_.:@-]+$"))]
    pub current_step: Option<String>,
    /// Array of completed step IDs
    #[schemars(inner(regex(pattern = "^[A-Za-z0-9_.:@-]+$")))]
    pub completed_steps: Vec<String>,
    /// Additional context for step guidance
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub context: Option<Map<String, Value>>,
}

/// The step that is due.
#[derive(Debug, Clone, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["step", "guidance", "isComplete"]))]
pub struct NextResponse {
    /// The next step to execute; null when the workflow is complete or is waiting for a variable
    #[schemars(with = "Option<Map<String, Value>>")]
    pub step: Option<Response>,
    /// What to append to `completedSteps` when the step is done
    pub completed_step: Option<String>,
    /// What to tell the agent
    pub guidance: Guidance,
    /// True if all workflow steps are completed or skipped
    pub is_complete: bool,
}

/// What to tell the agent.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guidance {
    /// Role, hints, prompt with its variables filled in, and the loops around the step
    #[serde(skip_serializing)]
    #[schemars(with = "String")]
    pub prompt: Response,
    /// What kind of model is suitable
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "String")]
    pub model_hint: Option<String>,
    /// Whether a person has to confirm
    pub requires_confirmation: bool,
    /// What the output will be checked for
    pub validation_criteria: Vec<String>,
    /// Remarks on the caller's progress
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// Prompt variables that the context lacks
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<String>,
    /// Conditions that wait for a variable
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub blocked: Vec<BlockedCondition>,
    /// Steps that were skipped because their condition is false
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub skipped: Vec<String>,
}

/// A condition that waits for a variable.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockedCondition {
    /// The step it guards, or the loop it repeats
    pub step_id: String,
    /// The variable to set in the context
    pub variable: String,
    /// The values that would make it true, or null if they cannot be listed
    pub expected: Option<Vec<Value>>,
}

impl Respond for NextResponse {
    /// The step and its prompt are already JSON, and usually the same in every response.
    fn write(&self, out: &mut Response) -> serde_json::Result<()> {
        out.push("{\"step\":");
        match &self.step {
            Some(step) => out.append(step),
            None => out.push("null"),
        }
        out.push(",\"completedStep\":");
        out.serialize(&self.completed_step)?;
        out.push(",\"guidance\":{\"prompt\":");
        out.append(&self.guidance.prompt);
        out.more_fields(&self.guidance)?;
        out.push(if self.is_complete { ",\"isComplete\":true}" } else { ",\"isComplete\":false}" });
        Ok(())
    }
}

operation! {
    NextStep: "guide.next", "Get the next step",
        "Gets the next step guidance based on workflow state";
    doors: [Door::GuideTool("workflow_next"), Door::Command("guide next")];
    run: next_step(Reader, NextRequest) -> NextResponse;
    example: {"workflowId": "bug-investigation", "completedSteps": []};
}

async fn next_step(reader: &Reader, _: &dyn Caller, request: NextRequest) -> Result<NextResponse> {
    let entry = walkable(reader, &request.workflow_id)?;
    let workflow = workflow_of(&entry)?;
    let limit = limits::COMPLETED_STEPS;
    if request.completed_steps.len() > limit {
        let message = format!("`completedSteps` has more than {limit} entries");
        let hint = "name each completed step once";
        return Err(Problem::new(Code::StateInvalid, message, hint).context("limit", limit));
    }
    let context = context_of(request.context)?;
    if let Some(current) = &request.current_step {
        walk::find(workflow, current).or_problem()?;
    }
    let walk = walk::next(workflow, &request.completed_steps, &context).or_problem()?;
    let mut warnings = walk.warnings;
    let mut response = match walk.position {
        WalkPosition::Due(due) => {
            warnings.extend(unconfirmed(&due));
            offered(&entry, &due)
        }
        WalkPosition::Blocked(blocked) => waiting(&blocked),
        WalkPosition::Complete { skipped } => complete(&skipped),
    };
    response.guidance.warnings = warnings;
    Ok(response)
}

/// Warns about a confirmation that is not requested because its condition is undecided.
fn unconfirmed(due: &DueStep<'_, '_>) -> Vec<String> {
    let confirmation = view::prompt_of(due.step).map(|prompt| &prompt.confirmation);
    let Some(Confirmation::When(condition)) = confirmation else { return Vec::new() };
    match condition.decide(&due.scope) {
        Truth::Undecided(wanted) if !condition.holds(&due.scope) => {
            let remark = |name: &str| {
                format!("whether a person must confirm depends on `{name}`, which is not set")
            };
            wanted.iter().map(|one| remark(&one.variable)).collect()
        }
        _ => Vec::new(),
    }
}

fn offered(entry: &LibraryEntry, due: &DueStep<'_, '_>) -> NextResponse {
    let step = view::step(&entry.document, due);
    let mut guidance = told("");
    if let Some(prompt) = view::prompt_of(due.step) {
        (guidance.prompt, guidance.missing) = view::guidance(&entry.document, due, prompt);
        guidance.model_hint.clone_from(&prompt.model_hint);
        guidance.requires_confirmation =
            agent_prompt::needs_confirmation(&prompt.confirmation, &due.scope);
        let criteria = prompt.criteria.as_ref().map(|criteria| criteria.applicable(&due.scope));
        guidance.validation_criteria = criteria.unwrap_or_default();
    }
    let completed_step = Some(due.key.clone());
    NextResponse { step: Some(step), completed_step, guidance, is_complete: false }
}

fn waiting(blocked: &[BlockedStep]) -> NextResponse {
    let line = |one: &BlockedStep| {
        let values = one.wanted.expected.as_deref().unwrap_or_default();
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        let decides = format!("- `{}` decides whether `{}` is due", one.wanted.variable, one.step);
        match values.is_empty() {
            true => decides,
            false => format!("{decides}: it is due if the value is {}", values.join(" or ")),
        }
    };
    let wanted: Vec<String> = blocked.iter().map(line).collect();
    let mut guidance = told(&format!(
        "No step is due until more of the context is known. Set these variables and ask again:\n{}",
        wanted.join("\n")
    ));
    let conditions = blocked.iter().map(|one| BlockedCondition {
        step_id: one.step.clone(),
        variable: one.wanted.variable.clone(),
        expected: one.wanted.expected.clone(),
    });
    guidance.blocked = conditions.collect();
    NextResponse { step: None, completed_step: None, guidance, is_complete: false }
}

fn complete(skipped: &[&str]) -> NextResponse {
    let mut guidance = told("Workflow complete.");
    guidance.skipped = skipped.iter().map(|id| (*id).to_owned()).collect();
    NextResponse { step: None, completed_step: None, guidance, is_complete: true }
}

fn told(prompt: &str) -> Guidance {
    let prompt = Response::from(Value::from(prompt).to_string());
    Guidance { prompt, ..Guidance::default() }
}
