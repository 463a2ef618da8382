//! A home and a working directory of their own, and the operations on them.

use std::fs;
use std::path::PathBuf;

use milepost_ops::{Caller, CallerKind, Code, Operations, Problem, Reader, Writer};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Builder;

/// An isolated folder to serve.
pub(crate) struct Place {
    pub(crate) root: TempDir,
}

/// A person who agrees to everything.
struct Person;

impl Caller for Person {
    fn ask(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }
}

impl Place {
    pub(crate) fn new() -> Place {
        let root = tempfile::tempdir().expect("makes a directory");
        fs::create_dir(root.path().join("work")).expect("makes a folder");
        Place { root }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Place {
        let place = Place::new();
        for (name, text) in files {
            place.put(name, text);
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("makes the folder");
        fs::write(path, text).expect("writes");
    }

    /// Opens the operations on this folder, as a process would that is started in it.
    pub(crate) fn operations(&self) -> Operations {
        let home = self.root.path().join("home").display().to_string();
        let variable = |name: &str| (name == "HOME").then(|| home.clone());
        let locations = Locations::resolve(&variable, &self.path(""));
        Operations::new(Writer::open(Reader::open(locations), Environment::default()))
    }

    /// Calls an operation on behalf of a person, beside any server: with operations of its own.
    pub(crate) fn call(&self, operation: &str, arguments: Value) -> Result<Value, Problem> {
        let runtime = Builder::new_current_thread().enable_all().build().expect("starts");
        runtime.block_on(async {
            let operations = self.operations();
            let response = operations.call_and_wait(operation, &Person, arguments).await;
            operations.finish_runs().await;
            response.map(|response| serde_json::from_str(response.json()).expect("is JSON"))
        })
    }

    /// Saves the workflow in a file; there must not be one with its id yet.
    pub(crate) fn save(&self, name: &str) {
        let text = fs::read_to_string(self.path(name)).expect("reads");
        self.call("workflow.save", json!({"content": text})).expect("is saved");
    }

    pub(crate) fn has_workflow(&self, id: &str) -> bool {
        match self.call("workflow.get", json!({"workflow_id": id})) {
            Ok(_) => true,
            Err(problem) => {
                assert_eq!(problem.code, Code::WorkflowNotFound, "{problem:?}");
                false
            }
        }
    }

    /// Imports an OpenAPI document from a file; its API is at this URL, if any is given.
    pub(crate) fn import(&self, name: &str, base_url: Option<&str>) {
        let arguments = json!({"source": self.path(name), "base_url": base_url});
        self.call("catalog.import_openapi", arguments).expect("is imported");
    }
}
