//! A mock of any catalog, which answers requests as the document describes. Responses come from
//! examples, or else from schemas; created resources exist until they are deleted; faults are
//! injected on request. The seed and the requests so far determine every response, because the mock
//! uses no clock, no network and no other source of randomness.

mod attempts;
mod body;
mod collection;
mod constraints;
mod faults;
mod generate;
mod json_types;
mod limits;
mod number;
mod overlay;
mod page;
mod parameter;
mod pattern;
mod random;
mod request;
mod resource;
mod response;
mod router;
mod schema;
mod store;
mod text;
mod xml;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milepost_catalog::command::{ApiCommand, Method, SecurityScheme};
use milepost_catalog::openapi::Api;
use milepost_catalog::table::Row;
use milepost_model::id::CatalogId;
use milepost_model::target::CommandId;
use serde_json::{Value, json};

use generate::{Examples, Generated, Recipe, generate};
use random::Random;
use request::{RequestRefusal, check, is_authenticated};
use resource::{Collection, CollectionAction, collections};
use response::{ResponseChoice, ResponseDraft, of_first, of_status, success};
use router::{Routed, Router};
use schema::SchemaCache;
use store::Store;

pub use faults::MockFaults;

/// A catalog to mock: its operations, each read when it is first called.
#[derive(Debug)]
pub struct MockSource {
    pub api: Arc<Api>,
    pub rows: Vec<Row>,
    pub catalog: CatalogId,
}

impl MockSource {
    /// The operation for a row.
    pub fn command(&self, row: usize) -> Option<ApiCommand> {
        let row = &self.rows[row];
        self.api.command(CommandId::parse(&format!("{} {}", self.catalog, row.name))?, row)
    }
}

/// How a mock behaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MockSettings {
    /// Determines everything that is generated.
    pub seed: u64,
    /// Faults that apply to all requests.
    pub faults: MockFaults,
    /// Whether operations that require a credential reject requests without one.
    pub strict_auth: bool,
    /// The catalog's security schemes by name, for `strict_auth`.
    pub schemes: Vec<(String, SecurityScheme)>,
    /// Whether an unknown id yields a generated resource if the operation documents no status for
    /// that case. Otherwise it yields the documented status, or 404.
    pub lenient_ids: bool,
}

/// An incoming request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockRequest<'r> {
    pub method: Method,
    /// The path, still percent-encoded.
    pub path: &'r str,
    /// The decoded query parameters.
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    /// The body; empty if there is none.
    pub body: &'r [u8],
}

impl MockRequest<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Distinguishes this request from others for the same operation.
    fn salt(&self) -> String {
        let mut query = self.query.clone();
        query.sort();
        let body = String::from_utf8_lossy(self.body);
        format!("{} {} {query:?} {body}", self.method.name(), self.path)
    }
}

/// An outgoing response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockResponse {
    pub status: u16,
    /// Headers, with lowercase names.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Milliseconds to wait before sending the response.
    pub delay_ms: u64,
    /// Whether to break the connection instead of sending the response.
    pub drop: bool,
}

impl MockResponse {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    let mut headers = headers.iter();
    headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// A mocked catalog.
#[derive(Debug)]
pub struct Mock {
    source: MockSource,
    settings: MockSettings,
    router: Router,
    collections: Vec<Collection>,
    /// For each route, what it does to which collection.
    actions: Vec<Option<(usize, CollectionAction)>>,
    commands: BTreeMap<usize, Arc<ApiCommand>>,
    schemas: SchemaCache,
    store: Store,
    /// The number of requests so far.
    served: u64,
}

/// A request for an operation.
#[derive(Debug, Clone)]
struct Call<'r> {
    /// The index of the route.
    route: usize,
    /// The values of the path parameters.
    values: Vec<(String, String)>,
    command: Arc<ApiCommand>,
    request: &'r MockRequest<'r>,
}

impl Mock {
    pub fn new(source: MockSource, settings: MockSettings) -> Mock {
        let servers = source.api.servers();
        let operations = source.rows.iter().map(|row| (row.method, &*row.path));
        let router = Router::new(operations, servers.iter().map(String::as_str));
        let (collections, actions) = collections(&router.routes);
        Mock {
            source,
            settings,
            router,
            collections,
            actions,
            commands: BTreeMap::new(),
            schemas: SchemaCache::default(),
            store: Store::default(),
            served: 0,
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, request: &MockRequest<'_>) -> MockResponse {
        self.served += 1;
        let mut answer = match self.route(request) {
            Ok(call) => self.operate(&call),
            Err(answer) => answer,
        };
        answer.delay_ms = self.settings.faults.delay_ms(request);
        answer.drop = faults::drops(request);
        if matches!(answer.status, 429 | 503) && answer.header("retry-after").is_none() {
            answer.set_header("retry-after", "1");
        }
        if request.method == Method::Head {
            answer.body.clear();
        }
        answer
    }

    fn route<'r>(&mut self, request: &'r MockRequest<'r>) -> Result<Call<'r>, MockResponse> {
        let find = |method| self.router.find(method, request);
        let mut routed = find(request.method);
        if request.method == Method::Head && matches!(routed, Routed::OtherMethods(_)) {
            routed = find(Method::Get);
        }
        match routed {
            Routed::Operation { route, values } => {
                let unreadable =
                    || MockResponse::problem(501, "the operation cannot be read", json!({}));
                let command = self.command(route).ok_or_else(unreadable)?;
                Ok(Call { route, values, command, request })
            }
            Routed::OtherMethods(methods) => Err(other_methods(request.method, methods)),
            Routed::Nothing { near } => {
                let detail = format!("no operation has the path `{}`", request.path);
                let more = json!({"detail": detail, "near": near});
                Err(MockResponse::problem(404, "no such path", more))
            }
        }
    }

    fn command(&mut self, route: usize) -> Option<Arc<ApiCommand>> {
        if let Some(command) = self.commands.get(&route) {
            return Some(Arc::clone(command));
        }
        let command = Arc::new(self.source.command(route)?);
        if self.commands.len() >= limits::COMMANDS {
            self.commands.clear();
        }
        self.commands.insert(route, Arc::clone(&command));
        Some(command)
    }

    fn operate(&mut self, call: &Call<'_>) -> MockResponse {
        let served = self.served.to_string();
        let random = Random::new(self.settings.seed, &["fault", &served]);
        if let Some(status) = self.settings.faults.status(&call.command, call.request, random) {
            return self.with_status(call, &[status], "this status was requested");
        }
        let MockSettings { strict_auth, schemes, .. } = &self.settings;
        if *strict_auth && !is_authenticated(&call.command.security, schemes, call.request) {
            return self.refuse(call, &RequestRefusal::Unauthenticated);
        }
        match check(&mut self.schemas, call) {
            Ok(body) => self.stateful(call, body.as_ref()).unwrap_or_else(|| {
                let choice = success(&call.command, call.request.header("accept"));
                let salt = call.request.salt();
                self.draft(call, choice, &salt, Examples::All).response(&call.command)
            }),
            Err(refusal) => self.refuse(call, &refusal),
        }
    }

    /// Generates the value for a chosen response: from its example if that fits, or else from its
    /// schema.
    fn draft(
        &mut self,
        call: &Call<'_>,
        choice: ResponseChoice,
        salt: &str,
        examples: Examples,
    ) -> ResponseDraft {
        let recipe = Recipe { seed: self.settings.seed, salt, examples };
        let command = &call.command;
        let body = choice.content(command).map(|(slot, content)| {
            let schema = self.schemas.get(call.route, slot, &content.schema, &command.defs);
            let example = content.example.as_ref().filter(|_| examples == Examples::All);
            let generated = match example.filter(|example| schema.fits(example)) {
                Some(example) => Generated { value: example.clone(), verified: true },
                None => generate(&schema, recipe),
            };
            (generated, schema)
        });
        ResponseDraft { choice, body }
    }

    fn refuse(&mut self, call: &Call<'_>, refusal: &RequestRefusal) -> MockResponse {
        match refusal {
            RequestRefusal::Invalid(faults) => {
                let words = faults.iter().map(|(place, message)| format!("{place}: {message}"));
                let words = words.collect::<Vec<_>>().join("; ");
                let answer = self.with_status(call, &[400, 422], &words);
                if answer.header("content-type") != Some("application/problem+json")
                    || of_status(&call.command, answer.status, None).is_some()
                {
                    return answer;
                }
                let faults = faults
                    .iter()
                    .map(|(place, message)| json!({"place": place, "message": message}));
                let more = json!({"faults": faults.collect::<Value>()});
                let title = "the request does not match the operation";
                MockResponse::problem(answer.status, title, more)
            }
            RequestRefusal::MediaType { sent, taken } => {
                let taken = taken.join(", ");
                let words = format!("the media type `{sent}` is not accepted: send {taken}");
                self.with_status(call, &[415, 400, 422], &words)
            }
            RequestRefusal::Unauthenticated => {
                let mut answer = self.with_status(call, &[401, 403], "no credential was sent");
                answer.set_header("www-authenticate", "Bearer");
                answer
            }
        }
    }

    /// The response for the first of `statuses` that the operation documents, or else for the first
    /// one. It includes the reason.
    fn with_status(&mut self, call: &Call<'_>, statuses: &[u16], words: &str) -> MockResponse {
        let Some(choice) = of_first(&call.command, statuses, call.request.header("accept")) else {
            let status = statuses.first().copied().unwrap_or(400);
            return MockResponse::problem(status, reason(status), json!({"detail": words}));
        };
        let mut draft = self.draft(call, choice, &call.request.salt(), Examples::All);
        draft.explain(words);
        let mut answer = draft.response(&call.command);
        answer.set_reason(words);
        answer
    }
}

fn other_methods(method: Method, mut methods: BTreeSet<Method>) -> MockResponse {
    if methods.contains(&Method::Get) {
        methods.insert(Method::Head);
    }
    methods.insert(Method::Options);
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let allow = names.join(", ");
    let mut answer = if method == Method::Options {
        MockResponse::empty(204)
    } else {
        let more = json!({"detail": format!("this path accepts {allow}")});
        MockResponse::problem(405, "the method is not allowed", more)
    };
    answer.set_header("allow", allow);
    answer
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "bad request",
        401 => "unauthorized",
        404 => "not found",
        409 => "conflict",
        415 => "unsupported media type",
        429 => "too many requests",
        500..=599 => "server error",
        _ => "request failed",
    }
}
