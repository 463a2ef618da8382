//! The reasons why a run cannot start, as a problem and as part of responses.

use milepost_model::finding::Rule;
use milepost_model::id::WorkflowId;
use milepost_model::input::Objection;
use milepost_model::problem::Argument;
use milepost_model::wording::Worded;

use crate::prelude::*;

/// A problem with the inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputViolation {
    /// JSON pointer: `/inputs/<name>`, possibly into its value.
    pub path: String,
    /// The violated rule: `required`, `type`, `choice`, `range`, `pattern`, `format`,
    /// `unknown-name` or `provider`.
    pub rule: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What was expected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub actual: String,
    /// The next thing to do.
    #[serde(default, skip_serializing_if = "Worded::is_empty")]
    #[schemars(with = "String")]
    pub suggestion: Worded,
}

impl From<&Argument> for InputViolation {
    fn from(fault: &Argument) -> InputViolation {
        InputViolation {
            path: fault.path.clone(),
            rule: fault.rule.to_owned(),
            message: fault.message.clone(),
            expected: fault.expected.clone(),
            actual: fault.actual.clone(),
            suggestion: fault.suggestion.clone().into(),
        }
    }
}

/// The JSON pointer of an input.
pub(crate) fn path(name: &str) -> String {
    format!("/inputs/{}", name.replace('~', "~0").replace('/', "~1"))
}

pub(crate) fn of_objection(name: &str, objection: Objection) -> Argument {
    Argument {
        path: format!("{}{}", path(name), objection.pointer),
        rule: objection.rule.name(),
        message: objection.message,
        expected: objection.expected,
        actual: objection.actual,
        suggestion: objection.suggestion.into(),
    }
}

/// The violation for an input without a value.
pub(crate) fn missing(name: &str, expected: String, why: Option<String>) -> Argument {
    let message = match why {
        Some(why) => format!("input `{name}` has no value: {why}"),
        None => format!("input `{name}` is required"),
    };
    Argument {
        path: path(name),
        rule: Rule::Required.name(),
        message,
        expected,
        actual: "nothing".to_owned(),
        ..Argument::default()
    }
}

/// Combines all violations into one problem.
pub(crate) fn problem(workflow: &WorkflowId, faults: Vec<Argument>) -> Problem {
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let hint = faults.first().map(|fault| fault.suggestion.clone()).unwrap_or_default();
    let mut problem = Problem::new(Code::InputInvalid, messages.join("; "), hint)
        .context("workflow_id", workflow.as_str());
    problem.arguments = faults;
    problem
}
