//! A source that was run before is run again without being parsed again, as long as nothing has
//! changed.

use milepost_ops::Code;
use serde_json::{Value, json};

use crate::depot::Depot;

const TEXT: &str = "workflow: look\nsteps: [{id: look, run: depot shelves:list}]\n";

fn run(depot: &Depot) -> Result<Value, Code> {
    let request = json!({"manifest": TEXT, "wait_s": 20});
    depot.call("workflow.run", request).map_err(|problem| problem.code)
}

#[test]
fn the_same_text_is_checked_against_what_there_is_now() {
    let depot = Depot::new();
    for _ in 0..2 {
        assert_eq!(run(&depot).expect("runs")["status"], "succeeded");
    }
    assert_eq!(depot.asked(), 2);
    // Changes every identifying part, because a command keeps its name as long as one of them
    // stays.
    let renamed = include_str!("depot.yaml")
        .replace("/shelves", "/racks")
        .replace("tags: [shelves]", "tags: [racks]")
        .replace("listShelves", "listRacks");
    depot.import(&renamed, true);
    assert_eq!(run(&depot).expect_err("there is no such command"), Code::WorkflowInvalid);
    depot.import(include_str!("depot.yaml"), true);
    assert_eq!(run(&depot).expect("runs again")["status"], "succeeded");
}
