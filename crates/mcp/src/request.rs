//! From a request to what `rmcp` understands, or why it does not: the same on every transport.
//!
//! `rmcp` answers wrong parameters as an unknown method, names no unknown method, and has only the
//! tasks of the extension. Nothing here reads, writes or remembers.

use rmcp::model::{
    CallToolRequest, ClientRequest, CustomResult, InitializeResult, JsonObject, JsonRpcMessage,
    NumberOrString, ProtocolVersion, ServerResult,
};
use rmcp::service::{RoleServer, TxJsonRpcMessage};
use serde_json::{Value, json};

use crate::message::Id;
use crate::rpc_error::RpcError;
use crate::session;
use crate::version::{Revision, SessionOptions};

/// The methods whose parameters `rmcp` knows: one it does not understand has wrong ones.
const STANDARD: &[&str] = &[
    "ping",
    "initialize",
    "server/discover",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
/// Methods that the era without a handshake has no more, whatever their parameters.
const GONE: &[&str] =
    &["ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
/// The method that opens the era without a handshake.
pub(crate) const DISCOVER: &str = "server/discover";
/// Where a request of that era says its version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What stands before the name of a method that is answered as 2025-11-25 wants it: `rmcp` hands
/// on what it does not know, and would answer the name alone in the shape of another era.
pub(crate) const OLDER: &str = "milepost/2025-11-25/";

/// How the contract spells a call that is a task.
const CREATE: &str = "tasks/create";

/// What may be asked, and in which shape it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Every request says who asks.
    Stateless,
    /// Clients shake hands, and there are no tasks.
    Handshake,
    /// They shake hands, and follow calls as the tasks of 2025-11-25.
    OlderTasks,
}

impl Era {
    /// The era of a revision; `has_tasks`: the handler answers the methods behind [`OLDER`].
    pub(crate) fn of(revision: Revision, has_tasks: bool) -> Era {
        match has_tasks && revision == Revision::V20251125 {
            true => Era::OlderTasks,
            false => Era::Handshake,
        }
    }

    /// Whether a call is answered as 2025-11-25 alone does.
    fn is_older(self, method: &str, params: &JsonObject) -> bool {
        self == Era::OlderTasks
            && match method {
                "tools/list" | "tasks/get" | "tasks/cancel" | "tasks/result" | "tasks/list" => true,
                "tools/call" => params.contains_key("task"),
                _ => false,
            }
    }

    /// Whether a method belongs to another era. A client that shook hands must not be shown the
    /// tasks of the extension.
    fn lacks(self, method: &str) -> bool {
        match self {
            Era::Stateless => GONE.contains(&method),
            Era::Handshake => method.starts_with("tasks/"),
            Era::OlderTasks => method == "tasks/update",
        }
    }
}

/// Whether a request says in itself which revision it speaks.
pub(crate) fn stands_alone(params: &JsonObject) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get(VERSION).is_some())
}

/// The request as `rmcp` takes it.
pub(crate) fn understood(
    method: &str,
    params: JsonObject,
    era: Era,
) -> Result<ClientRequest, RpcError> {
    if era.lacks(method) {
        return Err(RpcError::method_not_found(method));
    }
    if era == Era::OlderTasks && method == CREATE {
        return understood("tools/call", created(params), era);
    }
    let older = era.is_older(method, &params).then(|| params.clone());
    let is_known = |read: &ClientRequest| !matches!(read, ClientRequest::CustomRequest(_));
    let unknown = || RpcError::method_not_found(method);
    match (read(method, params).ok().filter(is_known), older) {
        (None, _) if STANDARD.contains(&method) => {
            Err(RpcError::invalid_params(format!("these are not parameters of {method}")))
        }
        (_, Some(params)) => read(&format!("{OLDER}{method}"), params).map_err(|_| unknown()),
        (read, None) => read.ok_or_else(unknown),
    }
}

/// A task as the contract makes one, which no revision has: a call that says it is one.
fn created(mut params: JsonObject) -> JsonObject {
    let ttl = params.remove("ttl");
    let task = ttl.map_or_else(|| json!({}), |ttl| json!({"ttl": ttl}));
    params.entry("task").or_insert(task);
    params
}

fn read(method: &str, params: JsonObject) -> serde_json::Result<ClientRequest> {
    let mut value = json!({"method": method});
    if !params.is_empty() {
        value["params"] = Value::Object(params);
    }
    match method {
        // Most requests are calls, and `rmcp` would try a dozen other types first.
        "tools/call" => {
            serde_json::from_value::<CallToolRequest>(value).map(ClientRequest::CallToolRequest)
        }
        _ => serde_json::from_value(value),
    }
}

/// Checks a handshake, so that `rmcp` sees only one that it will accept.
pub(crate) fn handshake(
    mut params: JsonObject,
    options: SessionOptions,
) -> Result<(Revision, JsonObject), RpcError> {
    let revision = session::requested(&params, options)?;
    params.insert("protocolVersion".into(), revision.as_str().into());
    params.entry("clientInfo").or_insert_with(|| json!({"name": "unknown", "version": "0"}));
    Ok((revision, params))
}

/// An id as `rmcp` has it: MCP allows strings and integers.
pub(crate) fn id(id: Id<'_>) -> Result<NumberOrString, RpcError> {
    let number = match serde_json::from_str(id.as_json()) {
        Ok(Value::String(text)) => return Ok(NumberOrString::String(text.into())),
        Ok(Value::Number(number)) => number.as_i64(),
        _ => None,
    };
    let number = number.map(NumberOrString::Number);
    number.ok_or_else(|| RpcError::invalid_request("id must be a string or an integer"))
}

/// The answer to `initialize` with the tasks of its era in the place of those of the next; every
/// other message as it is.
pub(crate) fn greeted(
    mut message: TxJsonRpcMessage<RoleServer>,
    has_tasks: bool,
) -> TxJsonRpcMessage<RoleServer> {
    if let JsonRpcMessage::Response(response) = &mut message
        && let ServerResult::InitializeResult(result) = &response.result
        && let Some(greeting) = greeting(result, has_tasks)
    {
        response.result = ServerResult::CustomResult(CustomResult::new(greeting));
    }
    message
}

fn greeting(result: &InitializeResult, has_tasks: bool) -> Option<Value> {
    let mut value = serde_json::to_value(result).ok()?;
    let capabilities = value["capabilities"].as_object_mut()?;
    capabilities.remove("extensions");
    if has_tasks && result.protocol_version == ProtocolVersion::V_2025_11_25 {
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".to_owned(), tasks);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a request: the method that is handed on, or the code of its fault.
    fn check(method: &str, params: &Value, era: Era) -> Result<String, i32> {
        let params = params.as_object().cloned().unwrap_or_default();
        let understood = understood(method, params, era).map_err(|fault| fault.code)?;
        Ok(understood.method().to_owned())
    }

    #[test]
    fn wrong_parameters_are_no_unknown_method() {
        for era in [Era::Stateless, Era::Handshake, Era::OlderTasks] {
            assert_eq!(check("tools/call", &json!({"name": 1}), era), Err(-32602));
            assert_eq!(check("tools/call", &json!({"name": 1, "task": {}}), era), Err(-32602));
            assert_eq!(check("tools/cal", &json!({}), era), Err(-32601));
            assert_eq!(check("prompts/list", &json!({}), era), Ok("prompts/list".to_owned()));
        }
    }

    #[test]
    fn what_an_era_has_no_more_is_unknown_whatever_its_parameters() {
        for method in GONE {
            assert_eq!(check(method, &json!({}), Era::Stateless), Err(-32601), "{method}");
            assert_eq!(check(method, &json!({"uri": "a"}), Era::Stateless), Err(-32601));
        }
        assert_eq!(check("resources/subscribe", &json!({}), Era::Handshake), Err(-32602));
    }

    #[test]
    fn tasks_are_those_of_the_era_or_none() {
        let id = json!({"taskId": "run_1"});
        assert_eq!(check("tasks/get", &id, Era::Handshake), Err(-32601));
        assert_eq!(check("tasks/get", &id, Era::Stateless), Ok("tasks/get".to_owned()));
        assert_eq!(check("tasks/get", &id, Era::OlderTasks), Ok(format!("{OLDER}tasks/get")));
        assert_eq!(check("tasks/result", &id, Era::OlderTasks), Ok(format!("{OLDER}tasks/result")));
        assert_eq!(check("tasks/result", &id, Era::Stateless), Err(-32601));
        assert_eq!(check("tasks/update", &id, Era::OlderTasks), Err(-32601));
        let call = json!({"name": "a", "task": {}});
        assert_eq!(check("tools/call", &call, Era::OlderTasks), Ok(format!("{OLDER}tools/call")));
        assert_eq!(check("tools/call", &call, Era::Handshake), Ok("tools/call".to_owned()));
        let create = json!({"name": "a", "arguments": {}, "ttl": 1});
        let made = check("tasks/create", &create, Era::OlderTasks);
        assert_eq!(made, Ok(format!("{OLDER}tools/call")));
        assert_eq!(check("tasks/create", &json!({}), Era::OlderTasks), Err(-32602));
        assert_eq!(check("tasks/create", &create, Era::Stateless), Err(-32601));
        // What is ours to write is nobody's to send.
        let ours = format!("{OLDER}tools/call");
        assert_eq!(check(&ours, &call, Era::OlderTasks), Err(-32601));
    }

    #[test]
    fn ids_are_strings_or_integers() {
        let read = |text: &str| {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{text},\"method\":\"a\"}}");
            match crate::message::read(line.as_bytes()) {
                crate::message::Incoming::One(crate::message::RpcMessage::Request(request)) => {
                    id(request.id).ok()
                }
                _ => None,
            }
        };
        assert_eq!(read("7"), Some(NumberOrString::Number(7)));
        assert_eq!(read("\"a\""), Some(NumberOrString::String("a".into())));
        assert_eq!(read("1.5"), None);
        assert_eq!(read("99999999999999999999"), None);
    }
}
