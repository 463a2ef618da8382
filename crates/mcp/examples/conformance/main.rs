//! Serves the fixtures of the official conformance suite with the product's own stack: the same
//! listener, guard, endpoint and sessions, with a different handler behind them.
//!
//! The suite requests tools, resources and prompts by name. Their answers are in [`fixtures`] and
//! their questions in [`rounds`]; this file is the server around them. It prints its URL and serves
//! until its standard input ends.

#![expect(deprecated, reason = "the suite also tests what newer revisions deprecate")]

mod fixtures;
mod rounds;
mod tasks;
mod tools;

use std::borrow::Cow;
use std::hash::RandomState;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;

use milepost_mcp::http::{self, Guard, HttpAccess, HttpLimits, HttpSettings};
use milepost_mcp::{SessionOptions, Surface};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// How long a client may cache a list. Lists only change on demand.
const TTL_MS: u64 = 60_000;
/// Maximum number of changes by which a slow listener may lag behind.
const CHANGES: usize = 16;

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "http://{address}{}", http::PATH)?;
        stdout.flush()?;
        drop(stdout);
        let settings = HttpSettings {
            guard: Guard::new(address, HttpAccess::Anybody),
            options: SessionOptions { surface: Surface::Workflows, protocol: None },
            server: None,
            limits: HttpLimits::default(),
        };
        let fixtures = Fixtures::new();
        let ended = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
        let stop = async {
            // Stop the server, regardless of how standard input ended.
            let _ = ended.await;
        };
        http::serve(listener, settings, move || fixtures.clone(), stop).await;
        Ok(())
    })
}

/// A change that listeners are notified of.
#[derive(Debug, Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

/// The server that the suite tests. Clones share their state, so clients without a session see each
/// other's changes.
#[derive(Clone)]
struct Fixtures {
    changes: broadcast::Sender<Change>,
    /// Authenticates the state that clients carry.
    seal: Arc<RandomState>,
    tasks: TaskManager,
}

impl Fixtures {
    fn new() -> Fixtures {
        Fixtures {
            changes: broadcast::channel(CHANGES).0,
            seal: Arc::default(),
            tasks: TaskManager::new(),
        }
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                "milepost-conformance",
                env!("CARGO_PKG_VERSION"),
            ))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ListToolsResult::with_all_items(fixtures::tools()?);
        Ok(tools.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await
    }

    /// Finds a tool by name; its schema defines which arguments are mirrored in headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        fixtures::tools().ok()?.into_iter().find(|tool| tool.name == name)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = ListResourcesResult::with_all_items(fixtures::resources()?);
        Ok(resources.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = ListResourceTemplatesResult::with_all_items(fixtures::templates()?);
        Ok(templates.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = fixtures::read(&request.uri)?;
        Ok(read.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = ListPromptsResult::with_all_items(fixtures::prompts()?);
        Ok(prompts.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        rounds::prompt(&request)
            .unwrap_or_else(|| fixtures::prompt(&request).map(GetPromptResponse::from))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        fixtures::completion(&request.argument.value)
    }

    /// Accepts every level, because everything logged here is requested by the suite.
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    /// A no-op, because resources never change.
    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    /// Notifies one listener of changes for as long as it is connected.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = context.cancelled() => return Ok(()),
            };
            let sink = context.sink();
            // The sink drops notifications that the listener did not request.
            let _ = match change {
                Ok(Change::Tools) => sink.notify_tool_list_changed().await,
                Ok(Change::Prompts) => sink.notify_prompt_list_changed().await,
                Err(_) => continue,
            };
        }
    }
}
