//! What to do next: the one call that repairs a failure or goes on with a run, spelled as tools are
//! listed, and the words that belong to it.

use milepost_model::problem::{Code, Problem};
use milepost_ops::run::next::Next as RunNext;
use milepost_ops::{OPERATIONS, for_agents};
use serde_json::{Map, Value, json};

use super::Look;
use super::names;

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
        look: Look,
        arguments: Map<String, Value>,
        why: impl Into<String>,
    ) -> Next {
        Next { tool: names::shown(operation, look), arguments, why: why.into() }
    }

    pub(super) fn to_value(&self) -> Value {
        json!({"tool": self.tool, "arguments": self.arguments})
    }
}

/// What repairs a problem of a call with these arguments.
pub(super) fn after(problem: &Problem, arguments: &Map<String, Value>, look: Look) -> Option<Next> {
    let named = |name: &str| {
        let value = problem.context.get(name).or_else(|| arguments.get(name))?;
        Some((name.to_owned(), value.clone()))
    };
    let with = |name: &str| -> Option<Map<String, Value>> { Some(Map::from_iter([named(name)?])) };
    let next = |operation: &'static str, arguments, why: &str| {
        tool(operation, look)?;
        Some(Next::new(operation, look, arguments, why))
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
        Code::StepNotDue | Code::StepNotFound | Code::RunConflict => {
            next("workflow.status", with("run_id")?, "see what the run waits for now")
        }
        Code::CommandNotFound => {
            let query = named("command").or_else(|| named("query"))?.1;
            let arguments = Map::from_iter([("query".to_owned(), query)]);
            next("command.list", arguments, "search for the command that is meant")
        }
        _ => hinted(problem, look),
    }
}

/// The call that a hint leads to.
fn hinted(problem: &Problem, look: Look) -> Option<Next> {
    let (why, call) = for_agents(&problem.hint, |operation| tool(operation, look));
    let call = call.filter(|call| call.is_whole)?;
    Some(Next::new(call.operation, look, call.arguments, why))
}

/// A hint in the words of tools.
pub(super) fn worded(hint: &str, look: Look) -> String {
    for_agents(hint, |operation| tool(operation, look)).0
}

/// What an operation's tool is called, when this client has it.
fn tool(operation: &'static str, look: Look) -> Option<String> {
    let found = OPERATIONS.iter().find(|one| one.name == operation)?;
    found.tool().filter(|tool| look.has(*tool))?;
    Some(names::shown(operation, look))
}

/// Says in an answer what comes next, and every hint in it, in the words of tools.
pub(super) fn reword(answer: &mut Value, operation: &str, asked: &Map<String, Value>, look: Look) {
    remarks(answer, look);
    let is_text = |value: Option<&Value>| value.is_some_and(Value::is_string);
    if answer.get("runs").is_some() && operation == "workflow.status" {
        answer["next"] = after_runs(answer, look).to_value();
        return;
    }
    if is_text(answer.get("run_id")) {
        return run(answer, look);
    }
    if !is_text(answer.pointer("/run/run_id")) {
        return;
    }
    run(&mut answer["run"], look);
    let next = answer["run"].as_object_mut().and_then(|run| run.remove("next"));
    // A plan was looked at: what it says is done by the same call.
    let planned = operation == "workflow.resume" && asked.get("plan_only") == Some(&true.into());
    if planned {
        let mut arguments = asked.clone();
        arguments.remove("plan_only");
        answer["next"] = Next::new(operation, look, arguments, "").to_value();
    } else if let Some(next) = next {
        answer["next"] = next;
    }
}

/// The same in a run.
pub(super) fn run(run: &mut Value, look: Look) {
    hint(run.get_mut("problem"), look);
    let steps = run.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        hint(step.get_mut("problem"), look);
    }
    let next = run.get("next").and_then(Value::as_str);
    let Some(next) = next.and_then(|next| next.parse::<RunNext>().ok()) else { return };
    run["next"] = match (next.call(), next.told_to_agents()) {
        (Some((operation, arguments)), _) => Next::new(operation, look, arguments, "").to_value(),
        (None, words) => json!({"person": words}),
    };
}

/// The open run to look at first: one that waits, else the newest; without any, the workflows.
fn after_runs(answer: &Value, look: Look) -> Next {
    let runs = || answer["runs"].as_array().into_iter().flatten();
    let first = runs().find(|run| run["status"] == "waiting").or_else(|| runs().next());
    match first {
        Some(run) => {
            let arguments = Map::from_iter([("run_id".to_owned(), run["run_id"].clone())]);
            Next::new("workflow.status", look, arguments, "")
        }
        None => Next::new("workflow.list", look, Map::new(), ""),
    }
}

/// What is told about a document.
fn remarks(answer: &mut Value, look: Look) {
    for list in ["warnings", "violations"] {
        let Some(remarks) = answer.get_mut(list).and_then(Value::as_array_mut) else { continue };
        for remark in remarks {
            for name in ["message", "suggestion"] {
                reworded(Some(remark), name, look);
            }
        }
    }
}

fn hint(problem: Option<&mut Value>, look: Look) {
    reworded(problem, "hint", look);
}

fn reworded(owner: Option<&mut Value>, name: &str, look: Look) {
    let text = owner.and_then(|owner| owner.get_mut(name));
    if let Some(Value::String(text)) = text
        && text.contains('`')
    {
        *text = worded(text, look);
    }
}
