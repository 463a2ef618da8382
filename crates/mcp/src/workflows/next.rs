//! The one call that repairs a failure, where there is one.

use milepost_model::problem::{Code, Problem};
use serde_json::{Map, Value, json};

use super::names::{self, Spelling};

/// A call that a model can make as it stands.
#[derive(Debug, Clone)]
pub(super) struct Next {
    tool: String,
    arguments: Map<String, Value>,
    /// What it is for, in words.
    pub(super) why: String,
}

impl Next {
    pub(super) fn new(
        operation: &str,
        spelling: Spelling,
        arguments: Map<String, Value>,
        why: impl Into<String>,
    ) -> Next {
        Next { tool: names::spelled(operation, spelling), arguments, why: why.into() }
    }

    pub(super) fn to_value(&self) -> Value {
        json!({"tool": self.tool, "arguments": self.arguments})
    }
}

/// What repairs a problem of a call with these arguments.
pub(super) fn after(
    problem: &Problem,
    arguments: &Map<String, Value>,
    spelling: Spelling,
) -> Option<Next> {
    let named = |name: &str| {
        let value = problem.context.get(name).or_else(|| arguments.get(name))?;
        Some((name.to_owned(), value.clone()))
    };
    let with = |name: &str| -> Option<Map<String, Value>> { Some(Map::from_iter([named(name)?])) };
    let next = |operation: &str, arguments, why: &str| {
        Some(Next::new(operation, spelling, arguments, why))
    };
    match problem.code {
        Code::WorkflowNotFound => {
            next("workflow.list", Map::new(), "see which workflows there are")
        }
        Code::WorkflowVersionConflict | Code::WorkflowExists => {
            let why = "read the version that is there now, then save again with its `version` as \
                       `expected_version`";
            next("workflow.get", with("workflow_id")?, why)
        }
        Code::RunNotFound => next("workflow.status", Map::new(), "see which runs are open"),
        Code::StepNotDue | Code::RunConflict => {
            next("workflow.status", with("run_id")?, "see what the run waits for now")
        }
        Code::CommandNotFound => {
            let query = named("command").or_else(|| named("query"))?.1;
            let arguments = Map::from_iter([("query".to_owned(), query)]);
            next("command.list", arguments, "search for the command that is meant")
        }
        _ => None,
    }
}
