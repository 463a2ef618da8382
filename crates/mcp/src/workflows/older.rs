//! The tasks of 2025-11-25, which `rmcp` no longer has.
//!
//! The edge hands these methods on under names of ours ([`OLDER`]), so that `rmcp` gives them to
//! [`Face`] as they came and takes whatever the answer is.

use milepost_ops::{Problem, Task};
use rmcp::model::{CallToolRequestParams, CustomRequest, CustomResult, ErrorCode, ErrorData};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::ask::Asked;
use super::handler::is_task;
use super::names::Meant;
use super::{Face, fulfil, tasks};
use crate::request::OLDER;

impl Face {
    /// Answers a method of that revision, in its shape.
    pub(super) async fn older(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.strip_prefix(OLDER).unwrap_or(&request.method);
        let params = request.params.clone().unwrap_or_default();
        let id = params["taskId"].as_str().unwrap_or_default();
        let no_task = |problem: Problem| self.no_task(id, &problem);
        let answer = match method {
            "tools/list" => Ok(json!({"tools": self.tools_with_tasks()})),
            "tools/call" => self.begin(params, context).await,
            "tasks/get" => {
                let run = tasks::look(self.operations(), id, false).await;
                run.map(|run| tasks::legacy(&run)).map_err(no_task)
            }
            "tasks/cancel" => {
                let run = tasks::cancel(self.operations(), id).await;
                run.map(|run| tasks::legacy(&run)).map_err(no_task)
            }
            "tasks/result" => {
                let run = tasks::ended(self.operations(), id).await;
                run.map(|run| tasks::legacy_result(&run)).map_err(no_task)
            }
            "tasks/list" => {
                let listed = tasks::list(self.operations(), params["cursor"].as_str()).await;
                listed.map_err(|problem| self.no_task("tasks/list", &problem))
            }
            other => {
                let data = json!({"method": other});
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", Some(data)))
            }
        };
        answer.map(CustomResult::new)
    }

    /// The tools, each with whether it may be a task.
    fn tools_with_tasks(&self) -> Vec<Value> {
        let tools = self.tools().iter().cloned().map(|mut tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            let support = match self.meant(name) {
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
        params: Value,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let call: CallToolRequestParams = serde_json::from_value(params)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let operation = match self.meant(&call.name) {
            Some(Meant::Operation(operation)) if is_task(operation) => operation,
            Some(_) => {
                let data = json!({"tool": call.name, "details": "a call of it is never a task"});
                let message = "the tool has no tasks";
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, Some(data)));
            }
            None => return Err(self.unknown(&call.name)),
        };
        let refused = |problem: Problem| self.refused(operation.name, &problem);
        let arguments = call.arguments.unwrap_or_default();
        let mut begun = self.once(operation, &arguments, false, &context).await;
        if let Err(problem) = &begun
            && let Asked::Given(filled) = self.filled(problem, &arguments, None, &context).await
        {
            begun = self.once(operation, &filled, false, &context).await;
        }
        let run = begun.map_err(refused)?;
        let id = run["run_id"].as_str().unwrap_or_default();
        let run = tasks::look(self.operations(), id, false).await.map_err(refused)?;
        if operation.tool().is_some_and(|tool| tool.task == Task::Required) {
            tokio::spawn(fulfil::follow(self.clone(), context, id.to_owned()));
        }
        Ok(json!({"task": tasks::legacy(&run), "_meta": tasks::meta(&run)}))
    }
}
