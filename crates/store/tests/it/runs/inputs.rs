//! What was last given for inputs.

use milepost_model::id::InputName;
use milepost_store::runs::{Remembered, Runs};

use super::{fresh, workflow};

fn remember(runs: &Runs, workspace: &str, id: &str, value: &str, at_ms: u64) {
    let name = InputName::parse("subject").expect("is one");
    let values = vec![(name, value.to_owned())];
    let what =
        Remembered { workspace: workspace.to_owned(), workflow: workflow(id), values, at_ms };
    runs.remember_inputs(what).expect("remembers");
}

fn last(runs: &Runs, workspace: &str, id: &str) -> Option<String> {
    let name = InputName::parse("subject").expect("is one");
    runs.last_input(workspace, &workflow(id), &name).expect("reads")
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
    assert_eq!(runs.forget_inputs(Some(workflow("x"))).expect("forgets"), 2);
    assert_eq!(last(&runs, "/a", "x"), None);
    assert_eq!(last(&runs, "/a", "y").as_deref(), Some("4"));
    assert_eq!(runs.forget_inputs(None).expect("forgets"), 1);
    assert_eq!(last(&runs, "/a", "y"), None);
}
