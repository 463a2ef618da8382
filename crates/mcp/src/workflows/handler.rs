//! The request handler that `rmcp` calls.

use std::borrow::Cow;

use milepost_model::secret::known_secrets;
use milepost_model::suggest;
use milepost_ops::{Code, OperationSpec, Problem, Response, Task, correlation};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, CreateTaskResult,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetTaskParams, GetTaskResult, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    PromptMessage, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Role, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, TASKS_EXTENSION_ID, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};

use super::approvals::read;
use super::client::{Answer, Context, McpClient, agent, is_stateless};
use super::suggested_call::{self, SuggestedCall};
use super::tasks::Tasks;
use super::tool_call::{CallOutcome, ToolCall};
use super::tool_names::{self, ToolTarget};
use super::{
    DRY_RUN, ErrorStyle, MANIFESTS, WorkflowServer, follow_task, problem_payload, prompts,
    resources, shorten, subscriptions, tasks,
};
use crate::guide::Contract;
use crate::limits;
use crate::rpc_error::RpcError;
use crate::trace;

impl ServerHandler for WorkflowServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tasks()
            .build();
        let us = Implementation::new("milepost", env!("CARGO_PKG_VERSION"))
            .with_title("Milepost")
            .with_description("Workflows that agents and APIs run together, durably");
        ServerConfig::new(capabilities)
            .with_server_info(us)
            .with_instructions(self.instructions())
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Answer<ListToolsResult> {
        one_page(request.as_ref())?;
        let tools = self.tools().iter().map(|tool| serde_json::from_value::<Tool>(tool.clone()));
        let tools = tools.collect::<Result<_, _>>().map_err(|error| {
            ErrorData::internal_error(format!("cannot list a tool: {error}"), None)
        })?;
        let mut listed = ListToolsResult::with_all_items(tools);
        listed.ttl_ms = is_stateless(&context).then_some(limits::FIXED_MS);
        Ok(listed)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Answer<ListResourcesResult> {
        one_page(request.as_ref())?;
        let mut listed = ListResourcesResult::with_all_items(resources::list());
        listed.ttl_ms = is_stateless(&context).then_some(limits::FIXED_MS);
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Answer<ListResourceTemplatesResult> {
        one_page(request.as_ref())?;
        let templates = resources::templates(self.style().profile);
        let mut listed = ListResourceTemplatesResult::with_all_items(templates);
        listed.ttl_ms = is_stateless(&context).then_some(limits::FIXED_MS);
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Answer<ReadResourceResponse> {
        match resources::read(self.operations(), &agent(&context), self.style(), &request.uri).await
        {
            Some(Ok(contents)) => {
                let mut read = ReadResourceResult::new(vec![contents]);
                let lives_ms = resources::lives_ms(&request.uri);
                read.ttl_ms = lives_ms.filter(|_| is_stateless(&context));
                Ok(read.into())
            }
            Some(Err(problem)) => Err(self.refused(&request.uri, &problem)),
            None => {
                let data = json!({"uri": request.uri});
                Err(ErrorData::resource_not_found("Resource not found", Some(data)))
            }
        }
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Answer<()> {
        self.watch(request.uri, &context).await
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, context: Context) -> Answer<()> {
        self.unwatch(request.uri, &context);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(subscriptions::granted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Answer<()> {
        self.tell_listener(context).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        tokio::spawn(self.clone().tell_prompts(context.peer));
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: Context,
    ) -> Answer<ListPromptsResult> {
        one_page(request.as_ref())?;
        Ok(ListPromptsResult::with_all_items(prompts::list(self.operations()).await))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: Context,
    ) -> Answer<GetPromptResponse> {
        let arguments = request.arguments.unwrap_or_default();
        match prompts::text(self.operations(), &request.name, &arguments).await {
            Some(Ok(text)) => {
                let message = PromptMessage::new_text(Role::User, text);
                Ok(GetPromptResult::new(vec![message]).into())
            }
            Some(Err(problem)) => Err(self.refused(&request.name, &problem)),
            None => {
                let data = json!({"prompt": request.name});
                Err(ErrorData::invalid_params("there is no such prompt", Some(data)))
            }
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Answer<CompleteResult> {
        let argument = &request.argument;
        let run = request.context.as_ref().and_then(|known| known.get_argument("run_id"));
        let run = run.map(String::as_str);
        let (name, typed) = (&argument.name, &argument.value);
        let mut values =
            resources::complete(self.operations(), &agent(&context), name, typed, run).await;
        let total = values.len();
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_pagination(
            values,
            u32::try_from(total).ok(),
            total > CompletionInfo::MAX_VALUES,
        );
        info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Answer<GetTaskResult> {
        let no_task = |problem: Problem| self.no_task(&request.task_id, &problem);
        let tasks = self.tasks_of(McpClient::Peer(&context));
        let run = tasks.watched(&request.task_id).await.map_err(no_task)?;
        let requests = follow_task::wanted(self, &run, &context).await.into_iter().collect();
        let detailed = tasks::detailed(&run, requests, self.style()).map_err(no_task)?;
        let mut result = GetTaskResult::new(detailed);
        result.meta = Some(tasks::meta(&run));
        Ok(result)
    }

    /// Processes the input that a client was asked for. Steps whose input is declined stay due.
    async fn update_task(&self, request: UpdateTaskParams, context: Context) -> Answer<()> {
        let (id, client) = (&request.task_id, McpClient::Peer(&context));
        let no_task = |problem: Problem| self.no_task(id, &problem);
        self.tasks_of(client).find(id).await.map_err(no_task)?;
        for (key, answer) in &request.input_responses {
            follow_task::take(self, client, id, key, answer).await.map_err(no_task)?;
        }
        Ok(())
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: Context) -> Answer<()> {
        match self.tasks_of(McpClient::Peer(&context)).cancel(&request.task_id).await {
            Ok(_) => Ok(()),
            // The client wanted the run to end, and it already has.
            Err(problem) if problem.code == Code::RunConflict => Ok(()),
            Err(problem) => Err(self.no_task(&request.task_id, &problem)),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Answer<CallToolResponse> {
        self.call(McpClient::Peer(&context), request).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Answer<CustomResult> {
        self.tasks_2025_11(request, context).await
    }
}

/// The error when an immediate call is left to `rmcp`; nobody sees it.
fn left() -> ErrorData {
    ErrorData::internal_error("the call cannot be answered immediately", None)
}

impl WorkflowServer {
    /// Resolves a tool name.
    pub(super) fn meant(&self, name: &str) -> Option<ToolTarget> {
        let style = self.style();
        let meant = tool_names::meant(name, style.surface)?;
        let has = match meant {
            ToolTarget::Operation(operation) => {
                operation.tool().is_some_and(|tool| style.has(tool))
            }
            ToolTarget::Guide(_) => !self.only_works(),
        };
        has.then_some(meant)
    }

    pub(super) fn unknown(&self, name: &str) -> ErrorData {
        let known: Vec<String> = tool_names::known(self.style()).collect();
        let nearest = suggest::nearest(name, known.iter().map(String::as_str));
        let fault = RpcError::unknown_tool(name, nearest);
        ErrorData::invalid_params(fault.message, Some(fault.data))
    }

    /// Whether a tool with this name exists.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.meant(tool).is_some()
    }

    /// Calls a tool for a client on the guide contract, which cannot be asked questions.
    pub(crate) async fn call_for_guides(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, RpcError> {
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.call(McpClient::Guide, request).await {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            // Other answers are given only to clients that can be asked, or that support tasks.
            Ok(_) => Err(RpcError::internal(&correlation::id())),
            Err(error) => Err(RpcError {
                code: error.code.0,
                message: error.message,
                data: error.data.unwrap_or_default(),
            }),
        }
    }

    /// Calls a tool by its name.
    pub(super) async fn call(
        &self,
        client: McpClient<'_>,
        mut request: CallToolRequestParams,
    ) -> Answer<CallToolResponse> {
        let arguments = request.arguments.take().unwrap_or_default();
        let operation = match self.meant(&request.name) {
            Some(ToolTarget::Guide(tool)) => return Ok(self.guide(tool, arguments)?.into()),
            Some(ToolTarget::Operation(operation)) => operation,
            None => return Err(self.unknown(&request.name)),
        };
        let knows_tasks = is_task(operation) && client.knows_tasks();
        if operation.tool().is_some_and(|tool| tool.task == Task::Required) && !knows_tasks {
            return Err(self.needs_tasks(operation, client.is_stateless()));
        }
        if self.only_works()
            && let Some(problem) = only_for_authors(&arguments)
        {
            if client.leaves_it() {
                return Err(left());
            }
            return self.failed(operation, &arguments, &problem);
        }
        let calling = ToolCall {
            operation,
            arguments,
            answers: request.input_responses.as_ref(),
            state: request.request_state.as_deref(),
            client,
            is_task: knows_tasks,
        };
        // Boxed, because the future of every request would otherwise be as large as this one.
        match Box::pin(self.act(calling)).await {
            // Failures are counted and logged only once: by the call that goes through `rmcp`.
            CallOutcome::Done(_, Err(_)) if client.leaves_it() => Err(left()),
            CallOutcome::Done(arguments, done) => {
                self.answered(operation, &arguments, done, client).await
            }
            CallOutcome::Later(unfinished) => Ok((*unfinished).into()),
        }
    }

    /// Calls a tool of the guide contract, with that contract's errors.
    fn guide(&self, tool: &str, arguments: JsonObject) -> Answer<CallToolResult> {
        let mut log = String::new();
        let called = self.guides().call(tool, arguments, &mut log);
        self.log_lines(&log);
        match called {
            Ok(response) => {
                let answer =
                    read(response.json()).map_err(|problem| self.refused(tool, &problem))?;
                Ok(CallToolResult::structured(answer))
            }
            Err(fault) => {
                trace::declined();
                Ok(CallToolResult::structured_error(fault.to_value()))
            }
        }
    }

    /// Turns the outcome of a call into an answer, which is a task if the call started a run and
    /// the client supports tasks.
    async fn answered(
        &self,
        operation: &OperationSpec,
        arguments: &JsonObject,
        done: Result<Response, Problem>,
        client: McpClient<'_>,
    ) -> Answer<CallToolResponse> {
        let answer = match done {
            Ok(answer) => answer,
            Err(problem) => return self.failed(operation, arguments, &problem),
        };
        let refused = |problem: Problem| self.refused(operation.name, &problem);
        if is_task(operation)
            && client.knows_tasks()
            && let Some(id) = started(&answer).map_err(refused)?
        {
            let run = self.tasks_of(client).find(&id).await.map_err(refused)?;
            let made = CreateTaskResult::new(tasks::task(&run)).with_meta(tasks::meta(&run));
            return Ok(made.into());
        }
        self.shared.repeats.forget(operation.name);
        // Masked before it is shortened, because half a secret would not be found.
        let mut result = known_secrets::shown_value(read(answer.json()).map_err(refused)?);
        let mut links = Vec::new();
        if ["run", "run_id", "runs"].iter().any(|name| result.get(name).is_some()) {
            suggested_call::told(&mut result, operation.name, arguments, self.style());
            links = shorten::shorten(&mut result, shorten::bound(arguments));
        }
        Ok(shorten::result(result, &links, client.reads_structure()).into())
    }

    /// The error for a client without task support that calls a tool that requires it.
    pub(super) fn needs_tasks(&self, operation: &OperationSpec, is_stateless: bool) -> ErrorData {
        let message = format!("`{}` needs a client that supports MCP tasks", operation.name);
        let hint = "use a client that supports tasks, or call workflow_run and workflow_status";
        let problem = Problem::new(Code::TaskCapabilityRequired, message, hint);
        let mut error = self.refused(operation.name, &problem);
        error.code = ErrorCode::METHOD_NOT_FOUND;
        if is_stateless {
            error.code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            if let Some(data) = &mut error.data {
                data["requiredCapabilities"] = json!({"extensions": {TASKS_EXTENSION_ID: {}}});
            }
        }
        error
    }

    /// The tasks that a client may see.
    pub(super) fn tasks_of(&self, client: McpClient<'_>) -> Tasks<'_> {
        Tasks { operations: self.operations(), principal: client.principal() }
    }

    /// The error for a task that does not exist: an invalid parameter.
    pub(super) fn no_task(&self, id: &str, problem: &Problem) -> ErrorData {
        let mut error = self.refused(id, problem);
        error.code = ErrorCode::INVALID_PARAMS;
        error
    }

    /// The error for a failure outside a tool call, which cannot be returned as a result.
    pub(super) fn refused(&self, what: &str, problem: &Problem) -> ErrorData {
        let next = suggested_call::after(problem, &Map::new(), self.style());
        // The subject may be any string from the client, so it goes to standard error only.
        problem_payload::error(problem, self.payload(what, None, problem, next.as_ref()))
    }

    /// The object that describes a failure, which is logged under the correlation id in that
    /// object.
    fn payload(
        &self,
        what: &str,
        operation: Option<&str>,
        problem: &Problem,
        next: Option<&SuggestedCall>,
    ) -> Value {
        let id = correlation::id();
        trace::failed(&id, operation, problem);
        self.log(&format!("failed {id}: {what}: {}: {}", problem.code.name(), problem.message));
        problem_payload::of(problem, &id, next, self.style())
    }

    /// The answer to a failed call, in the configured error style.
    pub(super) fn failed(
        &self,
        operation: &OperationSpec,
        arguments: &JsonObject,
        problem: &Problem,
    ) -> Answer<CallToolResponse> {
        let style = self.style();
        let next = suggested_call::after(problem, arguments, style);
        let name = operation.name;
        let mut payload = self.payload(name, Some(name), problem, next.as_ref());
        if self.shared.repeats.count(name, &problem.message) >= limits::FAILURES_ENOUGH {
            payload["schema"] = (operation.request)();
            payload["example"] = (operation.example)();
        }
        if style.errors == ErrorStyle::JsonRpc {
            return Err(problem_payload::error(problem, payload));
        }
        let text = ContentBlock::text(problem_payload::words(problem, &payload));
        let mut result = CallToolResult::error(vec![text]);
        result.structured_content = Some(payload);
        Ok(result.into())
    }
}

/// Whether calls to an operation may become tasks.
pub(super) fn is_task(operation: &OperationSpec) -> bool {
    operation.tool().is_some_and(|tool| tool.task != Task::Never)
}

/// The id of the run that a call started; `None` if it only previewed one.
pub(super) fn started(answer: &Response) -> Result<Option<String>, Problem> {
    #[derive(serde::Deserialize)]
    struct Started {
        run_id: Option<String>,
    }
    read::<Started>(answer.json()).map(|started| started.run_id)
}

/// The problem with a call that only authors may make, from a client that may only work on runs.
fn only_for_authors(arguments: &JsonObject) -> Option<Problem> {
    if arguments.get(DRY_RUN).is_some_and(|asked| *asked != false) {
        let message = "`dry_run` shows steps that are not due yet, which this server forbids";
        return Some(Problem::new(Code::ParamsInvalid, message, "leave out `dry_run`"));
    }
    let text = MANIFESTS.iter().find(|name| arguments.contains_key(**name))?;
    let message = format!("`{text}` contains a workflow, but this server runs only its own");
    let hint = "pass the `workflow_id` of a workflow from `workflow_list`";
    Some(Problem::new(Code::ParamsInvalid, message, hint))
}

/// Rejects cursors for a list that fits on one page, because none was ever issued.
fn one_page(request: Option<&PaginatedRequestParams>) -> Answer<()> {
    match request.and_then(|request| request.cursor.as_ref()) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("unknown cursor", None)),
    }
}
