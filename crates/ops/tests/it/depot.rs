//! A running depot: a catalog, a server on loopback, and operations that use both.

use std::path::PathBuf;

use milepost_ops::catalog::import::{ImportOpenApi, Request as ImportRequest};
use milepost_ops::inputs::resolve_inputs::{self, ResolveInputs};
use milepost_ops::{Caller, CallerKind, Operation, Operations, Problem, Reader, Writer};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::server::{self, Reply, Request, Server};

/// A person as the caller.
pub(crate) struct Person;

impl Caller for Person {
    fn progress(&self, _: &str) {}

    fn warn(&self, _: &str) {}

    fn ask(&self, _: &str) -> Option<bool> {
        None
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }
}

pub(crate) struct Depot {
    folder: TempDir,
    pub(crate) server: Server,
    pub(crate) operations: Operations,
    variables: Vec<(&'static str, &'static str)>,
    runtime: Runtime,
}

/// Answers with the shelves, whose codes start with the requested aisle.
fn shelves(request: &Request) -> Reply {
    let aisle = request.target.split_once("aisle=").map_or("0", |(_, rest)| &rest[..1]);
    let shelf =
        |nr: u32| json!({"code": format!("{aisle}{nr}"), "label": format!("Nr {nr}"), "nr": nr});
    match request.path() {
        "/shelves" => server::json(
            200,
            &json!({"items": [shelf(1), shelf(2), shelf(1)], "others": ["x", "y"]}),
        ),
        _ => server::json(404, &json!({"error": "there is no such shelf"})),
    }
}

impl Depot {
    pub(crate) fn new() -> Depot {
        Depot::built("", &[], shelves)
    }

    pub(crate) fn answering(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Depot {
        Depot::built("", &[], answer)
    }

    /// Opens a depot with a configuration and variables.
    pub(crate) fn with(config: &str, variables: &[(&'static str, &'static str)]) -> Depot {
        Depot::built(config, variables, shelves)
    }

    fn built(
        config: &str,
        variables: &[(&'static str, &'static str)],
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Depot {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("milepost")).expect("makes the folder");
        std::fs::write(folder.path().join("milepost/config.toml"), config).expect("written");
        let server = Server::start(answer);
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let variables = variables.to_vec();
        let operations = Operations::new(writer(&folder, &variables));
        let depot = Depot { folder, server, operations, variables, runtime };
        depot.import(include_str!("depot.yaml"), false);
        depot
    }

    /// Imports a document of the depot, optionally replacing the current one.
    pub(crate) fn import(&self, document: &str, overwrite: bool) {
        let source = self.folder.path().join("depot.yaml");
        std::fs::write(&source, document).expect("written");
        let request = ImportRequest {
            source: source.display().to_string(),
            source_type: None,
            catalog_title: None,
            vendor: None,
            base_url: Some(self.server.url.clone()),
            overwrite,
            enabled: true,
            allow_refs: Vec::new(),
            refs_root: None,
        };
        self.run::<ImportOpenApi>(request).expect("imported");
    }

    /// The same directories in a new process.
    pub(crate) fn restarted(mut self) -> Depot {
        self.operations = Operations::new(self.writer());
        self
    }

    /// Whether the database of runs exists.
    pub(crate) fn has_runs(&self) -> bool {
        self.folder.path().join("home/.local/share/milepost/runs.db").exists()
    }

    pub(crate) fn writer(&self) -> Writer {
        writer(&self.folder, &self.variables)
    }

    pub(crate) fn wait<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }

    pub(crate) fn run<T: Operation>(&self, request: T::Request) -> Result<T::Response, Problem> {
        self.wait(self.operations.run::<T>(&Person, request))
    }

    /// Calls an operation as an interface does: JSON in, JSON out.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> Result<Value, Problem> {
        let answer = self.wait(self.operations.call_and_wait(name, &Person, arguments))?;
        Ok(serde_json::from_str(answer.json()).expect("JSON"))
    }

    /// The result of `workflow.resolve_inputs` for these inputs.
    pub(crate) fn resolve(&self, inputs: &str, given: Value) -> resolve_inputs::Response {
        let response = self.run::<ResolveInputs>(resolve_inputs::Request {
            manifest: Some(manifest(inputs).into()),
            partial_inputs: map(given),
            ..resolve_inputs::Request::default()
        });
        response.unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    /// How many times the shelves were requested.
    pub(crate) fn asked(&self) -> usize {
        self.server.seen().iter().filter(|request| request.path() == "/shelves").count()
    }
}

fn writer(folder: &TempDir, variables: &[(&'static str, &'static str)]) -> Writer {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let variable = |name: &str| match name {
        "XDG_CONFIG_HOME" => Some(at(".")),
        "WORKFLOW_STORAGE_PATH" => Some(at("flows")),
        "HOME" => Some(at("home")),
        _ => None,
    };
    std::fs::create_dir_all(at("work")).expect("makes the folder");
    let locations = Locations::resolve(&variable, &PathBuf::from(at("work")));
    let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
    Writer::open(Reader::open(locations), Environment::from_variables(variables))
}

pub(crate) fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// A workflow with these inputs.
pub(crate) fn manifest(inputs: &str) -> String {
    format!("workflow: fill\ninputs: {{{inputs}}}\nsteps: [{{id: do, prompt: Do it}}]\n")
}
