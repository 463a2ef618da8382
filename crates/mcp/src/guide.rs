//! The trait for a set of tools, and the `workflowlookup` contract: the guide operations as five
//! tools, with its error numbers.

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use milepost_model::problem::{Argument, Code, Problem};
use milepost_model::violation;
use milepost_model::wording::Wording;
use milepost_ops::{
    Caller, OPERATIONS, OperationSpec, Operations, Reader, Response, Safety, SilentCaller, Writer,
};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::{Map, Value, json};

use crate::lock::lock;
use crate::rpc_error::{self, RpcError};

/// A set of tools. The protocol layer does not know any tool by name, and a contract does not know
/// JSON-RPC.
pub trait Contract: Send + Sync {
    /// The `tools` array of `tools/list`, as JSON text.
    fn tools(&self) -> &str;

    /// Instructions to the model on how to use the tools; empty if there are none.
    fn instructions(&self) -> &'static str {
        ""
    }

    /// The names of all tools. Each one can also be called as a JSON-RPC method.
    fn names(&self) -> &[&str];

    /// Calls one of the tools in [`names`](Contract::names); the result is the JSON text of an
    /// object. Messages for the operator are appended to `log`, one per line.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        log: &mut String,
    ) -> Result<Response, RpcError>;
}

/// The five tools over one set of workflows.
#[derive(Debug)]
pub struct Guides {
    operations: Operations,
    names: Vec<&'static str>,
    tools: OnceLock<String>,
    /// Warnings from the last call that had any, so that the same warning is not logged again.
    warned: Mutex<HashSet<String>>,
}

impl Guides {
    /// Serves the guide operations as tools.
    pub fn new(operations: Operations) -> Guides {
        let names = OPERATIONS.iter().filter_map(OperationSpec::guide_tool).collect();
        Guides { operations, names, tools: OnceLock::new(), warned: Mutex::default() }
    }

    /// The operations that the tools call.
    pub fn operations(&self) -> &Operations {
        &self.operations
    }

    /// The tool definitions as JSON values.
    pub(crate) fn listed(&self) -> Vec<Value> {
        serde_json::from_str(self.tools()).unwrap_or_default()
    }

    fn log_new(&self, warnings: Vec<String>, log: &mut String) {
        if warnings.is_empty() {
            return;
        }
        let mut warned = lock(&self.warned);
        for warning in warnings.iter().filter(|warning| !warned.contains(*warning)) {
            log.extend(["warning: ", warning, "\n"]);
        }
        *warned = warnings.into_iter().collect();
    }
}

impl Contract for Guides {
    fn tools(&self) -> &str {
        self.tools.get_or_init(|| {
            let builtin = Operations::new(Writer::open(
                Reader::open(Locations::default()),
                Environment::default(),
            ));
            let tools = OPERATIONS.iter().filter_map(|operation| tool(operation, &builtin));
            Value::Array(tools.collect()).to_string()
        })
    }

    fn instructions(&self) -> &'static str {
        include_str!("guide.md").trim_end()
    }

    fn names(&self) -> &[&str] {
        &self.names
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        log: &mut String,
    ) -> Result<Response, RpcError> {
        let operation = OPERATIONS.iter().find(|operation| operation.guide_tool() == Some(tool));
        let operation = operation.ok_or_else(|| RpcError::method_not_found(tool))?;
        let client = GuideCaller::default();
        let called = self.operations.call(operation.name, &client, Value::Object(arguments));
        self.log_new(client.0.into_inner().unwrap_or_else(PoisonError::into_inner), log);
        called.map_err(|problem| fault(&problem, self.operations.wording()))
    }
}

/// A client that uses this contract. It cannot be asked questions, and warnings go to the log.
#[derive(Default)]
struct GuideCaller(Mutex<Vec<String>>);

impl Caller for GuideCaller {
    fn warn(&self, message: &str) {
        lock(&self.0).push(message.replace(['\n', '\r'], " "));
    }
}

/// Describes an operation as a tool. The example call works everywhere, because it uses only
/// built-in workflows, and its response is the actual one.
fn tool(operation: &OperationSpec, builtin: &Operations) -> Option<Value> {
    let name = operation.guide_tool()?;
    let request = (operation.example)();
    let response = builtin.call(operation.name, &SilentCaller, request.clone()).ok()?;
    let response: Value = serde_json::from_str(response.json()).ok()?;
    let is_safe = operation.safety == Safety::Safe;
    Some(json!({
        "name": name,
        "description": operation.description,
        "inputSchema": (operation.request)(),
        "outputSchema": or_fault((operation.response)()),
        "annotations": {
            "title": operation.title,
            "readOnlyHint": is_safe,
            "destructiveHint": !is_safe,
            "idempotentHint": is_safe,
            "openWorldHint": false,
        },
        "examples": {"request": {"method": name, "params": request}, "response": response},
    }))
}

/// Extends a result schema to also allow an error, because clients check the structured content of
/// failed calls too.
fn or_fault(mut schema: Value) -> Value {
    let required = schema["required"].take();
    if let Some(object) = schema.as_object_mut() {
        object.remove("required");
        if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("code".into(), json!({"type": "integer"}));
            properties.insert("message".into(), json!({"type": "string"}));
            properties.insert("data".into(), json!({}));
        }
        let fault = json!({"required": ["code", "message"]});
        object.insert("anyOf".into(), json!([{"required": required}, fault]));
    }
    schema
}

/// The error number and fixed message of each problem code, as the contract defines them.
fn number(code: Code) -> (i32, &'static str) {
    match code {
        Code::WorkflowNotFound => (-32001, "Workflow not found"),
        Code::WorkflowInvalid => (-32002, "Invalid workflow"),
        Code::StepNotFound => (-32003, "Step not found"),
        Code::CriteriaInvalid => (-32004, "Validation error"),
        Code::StateInvalid | Code::WorkflowExists => (-32005, "State error"),
        Code::StorageFailed | Code::FileNotFound => (-32006, "Storage error"),
        Code::IdInvalid | Code::FileRefused => (-32007, "Security error"),
        Code::ParamsInvalid | Code::InputInvalid => (rpc_error::INVALID_PARAMS, "Invalid params"),
        Code::ParseError => (rpc_error::PARSE_ERROR, "Parse error"),
        Code::RequestInvalid => (rpc_error::INVALID_REQUEST, "Invalid Request"),
        Code::MethodNotFound => (rpc_error::METHOD_NOT_FOUND, "Method not found"),
        Code::Internal => (rpc_error::INTERNAL_ERROR, "Internal error"),
        // No guide operation fails with any of the other codes.
        _ => (rpc_error::SERVER_ERROR, "Server error"),
    }
}

/// Turns a problem into one of the contract's errors: the message is fixed, and the specifics are
/// data.
fn fault(problem: &Problem, wording: &dyn Wording) -> RpcError {
    let (code, message) = number(problem.code);
    let mut data = Map::new();
    for (key, value) in problem.context.iter() {
        let key = match key.as_str() {
            "workflow_id" => "workflowId",
            "step_id" => "stepId",
            other => other,
        };
        data.insert(key.into(), value.clone());
    }
    match problem.code {
        // The id of the missing item is enough.
        Code::WorkflowNotFound | Code::StepNotFound => {}
        Code::ParamsInvalid => {
            data.insert("details".into(), problem.message.as_str().into());
            if !matches!(problem.arguments.as_slice(), [one] if one.rule == "required") {
                let violations = problem.arguments.iter().map(argument).collect();
                data.insert("violations".into(), violations);
            }
        }
        _ => {
            data.insert("details".into(), problem.message.as_str().into());
            data.entry("suggestion").or_insert_with(|| problem.hint.worded(wording).into());
        }
    }
    if problem.code == Code::StorageFailed {
        data.insert("retryable".into(), true.into());
    }
    if !problem.violations.is_empty() {
        data.insert("violations".into(), violation::to_values(&problem.violations));
    }
    RpcError::new(code, message, Value::Object(data))
}

/// What is wrong with one argument.
pub(crate) fn argument(argument: &Argument) -> Value {
    json!({
        "path": argument.path,
        "rule": argument.rule,
        "message": argument.message,
        "expected": argument.expected,
        "actual": argument.actual,
    })
}
