//! Any catalog is a mock: a request in, an answer out, as the document says. Answers come from
//! examples, else from schemas; resources that were created are there until they are deleted;
//! faults are played on request. Everything is decided by the seed and the requests so far: no
//! clock, no network, no randomness of its own.

mod answer;
mod attempt;
mod body;
mod check;
mod documented;
mod fault;
mod generate;
mod number;
mod operation;
mod overlay;
mod paging;
mod pattern;
mod random;
mod resource;
mod route;
mod schema;
mod shape;
mod state;
mod store;
mod types;
mod wire;
mod words;
mod xml;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::answer::{Draft, draft, faults_json, of_first, of_status, success};
use self::check::{Checked, Refusal, check, is_authenticated};
use self::generate::{Examples, Recipe};
use self::operation::{Operation, Shelf};
use self::random::Random;
use self::resource::{Action, Collection, collections};
use self::route::{Routed, Router};
use self::store::Store;
use crate::command::{Command, Method, Scheme};
use crate::limits;

pub use self::documented::Documented;
pub use self::fault::Faults;

/// Where a mock gets its operations from.
pub trait Operations: Send {
    /// Method and path template of every operation.
    fn routes(&self) -> Vec<(Method, String)>;

    /// The URLs of the servers; their paths are taken off before paths are compared.
    fn servers(&self) -> Vec<String>;

    /// The operation of a method and a path template.
    fn command(&self, method: Method, path: &str) -> Option<Arc<Command>>;
}

impl Operations for Vec<Arc<Command>> {
    fn routes(&self) -> Vec<(Method, String)> {
        self.iter().map(|command| (command.method, command.path.clone())).collect()
    }

    fn servers(&self) -> Vec<String> {
        let servers = self.iter().flat_map(|command| &command.servers);
        let mut urls: Vec<String> = servers.map(|server| server.url.clone()).collect();
        urls.sort();
        urls.dedup();
        urls
    }

    fn command(&self, method: Method, path: &str) -> Option<Arc<Command>> {
        self.iter().find(|one| one.method == method && one.path == path).cloned()
    }
}

/// How a mock behaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// What everything made up depends on.
    pub seed: u64,
    /// Faults for all requests.
    pub faults: Faults,
    /// Whether operations that ask for a credential refuse requests without one.
    pub strict_auth: bool,
    /// The catalog's ways to authenticate, by name; for `strict_auth`.
    pub schemes: Vec<(String, Scheme)>,
    /// Whether an unknown id is answered with a made-up resource where the operation documents no
    /// status for it. Without, it is a 404 in any case.
    pub lenient_ids: bool,
}

/// A request as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockRequest<'r> {
    /// The method.
    pub method: Method,
    /// The path, percent-encoded as it came.
    pub path: &'r str,
    /// Names and values behind the `?`, decoded.
    pub query: Vec<(String, String)>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body; empty when there is none.
    pub body: &'r [u8],
}

impl MockRequest<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// What tells this request from others of its operation.
    fn salt(&self) -> String {
        let mut query = self.query.clone();
        query.sort();
        let body = String::from_utf8_lossy(self.body);
        format!("{} {} {query:?} {body}", self.method.name(), self.path)
    }
}

/// An answer as it goes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockResponse {
    /// The status.
    pub status: u16,
    /// Headers, their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Milliseconds to wait before it is sent.
    pub delay_ms: u64,
    /// Whether to break the connection instead of sending it.
    pub drop: bool,
}

impl MockResponse {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A catalog that answers by itself.
pub struct Mock {
    operations: Box<dyn Operations>,
    settings: Settings,
    router: Router,
    collections: Vec<Collection>,
    /// What each route does to which collection.
    actions: Vec<Option<(usize, Action)>>,
    commands: BTreeMap<usize, Arc<Command>>,
    shelf: Shelf,
    store: Store,
    /// Requests so far.
    served: u64,
}

/// An operation that a request is for, with the values of its path parameters.
#[derive(Debug, Clone)]
struct Target {
    index: usize,
    values: Vec<(String, String)>,
    command: Arc<Command>,
}

impl Mock {
    /// A fresh mock.
    pub fn new(operations: Box<dyn Operations>, settings: Settings) -> Mock {
        let router = Router::new(operations.routes(), &operations.servers());
        let (collections, actions) = collections(router.routes());
        Mock {
            operations,
            settings,
            router,
            collections,
            actions,
            commands: BTreeMap::new(),
            shelf: Shelf::default(),
            store: Store::default(),
            served: 0,
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, request: &MockRequest<'_>) -> MockResponse {
        self.served += 1;
        let mut answer = self.undelayed(request);
        answer.delay_ms = self.settings.faults.delay_ms(request);
        answer.drop = self.settings.faults.drops(request);
        if matches!(answer.status, 429 | 503) && answer.header("retry-after").is_none() {
            answer.headers.push(("retry-after".to_owned(), "1".to_owned()));
        }
        if request.method == Method::Head {
            answer.body.clear();
        }
        answer
    }

    fn undelayed(&mut self, request: &MockRequest<'_>) -> MockResponse {
        match self.route(request) {
            Ok(target) => self.operate(&target, request),
            Err(answer) => answer,
        }
    }

    fn route(&mut self, request: &MockRequest<'_>) -> Result<Target, MockResponse> {
        let find = |method| self.router.find(method, request.path, request);
        let mut routed = find(request.method);
        if request.method == Method::Head && matches!(routed, Routed::OtherMethods(_)) {
            routed = find(Method::Get);
        }
        match routed {
            Routed::Operation { index, values } => match self.command(index) {
                Some(command) => Ok(Target { index, values, command }),
                None => Err(MockResponse::problem(501, "the operation cannot be read", Map::new())),
            },
            Routed::OtherMethods(methods) => Err(other_methods(request.method, methods)),
            Routed::Nothing { near } => {
                let detail = json!(format!("no operation has the path `{}`", request.path));
                let more = [("detail".to_owned(), detail), ("near".to_owned(), json!(near))];
                Err(MockResponse::problem(404, "no such path", Map::from_iter(more)))
            }
        }
    }

    fn command(&mut self, index: usize) -> Option<Arc<Command>> {
        if let Some(command) = self.commands.get(&index) {
            return Some(Arc::clone(command));
        }
        let route = &self.router.routes()[index];
        let command = self.operations.command(route.method, &route.path)?;
        if self.commands.len() >= limits::MOCK_COMMANDS {
            self.commands.clear();
        }
        self.commands.insert(index, Arc::clone(&command));
        Some(command)
    }

    /// An operation with its schemas.
    fn operation(&mut self, index: usize) -> Option<Operation<'_>> {
        let command = self.command(index)?;
        Some(Operation::new(index, command, &mut self.shelf))
    }

    fn operate(&mut self, target: &Target, request: &MockRequest<'_>) -> MockResponse {
        let command = &target.command;
        let served = self.served.to_string();
        let random = Random::new(self.settings.seed, &["fault", &served]);
        if let Some(status) = self.settings.faults.status(command, request, random) {
            return self.with_status(target, request, &[status], "asked for");
        }
        if self.settings.strict_auth
            && !is_authenticated(&command.security, &self.settings.schemes, request)
        {
            return self.refuse(target, request, &Refusal::Unauthenticated);
        }
        let Some(mut operation) = self.operation(target.index) else {
            return MockResponse::problem(501, "the operation cannot be read", Map::new());
        };
        match check(&mut operation, request, &target.values) {
            Ok(checked) => self.perform(target, request, &checked),
            Err(refusal) => self.refuse(target, request, &refusal),
        }
    }

    /// What an operation does: to a collection, when it has to do with one.
    fn perform(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        checked: &Checked,
    ) -> MockResponse {
        let stateful = self.stateful(target, request, checked);
        stateful.unwrap_or_else(|| {
            let chosen = success(&target.command, request.header("accept"));
            let salt = request.salt();
            self.draft(target.index, chosen, &salt, Examples::All).response(&target.command)
        })
    }

    fn draft(
        &mut self,
        index: usize,
        chosen: answer::Chosen,
        salt: &str,
        examples: Examples,
    ) -> Draft {
        let seed = self.settings.seed;
        match self.operation(index) {
            Some(mut operation) => draft(&mut operation, chosen, Recipe { seed, salt, examples }),
            None => Draft { chosen, body: None },
        }
    }

    fn refuse(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        refusal: &Refusal,
    ) -> MockResponse {
        match refusal {
            Refusal::Invalid(faults) => {
                let words: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("{} {}", fault.place, fault.message))
                    .collect();
                let mut answer = self.with_status(target, request, &[400, 422], &words.join("; "));
                if answer.header("content-type") == Some("application/problem+json")
                    && of_status(&target.command, answer.status, None).is_none()
                {
                    let more = [("faults".to_owned(), faults_json(faults))];
                    let title = "the request does not fit the operation";
                    answer = MockResponse::problem(answer.status, title, Map::from_iter(more));
                }
                answer
            }
            Refusal::MediaType { sent, taken } => {
                let taken = taken.join(", ");
                let words = format!("the media type `{sent}` is not taken, send {taken}");
                self.with_status(target, request, &[415, 400, 422], &words)
            }
            Refusal::Unauthenticated => {
                let words = "no credential was sent";
                let mut answer = self.with_status(target, request, &[401, 403], words);
                answer.headers.push(("www-authenticate".to_owned(), "Bearer".to_owned()));
                answer
            }
        }
    }

    /// An answer of the first status that is documented, else of the first, with the words why.
    fn with_status(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        statuses: &[u16],
        words: &str,
    ) -> MockResponse {
        let Some(chosen) = of_first(&target.command, statuses, request.header("accept")) else {
            let status = statuses.first().copied().unwrap_or(400);
            let more = [("detail".to_owned(), Value::from(words))];
            return MockResponse::problem(status, reason(status), Map::from_iter(more));
        };
        let mut draft = self.draft(target.index, chosen, &request.salt(), Examples::All);
        draft.explain(words);
        let mut answer = draft.response(&target.command);
        answer.because(words);
        answer
    }
}

fn other_methods(method: Method, mut methods: Vec<Method>) -> MockResponse {
    if methods.contains(&Method::Get) {
        methods.push(Method::Head);
    }
    methods.push(Method::Options);
    methods.sort();
    methods.dedup();
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let allow = names.join(", ");
    let mut answer = if method == Method::Options {
        MockResponse::empty(204)
    } else {
        let detail = json!(format!("this path takes {allow}"));
        let more = Map::from_iter([("detail".to_owned(), detail)]);
        MockResponse::problem(405, "the method is not allowed", more)
    };
    answer.headers.push(("allow".to_owned(), allow));
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
