//! Every answer that leaves work to do names the exact next call, spelled as in the tool list, and
//! hints name tools wherever a tool exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::Place;

const APPROVES: &str = "workflow: approves\nsteps:\n  - {id: ask, approve: Shall we?}\n";
const FAILS: &str = "workflow: fails\nsteps:\n  - {id: a, set: {b: 1}}\n  \
    - {id: stop, depends_on: [a], fail: It cannot be}\n";

#[test]
fn a_run_that_waits_for_a_person_says_what_to_tell_them() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &[]);
    let run = agent.call("workflow_run", &json!({"manifest": APPROVES, "wait_s": 20}));
    let command = format!("`milepost approve {}`", run["run_id"].as_str().expect("an id"));
    let words = run["next"]["person"].as_str().unwrap_or_else(|| panic!("no person: {run}"));
    assert!(words.starts_with("stop now; tell the user:") && words.contains(&command), "{words}");
    let uri = format!("milepost://run/{}", run["run_id"].as_str().expect("an id"));
    let read = agent.client.call("resources/read", &json!({"uri": uri}));
    let read: Value =
        serde_json::from_str(read["contents"][0]["text"].as_str().expect("text")).expect("is JSON");
    assert_eq!(read["next"], run["next"], "the resource says the same");
    let none = Place::new();
    let mut agent = Agent::connect(&none, &[]);
    let open = agent.call("workflow_status", &json!({}));
    assert_eq!(open["next"], json!({"tool": "workflow_list", "arguments": {}}), "{open}");
}

/// Commands that agents have a tool for, by their first words.
const TWINS: [&str; 24] = [
    "workflow list",
    "workflow show",
    "workflow validate",
    "workflow save",
    "workflow rename",
    "workflow delete",
    "workflow inputs",
    "workflow plan",
    "catalog list",
    "catalog show",
    "catalog validate",
    "catalog preview",
    "catalog import",
    "catalog enable",
    "catalog disable",
    "catalog remove",
    "command ",
    "run ",
    "runs",
    "show",
    "submit",
    "resume",
    "cancel",
    "inputs forget",
];

/// Commands in a message for agents that should have been named as tools.
fn foreign(text: &str) -> Vec<String> {
    let code = text.split('`').enumerate().filter(|(number, _)| number % 2 == 1);
    let foreign = code.filter(|(_, code)| {
        let command = code.strip_prefix("milepost ");
        let is_twin = |rest: &str| TWINS.iter().any(|twin| rest.starts_with(twin));
        // Only a person can raise a budget.
        let is_twin = |rest: &str| is_twin(rest) && !rest.contains("--budget");
        command.is_some_and(is_twin) || (code.starts_with("--") && code.len() > 2)
    });
    foreign.map(|(_, code)| code.to_owned()).collect()
}

/// Collects every string in an answer.
fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, all)),
        _ => {}
    }
}

fn says_tools(answer: &Value) {
    let mut all = Vec::new();
    texts(answer, &mut all);
    for text in all {
        assert_eq!(foreign(&text), Vec::<String>::new(), "{text}\nin {answer}");
    }
}

#[test]
fn failures_name_tools_and_not_commands() {
    let broken = "openapi: 3.0.3\ninfo: {title: Broken, version: 1.0.0}\n";
    let files = [("shop.yaml", include_str!("../shop.yaml")), ("broken.yaml", broken)];
    let place = Place::with(&files);
    let mut agent = Agent::with(&place, &[], "2025-11-25", &json!({"tasks": {}}));
    let shop = json!({"source": place.path("shop.yaml"), "catalog_title": "Shop"});
    let broken = json!({"source": place.path("broken.yaml")});
    // A person imported it: the first call to an API that only an agent knows is a question.
    place.run(["catalog", "import", "shop.yaml"]).ends(0);
    let failed = agent.call("workflow_run", &json!({"manifest": FAILS, "wait_s": 20}));
    let asks = agent.call("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
    let approves = agent.call("workflow_run", &json!({"manifest": APPROVES, "wait_s": 20}));
    let id = |run: &Value| run["run_id"].clone();
    let calls = [
        ("catalog_import_openapi", shop, "CATALOG_EXISTS"),
        ("catalog_import_openapi", broken, "CATALOG_INVALID"),
        ("catalog_set_enabled", json!({"enabled": true}), "PARAMS_INVALID"),
        ("catalog_set_enabled", json!({"catalog_id": "x", "enabled": true}), "CATALOG_NOT_FOUND"),
        ("catalog_validate_openapi", json!({"source": "nothing.yaml"}), "FILE_NOT_FOUND"),
        ("command_get", json!({"command": "shop nothing:x"}), "COMMAND_NOT_FOUND"),
        ("command_run", json!({"command": "shop orders:list"}), "AUTH_FAILED"),
        ("provider_values", json!({"provider": "shop orders:get"}), "PROVIDER_NOT_FOUND"),
        ("workflow_get", json!({"workflow_id": "nobody"}), "WORKFLOW_NOT_FOUND"),
        ("workflow_run", json!({"workflow_id": "nobody"}), "WORKFLOW_NOT_FOUND"),
        ("workflow_delete", json!({"workflow_id": "nobody"}), "WORKFLOW_NOT_FOUND"),
        ("workflow_status", json!({"run_id": "run_nobody"}), "RUN_NOT_FOUND"),
        ("workflow_submit", json!({"run_id": id(&failed), "output": 1}), "RUN_CONFLICT"),
        (
            "workflow_submit",
            json!({"run_id": id(&asks), "step_id": "x", "output": 1}),
            "STEP_NOT_FOUND",
        ),
        ("workflow_submit", json!({"run_id": id(&approves), "output": 1}), "STEP_NOT_DUE"),
        ("workflow_resume", json!({"run_id": id(&approves), "from": "ask"}), ""),
        ("workflow_purge_history", json!({"workflow_id": "nobody"}), ""),
    ];
    for (tool, arguments, code) in calls {
        let refused = agent.ask(tool, &arguments);
        let payload = &refused["result"]["structuredContent"];
        if !code.is_empty() {
            assert_eq!(payload["error_code"], code, "{tool} {arguments}: {refused}");
        }
        says_tools(&refused);
    }
    agent.call("catalog_set_enabled", &json!({"catalog_id": "shop", "enabled": false}));
    let refused = agent.refused("command_get", &json!({"command": "shop orders:list"}));
    says_tools(&refused);
    let enable = json!({"catalog_id": "shop", "enabled": true});
    assert_eq!(refused["next"], json!({"tool": "catalog_set_enabled", "arguments": enable}));
    agent.call("catalog_set_enabled", &refused["next"]["arguments"]);
    for (method, params) in [
        ("tasks/get", json!({"taskId": "run_nobody"})),
        (
            "tools/call",
            json!({"name": "workflow_execute", "task": {},
            "arguments": {"workflow_id": "nobody"}}),
        ),
        ("resources/read", json!({"uri": "milepost://run/run_nobody"})),
    ] {
        let answer = agent.client.ask(method, &params);
        says_tools(&answer);
        assert!(answer["error"]["data"]["next"]["tool"].is_string(), "{method}: {answer}");
    }
}

/// Messages from below the interfaces name operations; each interface translates them into its own
/// terms.
#[test]
fn nothing_below_the_doors_speaks_of_the_command_line() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
    let mut seen = BTreeSet::new();
    for name in ["ops", "engine"] {
        spans(&crates.join(name).join("src"), &mut seen);
    }
    assert_eq!(seen, BTreeSet::new());
}

/// Commands and flags between backticks in the files of a folder.
fn spans(folder: &Path, seen: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("is a folder") {
        let path = entry.expect("is an entry").path();
        if path.is_dir() {
            spans(&path, seen);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for line in text.lines() {
            let code = line.split('`').enumerate().filter(|(number, _)| number % 2 == 1);
            let code = code.map(|(_, code)| code);
            let said = code.filter(|code| code.starts_with("milepost ") || code.starts_with("--"));
            seen.extend(said.map(str::to_owned));
        }
    }
}
