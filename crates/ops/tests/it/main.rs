//! The operations through their public API: arguments in, JSON or a problem out.

mod compiled_cache;
mod depot;
mod guide;
mod inputs;
mod preview;
mod race;
mod secret_origins;
#[path = "../../../cli/tests/it/server.rs"]
#[expect(dead_code, reason = "the tests of the binary ask more of it")]
mod server;
mod table;
mod workflow;

use milepost_ops::{Code, Operations, Problem, Reader, SilentCaller, Writer};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::Value;

/// Operations on a directory with these files.
fn over(files: &[(&str, &str)]) -> (tempfile::TempDir, Operations) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let workflows = folder.path().display().to_string();
    let home = folder.path().join("home").display().to_string();
    let variable = |name: &str| match name {
        "WORKFLOW_STORAGE_PATH" => Some(workflows.clone()),
        "HOME" => Some(home.clone()),
        _ => None,
    };
    let locations = Locations::resolve(&variable, &folder.path().join("empty"));
    (folder, Operations::new(Writer::open(Reader::open(locations), Environment::default())))
}

fn call(operations: &Operations, name: &str, arguments: Value) -> Result<Value, Problem> {
    let answer = operations.call(name, &SilentCaller, arguments)?;
    Ok(serde_json::from_str(answer.json()).expect("JSON"))
}

/// Calls an operation that must fail, and returns the problem with its code.
fn refused(operations: &Operations, name: &str, arguments: Value) -> (Code, Problem) {
    let problem = call(operations, name, arguments).expect_err("a problem");
    (problem.code, problem)
}
