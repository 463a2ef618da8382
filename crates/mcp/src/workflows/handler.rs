//! What `rmcp` asks a server for.

use std::borrow::Cow;

use milepost_model::suggest;
use milepost_ops::{Code, Confirm, Operation, Problem, Profile, Safety, Task};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, CreateTaskResult,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetTaskParams, GetTaskResult, Implementation, InputResponses, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Role, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, TASKS_EXTENSION_ID, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};

use super::ask::{self, Asked};
use super::call::Told;
use super::names::{self, Meant};
use super::next::{self, Next};
use super::repeats::ENOUGH;
use super::{
    Errors, Face, changes, confirm, fulfil, inline, missing, payload, prompts, resources, tasks,
};
use crate::contract::Contract;
use crate::session::correlation_id;

/// The key of the one question that a destructive call asks.
const CONFIRMATION: &str = "confirmation";
/// The key of the form for inputs that are missing.
const INPUTS: &str = "inputs";

impl ServerHandler for Face {
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
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request.as_ref())?;
        let tools = self.tools().iter().map(|tool| serde_json::from_value::<Tool>(tool.clone()));
        let tools = tools.collect::<Result<_, _>>().map_err(|error| {
            ErrorData::internal_error(format!("a tool cannot be shown: {error}"), None)
        })?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        one_page(request.as_ref())?;
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request.as_ref())?;
        let templates = resources::templates(self.shared.look.profile);
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let profile = self.shared.look.profile;
        match resources::read(self.operations(), profile, &request.uri).await {
            Some(Ok(contents)) => Ok(ReadResourceResult::new(vec![contents]).into()),
            Some(Err(problem)) => Err(self.refused(&request.uri, &problem)),
            None => {
                let data = json!({"uri": request.uri});
                Err(ErrorData::resource_not_found("Resource not found", Some(data)))
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watch(request.uri, &context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.unwatch(request.uri, &context);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(changes::granted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.tell_listener(context).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        tokio::spawn(self.clone().tell_prompts(context.peer));
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        one_page(request.as_ref())?;
        Ok(ListPromptsResult::with_all_items(prompts::list(self.operations()).await))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
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
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let argument = &request.argument;
        let mut values =
            resources::complete(self.operations(), &argument.name, &argument.value).await;
        let total = values.len();
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_pagination(
            values,
            u32::try_from(total).ok(),
            total > CompletionInfo::MAX_VALUES,
        );
        info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let run = tasks::watched(self.operations(), &request.task_id).await;
        let run = run.map_err(|problem| self.no_task(&request.task_id, &problem))?;
        let can = context.client_capabilities();
        let wanted = fulfil::wanted(self.operations(), &run, can.as_ref()).await;
        let requests = wanted.map(|wanted| (wanted.key, wanted.request)).into_iter().collect();
        let mut result = GetTaskResult::new(tasks::detailed(&run, requests));
        result.meta = Some(tasks::meta(&run));
        Ok(result)
    }

    /// Takes what a client was asked for. What it declines stays due.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let id = &request.task_id;
        let no_task = |problem: Problem| self.no_task(id, &problem);
        tasks::look(self.operations(), id, false).await.map_err(no_task)?;
        for (key, answer) in &request.input_responses {
            fulfil::take(self.operations(), id, key, answer).await.map_err(no_task)?;
        }
        Ok(())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let canceled = tasks::cancel(self.operations(), &request.task_id).await;
        match canceled {
            Ok(_) => Ok(()),
            // That it has ended already is what a client that cancels wants.
            Err(problem) if problem.code == Code::RunConflict => Ok(()),
            Err(problem) => Err(self.no_task(&request.task_id, &problem)),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        match self.meant(&request.name) {
            Some(Meant::Guide(tool)) => Ok(self.guide(tool, arguments).into()),
            Some(Meant::Operation(operation)) => {
                let answers = request.input_responses.as_ref();
                self.operation(operation, arguments, answers, context).await
            }
            None => Err(self.unknown(&request.name)),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.older(request, context).await
    }
}

impl Face {
    /// What a called name means. Whoever is only to work calls nothing that shows the text of a
    /// workflow, listed or not.
    pub(super) fn meant(&self, name: &str) -> Option<Meant> {
        let meant = names::meant(name, self.shared.look.surface)?;
        let is_for_work = match meant {
            Meant::Operation(operation) => {
                operation.tool().is_some_and(|tool| tool.profile == Profile::Work)
            }
            Meant::Guide(_) => false,
        };
        (is_for_work || !self.only_works()).then_some(meant)
    }

    pub(super) fn unknown(&self, name: &str) -> ErrorData {
        let known: Vec<String> = names::known(self.shared.look.spelling).collect();
        let nearest = suggest::nearest(name, known.iter().map(String::as_str));
        let fault = crate::fault::Fault::unknown_tool(name, nearest);
        ErrorData::invalid_params(fault.message, Some(fault.data))
    }

    /// A tool of the other contract, in the words of that one.
    fn guide(&self, tool: &str, arguments: Map<String, Value>) -> CallToolResult {
        let mut log = String::new();
        let called = self.guides().call(tool, arguments, &mut log);
        self.log_lines(&log);
        match called {
            Ok(response) => CallToolResult::structured(
                serde_json::from_str(response.json()).unwrap_or_default(),
            ),
            Err(fault) => CallToolResult::structured_error(fault.to_value()),
        }
    }

    async fn operation(
        &self,
        operation: &'static Operation,
        mut arguments: JsonObject,
        answers: Option<&InputResponses>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if operation.tool().is_some_and(|tool| tool.task == Task::Required)
            && !knows_tasks(&context)
        {
            return Err(self.needs_tasks(operation, &context));
        }
        let token = arguments.remove(confirm::ARGUMENT);
        let token = token.as_ref().and_then(Value::as_str);
        let confirmations = &self.shared.confirmations;
        let wanted = self.operations().confirm();
        let yes = token.is_some_and(|token| confirmations.take(token, operation.name, &arguments))
            && wanted != Confirm::Person;
        if wanted == Confirm::Writes && operation.safety == Safety::Standard && !yes {
            let problem = unconfirmed(operation);
            match self.confirmed(&problem, answers, &context).await {
                Asked::Given(given) if given.get("confirm") == Some(&Value::Bool(true)) => {}
                Asked::Given(_) | Asked::Declined => {
                    return self.failed(operation, &arguments, &declined(), false);
                }
                Asked::Later(unfinished) => return Ok((*unfinished).into()),
                Asked::Nobody => return self.failed(operation, &arguments, &problem, true),
            }
        }
        let mut done = self.once(operation, &arguments, yes, &context).await;
        if let Err(problem) = &done {
            match self.filled(problem, &arguments, answers, &context).await {
                Asked::Given(filled) => {
                    arguments = filled;
                    done = self.once(operation, &arguments, yes, &context).await;
                }
                Asked::Later(unfinished) => return Ok((*unfinished).into()),
                Asked::Declined | Asked::Nobody => {}
            }
        }
        if let Err(problem) = &done
            && problem.code == Code::ConfirmationRequired
            && !yes
        {
            match self.confirmed(problem, answers, &context).await {
                Asked::Given(given) if given.get("confirm") == Some(&Value::Bool(true)) => {
                    done = self.once(operation, &arguments, true, &context).await;
                }
                Asked::Given(_) | Asked::Declined => done = Err(declined()),
                Asked::Later(unfinished) => return Ok((*unfinished).into()),
                Asked::Nobody => {
                    let may_carry = wanted != Confirm::Person;
                    return self.failed(operation, &arguments, problem, may_carry);
                }
            }
        }
        self.answered(operation, &arguments, done, &context).await
    }

    /// Asks for the inputs that a problem says are missing: given are all arguments with them.
    pub(super) async fn filled(
        &self,
        problem: &Problem,
        arguments: &JsonObject,
        answers: Option<&InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Asked {
        let Some(form) = missing::form(self.operations(), problem, arguments).await else {
            return Asked::Nobody;
        };
        let message = format!("The run needs what it was not given: {}.", problem.message);
        match ask::form(context, answers, INPUTS, &message, form).await {
            Asked::Given(given) => Asked::Given(missing::with(arguments, given)),
            other => other,
        }
    }

    /// Asks whether what a problem names may be lost.
    async fn confirmed(
        &self,
        problem: &Problem,
        answers: Option<&InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Asked {
        let question = problem.context.get("loss").and_then(Value::as_str);
        let question = format!("{} Go on?", question.unwrap_or("This cannot be taken back."));
        let form = ask::yes_or_no(&question);
        ask::form(context, answers, CONFIRMATION, &question, form).await
    }

    /// What was done as an answer: a task where the client follows one.
    async fn answered(
        &self,
        operation: &Operation,
        arguments: &JsonObject,
        done: Result<Value, Problem>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match done {
            Ok(run) if is_task(operation) && knows_tasks(context) => {
                let run = tasks::look(self.operations(), &text(&run["run_id"]), false).await;
                let run = run.map_err(|problem| self.refused(operation.name, &problem))?;
                let made = CreateTaskResult::new(tasks::task(&run)).with_meta(tasks::meta(&run));
                Ok(made.into())
            }
            Ok(mut result) => {
                self.shared.repeats.forget(operation.name);
                inline::shorten(&mut result, inline::bound(arguments));
                Ok(CallToolResult::structured(result).into())
            }
            Err(problem) => self.failed(operation, arguments, &problem, false),
        }
    }

    /// A client that knows no tasks called what has to be one.
    fn needs_tasks(
        &self,
        operation: &Operation,
        context: &RequestContext<RoleServer>,
    ) -> ErrorData {
        let message = format!("`{}` needs a client that knows MCP tasks", operation.name);
        let hint = "connect with a tasks-capable client, or use workflow_run and workflow_status";
        let problem = Problem::new(Code::TaskCapabilityRequired, message, hint);
        let mut error = self.refused(operation.name, &problem);
        error.code = ErrorCode::METHOD_NOT_FOUND;
        if ask::is_stateless(context) {
            error.code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            if let Some(data) = &mut error.data {
                data["requiredCapabilities"] = json!({"extensions": {TASKS_EXTENSION_ID: {}}});
            }
        }
        error
    }

    /// Does it, and tells how far it is while it does.
    pub(super) async fn once(
        &self,
        operation: &Operation,
        arguments: &JsonObject,
        yes: bool,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, Problem> {
        let (told, teller) = Told::new(context.clone(), yes);
        // Work that does not wait would keep a teller on its own thread from telling.
        let teller = teller.map(|teller| tokio::spawn(teller.tell()));
        let arguments = Value::Object(arguments.clone());
        let done = self.operations().call_and_wait(operation.name, &told, arguments).await;
        for warning in told.into_warnings() {
            self.log(&format!("warning: {warning}"));
        }
        if let Some(teller) = teller {
            // All of it is told before the answer; nobody wants to know afterwards.
            let _ = teller.await;
        }
        let response = done?;
        serde_json::from_str(response.json()).map_err(|error| {
            let message = format!("`{}` answered what is no JSON: {error}", operation.name);
            Problem::new(Code::Internal, message, "report this with the request that caused it")
        })
    }

    /// A task that is not there is a wrong parameter.
    pub(super) fn no_task(&self, id: &str, problem: &Problem) -> ErrorData {
        let mut error = self.refused(id, problem);
        error.code = ErrorCode::INVALID_PARAMS;
        error
    }

    /// A failure of what is no tool: there is no other form for it.
    pub(super) fn refused(&self, what: &str, problem: &Problem) -> ErrorData {
        let id = correlation_id();
        self.log(&format!("failed {id}: {what}: {}: {}", problem.code.name(), problem.message));
        payload::error(problem, payload::of(problem, &id, None))
    }

    /// A failure in the form that the client wants.
    fn failed(
        &self,
        operation: &Operation,
        arguments: &JsonObject,
        problem: &Problem,
        with_token: bool,
    ) -> Result<CallToolResponse, ErrorData> {
        let look = self.shared.look;
        let next = match with_token {
            true => Some(self.token(operation, arguments)),
            false => next::after(problem, arguments, look.spelling),
        };
        let id = correlation_id();
        self.log(&format!(
            "failed {id}: {}: {}: {}",
            operation.name,
            problem.code.name(),
            problem.message
        ));
        let mut payload = payload::of(problem, &id, next.as_ref());
        if self.shared.repeats.count(operation.name, &problem.message) >= ENOUGH {
            payload["schema"] = (operation.request)();
            payload["example"] = (operation.example)();
        }
        if look.errors == Errors::JsonRpc {
            return Err(payload::error(problem, payload));
        }
        let text = ContentBlock::text(payload::words(problem, &payload));
        let mut result = CallToolResult::error(vec![text]);
        result.structured_content = Some(payload);
        Ok(result.into())
    }

    /// The same call with a token, for a model that asked its person.
    fn token(&self, operation: &Operation, arguments: &JsonObject) -> Next {
        let token = self.shared.confirmations.give(operation.name, arguments);
        let mut arguments = arguments.clone();
        arguments.insert(confirm::ARGUMENT.to_owned(), token.into());
        let why = "tell the user what would be lost and ask; only after their yes make the call \
                   in `next`, within five minutes";
        Next::new(operation.name, self.shared.look.spelling, arguments, why)
    }
}

/// Whether a call of it is one that a client may follow.
pub(super) fn is_task(operation: &Operation) -> bool {
    operation.tool().is_some_and(|tool| tool.task != Task::Never)
}

/// Whether the client takes a task for an answer: only where every request stands alone.
fn knows_tasks(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    ask::is_stateless(context) && capabilities.is_some_and(|can| can.supports_tasks())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What the configuration wants to be asked before anything is changed.
fn unconfirmed(operation: &Operation) -> Problem {
    let loss = format!("An agent wants to call `{}`.", operation.name);
    let message = format!("`{}` needs a yes: the configuration asks for one", operation.name);
    Problem::new(Code::ConfirmationRequired, message, "ask the person, then say it again")
        .context("loss", loss)
}

fn declined() -> Problem {
    let hint = "nothing was changed; do not ask again unless the user brings it up";
    Problem::new(Code::ConfirmationRequired, "the user declined", hint)
}

/// A list that fits one page: nobody was ever given a cursor into it.
fn one_page(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor.as_ref()) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("cursor is not known", None)),
    }
}
