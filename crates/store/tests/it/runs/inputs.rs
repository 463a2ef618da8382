//! The last values given for inputs.

use milepost_model::id::InputName;
use milepost_store::runs::{Forgetting, Forgotten, RememberedInputs, Runs};

use super::{fresh, workflow};

fn input(name: &str) -> InputName {
    InputName::parse(name).expect("is one")
}

fn remember(runs: &Runs, workspace: &str, id: &str, value: &str, at_ms: u64) {
    let values = vec![(input("subject"), value.to_owned()), (input("tone"), "9".to_owned())];
    let what =
        RememberedInputs { workspace: workspace.to_owned(), workflow: workflow(id), values, at_ms };
    runs.remember_inputs(what).expect("remembers");
}

fn last(runs: &Runs, workspace: &str, id: &str) -> Option<String> {
    runs.last_input(workspace, &workflow(id), &input("subject")).expect("reads")
}

#[test]
fn the_last_value_is_remembered_per_folder_and_workflow() {
    let (_root, runs) = fresh();
    assert_eq!(last(&runs, "/a", "x"), None);
    remember(&runs, "/a", "x", "1", 10);
    remember(&runs, "/a", "x", "2", 20);
    remember(&runs, "/a", "x", "0", 5);
    remember(&runs, "/b", "x", "3", 10);
    remember(&runs, "/a", "y", "4", 10);
    assert_eq!(last(&runs, "/a", "x").as_deref(), Some("2"));
    assert_eq!(last(&runs, "/b", "x").as_deref(), Some("3"));
}

/// Forgets values, and returns them as `workflow.input values`.
fn forget(runs: &Runs, id: Option<&str>, inputs: &[&str]) -> Vec<String> {
    let inputs = inputs.iter().map(|name| input(name)).collect();
    let forgotten = runs.forget_inputs(Forgetting { workflow: id.map(workflow), inputs });
    let told = |Forgotten { workflow, input, values }| format!("{workflow}.{input} {values}");
    forgotten.expect("forgets").into_iter().map(told).collect()
}

#[test]
fn values_are_forgotten_by_workflow_by_input_or_all() {
    let (_root, runs) = fresh();
    for (workspace, id) in [("/a", "x"), ("/b", "x"), ("/a", "y")] {
        remember(&runs, workspace, id, "1", 10);
    }
    assert_eq!(forget(&runs, Some("x"), &["subject"]), ["x.subject 2"]);
    assert_eq!(last(&runs, "/a", "x"), None);
    assert_eq!(last(&runs, "/a", "y").as_deref(), Some("1"));
    assert_eq!(forget(&runs, None, &["tone", "nothing"]), ["x.tone 2", "y.tone 1"]);
    assert_eq!(forget(&runs, Some("x"), &[]), [""; 0]);
    assert_eq!(forget(&runs, None, &[]), ["y.subject 1"]);
    assert_eq!(last(&runs, "/a", "y"), None);
}
