//! The tasks of revision 2025-11-25, which `rmcp` no longer supports.
//!
//! The framing passes these methods on with our own prefix ([`OLDER`]), so that `rmcp` hands them
//! to [`WorkflowServer`] unchanged and accepts any answer.

use milepost_ops::{Problem, Task};
use rmcp::model::{CallToolRequestParams, CustomRequest, CustomResult, ErrorCode, ErrorData};
use serde_json::{Value, json};

use super::client::{Answer, Context, McpClient};
use super::follow_task::FollowFrom;
use super::handler::{is_task, started};
use super::tool_call::{CallOutcome, ToolCall};
use super::tool_names::ToolTarget;
use super::{WorkflowServer, follow_task, tasks};
use crate::request::OLDER;

impl WorkflowServer {
    /// Answers a method in the form of that revision.
    pub(super) async fn tasks_2025_11(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Answer<CustomResult> {
        let method = request.method.strip_prefix(OLDER).unwrap_or(&request.method);
        let params = request.params.clone().unwrap_or_default();
        let id = params["taskId"].as_str().unwrap_or_default();
        let no_task = |problem: Problem| self.no_task(id, &problem);
        let tasks = self.tasks_of(McpClient::Peer(&context));
        let answer = match method {
            "tools/list" => Ok(json!({"tools": self.tools_with_tasks()})),
            "tools/call" => self.begin(params, &context).await,
            "tasks/get" => tasks.find(id).await.map(|run| run.legacy()).map_err(no_task),
            "tasks/cancel" => tasks.cancel(id).await.map(|run| run.legacy()).map_err(no_task),
            "tasks/result" => self.ended(&context, id).await.map_err(no_task),
            "tasks/list" => {
                let listed = tasks.list(params["cursor"].as_str()).await;
                listed.map_err(|problem| self.no_task("tasks/list", &problem))
            }
            other => {
                let data = json!({"method": other});
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", Some(data)))
            }
        };
        answer.map(CustomResult::new)
    }

    /// The tools, each with its task support.
    fn tools_with_tasks(&self) -> Vec<Value> {
        let tools = self.tools().iter().cloned().map(|mut tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            let support = match self.meant(name) {
                Some(ToolTarget::Operation(operation)) => operation.tool().map(|tool| tool.task),
                Some(ToolTarget::Guide(_)) | None => None,
            };
            match support {
                Some(Task::Optional) => tool["execution"] = json!({"taskSupport": "optional"}),
                Some(Task::Required) => tool["execution"] = json!({"taskSupport": "required"}),
                Some(Task::Never) | None => {}
            }
            tool
        });
        tools.collect()
    }

    /// Starts a call as a task; returns once the run is on disk.
    async fn begin(&self, params: Value, context: &Context) -> Answer<Value> {
        let call: CallToolRequestParams = serde_json::from_value(params)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let operation = match self.meant(&call.name) {
            Some(ToolTarget::Operation(operation)) if is_task(operation) => operation,
            Some(_) => {
                let data =
                    json!({"tool": call.name, "details": "calls to this tool cannot be tasks"});
                let message = "the tool does not support tasks";
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, Some(data)));
            }
            None => return Err(self.unknown(&call.name)),
        };
        let refused = |problem: Problem| self.refused(operation.name, &problem);
        let calling = ToolCall {
            operation,
            arguments: call.arguments.unwrap_or_default(),
            answers: None,
            state: None,
            client: McpClient::Peer(context),
            is_task: true,
        };
        let answer = match Box::pin(self.act(calling)).await {
            CallOutcome::Done(_, done) => done.map_err(refused)?,
            CallOutcome::Later(_) => {
                let message = "the client would have to be asked first, but it cannot be";
                return Err(ErrorData::internal_error(message, None));
            }
        };
        let Some(id) = started(&answer).map_err(refused)? else {
            let data = json!({"tool": call.name, "details": "it started no run"});
            return Err(ErrorData::invalid_params("the call is not a task", Some(data)));
        };
        let run = self.tasks_of(McpClient::Peer(context)).find(&id).await.map_err(refused)?;
        let made = json!({"task": run.legacy(), "_meta": tasks::meta(&run)});
        follow_task::follow(self, context, run, FollowFrom::Answered);
        Ok(made)
    }

    /// Waits for a task and returns its result. The waiting client is asked for any input the task
    /// needs.
    async fn ended(&self, context: &Context, id: &str) -> Result<Value, Problem> {
        let tasks = self.tasks_of(McpClient::Peer(context));
        let run = tasks.find(id).await?;
        if !run.view.has_ended() {
            follow_task::follow(self, context, run, FollowFrom::Now);
        }
        tasks::legacy_result(&tasks.ended(id).await?, self.style())
    }
}
