//! `guide.validate`: whether a step's output meets its criteria.

use milepost_model::document::Document;
use milepost_model::finding::Rule;
use milepost_model::limits;
use milepost_model::output_check;
use milepost_model::problem::Argument;
use milepost_model::step::Step;
use milepost_model::walk;

use super::{context_of, view, walkable, workflow_of};
use crate::prelude::*;

/// A step's output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckRequest {
    /// The workflow ID
    #[schemars(length(min = 3, max = 64), regex(pattern = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)?$"))]
    pub workflow_id: String,
    /// The step ID to validate
    #[schemars(length(min = 1), regex(pattern = "^[A-Za-z0-9_.:@-]+$"))]
    pub step_id: String,
    /// The step output to validate
    #[schemars(length(min = 1))]
    pub output: String,
    /// Execution context for context-aware validation rules
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub context: Option<Map<String, Value>>,
}

/// Whether something is valid, and what to do if it is not.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ValidationResult {
    /// Whether it meets every criterion that applies
    pub valid: bool,
    /// What is wrong
    #[serde(default)]
    pub issues: Vec<String>,
    /// What to do about it
    #[serde(default)]
    pub suggestions: Vec<String>,
}

operation! {
    CheckOutput: "guide.validate", "Validate a step's output",
        "Validates step output against workflow requirements";
    doors: [Door::GuideTool("workflow_validate"), Door::Command("guide check")];
    run: check(Reader, CheckRequest) -> ValidationResult;
    example: {
        "workflowId": "bug-investigation",
        "stepId": "triage",
        "output": "Looked at it.",
    };
}

async fn check(reader: &Reader, _: &dyn Caller, request: CheckRequest) -> Result<ValidationResult> {
    let entry = walkable(reader, &request.workflow_id)?;
    let workflow = workflow_of(&entry)?;
    let step = walk::find(workflow, &request.step_id).or_problem()?;
    if let Some(problem) = faulty(&entry.document, step) {
        return Err(problem.context("workflow_id", &*entry.id));
    }
    bounded(&request.output)?;
    let context = context_of(request.context)?;
    let issues = output_check::check_output(view::prompt_of(step), &request.output, &context)
        .map_err(|error| problems::undecidable(&error).context("step_id", &*request.step_id))?;
    Ok(ValidationResult {
        valid: issues.is_empty(),
        issues: issues.iter().map(|issue| issue.message.clone()).collect(),
        suggestions: issues.into_iter().map(|issue| issue.suggestion).collect(),
    })
}

/// The problem for a step whose criteria are unusable.
fn faulty(document: &Document, step: &Step) -> Option<Problem> {
    let faults = document.criteria_faults(step);
    let first = faults.first()?;
    let code = match faults.iter().all(|fault| fault.rule == Rule::Schema) {
        true => Code::WorkflowInvalid,
        false => Code::CriteriaInvalid,
    };
    let hint = "correct the step's validation criteria in the workflow's file";
    let mut problem =
        Problem::new(code, first.message.clone(), hint).context("step_id", step.id.value.as_str());
    problem.violations = faults.into_iter().cloned().collect();
    Some(problem)
}

fn bounded(output: &str) -> Result<()> {
    let limit = limits::OUTPUT_BYTES;
    if output.len() <= limit {
        return Ok(());
    }
    let message = format!("output must be at most {limit} bytes");
    let mut problem = Problem::new(Code::ParamsInvalid, message.clone(), "send a shorter output");
    problem.arguments.push(Argument {
        path: "/output".to_owned(),
        rule: "maxLength",
        message,
        expected: format!("at most {limit} bytes"),
        actual: format!("{} bytes", output.len()),
        ..Argument::default()
    });
    Err(problem)
}
