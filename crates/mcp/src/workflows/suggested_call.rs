//! What to do next: the single call that fixes a failure or continues a run, with an explanation
//! and with tool names as listed.

use std::sync::Arc;

use milepost_model::hint::{HintPart, Invocation};
use milepost_model::problem::{Code, Problem};
use milepost_model::wording::{self, Wording};
use milepost_ops::{OPERATIONS, OperationSpec};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::approvals::misshapen;
use super::tool_names;
use super::{MANIFESTS, ToolStyle};

/// The placeholder for a source that the model has to correct.
const CORRECTED: &str = "<the corrected text>";

/// A call that a model can make as it is.
#[derive(Debug, Clone)]
pub(super) struct SuggestedCall {
    tool: String,
    arguments: JsonObject,
    /// The purpose of the call, as a sentence.
    pub(super) why: String,
}

impl SuggestedCall {
    pub(super) fn new(
        operation: &str,
        style: ToolStyle,
        arguments: JsonObject,
        why: impl Into<String>,
    ) -> SuggestedCall {
        SuggestedCall { tool: tool_names::shown(operation, style), arguments, why: why.into() }
    }

    pub(super) fn to_value(&self) -> Value {
        json!({"tool": self.tool, "arguments": self.arguments})
    }
}

/// Hints in terms of the tools that a client sees. Actions without a tool are shown as a person
/// types them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tools(pub(super) ToolStyle);

impl Wording for Tools {
    fn call(&self, call: &Invocation) -> String {
        let Some(call) = for_tools(call, self.0) else { return self.person(call) };
        let name = tool_names::shown(&call.operation, self.0);
        match call.arguments.is_empty() {
            true => name,
            false => format!("{name} {}", Value::Object(call.arguments)),
        }
    }

    fn person(&self, call: &Invocation) -> String {
        self.0.typed.person(call)
    }

    fn next(&self, call: &Invocation, person: Option<&str>) -> Value {
        let told = |what: &str| {
            let typed = self.person(call);
            json!({"person": format!("stop now; tell the user: {what} with `{typed}`")})
        };
        match (person, for_tools(call, self.0)) {
            (Some(what), _) => told(what),
            (None, None) => told("continue"),
            (None, Some(call)) => {
                SuggestedCall::new(&call.operation, self.0, call.arguments, "").to_value()
            }
        }
    }
}

/// The equivalent tool call, if this client has the tool. Agents use `command.list` to see
/// catalogs, and `workflow.status` to see open runs.
fn for_tools(call: &Invocation, style: ToolStyle) -> Option<Invocation> {
    let mut call = call.clone();
    match &*call.operation {
        "catalog.list" => {
            let catalog = call.arguments.remove("catalog_id");
            call.operation = "command.list".into();
            call.arguments.extend(catalog.map(|id| ("catalog".to_owned(), id)));
        }
        "workflow.copy" => {
            call.arguments.remove("from");
            call.operation = "workflow.get".into();
        }
        "runs.list" => call.operation = "workflow.status".into(),
        _ => {}
    }
    has(&call.operation, style).then_some(call)
}

/// Whether this client has a tool for an operation.
fn has(operation: &str, style: ToolStyle) -> bool {
    let found = OPERATIONS.iter().find(|one| one.name == operation);
    found.and_then(OperationSpec::tool).is_some_and(|tool| style.has(tool))
}

/// Operations that need one of several arguments, although their schema does not express this, each
/// with the argument to check for.
const NEEDS: &[(&str, &str)] = &[
    ("catalog.remove", "catalog_id"),
    ("catalog.set_enabled", "catalog_id"),
    ("command.list", "query"),
    ("workflow.preview_inputs", "workflow_id"),
    ("workflow.purge_history", "workflow_id"),
    ("workflow.run", "workflow_id"),
    ("workflow.status", "run_id"),
    ("workflow.step_plan", "workflow_id"),
    ("workflow.validate", "workflow_id"),
];

/// Whether both the call that a hint names and the equivalent tool call are complete.
fn is_whole(named: &Invocation, call: &Invocation) -> bool {
    let found = OPERATIONS.iter().find(|one| one.name == call.operation);
    let schema = found.map(|one| (one.request)()).unwrap_or_default();
    let mut required = schema["required"].as_array().into_iter().flatten();
    let mut needed = NEEDS.iter().filter(|(operation, _)| *operation == named.operation);
    required.all(|name| name.as_str().is_some_and(|it| call.arguments.contains_key(it)))
        && needed.all(|(_, name)| named.arguments.contains_key(*name))
}

/// The call that fixes a problem, chosen by its code and the arguments of the failed call.
pub(super) fn after(
    problem: &Problem,
    arguments: &JsonObject,
    style: ToolStyle,
) -> Option<SuggestedCall> {
    let named = |name: &str| {
        let value = problem.context.get(name).or_else(|| arguments.get(name))?;
        Some((name.to_owned(), value.clone()))
    };
    let with = |name: &str| -> Option<JsonObject> { Some(Map::from_iter([named(name)?])) };
    let next = |operation: &'static str, arguments, why: &str| {
        has(operation, style).then(|| SuggestedCall::new(operation, style, arguments, why))
    };
    match problem.code {
        Code::WorkflowNotFound => next("workflow.list", Map::new(), "list the workflows"),
        Code::WorkflowVersionConflict | Code::WorkflowExists => {
            let why = "read the current version, then save again with its `version` as \
                       `expected_version`";
            next("workflow.get", with("workflow_id")?, why)
        }
        Code::WorkflowVersionNotFound => {
            next("workflow.get", with("workflow_id")?, "read the current version")
        }
        Code::WorkflowInvalid => {
            let is_text = MANIFESTS.iter().any(|name| arguments.contains_key(*name));
            let (arguments, why) = match is_text {
                true => (
                    Map::from_iter([("manifest".to_owned(), CORRECTED.into())]),
                    "correct every violation, and validate the text before it is used",
                ),
                false => (with("workflow_id")?, "see every violation and how to fix it"),
            };
            next("workflow.validate", arguments, why)
        }
        Code::RunNotFound => next("workflow.status", Map::new(), "see which runs are open"),
        Code::StepNotDue | Code::StepNotFound | Code::RunConflict | Code::ResumeRefused => {
            next("workflow.status", with("run_id")?, "see what the run is waiting for")
        }
        Code::CommandNotFound => {
            let query = named("command").or_else(|| named("query"))?.1;
            let arguments = Map::from_iter([("query".to_owned(), query)]);
            next("command.list", arguments, "search for the right command")
        }
        // A request may succeed when it is made again.
        Code::UpstreamFailed | Code::UpstreamTimeout | Code::UpstreamRejected
            if problem.context.contains_key("run_id") =>
        {
            let mut arguments = with("run_id")?;
            arguments.insert("plan_only".to_owned(), true.into());
            next("workflow.resume", arguments, "see what resuming would do, then resume the run")
        }
        _ => hinted(problem, style),
    }
}

/// The first call that a hint names.
fn hinted(problem: &Problem, style: ToolStyle) -> Option<SuggestedCall> {
    let mut calls = problem.hint.parts().iter().filter_map(|part| match part {
        HintPart::Call(named) => Some((named, for_tools(named, style)?)),
        HintPart::Text(_) | HintPart::Person { .. } | HintPart::Arguments { .. } => None,
    });
    let (_, call) = calls.next().filter(|(named, call)| is_whole(named, call))?;
    let why = problem.hint.worded(&Tools(style));
    Some(SuggestedCall::new(&call.operation, style, call.arguments, why))
}

/// Serializes a value as a client sees it: hints and next calls use the names of its tools.
pub(super) fn written<T: Serialize>(value: &T, style: ToolStyle) -> Result<Value, Problem> {
    let tools: Arc<dyn Wording> = Arc::new(Tools(style));
    let written = wording::scoped(&tools, || serde_json::to_value(value));
    written.map_err(|error| misshapen(&error))
}

/// Puts the next call at the top level of an answer, in place of the one inside its run.
pub(super) fn told(answer: &mut Value, operation: &str, asked: &JsonObject, style: ToolStyle) {
    if answer.get("runs").is_some() && operation == "workflow.status" {
        answer["next"] = after_runs(answer, style).to_value();
        return;
    }
    let run = answer.get_mut("run").and_then(Value::as_object_mut);
    let Some(run) = run.filter(|run| run.get("run_id").is_some_and(Value::is_string)) else {
        return;
    };
    let next = run.remove("next");
    // The caller looked at a plan; the same call without `plan_only` carries it out.
    let planned = operation == "workflow.resume" && asked.get("plan_only") == Some(&true.into());
    if planned {
        let mut arguments = asked.clone();
        arguments.remove("plan_only");
        answer["next"] = SuggestedCall::new(operation, style, arguments, "").to_value();
    } else if let Some(next) = next {
        answer["next"] = next;
    }
}

/// The open run to look at first: one that is waiting, or else the newest; if there is none, the
/// list of workflows.
fn after_runs(answer: &Value, style: ToolStyle) -> SuggestedCall {
    let runs = || answer["runs"].as_array().into_iter().flatten();
    let first = runs().find(|run| run["status"] == "waiting").or_else(|| runs().next());
    match first {
        Some(run) => {
            let arguments = Map::from_iter([("run_id".to_owned(), run["run_id"].clone())]);
            SuggestedCall::new("workflow.status", style, arguments, "")
        }
        None => SuggestedCall::new("workflow.list", style, Map::new(), ""),
    }
}

#[cfg(test)]
mod tests {
    use milepost_model::hint::Hint;

    use super::*;

    fn said(hint: &Hint) -> String {
        hint.worded(&Tools(ToolStyle::default()))
    }

    fn next(problem: &Problem, arguments: &Value) -> Value {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        after(problem, &arguments, ToolStyle::default()).map_or(Value::Null, |next| next.to_value())
    }

    fn problem(code: Code, hint: impl Into<Hint>) -> Problem {
        Problem::new(code, "it failed", hint)
    }

    #[test]
    fn a_hint_is_told_with_the_names_of_tools() {
        let see = |call| Hint::text("see ").call(call);
        let enable = Invocation::of("catalog.set_enabled").with("catalog_id", "shop");
        for (hint, expected) in [
            (see(Invocation::of("workflow.list")), "see `workflow_list`"),
            (
                see(enable.with("enabled", true)),
                "see `catalog_set_enabled {\"catalog_id\":\"shop\",\"enabled\":true}`",
            ),
            // If agents have no tool for something, the closest tool is named, or else the person's
            // command.
            (see(Invocation::of("catalog.list")), "see `command_list`"),
            (see(Invocation::of("runs.list")), "see `workflow_status`"),
            (see(Invocation::of("workflow.copy").with("from", "a")), "see `workflow_get`"),
            (see(Invocation::of("inbox")), "see `inbox`"),
            (Hint::text("say ").given("overwrite", true), "say `overwrite: true`"),
            (Hint::text("give ").argument("vendor"), "give `vendor`"),
            // Actions that only people may take are shown as people type them.
            (
                Hint::text("ask for ").person(Invocation::of("workflow.resume")),
                "ask for `workflow.resume`",
            ),
        ] {
            assert_eq!(said(&hint), expected);
        }
    }

    #[test]
    fn a_call_that_a_hint_names_is_next_when_it_is_whole() {
        let of =
            |call| next(&problem(Code::CatalogDisabled, Hint::text("see ").call(call)), &json!({}));
        let enable = Invocation::of("catalog.set_enabled").with("enabled", true);
        assert_eq!(of(enable.clone()), Value::Null);
        let enable = enable.with("catalog_id", "shop");
        let arguments = json!({"enabled": true, "catalog_id": "shop"});
        assert_eq!(of(enable), json!({"tool": "catalog_set_enabled", "arguments": arguments}));
        assert_eq!(of(Invocation::of("catalog.validate_openapi")), Value::Null);
        assert_eq!(of(Invocation::of("workflow.status")), Value::Null);
        let runs = json!({"tool": "workflow_status", "arguments": {}});
        assert_eq!(of(Invocation::of("runs.list")), runs);
        let person = Hint::text("stop: ").person(Invocation::of("workflow.list"));
        assert_eq!(next(&problem(Code::PresenceRequired, person), &json!({})), Value::Null);
    }

    #[test]
    fn what_is_next_depends_on_the_cause() {
        let invalid = problem(Code::WorkflowInvalid, "correct it");
        let of_text = next(&invalid, &json!({"manifest": "steps: ["}));
        let arguments = json!({"manifest": CORRECTED});
        assert_eq!(of_text, json!({"tool": "workflow_validate", "arguments": arguments}));
        let arguments = json!({"workflow_id": "refund"});
        let of_file = next(&invalid, &arguments);
        assert_eq!(of_file, json!({"tool": "workflow_validate", "arguments": arguments}));
        assert_eq!(next(&invalid, &json!({})), Value::Null);

        let failed = problem(Code::UpstreamRejected, "look at the answer, then resume");
        assert_eq!(next(&failed, &json!({})), Value::Null);
        let arguments = json!({"run_id": "run_1", "plan_only": true});
        let failed = failed.context("run_id", "run_1");
        let resume = json!({"tool": "workflow_resume", "arguments": arguments});
        assert_eq!(next(&failed, &json!({})), resume);

        let refused = problem(Code::ResumeRefused, "raise the budget").context("run_id", "run_1");
        let status = json!({"tool": "workflow_status", "arguments": {"run_id": "run_1"}});
        assert_eq!(next(&refused, &json!({})), status);
    }

    #[test]
    fn what_a_run_waits_for_is_a_call_or_something_to_tell_a_person() {
        let tools = Tools(ToolStyle::default());
        let plan = Invocation::of("workflow.resume").with("run_id", "run_1");
        let call = json!({"tool": "workflow_resume", "arguments": {"run_id": "run_1"}});
        assert_eq!(tools.next(&plan, None), call);
        let words = "stop now; tell the user: approve or reject with `workflow.approve`";
        let approve = Invocation::of("workflow.approve");
        assert_eq!(tools.next(&approve, Some("approve or reject")), json!({"person": words}));
    }
}
