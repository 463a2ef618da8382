//! Calls that are answered on the spot, by the same way as all others but without `rmcp` around it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use milepost_ops::{Safety, Task, Tool};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};
use serde_json::{Map, Value};

use super::WorkflowServer;
use super::client::McpClient;
use super::tool_names::ToolTarget;
use crate::trace;
use crate::version::Revision;

/// A client that shook hands, as far as a call has to know that is answered on the spot.
#[derive(Debug)]
pub(crate) struct AtOnce {
    revision: Revision,
    principal: Option<String>,
    /// Somebody has to be asked, or it fails.
    is_left: AtomicBool,
}

impl AtOnce {
    pub(crate) fn new(revision: Revision, principal: Option<String>) -> AtOnce {
        AtOnce { revision, principal, is_left: AtomicBool::new(false) }
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }
}

impl WorkflowServer {
    /// What a call comes to that only reads and has nothing to wait for. Most calls are of this
    /// kind, and the way through `rmcp` costs several times what they do. `None` sends it that way,
    /// as if nothing had been done: nothing was but reading.
    ///
    /// It must be called where a runtime is.
    pub(crate) fn call_at_once(
        &self,
        params: &Map<String, Value>,
        client: &AtOnce,
    ) -> Option<CallToolResult> {
        // Whoever says more than these two wants more than the result.
        if params.keys().any(|key| key != "name" && key != "arguments") {
            return None;
        }
        let name = params.get("name")?.as_str()?;
        let Some(ToolTarget::Operation(operation)) = self.meant(name) else { return None };
        let stays_here = |tool: Tool| !tool.calls_out && tool.task == Task::Never;
        if operation.safety != Safety::Safe || !operation.tool().is_some_and(stays_here) {
            return None;
        }
        let arguments = match params.get("arguments") {
            None => Map::new(),
            Some(arguments) => arguments.as_object()?.clone(),
        };
        let request = CallToolRequestParams::new(operation.name).with_arguments(arguments);
        let work = trace::try_request("tools/call", self.call(McpClient::AtOnce(client), request));
        let mut work = pin!(work);
        let poll = || work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // A panic ends this try alone; the way through `rmcp` reports it.
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(Ok(CallToolResponse::Complete(mut result))))
                if result.is_error != Some(true) && !client.is_left.load(Ordering::Relaxed) =>
            {
                // Clients that shake hands do not know it.
                result.result_type = None;
                Some(result)
            }
            _ => None,
        }
    }
}
