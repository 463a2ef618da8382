//! Turns a request into one that `rmcp` understands, or into an error, in the same way for every
//! transport.
//!
//! `rmcp` reports invalid parameters as an unknown method, does not name unknown methods, and
//! supports tasks only as the extension defines them. Nothing here does I/O or keeps state.

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

/// The methods that `rmcp` knows. If it does not understand one of these, the parameters are wrong.
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
    LISTEN,
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
/// Methods that the stateless protocol removed; they are unknown whatever their parameters.
const GONE: &[&str] =
    &["ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
/// The method that stateless clients call first.
pub(crate) const DISCOVER: &str = "server/discover";
/// The method with which stateless clients open a stream for notifications.
pub(crate) const LISTEN: &str = "subscriptions/listen";
/// The key in `_meta` that contains the protocol version of a stateless request.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The prefix of methods that are answered as revision 2025-11-25 requires: `rmcp` passes on
/// methods it does not know, but would answer the unprefixed ones in the form of another revision.
pub(crate) const OLDER: &str = "milepost/2025-11-25/";

/// The contract's method for a call that becomes a task.
const CREATE: &str = "tasks/create";

/// A generation of the protocol, which determines the methods that exist and the form of their
/// answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Every request carries its own protocol version and client information.
    Stateless,
    /// Clients open with a handshake, and tasks are not supported.
    Handshake,
    /// Clients open with a handshake, and follow calls as revision 2025-11-25 tasks.
    OlderTasks,
}

impl Era {
    /// The era of a revision; `has_tasks` is whether the handler answers the methods with the
    /// [`OLDER`] prefix.
    pub(crate) fn of(revision: Revision, has_tasks: bool) -> Era {
        if has_tasks && revision == Revision::V20251125 { Era::OlderTasks } else { Era::Handshake }
    }

    /// Whether a call is answered in the form that only revision 2025-11-25 has.
    fn is_older(self, method: &str, params: &JsonObject) -> bool {
        self == Era::OlderTasks
            && match method {
                "tools/list" | "tasks/get" | "tasks/cancel" | "tasks/result" | "tasks/list" => true,
                "tools/call" => params.contains_key("task"),
                _ => false,
            }
    }

    /// Whether a method does not exist in this era. A client that opened with a handshake must not
    /// see the tasks of the extension.
    fn lacks(self, method: &str) -> bool {
        match self {
            Era::Stateless => GONE.contains(&method),
            Era::Handshake => method.starts_with("tasks/"),
            Era::OlderTasks => method == "tasks/update",
        }
    }
}

/// Whether a request carries its own protocol version.
pub(crate) fn stands_alone(params: &JsonObject) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get(VERSION).is_some())
}

/// Converts the request to the type that `rmcp` expects.
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
            Err(RpcError::invalid_params(format!("the parameters are not valid for {method}")))
        }
        (_, Some(params)) => read(&format!("{OLDER}{method}"), params).map_err(|_| unknown()),
        (read, None) => read.ok_or_else(unknown),
    }
}

/// Turns the contract's `tasks/create`, which no revision defines, into a call with a `task`
/// parameter.
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

/// Checks a handshake, so that `rmcp` only sees one that it accepts.
pub(crate) fn handshake(
    mut params: JsonObject,
    options: SessionOptions,
) -> Result<(Revision, JsonObject), RpcError> {
    let revision = session::requested(&params, options)?;
    params.insert("protocolVersion".into(), revision.name().into());
    params.entry("clientInfo").or_insert_with(|| json!({"name": "unknown", "version": "0"}));
    Ok((revision, params))
}

/// Converts an id to the type that `rmcp` uses: MCP allows strings and integers.
pub(crate) fn id(id: Id<'_>) -> Result<NumberOrString, RpcError> {
    let number = match serde_json::from_str(id.as_json()) {
        Ok(Value::String(text)) => return Ok(NumberOrString::String(text.into())),
        Ok(Value::Number(number)) => number.as_i64(),
        _ => None,
    };
    let number = number.map(NumberOrString::Number);
    number.ok_or_else(|| RpcError::invalid_request("id must be a string or an integer"))
}

/// Replaces the tasks in the answer to `initialize` with those of the client's revision; returns
/// every other message unchanged.
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

    /// The outcome of a request: the method that is passed on, or the error code.
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
        // Clients must not send our internal method names.
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
