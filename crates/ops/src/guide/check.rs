//! `guide.validate`: whether the output of a step meets its criteria.

use milepost_model::document::Document;
use milepost_model::finding::Rule;
use milepost_model::hint::Hint;
use milepost_model::judge;
use milepost_model::limits;
use milepost_model::problem::{Argument, Code, Problem};
use milepost_model::step::Step;
use milepost_model::walk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{context_of, view, walkable, workflow_of};
use crate::call::Call;
use crate::operation::{Door, SafeOperation};
use crate::plain;
use crate::problems;
use crate::reader::Reader;
use crate::strict;

/// An output of a step.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
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
    #[serde(default, deserialize_with = "strict::object")]
    #[schemars(with = "Map<String, Value>")]
    pub context: Option<Map<String, Value>>,
}

/// Whether something is valid, and what to do when it is not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Verdict {
    /// Whether it meets every criterion that applies
    pub valid: bool,
    /// What is wrong
    #[serde(default)]
    pub issues: Vec<String>,
    /// What to do about it
    #[serde(default)]
    pub suggestions: Vec<String>,
}

pub(crate) struct Check;

impl SafeOperation for Check {
    type Request = CheckRequest;
    type Response = Verdict;

    const NAME: &'static str = "guide.validate";
    const TITLE: &'static str = "Validate a step's output";
    const DESCRIPTION: &'static str = "Validates step output against workflow requirements";
    const DOORS: &'static [Door] =
        &[Door::GuideTool("workflow_validate"), Door::Command("guide check")];

    fn run(reader: &Reader, _: &dyn Call, request: CheckRequest) -> Result<Verdict, Problem> {
        let entry = walkable(reader, &request.workflow_id)?;
        let workflow = workflow_of(&entry)?;
        let step =
            walk::find(workflow, &request.step_id).map_err(|error| problems::of_walk(&error))?;
        if let Some(problem) = faulty(&entry.document, step) {
            return Err(problem.context("workflow_id", &*entry.id));
        }
        bounded(&request.output)?;
        let context = context_of(request.context)?;
        let issues = judge::output(view::prompt_of(step), &request.output, &context)
            .map_err(|error| problems::undecidable(&error).context("step_id", &*request.step_id))?;
        Ok(Verdict {
            valid: issues.is_empty(),
            issues: issues.iter().map(|issue| issue.message.clone()).collect(),
            suggestions: issues.into_iter().map(|issue| issue.suggestion).collect(),
        })
    }

    fn example() -> Value {
        json!({"workflowId": "bug-investigation", "stepId": "triage", "output": "Looked at it."})
    }

    fn fits(request: &CheckRequest) -> bool {
        plain::is_workflow_id(&request.workflow_id)
            && plain::is_step_key(&request.step_id)
            && !request.output.is_empty()
    }
}

/// The problem of a step whose criteria cannot judge anything.
fn faulty(document: &Document, step: &Step) -> Option<Problem> {
    let faults = document.criteria_faults(step);
    let first = faults.first()?;
    let code = match faults.iter().all(|fault| fault.rule == Rule::Schema) {
        true => Code::WorkflowInvalid,
        false => Code::CriteriaInvalid,
    };
    let hint = "correct the validation criteria of the step in the workflow's file";
    let mut problem =
        Problem::new(code, first.message.clone(), hint).context("step_id", step.id.value.as_str());
    problem.violations = faults.into_iter().cloned().collect();
    Some(problem)
}

fn bounded(output: &str) -> Result<(), Problem> {
    let limit = limits::OUTPUT_BYTES;
    if output.len() <= limit {
        return Ok(());
    }
    let message = format!("output must have at most {limit} bytes");
    let mut problem = Problem::new(Code::ParamsInvalid, message.clone(), "send a shorter output");
    problem.arguments.push(Argument {
        path: "/output".to_owned(),
        rule: "maxLength",
        message,
        expected: format!("at most {limit} bytes"),
        actual: format!("{} bytes", output.len()),
        suggestion: Hint::default(),
    });
    Err(problem)
}
