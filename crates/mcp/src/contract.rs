//! What stands behind the edge.

use milepost_ops::Response;
use serde_json::{Map, Value};

use crate::fault::Fault;

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
    ) -> Result<Response, Fault>;

    /// The same from the text of an object, where a contract can read it without making values of
    /// it; `None` has [`call`](Contract::call) read it.
    fn call_text(
        &self,
        _tool: &str,
        _arguments: &str,
        _log: &mut String,
    ) -> Option<Result<Response, Fault>> {
        None
    }

    /// Whatever is called from here on was sent before now, until this is told again: what a
    /// contract looks at, it may look at once for all of these calls.
    fn arrived(&self) {}
}
