//! A handler that records which requests it gets and how they end. Everything else is passed on
//! unchanged.

#![expect(deprecated, reason = "methods of older revisions are passed on like all others")]

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

/// A handler whose requests are recorded.
#[derive(Debug, Clone)]
pub(crate) struct TracedHandler<S>(pub(crate) S);

type Context = RequestContext<RoleServer>;
type Note = NotificationContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// Requests, each with the method it answers.
macro_rules! requests {
    ($($method:literal $name:ident($($given:ident: $kind:ty),*) -> $response:ty;)*) => {$(
        fn $name(
            &self,
            $($given: $kind),*
        ) -> impl Future<Output = Result<$response, ErrorData>> + Send + '_ {
            trace::request($method, self.0.$name($($given),*), |_| true)
        }
    )*};
}

/// Notifications, which are not recorded.
macro_rules! notes {
    ($($name:ident($($given:ident: $kind:ty),*);)*) => {$(
        fn $name(&self, $($given: $kind),*) -> impl Future<Output = ()> + Send + '_ {
            self.0.$name($($given),*)
        }
    )*};
}

impl<S: ServerHandler> ServerHandler for TracedHandler<S> {
    requests! {
        "initialize"
            initialize(given: InitializeRequestParams, context: Context) -> InitializeResult;
        "ping" ping(context: Context) -> ();
        "server/discover" discover(context: Context) -> DiscoverResult;
        "completion/complete"
            complete(given: CompleteRequestParams, context: Context) -> CompleteResult;
        "logging/setLevel" set_level(given: SetLevelRequestParams, context: Context) -> ();
        "prompts/get"
            get_prompt(given: GetPromptRequestParams, context: Context) -> GetPromptResponse;
        "prompts/list" list_prompts(page: Page, context: Context) -> ListPromptsResult;
        "resources/list" list_resources(page: Page, context: Context) -> ListResourcesResult;
        "resources/templates/list"
            list_resource_templates(page: Page, context: Context) -> ListResourceTemplatesResult;
        "resources/read"
            read_resource(given: ReadResourceRequestParams, context: Context)
            -> ReadResourceResponse;
        "resources/subscribe" subscribe(given: SubscribeRequestParams, context: Context) -> ();
        "resources/unsubscribe"
            unsubscribe(given: UnsubscribeRequestParams, context: Context) -> ();
        "subscriptions/listen" listen(context: SubscriptionContext) -> ();
        "tools/call" call_tool(given: CallToolRequestParams, context: Context) -> CallToolResponse;
        "tools/list" list_tools(page: Page, context: Context) -> ListToolsResult;
        "tasks/get" get_task(given: GetTaskParams, context: Context) -> GetTaskResult;
        "tasks/update" update_task(given: UpdateTaskParams, context: Context) -> ();
        "tasks/cancel" cancel_task(given: CancelTaskParams, context: Context) -> ();
    }

    fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        let method = request.method.strip_prefix(OLDER).unwrap_or(&request.method);
        let method = trace::known(method);
        trace::request(method, self.0.on_custom_request(request, context), |_| true)
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

    notes! {
        on_cancelled(note: CancelledNotificationParam, context: Note);
        on_progress(note: ProgressNotificationParam, context: Note);
        on_initialized(context: Note);
        on_roots_list_changed(context: Note);
        on_custom_notification(note: CustomNotification, context: Note);
    }
}
