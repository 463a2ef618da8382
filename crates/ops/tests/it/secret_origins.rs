//! Secrets reach only the origins that a person allowed, whatever a document, an API or a workflow
//! says.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milepost_model::secret::Secret;
use milepost_ops::catalog::auth::{ConfigureAuth, Request as AuthRequest};
use milepost_ops::catalog::import::{ImportOpenApi, Request as ImportRequest};
use milepost_ops::secret;
use milepost_ops::{Operation, Operations, Reader, Writer};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::depot::Person;
use crate::server::{Reply, Request, Server};

const KEY: &str = "key-of-the-api-0123456789";
const OWN: &str = "secret-in-a-body-0123456789";
const CLIENT: &str = "client-secret-0123456789";
const TOKEN: &str = "token-of-the-api-0123456789";
/// Number of servers, each of which is an origin.
const SERVERS: usize = 3;

/// A small generator of numbers, the same for every run of a case.
struct Choice(u64);

impl Choice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// Every request that arrived, with the number of the server.
type Arrived = Arc<Mutex<Vec<(usize, Request)>>>;

struct World {
    folder: tempfile::TempDir,
    servers: Vec<String>,
    arrived: Arrived,
    writer: Writer,
    operations: Operations,
    runtime: Runtime,
    /// What was allowed: a secret and a server.
    allowed: BTreeSet<(&'static str, usize)>,
}

fn answered(urls: &[String], request: &Request) -> Reply {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let target = path.rsplit('/').next().and_then(|last| last.parse::<usize>().ok());
    let target = target.map(|target| &urls[target % urls.len()]);
    let kind = ("content-type", "application/json".to_owned());
    match (path.split('/').nth(1), target) {
        (Some("redirect"), Some(target)) => {
            let location = format!("{target}/sink?{query}");
            Reply::Answer(302, vec![("location", location)], Vec::new())
        }
        (Some("page"), Some(target)) => {
            let link = format!("<{target}/sink?{query}>; rel=\"next\"");
            Reply::Answer(200, vec![kind, ("link", link)], b"{\"items\": [1]}".to_vec())
        }
        (Some("token"), _) => {
            let token = json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 60});
            Reply::Answer(200, vec![kind], token.to_string().into_bytes())
        }
        _ => {
            let headers: Vec<&str> = request.headers.iter().map(|(_, value)| &**value).collect();
            let seen = json!({"seen": [headers, query, request.body], "items": [1]});
            Reply::Answer(200, vec![kind], seen.to_string().into_bytes())
        }
    }
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let (arrived, urls) = (Arrived::default(), Arc::new(Mutex::new(Vec::new())));
        let servers: Vec<Server> = (0..SERVERS)
            .map(|number| {
                let (arrived, urls) = (Arc::clone(&arrived), Arc::clone(&urls));
                Server::start(move |request| {
                    arrived.lock().expect("nobody panics").push((number, request.clone()));
                    answered(&urls.lock().expect("nobody panics"), request)
                })
            })
            .collect();
        let servers: Vec<String> = servers.into_iter().map(|server| server.url).collect();
        urls.lock().expect("nobody panics").clone_from(&servers);
        let home = folder.path().join("home");
        let own = home.join(".config/milepost");
        std::fs::create_dir_all(&own).expect("is made");
        std::fs::write(own.join("config.toml"), "allow_private = [\"127.0.0.1\"]\n")
            .expect("written");
        let work = folder.path().join("work");
        std::fs::create_dir_all(&work).expect("is made");
        let variable = |name: &str| (name == "HOME").then(|| home.display().to_string());
        let locations = Locations::resolve(&variable, Path::new(&work));
        let writer = Writer::open(Reader::open(locations), Environment::default());
        for (name, value) in [("KEY", KEY), ("OWN", OWN), ("CLIENT", CLIENT), ("ID", "a-client-id")]
        {
            secret::set(&writer, name, Secret::new(value), None).expect("is set");
        }
        let operations = Operations::new(writer.clone());
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let allowed = BTreeSet::new();
        World { folder, servers, arrived, writer, operations, runtime, allowed }
    }

    fn run<T: Operation>(&self, request: Value) -> Option<T::Response> {
        let request = serde_json::from_value(request).expect("a request");
        self.runtime.block_on(self.operations.run::<T>(&Person, request)).ok()
    }

    fn call(&self, name: &str, arguments: Value) {
        // A refusal is as good as an answer here.
        let _ = self.runtime.block_on(self.operations.call_and_wait(name, &Person, arguments));
    }

    /// A document with servers at every level.
    fn document(&self, choice: &mut Choice) -> String {
        let server = |choice: &mut Choice| choice.below(SERVERS);
        let servers = |of: usize| format!("[{{url: '{}'}}]", self.servers[of]);
        let own = server(choice);
        let scheme = match choice.below(3) {
            0 => "{type: apiKey, in: header, name: X-Key}".to_owned(),
            1 => "{type: apiKey, in: query, name: key}".to_owned(),
            _ => {
                let token = format!("{}/token", self.servers[server(choice)]);
                let flows = format!("{{clientCredentials: {{tokenUrl: '{token}', scopes: {{}}}}}}");
                format!("{{type: oauth2, flows: {flows}}}")
            }
        };
        let mut text = format!(
            "openapi: 3.1.0\ninfo: {{title: Api, version: '1'}}\nservers: {}\n\
             security: [{{s: []}}]\ncomponents: {{securitySchemes: {{s: {scheme}}}}}\npaths:\n",
            servers(own)
        );
        for (number, kind) in ["redirect", "page", "echo"].into_iter().enumerate() {
            let target = server(choice);
            let _ = writeln!(text, "  /{kind}/{target}:");
            if choice.below(3) == 0 {
                let _ = writeln!(text, "    servers: {}", servers(server(choice)));
            }
            for method in ["get", "post"] {
                let _ = writeln!(text, "    {method}:\n      operationId: {method}{number}");
                let _ = writeln!(text, "      tags: [t]");
                if choice.below(3) == 0 {
                    let _ = writeln!(text, "      servers: {}", servers(server(choice)));
                }
                if method == "post" {
                    let body = "{content: {application/json: {schema: {type: object}}}}";
                    let _ = writeln!(text, "      requestBody: {body}");
                }
                let _ = writeln!(text, "      responses: {{'200': {{description: ok}}}}");
            }
        }
        text
    }

    fn case(&mut self, case: u64) {
        let mut choice = Choice(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let document = self.document(&mut choice);
        let path = self.folder.path().join("api.yaml");
        std::fs::write(&path, &document).expect("is written");
        let typed = choice.below(SERVERS);
        let base_url = (choice.below(3) == 0).then(|| self.servers[typed].clone());
        let request = ImportRequest {
            source: path.display().to_string(),
            source_type: None,
            catalog_title: None,
            vendor: Some("api".to_owned()),
            base_url,
            overwrite: true,
            enabled: true,
            allow_refs: Vec::new(),
            refs_root: None,
        };
        let imported = self.operations.run::<ImportOpenApi>(&Person, request);
        let imported = self.runtime.block_on(imported).expect("is imported");
        // An address that a person typed stays until they type another one.
        let base = imported.base_url.expect("has an address");
        let own = self.servers.iter().position(|url| base.starts_with(url.as_str()));
        let own = own.expect("one of the servers");
        let clear = json!({"catalog_id": "api", "scheme": "s", "clear": true});
        self.run::<ConfigureAuth>(clear);
        if choice.below(4) > 0 {
            let secrets = match document.contains("oauth2") {
                true => json!({"client_id": "ID", "client_secret": "CLIENT"}),
                false => json!({"key": "KEY"}),
            };
            let request = json!({"catalog_id": "api", "scheme": "s", "secrets": secrets});
            let request: AuthRequest = serde_json::from_value(request).expect("a request");
            let done = self.operations.run::<ConfigureAuth>(&Person, request);
            self.runtime.block_on(done).expect("is connected");
        }
        let target = |choice: &mut Choice, method: &str| format!("api {method}{}", choice.below(3));
        if choice.below(8) == 0 {
            let command = target(&mut choice, "post");
            let line =
                secret::allow(&self.writer, &Person, "OWN", &command, "body.k").expect("allowed");
            let to = self.servers.iter().position(|url| line.contains(url.as_str()));
            self.allowed.insert(("OWN", to.expect("one of the servers")));
        }
        let before = self.arrived.lock().expect("nobody panics").len();
        let get = target(&mut choice, "get");
        self.call("command.run", json!({"command": get, "paginate": choice.yes()}));
        let (first, second) = (target(&mut choice, "get"), target(&mut choice, "post"));
        let value = match choice.below(3) {
            0 => "${{ secret('OWN') }}",
            1 => "${{ secret('KEY') }}",
            _ => "${{ json(steps.a.output) }}",
        };
        let manifest = format!(
            "workflow: w\nsteps:\n  - {{id: a, run: {first}, on_error: continue}}\n  \
             - {{id: b, run: {second}, body: {{k: \"{value}\"}}, depends_on: [a]}}\n"
        );
        self.call("workflow.run", json!({"manifest": manifest, "wait_s": 5, "relaxed": true}));
        self.check(case, before, own, &document);
    }

    fn check(&self, case: u64, before: usize, own: usize, document: &str) {
        let arrived = self.arrived.lock().expect("nobody panics");
        let pair = STANDARD.encode(format!("a-client-id:{CLIENT}"));
        for (server, request) in &arrived[before..] {
            let text = format!("{request:?}");
            for (name, value) in [
                ("KEY", KEY),
                ("OWN", OWN),
                ("CLIENT", CLIENT),
                ("CLIENT", &pair),
                ("TOKEN", TOKEN),
            ] {
                // The server of the API as a whole is where the person connected the catalog.
                let is_own = name != "OWN" && *server == own;
                let is_allowed = is_own || self.allowed.contains(&(name, *server));
                assert!(
                    is_allowed || !text.contains(value),
                    "case {case}: {name} arrived at server {server}: {text}\n{document}"
                );
            }
        }
    }
}

/// The number of cases, which a long run overrides.
fn cases() -> u64 {
    std::env::var("MILEPOST_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(30)
}

#[test]
fn secrets_reach_only_the_origins_that_were_allowed() {
    let mut world = World::new();
    for case in 0..cases() {
        world.case(case);
    }
    let arrived = world.arrived.lock().expect("nobody panics");
    // The test would hold for a client that sends nothing.
    for (name, value) in [("KEY", KEY), ("OWN", OWN), ("TOKEN", TOKEN)] {
        let is_sent = arrived.iter().any(|(_, request)| format!("{request:?}").contains(value));
        assert!(is_sent, "{name} was never sent anywhere");
    }
}
