//! The contract, line by line: its implementation, and the test that proves it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Agent, say};
use crate::Place;

const TABLE: &str = include_str!("../../contract.tsv");
const BEGIN: &str = "<!-- contract: begin -->\n";
const END: &str = "<!-- contract: end -->";

/// The resources of the contract; below are its prompts and the sections that require something.
const RESOURCES: [&str; 6] = [
    "workflow.spec",
    "workflow.schema",
    "workflow.manifests",
    "workflow.manifest",
    "command.catalog",
    "provider.catalog",
];
const PROMPTS: [&str; 4] =
    ["workflow.author", "workflow.extend", "workflow.fix_validation", "workflow.run_with_inputs"];
const SECTIONS: [&str; 29] = [
    "3", "3.1", "3.2", "3.3", "3.4", "4.1", "4.2", "4.3", "5", "5.1", "5.2", "5.3", "5.4", "5.4.1",
    "5.4.2", "5.4.3", "5.4.4", "6", "6.1", "6.2", "6.3", "7", "9", "10.1", "10.2", "10.3", "10.4",
    "13.1", "13.2",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("reads").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The tests of the workspace by name, each with its file.
fn tests() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    files(&root().join("crates"), &mut sources);
    sources.retain(|path| path.extension().is_some_and(|ending| ending == "rs"));
    sources.sort();
    let mut found = Vec::new();
    for path in sources {
        let text = fs::read_to_string(&path).expect("is text");
        let file = path.strip_prefix(root()).expect("is below").display().to_string();
        for part in text.split("#[test]").skip(1) {
            let name = part.split_once("fn ").map(|(_, rest)| rest);
            let name = name.and_then(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned());
            found.extend(name.map(|name| (name, file.clone())));
        }
    }
    found
}

fn named(list: &Value, key: &str) -> HashSet<String> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item[key].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_contract_is_mapped_line_by_line() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &["--tool-names", "dotted"]);
    let tools = named(&agent.client.call("tools/list", &json!({}))["tools"], "name");
    let prompts = named(&agent.client.call("prompts/list", &json!({}))["prompts"], "name");
    let listed = agent.client.call("resources/list", &json!({}));
    let templates = agent.client.call("resources/templates/list", &json!({}));
    let mut resources = named(&listed["resources"], "name");
    resources.extend(named(&templates["resourceTemplates"], "name"));
    let tests = tests();
    let mut page = String::from(
        "| § | the contract asks for | implemented by | verified by |\n|---|---|---|---|\n",
    );
    let (mut mapped, mut sections) = (HashSet::new(), HashSet::new());
    for line in TABLE.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [section, asked, what, test] = cells[..] else { panic!("four cells: {line}") };
        sections.insert(section);
        let there = match what.split_once(' ') {
            Some(("tool", name)) => {
                mapped.insert(name);
                tools.contains(name)
            }
            Some(("prompt", name)) => {
                mapped.insert(name);
                prompts.contains(name)
            }
            Some(("resource", name)) => {
                mapped.insert(name);
                resources.contains(name)
            }
            Some(("none:", _)) => true,
            _ => root().join(what).is_file(),
        };
        assert!(there, "nothing does this: {line}\n{resources:?}");
        let (_, file) = tests
            .iter()
            .find(|(name, _)| name == test)
            .unwrap_or_else(|| panic!("no test shows this: {line}"));
        let shown = match what.split_once(' ') {
            Some(("none:", why)) => why.to_owned(),
            Some((kind, name)) => format!("{kind} `{name}`"),
            None => format!("`{what}`"),
        };
        writeln!(page, "| {section} | {asked} | {shown} | `{test}` in `{file}` |").expect("writes");
    }
    has_every_line(&tools, &mapped, &sections);
    let path = root().join("docs/mcp.md");
    let text = fs::read_to_string(&path).expect("reads");
    let (before, rest) = text.split_once(BEGIN).expect("has the mark");
    let (kept, after) = rest.split_once(END).expect("has the other mark");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{page}{END}{after}")).expect("writes");
    } else {
        assert!(kept == page, "the table of {} is stale: run with UPDATE_EXPECT=1", path.display());
    }
}

/// Asserts that nothing in the contract is left out.
fn has_every_line(tools: &HashSet<String>, mapped: &HashSet<&str>, sections: &HashSet<&str>) {
    // Every tool of the contract has a line; additional tools have their own tests.
    let own = [
        "command.get",
        "command.run",
        "provider.values",
        "workflow.resume",
        "workflow.status",
        "workflow.submit",
    ];
    for tool in tools {
        assert!(mapped.contains(tool.as_str()) || own.contains(&tool.as_str()), "no line: {tool}");
    }
    // So do its resources and prompts, and every section that requires something.
    for name in RESOURCES.iter().chain(&PROMPTS) {
        assert!(mapped.contains(name), "no line: {name}");
    }
    for section in SECTIONS {
        assert!(sections.contains(section), "no line: § {section}");
    }
}

const REFUND: &str = r#"workflow: refund
inputs:
  order: {type: string}
  why: {type: string, optional: true, default: {from: history}}
steps:
  - {id: look, run: shop orders:get, with: {order_id: "${{ inputs.order }}"}}
  - {id: tell, if: "inputs.order != ''", prompt: "Tell ${{ steps.look.output.id }}"}
"#;

fn has(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value.get(name).is_some(), "no `{name}`: {value}");
    }
}

#[test]
fn every_tool_answers_what_the_contract_says() {
    let place = Place::with(&[("shop.yaml", include_str!("../shop.yaml"))]);
    let mut agent = Agent::connect(&place, &[]);
    catalogs(&place, &mut agent);
    let saved = agent.call("workflow_save", &json!({"content": REFUND}));
    has(&saved, &["path", "workflow_id", "version"]);
    let listed = agent.call("workflow_list", &json!({"query": "refund"}));
    has(&listed["workflows"][0], &["workflow_id", "title", "path", "format", "version"]);
    let got = agent.call("workflow_get", &json!({"workflow_id": "refund"}));
    has(&got, &["workflow_id", "path", "format", "content", "parsed", "version"]);
    assert_eq!((&got["content"], &got["version"]), (&json!(REFUND), &saved["version"]));
    let seen =
        agent.call("workflow_validate", &json!({"manifest": REFUND.replace("look", "lo k")}));
    assert_eq!(seen["valid"], false);
    has(&seen["violations"][0], &["path", "rule", "message"]);
    has(&seen, &["warnings"]);
    let found = agent.call("command_list", &json!({"query": "refund"}));
    assert_eq!(found["workflows"][0]["command"], "workflow refund", "{found}");
    let wish = json!({"workflow_id": "refund"});
    let inputs = agent.call("workflow_preview_inputs", &wish);
    assert_eq!(inputs["required_missing"], json!(["order"]));
    has(&inputs["inputs"][0], &["name", "type", "required"]);
    let given = json!({"workflow_id": "refund", "inputs": {"order": "7"}});
    let drawn = agent.call("workflow_preview_rendered", &given);
    let first = drawn["steps"][0].to_string();
    assert!(first.contains("/orders/7") && first.contains("GET"), "{drawn}");
    let planned = agent.call("workflow_step_plan", &given);
    assert_eq!(planned["steps"][1]["depends_on"], json!(["look"]), "{planned}");
    let partial = json!({"workflow_id": "refund", "partial_inputs": {}});
    let resolved = agent.call("workflow_resolve_inputs", &partial);
    has(&resolved, &["defaults", "resolved", "valid"]);
    assert_eq!(resolved["ready"], false, "{resolved}");
    let partial = json!({"workflow_id": "refund", "partial_inputs": {"order": "7"}});
    assert_eq!(agent.call("workflow_resolve_inputs", &partial)["ready"], true);
    let renamed =
        agent.call("workflow_rename", &json!({"workflow_id": "refund", "new_id": "give-back"}));
    has(&renamed, &["workflow_id", "path", "version"]);
    let found = agent.call("command_list", &json!({"query": "give back"}));
    assert_eq!(found["workflows"][0]["command"], "workflow give-back", "{found}");
    let inputs = json!({"order": "7", "why": "broken"});
    let start = json!({"workflow_id": "give-back", "inputs": inputs, "mock": true, "wait_s": 20});
    let run = agent.call("workflow_run", &start);
    has(&run, &["run_id", "status"]);
    let nothing = json!({"removed": 0, "entries": []});
    let purge = json!({"input_keys": ["order"]});
    assert_eq!(agent.call("workflow_purge_history", &purge), nothing);
    let purge = json!({"workflow_id": "give-back", "input_keys": ["why"]});
    let run = agreed(&place, "workflow_purge_history", &purge);
    let entry = json!({"workflow_id": "give-back", "input_key": "why", "values": 1});
    assert_eq!(run["final_output"], json!({"removed": 1, "entries": [entry]}));
    let purge = json!({"workflow_id": "give-back"});
    assert_eq!(agent.call("workflow_purge_history", &purge), nothing);
}

fn catalogs(place: &Place, agent: &mut Agent) {
    let source = json!({"source": place.path("shop.yaml")});
    let seen = agent.call("catalog_validate_openapi", &source);
    has(&seen, &["valid", "operation_count", "warnings", "violations"]);
    assert_eq!(seen["document_kind"], "openapi_3");
    let mut wish = json!({"source": place.path("shop.yaml"), "catalog_title": "Shop",
        "vendor": "shop", "include_command_preview": true});
    let seen = agent.call("catalog_preview_import", &wish);
    has(&seen["catalog"], &["title", "vendor", "base_url"]);
    has(&seen, &["projected_command_count", "projected_group_prefixes", "warnings"]);
    has(&seen, &["provider_contract_count", "command_preview"]);
    wish.as_object_mut().expect("an object").remove("include_command_preview");
    let seen = agent.call("catalog_import_openapi", &wish);
    has(&seen, &["catalog_id", "catalog_path", "manifest_path", "command_count", "warnings"]);
    has(&seen, &["provider_contract_count"]);
    assert_eq!(agent.refused("catalog_import_openapi", &wish)["category"], "conflict");
    let found = agent.call("command_list", &json!({"query": "get an order", "detail": "full"}));
    has(&found["commands"][0], &["command", "method", "path", "required"]);
    has(&found["details"][0], &["parameters"]);
    let seen = agent.call("provider_list", &json!({}));
    has(&seen["providers"][0], &["provider", "value_field", "list_at", "serves"]);
    let off = json!({"catalog_title": "Shop", "enabled": false});
    let seen = agent.call("catalog_set_enabled", &off);
    has(&seen, &["catalog_id", "enabled"]);
    assert_eq!(seen["command_count_after_toggle"], 0);
    let removed = json!({"catalog_id": seen["catalog_id"], "remove_manifest": true});
    let asked = agent.call("catalog_remove", &removed);
    assert_eq!(asked["waiting"][0]["kind"], "approval", "{asked}");
    let run = agreed(place, "catalog_remove", &removed);
    let seen = &run["final_output"];
    has(seen, &["removed_catalog_id", "remaining_catalog_count"]);
    assert_eq!(seen["manifest_removed"], true);
    agent.call("catalog_import_openapi", &wish);
}

/// Calls a tool with a client whose person agrees.
fn agreed(place: &Place, tool: &str, arguments: &Value) -> Value {
    let can = json!({"elicitation": {}});
    let mut agent = Agent::with(place, &[], "2025-06-18", &can);
    let params = json!({"name": tool, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": "r", "method": "tools/call", "params": params});
    agent.client.say(&call);
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let yes = json!({"action": "accept", "content": {"approve": true}});
    say(&mut agent.client, &question, &yes);
    agent.client.hear()["result"]["structuredContent"].take()
}

#[test]
fn the_runtime_directory_follows_the_variables() {
    let place = Place::with(&[("asks.yaml", super::ASKS)]);
    let elsewhere = place.path("elsewhere");
    let mut command = place.command();
    command.args(["workflow", "save", "asks.yaml"]).env("REGISTRY_WORKFLOWS_PATH", &elsewhere);
    assert!(command.output().expect("runs").status.success());
    assert!(elsewhere.join("asks.yaml").is_file());
    let mut command = place.command();
    let config = place.path("other/config.toml");
    command.args(["workflow", "save", "asks.yaml"]).env("REGISTRY_CONFIG_PATH", &config);
    assert!(command.output().expect("runs").status.success());
    assert!(place.path("other/workflows/asks.yaml").is_file());
}
