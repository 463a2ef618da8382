//! The server as `rmcp` sees it: [`Face`], and the tasks of 2025-11-25, which `rmcp` no longer has.
//!
//! The edge moves `params.task` of a call to [`TASK`] in its `_meta`, where it survives `rmcp`.

use milepost_ops::{Problem, Task};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, ClientNotification, ClientRequest, CustomRequest, CustomResult,
    ErrorCode, ErrorData, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use serde_json::{Value, json};

use super::ask::Asked;
use super::handler::is_task;
use super::names::Meant;
use super::{Face, tasks};

/// Where the edge puts what makes a call a task.
pub(crate) const TASK: &str = "milepost/task";

/// One server for every client, of whatever era.
#[derive(Debug, Clone)]
pub(crate) struct Server(pub(crate) Face);

impl Service<RoleServer> for Server {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if context.protocol_version() != Some(ProtocolVersion::V_2025_11_25) {
            return Service::handle_request(&self.0, request, context).await;
        }
        let answer = match request {
            ClientRequest::ListToolsRequest(_) => Ok(json!({"tools": self.tools()})),
            ClientRequest::CallToolRequest(call) if context.meta.contains_key(TASK) => {
                self.begin(call.params, context).await
            }
            ClientRequest::GetTaskRequest(get) => {
                let id = &get.params.task_id;
                let run = tasks::look(self.0.operations(), id, false).await;
                run.map(|run| tasks::legacy(&run)).map_err(|problem| self.0.no_task(id, &problem))
            }
            ClientRequest::CancelTaskRequest(cancel) => {
                let id = &cancel.params.task_id;
                let run = tasks::cancel(self.0.operations(), id).await;
                run.map(|run| tasks::legacy(&run)).map_err(|problem| self.0.no_task(id, &problem))
            }
            ClientRequest::CustomRequest(request) => self.custom(&request).await,
            other => return Service::handle_request(&self.0, other, context).await,
        };
        answer.map(|value| ServerResult::CustomResult(CustomResult::new(value)))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }
}

impl Server {
    /// The tools, each with whether it may be a task.
    fn tools(&self) -> Vec<Value> {
        let tools = self.0.tools().iter().cloned().map(|mut tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            let support = match self.0.meant(name) {
                Some(Meant::Operation(operation)) => operation.tool().map(|tool| tool.task),
                Some(Meant::Guide(_)) | None => None,
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

    /// A call that its client follows as a task: it answers once the run is on disk.
    async fn begin(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let operation = match self.0.meant(&call.name) {
            Some(Meant::Operation(operation)) if is_task(operation) => operation,
            Some(_) => {
                let data = json!({"tool": call.name, "details": "a call of it is never a task"});
                let message = "the tool has no tasks";
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, Some(data)));
            }
            None => return Err(self.0.unknown(&call.name)),
        };
        let refused = |problem: Problem| self.0.refused(operation.name, &problem);
        let arguments = call.arguments.unwrap_or_default();
        let mut begun = self.0.once(operation, &arguments, false, &context).await;
        if let Err(problem) = &begun
            && let Asked::Given(filled) = self.0.filled(problem, &arguments, None, &context).await
        {
            begun = self.0.once(operation, &filled, false, &context).await;
        }
        let run = begun.map_err(refused)?;
        let id = run["run_id"].as_str().unwrap_or_default();
        let run = tasks::look(self.0.operations(), id, false).await.map_err(refused)?;
        Ok(json!({"task": tasks::legacy(&run), "_meta": tasks::meta(&run)}))
    }

    async fn custom(&self, request: &CustomRequest) -> Result<Value, ErrorData> {
        let params = request.params.clone().unwrap_or_default();
        match request.method.as_str() {
            "tasks/result" => {
                let id = params["taskId"].as_str().unwrap_or_default();
                let run = tasks::ended(self.0.operations(), id).await;
                run.map(|run| tasks::legacy_result(&run))
                    .map_err(|problem| self.0.no_task(id, &problem))
            }
            "tasks/list" => {
                let listed = tasks::list(self.0.operations(), params["cursor"].as_str()).await;
                listed.map_err(|problem| self.0.no_task("tasks/list", &problem))
            }
            other => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                "Method not found",
                Some(json!({"method": other})),
            )),
        }
    }
}
