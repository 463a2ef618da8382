//! A handler with an eye on what it is asked and how that ends. Everything else is as it was: what
//! is not told of is handed on as it is.

#![expect(deprecated, reason = "methods of older revisions are handed on like all others")]

use std::borrow::Cow;
use std::future::Future;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
    DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};

use crate::request::OLDER;
use crate::trace;

/// A handler that is watched.
#[derive(Debug, Clone)]
pub(crate) struct TracedHandler<S>(pub(crate) S);

type Context = RequestContext<RoleServer>;
type Note = NotificationContext<RoleServer>;

/// Requests with parameters, each with the method it answers.
macro_rules! requests {
    ($($method:literal $name:ident($request:ty) -> $response:ty;)*) => {$(
        fn $name(
            &self,
            request: $request,
            context: Context,
        ) -> impl Future<Output = Result<$response, ErrorData>> + Send + '_ {
            trace::request($method, self.0.$name(request, context))
        }
    )*};
}

impl<S: ServerHandler> ServerHandler for TracedHandler<S> {
    requests! {
        "initialize" initialize(InitializeRequestParams) -> InitializeResult;
        "completion/complete" complete(CompleteRequestParams) -> CompleteResult;
        "logging/setLevel" set_level(SetLevelRequestParams) -> ();
        "prompts/get" get_prompt(GetPromptRequestParams) -> GetPromptResponse;
        "prompts/list" list_prompts(Option<PaginatedRequestParams>) -> ListPromptsResult;
        "resources/list" list_resources(Option<PaginatedRequestParams>) -> ListResourcesResult;
        "resources/templates/list"
            list_resource_templates(Option<PaginatedRequestParams>) -> ListResourceTemplatesResult;
        "resources/read" read_resource(ReadResourceRequestParams) -> ReadResourceResponse;
        "resources/subscribe" subscribe(SubscribeRequestParams) -> ();
        "resources/unsubscribe" unsubscribe(UnsubscribeRequestParams) -> ();
        "tools/call" call_tool(CallToolRequestParams) -> CallToolResponse;
        "tools/list" list_tools(Option<PaginatedRequestParams>) -> ListToolsResult;
        "tasks/get" get_task(GetTaskParams) -> GetTaskResult;
        "tasks/update" update_task(UpdateTaskParams) -> ();
        "tasks/cancel" cancel_task(CancelTaskParams) -> ();
    }

    fn ping(&self, context: Context) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        trace::request("ping", self.0.ping(context))
    }

    fn discover(
        &self,
        context: Context,
    ) -> impl Future<Output = Result<DiscoverResult, ErrorData>> + Send + '_ {
        trace::request("server/discover", self.0.discover(context))
    }

    fn listen(
        &self,
        context: SubscriptionContext,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        trace::request("subscriptions/listen", self.0.listen(context))
    }

    fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        let method = request.method.strip_prefix(OLDER).unwrap_or(&request.method);
        let method = trace::known(method);
        trace::request(method, self.0.on_custom_request(request, context))
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        self.0.negotiate_initialize(request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        context: Note,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.0.on_cancelled(notification, context)
    }

    fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        context: Note,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.0.on_progress(notification, context)
    }

    fn on_initialized(&self, context: Note) -> impl Future<Output = ()> + Send + '_ {
        self.0.on_initialized(context)
    }

    fn on_roots_list_changed(&self, context: Note) -> impl Future<Output = ()> + Send + '_ {
        self.0.on_roots_list_changed(context)
    }

    fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: Note,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.0.on_custom_notification(notification, context)
    }
}
