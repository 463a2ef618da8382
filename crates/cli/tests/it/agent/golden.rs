//! A transcript of every tool, succeeding and failing: `golden.txt`. `UPDATE_EXPECT=1` records the
//! server's answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::Place;
use crate::server::{self, Server};

const SHOP: &str = "openapi: 3.0.3\ninfo: {title: Shop, version: 1.0.0}\nservers: [{url: \
    'https://shop.test'}]\npaths:\n  /orders:\n    get:\n      operationId: listOrders\n      \
    tags: [orders]\n      responses:\n        '200':\n          description: Orders\n          \
    content: {application/json: {schema: {type: array, items: {type: object, properties: {id: \
    {type: string}}}}}}\n  /orders/{order_id}:\n    get:\n      operationId: getOrder\n      \
    tags: [orders]\n      parameters: [{name: order_id, in: path, required: true, schema: {type: \
    string}}]\n      responses: {'200': {description: An order}}\n";
const GETS: &str = "workflow: gets\ninputs: {order: {type: string}}\nsteps:\n  - {id: look, run: \
    shop orders:get, with: {order_id: \"${{ inputs.order }}\"}}\n";
const FAILS: &str = "workflow: fails\nsteps: [{id: a, fail: no luck}]\n";

/// The transcript, with varying values replaced.
struct Transcript {
    agent: Agent,
    text: String,
    root: String,
    /// Ids, versions and tokens, with their placeholders.
    names: BTreeMap<String, String>,
    /// Whether each tool was seen to succeed and to fail.
    seen: BTreeMap<String, (bool, bool)>,
}

impl Transcript {
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut answer = self.agent.ask(tool, arguments);
        let failed = answer["result"]["isError"] == true || answer["error"].is_object();
        let seen = self.seen.entry(tool.to_owned()).or_default();
        *(if failed { &mut seen.1 } else { &mut seen.0 }) = true;
        let mut said = match answer["error"].is_object() {
            true => answer["error"].take(),
            false => answer["result"]["structuredContent"].take(),
        };
        let original = said.clone();
        let mut asked = arguments.clone();
        self.settle(&mut asked);
        self.settle(&mut said);
        let mark = if failed { "!" } else { "<" };
        writeln!(self.text, "> {tool} {asked}\n{mark} {said}\n").expect("writes");
        original
    }

    /// Follows a task to its result.
    fn task(&mut self, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments, "task": {}});
        let mut made = self.agent.client.ask("tools/call", &params);
        let mut asked = arguments.clone();
        self.settle(&mut asked);
        writeln!(self.text, "> {tool} {asked} as a task").expect("writes");
        let seen = self.seen.entry(tool.to_owned()).or_default();
        if made["error"].is_object() {
            seen.1 = true;
            let mut error = made["error"].take();
            self.settle(&mut error);
            writeln!(self.text, "! {error}\n").expect("writes");
            return;
        }
        seen.0 = true;
        let id = made["result"]["task"]["taskId"].clone();
        let mut result = self.agent.client.call("tasks/result", &json!({"taskId": id}));
        let mut said = result["structuredContent"].take();
        self.settle(&mut said);
        writeln!(self.text, "< {said}\n").expect("writes");
    }

    fn settle(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.settled(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.settle(item)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    match name.as_str() {
                        name if name.ends_with("_ms") => *field = 0.into(),
                        // Prompts and documentation change for unrelated reasons.
                        "prompt" | "task" => *field = "<a prompt>".into(),
                        _ => self.settle(field),
                    }
                }
            }
            _ => {}
        }
    }

    fn settled(&mut self, text: &str) -> String {
        let mut settled = text.replace(&self.root, "<root>").replace('\\', "/");
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words: Vec<String> = settled
            .split(|letter| !is_part(letter))
            .filter(|word| is_random(word))
            .map(str::to_owned)
            .collect();
        for word in words {
            let kind = if word.starts_with("run_") { "run" } else { "id" };
            let count = self.names.values().filter(|name| name.contains(kind)).count();
            let name = self.names.entry(word.clone());
            let name = name.or_insert_with(|| format!("<{kind} {}>", count + 1)).clone();
            settled = settled.replace(&word, &name);
        }
        settled
    }
}

/// Whether a word is an id, a digest or a token.
fn is_random(word: &str) -> bool {
    let is_run = word.strip_prefix("run_").is_some_and(|rest| rest.len() == 26);
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_run || (word.len() >= 22 && is_mixed)
}

#[test]
fn every_tool_answers_as_recorded() {
    let place = Place::with(&[("shop.yaml", SHOP), ("broken.yaml", "openapi: 3.0.3\n")]);
    let agent = Agent::with(&place, &[], "2025-11-25", &json!({"tasks": {}}));
    let root = place.root.path().canonicalize().expect("is there").display().to_string();
    let text = "# Every tool: `>` is asked, `<` answered, `!` refused.\n\n".to_owned();
    let (names, seen) = (BTreeMap::new(), BTreeMap::new());
    let mut said = Transcript { agent, text, root, names, seen };
    catalogs(&place, &mut said);
    workflows(&mut said);
    runs(&mut said);
    tasks(&mut said);
    let server = Server::start(|_| server::json(200, &json!([{"id": "o1"}, {"id": "o2"}])));
    place.say(&format!("catalog import shop.yaml --overwrite --base-url {}", server.url)).ends(0);
    said.call("provider_values", &json!({"provider": "shop orders:list"}));
    let tools = said.agent.client.call("tools/list", &json!({}));
    for tool in tools["tools"].as_array().expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        assert_eq!(said.seen.get(name), Some(&(true, true)), "{name}: happy, unhappy");
    }
    expect_file!["golden.txt"].assert_eq(&said.text);
}

/// Calls a tool that asks a person first, and one that fails.
fn asks(said: &mut Transcript, tool: &str, arguments: &Value, wrong: &Value) {
    let asked = said.call(tool, arguments);
    assert_eq!(asked["waiting"][0]["kind"], "approval", "{asked}");
    let refused = said.call(tool, wrong);
    assert!(refused["error_code"].is_string(), "{refused}");
}

fn catalogs(place: &Place, said: &mut Transcript) {
    let source = |name: &str| json!({"source": place.path(name)});
    said.call("catalog_validate_openapi", &source("shop.yaml"));
    said.call("catalog_validate_openapi", &source("nothing.yaml"));
    said.call("catalog_preview_import", &source("shop.yaml"));
    said.call("catalog_preview_import", &source("broken.yaml"));
    said.call("catalog_preview_import", &json!({}));
    said.call("catalog_import_openapi", &source("shop.yaml"));
    said.call("catalog_import_openapi", &source("shop.yaml"));
    said.call("catalog_set_enabled", &json!({"catalog_id": "shop", "enabled": true}));
    said.call("catalog_set_enabled", &json!({"catalog_id": "nobody", "enabled": true}));
    said.call("command_list", &json!({"query": "get order"}));
    said.call("command_list", &json!({"detail": "half"}));
    said.call("command_get", &json!({"command": "shop orders:get"}));
    said.call("command_get", &json!({"command": "shop orders:got"}));
    let order = json!({"command": "shop orders:get", "with": {"order_id": "7"}, "dry_run": true});
    said.call("command_run", &order);
    said.call("command_run", &json!({"command": "shop orders:get", "dry_run": true}));
    said.call("provider_list", &json!({}));
    said.call("provider_list", &json!({"all": true}));
    said.call("provider_values", &json!({"provider": "shop orders:get"}));
}

fn workflows(said: &mut Transcript) {
    said.call("workflow_validate", &json!({"manifest": GETS}));
    said.call("workflow_validate", &json!({"manifest": GETS.replace("with", "wiht")}));
    said.call("workflow_validate", &json!({}));
    said.call("workflow_save", &json!({"content": GETS}));
    said.call("workflow_save", &json!({"content": GETS}));
    said.call("workflow_list", &json!({"query": "gets"}));
    said.call("workflow_list", &json!({"limit": "many"}));
    let gets = json!({"workflow_id": "gets"});
    let nobody = json!({"workflow_id": "nobody"});
    let given = json!({"workflow_id": "gets", "inputs": {"order": "7"}});
    said.call("workflow_get", &gets);
    said.call("workflow_get", &nobody);
    for tool in ["workflow_preview_inputs", "workflow_resolve_inputs"] {
        said.call(tool, &gets);
        said.call(tool, &nobody);
    }
    for tool in ["workflow_preview_rendered", "workflow_step_plan"] {
        said.call(tool, &given);
        said.call(tool, &json!({"workflow_id": "gets", "inputs": {"order": 7}}));
    }
    said.call("workflow_rename", &json!({"workflow_id": "gets", "new_id": "fetches"}));
    said.call("workflow_rename", &json!({"workflow_id": "gets", "new_id": "other"}));
    said.call("workflow_purge_history", &json!({"workflow_id": "fetches"}));
    said.call("workflow_purge_history", &json!({}));
    asks(said, "workflow_delete", &json!({"workflow_id": "fetches"}), &nobody);
    let shop = json!({"catalog_id": "shop"});
    asks(said, "catalog_remove", &shop, &json!({"catalog_id": "nobody"}));
}

fn runs(said: &mut Transcript) {
    let asks = said.call("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
    said.call("workflow_run", &json!({"workflow_id": "nobody"}));
    let run = json!({"run_id": asks["run_id"]});
    said.call("workflow_status", &run);
    said.call("workflow_status", &json!({"run_id": "run_nobody"}));
    let mut done = asks["next"]["arguments"].clone();
    said.call("workflow_submit", &done);
    done["output"] = json!({"seen": true});
    said.call("workflow_submit", &done);
    said.call("workflow_submit", &json!({"run_id": asks["run_id"]}));
    let failed = said.call("workflow_run", &json!({"manifest": FAILS, "wait_s": 20}));
    said.call("workflow_resume", &failed["next"]["arguments"]);
    said.call("workflow_resume", &json!({"run_id": failed["run_id"], "from": "nothing"}));
    let asks = said.call("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
    said.call("workflow_cancel", &json!({"operation_id": asks["run_id"]}));
    said.call("workflow_cancel", &json!({"operation_id": "run_nobody"}));
}

fn tasks(said: &mut Transcript) {
    let quick = "workflow: quick\nsteps: [{id: a, set: {b: 1}}]\n";
    said.task("workflow_execute", &json!({"manifest": quick}));
    said.task("workflow_execute", &json!({"workflow_id": "nobody"}));
    said.task("workflow_author_and_run", &json!({"goal": "say one", "manifest": quick}));
    said.task("workflow_author_and_run", &json!({}));
    let mended = json!({"manifest": FAILS, "repaired_manifest": quick});
    said.task("workflow_repair_and_rerun", &mended);
    said.task("workflow_repair_and_rerun", &json!({"run_id": "run_nobody"}));
}
