//! What stands behind the edge.

use milepost_ops::Response;
use serde_json::{Map, Value};

use crate::rpc_error::RpcError;

/// A set of tools. The edge knows no tool by name; a contract knows nothing of JSON-RPC.
pub trait Contract: Send + Sync {
    /// The `tools` array of `tools/list`, as JSON text.
    fn tools(&self) -> &str;

    /// How a model uses the tools; empty when they need no words.
    fn instructions(&self) -> &'static str {
        ""
    }

    /// Every tool's name. Each is a method of its own as well.
    fn names(&self) -> &[&str];

    /// Calls a tool that [`names`](Contract::names) has; the result is the JSON text of an object.
    /// What the people who run the server should know is appended to `log`, line by line.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        log: &mut String,
    ) -> Result<Response, RpcError>;
}
