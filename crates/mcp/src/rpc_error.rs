//! JSON-RPC errors as data, and the errors that the protocol layer itself detects.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::limits;

/// The line is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The JSON is not a valid message, or not one that is allowed at this point.
pub const INVALID_REQUEST: i32 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The method exists, but its parameters are wrong.
pub const INVALID_PARAMS: i32 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i32 = -32603;
/// Any other error, such as a missing handshake, an unknown session or a refused client.
pub const SERVER_ERROR: i32 = -32000;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The number by which programs distinguish errors.
    pub code: i32,
    /// A fixed message for this kind of error; the specifics are in `data`.
    pub message: Cow<'static, str>,
    /// The specifics of this case, or null.
    pub data: Value,
}

impl RpcError {
    /// Creates an error from its code, its fixed message and the specifics of this case.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>, data: Value) -> RpcError {
        RpcError { code, message: message.into(), data }
    }

    /// The error as a JSON object.
    pub fn to_value(&self) -> Value {
        let mut value = json!({"code": self.code, "message": self.message});
        if !self.data.is_null() {
            value["data"] = self.data.clone();
        }
        value
    }

    /// The error for parameters that a method cannot use.
    pub fn invalid_params(details: impl Into<Value>) -> RpcError {
        RpcError::new(INVALID_PARAMS, "Invalid params", json!({ "details": details.into() }))
    }

    /// A parameter that must be an object but is not.
    pub(crate) fn not_an_object(name: &str) -> RpcError {
        RpcError::invalid_params(format!("{name} must be an object"))
    }

    pub(crate) fn parse_error(details: &str) -> RpcError {
        RpcError::new(PARSE_ERROR, "Parse error", json!({ "details": details }))
    }

    pub(crate) fn invalid_request(details: impl Into<Value>) -> RpcError {
        RpcError::new(INVALID_REQUEST, "Invalid Request", json!({ "details": details.into() }))
    }

    pub(crate) fn over_limit(details: &str, limit: usize) -> RpcError {
        let data = json!({ "details": details, "limit": limit });
        RpcError::new(INVALID_REQUEST, "Invalid Request", data)
    }

    pub(crate) fn oversized_line() -> RpcError {
        RpcError::over_limit("the line exceeds the maximum message size", limits::LINE_BYTES)
    }

    pub(crate) fn method_not_found(method: &str) -> RpcError {
        RpcError::new(METHOD_NOT_FOUND, "Method not found", json!({ "method": method }))
    }

    pub(crate) fn not_initialized() -> RpcError {
        let data = json!({ "details": "send initialize first" });
        RpcError::new(SERVER_ERROR, "Server not initialized", data)
    }

    pub(crate) fn in_use() -> RpcError {
        RpcError::invalid_request("a request with this id is already in flight")
    }

    pub(crate) fn too_many_requests(limit: usize) -> RpcError {
        RpcError::over_limit("too many requests are in flight", limit)
    }

    pub(crate) fn unknown_tool(tool: &str, nearest: Option<&str>) -> RpcError {
        let data = json!({
            "tool": tool,
            "details": "unknown tool",
            "suggestion": nearest.unwrap_or("call tools/list to see the available tools"),
        });
        RpcError::new(INVALID_PARAMS, "Invalid params", data)
    }

    pub(crate) fn internal(correlation_id: &str) -> RpcError {
        let data = json!({ "correlationId": correlation_id });
        RpcError::new(INTERNAL_ERROR, "Internal error", data)
    }
}
