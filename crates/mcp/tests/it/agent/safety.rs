//! Side effects of tools: safe ones change nothing, others write only to Milepost's own folders,
//! and prompts never suggest a destructive one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ASKS, Agent, SHOP};
use crate::place::Place;
use crate::server::{self, Server};

/// Every file below a folder, with its contents.
fn tree(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => tree(&path, found),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap_or_default())),
        }
    }
}

fn all(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    tree(place.root.path(), &mut found);
    found
}

fn hinted(agent: &mut Agent, is: fn(&Value) -> bool) -> BTreeSet<String> {
    let listed = agent.client.call("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("a list").iter();
    let named = tools.filter(|tool| is(tool));
    named.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn safe_tools_change_nothing_and_call_nobody() {
    let server = Server::start(|_| server::json(200, &json!([])));
    let place = Place::with(&[("shop.yaml", SHOP), ("asks.yaml", ASKS)]);
    place.import("shop.yaml", Some(&server.url));
    place.save("asks.yaml");
    let mut agent = Agent::connect(&place);
    let before = all(&place);
    let asks = json!({"workflow_id": "asks"});
    let source = json!({"source": place.path("shop.yaml")});
    let calls = [
        ("workflow_list", json!({})),
        ("workflow_get", asks.clone()),
        ("workflow_validate", asks.clone()),
        ("workflow_preview_inputs", asks.clone()),
        ("workflow_preview_rendered", asks.clone()),
        ("workflow_step_plan", asks),
        ("workflow_status", json!({})),
        ("command_list", json!({"query": "orders"})),
        ("command_get", json!({"command": "shop orders:get"})),
        ("provider_list", json!({})),
        ("catalog_validate_openapi", source.clone()),
        ("catalog_preview_import", source),
    ];
    let called: BTreeSet<String> = calls.iter().map(|(tool, _)| (*tool).to_owned()).collect();
    let safe = hinted(&mut agent, |tool| tool["annotations"]["readOnlyHint"] == true);
    assert_eq!(called, safe, "each safe tool is called here");
    for (tool, arguments) in calls {
        agent.call(tool, &arguments);
        assert!(all(&place) == before, "{tool} changed a file");
    }
    assert!(server.seen().is_empty(), "somebody was called");
}

#[test]
fn tools_write_only_to_milepost_s_folders() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    let mut agent = Agent::connect(&place);
    let before = all(&place);
    let source = place.path("shop.yaml");
    for name in ["Shop", "../../out", "/tmp/out", "..", "a/../../b", "con\u{0}", "C:\\out"] {
        let wish = json!({"source": source, "catalog_title": name, "vendor": name});
        agent.ask("catalog_import_openapi", &wish);
        let wish = json!({"source": source, "catalog_title": name, "overwrite": true});
        agent.ask("catalog_import_openapi", &wish);
        let text = ASKS.replace("workflow: asks", &format!("workflow: {}", json!(name)));
        agent.ask("workflow_save", &json!({"content": text}));
        agent.ask("workflow_save", &json!({"content": ASKS, "workflow_id": name}));
        agent.ask("workflow_rename", &json!({"workflow_id": "asks", "new_id": name}));
        agent.ask("catalog_remove", &json!({"catalog_id": name, "remove_manifest": true}));
    }
    agent.call("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
    let home = place.root.path().join("home");
    let ours = [".config/milepost", ".local/share/milepost", ".cache/milepost"];
    let ours: Vec<PathBuf> = ours.iter().map(|folder| home.join(folder)).collect();
    let after = all(&place);
    assert!(after.len() > before.len(), "something was written");
    for (path, bytes) in &after {
        let is_ours = ours.iter().any(|folder| path.starts_with(folder));
        assert!(is_ours || before.get(path) == Some(bytes), "{} was written", path.display());
    }
    assert!(before.keys().all(|path| after.contains_key(path)), "a file is gone");
}

#[test]
fn no_prompt_leads_to_a_destructive_tool() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let destroys = hinted(&mut agent, |tool| tool["_meta"]["safety"] == "destructive");
    assert!(destroys.contains("workflow_delete") && destroys.contains("catalog_remove"));
    let listed = agent.client.call("prompts/list", &json!({}));
    let prompts = listed["prompts"].as_array().expect("a list");
    assert!(prompts.len() >= 5, "the contract's, and guides");
    for prompt in prompts {
        let names = prompt["arguments"].as_array().into_iter().flatten();
        let given: serde_json::Map<String, Value> = names
            .map(|one| (one["name"].as_str().expect("a name").to_owned(), json!("x")))
            .collect();
        let params = json!({"name": prompt["name"], "arguments": given});
        let got = agent.client.call("prompts/get", &params);
        let text = got["messages"].to_string();
        for tool in &destroys {
            assert!(!text.contains(tool.as_str()), "{}: {tool}", prompt["name"]);
            let dotted = tool.replacen('_', ".", 1);
            assert!(!text.contains(&dotted), "{}: {dotted}", prompt["name"]);
        }
    }
}

/// An imported API as resources, complete enough to write a workflow with.
#[test]
fn catalogs_are_read_with_schemas_arguments_and_bodies() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.import("shop.yaml", None);
    let mut agent = Agent::connect(&place);
    let mut read = |uri: &str| -> Value {
        let result = agent.client.call("resources/read", &json!({"uri": uri}));
        serde_json::from_str(result["contents"][0]["text"].as_str().expect("text")).expect("JSON")
    };
    let commands = read("command.catalog");
    let details = commands["details"].as_array().expect("details");
    let get = details.iter().find(|one| one["command"] == "shop orders:get").expect("is there");
    assert!(get["parameters"][0]["schema"].is_object(), "{get}");
    assert_eq!(get["parameters"][0]["name"], "order_id", "{get}");
    assert!(details.iter().any(|one| one["body"].is_object()), "no body: {details:?}");
    assert_eq!(read("milepost://command/catalog/shop")["total"], commands["total"]);
    let providers = read("provider.catalog");
    let provider = &providers["providers"][0];
    for name in ["provider", "value_field", "list_at", "serves"] {
        assert!(!provider[name].is_null(), "no {name}: {provider}");
    }
    let listed = agent.call("provider_list", &json!({}));
    assert_eq!(listed["providers"], providers["providers"], "the tool says the same");
}
