//! Writes that an agent asks for: a person reviewed the text, or agrees to them first, whichever
//! tool asks.

use serde_json::{Value, json};

use super::{Agent, say};
use crate::Place;
use crate::rogue::terminal;
use crate::server::{Server, json as answer};

const DEPOT: &str = "openapi: 3.1.0\ninfo: {title: Depot, version: 1.0.0}\npaths:\n  \
    /parts:\n    post:\n      operationId: createPart\n      tags: [parts]\n      \
    requestBody: {content: {application/json: {schema: {type: object}}}}\n      \
    responses: {'201': {description: ok, content: {application/json: {schema: {}}}}}\n    \
    get:\n      operationId: listParts\n      tags: [parts]\n      \
    responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}\n";
const REFUND: &str = "workflow: refund\nsteps:\n  - {id: ok, approve: Make it?}\n  \
    - {id: make, run: depot parts:create, depends_on: [ok], body: {n: 1}}\n";
const PLAIN: &str =
    "workflow: refund\nsteps:\n  - {id: make, run: depot parts:create, body: {n: 994}}\n";
const THREE: &str = "workflow: three\nsteps:\n  \
     - {id: a, run: depot parts:create, body: {n: 1}}\n  \
    - {id: b, run: depot parts:create, body: {n: 2}, depends_on: [a]}\n  \
    - {id: c, run: depot parts:create, body: {n: 3}, depends_on: [b]}\n";

struct Shop {
    place: Place,
    server: Server,
}

impl Shop {
    fn new() -> Shop {
        let server = Server::start(|_| answer(201, &json!({"made": true})));
        let place = Place::with(&[("depot.yaml", DEPOT)]);
        place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
        Shop { place, server }
    }

    /// Saves a workflow, and reviews it at a terminal.
    fn review(&self, text: &str, how: &str) {
        self.place.put("text.yaml", text);
        self.place.run(["workflow", "save", "text.yaml", "--overwrite"]).ends(0);
        let said = terminal(&self.place, &format!("workflow review {how}"), &["y"]);
        assert_eq!(said.code, 0, "{}", said.out);
    }

    fn sent(&self) -> usize {
        self.server.seen().iter().filter(|request| request.method != "GET").count()
    }
}

fn is_asked(run: &Value) -> String {
    assert_eq!(run["status"], "waiting", "{run}");
    assert_eq!(run["waiting"][0]["kind"], "approval", "{run}");
    assert!(run["next"].to_string().contains("milepost approve"), "{run}");
    run["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn an_approval_cannot_be_walked_around() {
    let shop = Shop::new();
    shop.review(REFUND, "refund");
    let mut agent = Agent::connect(&shop.place, &[]);
    let call = json!({"command": "depot parts:create", "body": {"n": 994}});
    let asked = agent.call("command_run", &call);
    let run = is_asked(&asked);
    assert!(asked["waiting"][0]["step"].as_str().expect("a step").starts_with(".approve:"));
    let inline = agent.call("workflow_run", &json!({"manifest": PLAIN, "wait_s": 5}));
    is_asked(&inline);
    agent.call("workflow_save", &json!({"content": PLAIN, "overwrite": true}));
    let saved = agent.call("workflow_run", &json!({"workflow_id": "refund", "wait_s": 5}));
    is_asked(&saved);
    assert_eq!(shop.sent(), 0);
    let said = terminal(&shop.place, &format!("approve {run}"), &["y"]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert_eq!(shop.sent(), 1, "what was approved is sent, once");
}

#[test]
fn a_reviewed_text_runs_as_authored_and_another_one_is_asked_about() {
    let shop = Shop::new();
    shop.review(PLAIN, "refund");
    let mut agent = Agent::connect(&shop.place, &[]);
    let run = agent.call("workflow_run", &json!({"workflow_id": "refund", "wait_s": 20}));
    assert_eq!((run["status"].as_str(), shop.sent()), (Some("succeeded"), 1), "{run}");
    let changed = PLAIN.replace("994", "995");
    agent.call("workflow_save", &json!({"content": changed, "overwrite": true}));
    is_asked(&agent.call("workflow_run", &json!({"workflow_id": "refund", "wait_s": 5})));
    // The same text elsewhere is reviewed no longer.
    agent.call("workflow_save", &json!({"content": PLAIN, "overwrite": true}));
    shop.place
        .run(["catalog", "import", "depot.yaml", "--base-url", "http://127.0.0.1:9", "--overwrite"])
        .ends(0);
    is_asked(&agent.call("workflow_run", &json!({"workflow_id": "refund", "wait_s": 5})));
    assert_eq!(shop.sent(), 1);
}

#[test]
fn a_text_cannot_take_the_name_of_one_that_may_run_alone() {
    let shop = Shop::new();
    let nightly = REFUND.replace("workflow: refund", "workflow: nightly");
    shop.review(&nightly, "--alone nightly");
    let ran = shop.place.run(["run", "nightly", "--json"]).ends(0);
    assert_eq!(shop.sent(), 1, "it runs alone: {}", ran.out);
    let mut agent = Agent::connect(&shop.place, &[]);
    let other = nightly.replace("n: 1", "n: 1000000");
    is_asked(&agent.call("workflow_run", &json!({"manifest": other, "wait_s": 5})));
    agent.call("workflow_save", &json!({"content": other, "overwrite": true}));
    is_asked(&agent.call("workflow_run", &json!({"workflow_id": "nightly", "wait_s": 5})));
    assert_eq!(shop.sent(), 1);
    let folder = shop.place.root.path().join("home/.config/milepost");
    std::fs::create_dir_all(&folder).expect("makes a folder");
    let text = "[approvals]\nunattended = [\"nightly\"]\n";
    std::fs::write(folder.join("config.toml"), text).expect("writes");
    let refused = shop.place.run(["run", "nightly"]);
    assert!(refused.code != 0 && shop.sent() == 1, "{}{}", refused.out, refused.err);
}

#[test]
fn three_writes_cost_one_question() {
    let shop = Shop::new();
    let can = json!({"elicitation": {}});
    let mut agent = Agent::with(&shop.place, &[], "2025-11-25", &can);
    let params = json!({"name": "workflow_run", "arguments": {"manifest": THREE, "wait_s": 20}});
    agent
        .client
        .say(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}));
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let message = question["params"]["message"].as_str().expect("words");
    assert!(message.contains("(up to 3 times)") && message.contains("/parts"), "{message}");
    assert_eq!(shop.sent(), 0);
    say(&mut agent.client, &question, &json!({"action": "accept", "content": {"approve": true}}));
    let done = agent.client.hear();
    assert_eq!(done["result"]["structuredContent"]["status"], "succeeded", "{done}");
    assert_eq!(shop.sent(), 3);
    // Without a client that can ask, it is one command.
    let mut agent = Agent::connect(&shop.place, &[]);
    let run = is_asked(&agent.call("workflow_run", &json!({"manifest": THREE, "wait_s": 5})));
    let said = terminal(&shop.place, &format!("approve {run}"), &["y"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let ended = agent.call("workflow_status", &json!({"run_id": run, "wait_s": 20}));
    assert_eq!((ended["status"].as_str(), shop.sent()), (Some("succeeded"), 6), "{ended}");
}

#[test]
fn a_direct_call_is_answered_as_before_once_the_person_has_agreed() {
    let shop = Shop::new();
    let can = json!({"elicitation": {}});
    let mut agent = Agent::with(&shop.place, &[], "2025-11-25", &can);
    let call = json!({"command": "depot parts:create", "body": {"n": "${{ not.a.template }}"}});
    let params = json!({"name": "command_run", "arguments": call});
    agent
        .client
        .say(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}));
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    say(&mut agent.client, &question, &json!({"action": "accept", "content": {"approve": true}}));
    let answered = agent.client.hear();
    let called = &answered["result"]["structuredContent"];
    assert_eq!(
        (&called["status"], &called["body"]),
        (&json!(201), &json!({"made": true})),
        "{answered}"
    );
    let sent: Value = serde_json::from_str(&shop.server.last().body).expect("JSON");
    assert_eq!(sent, json!({"n": "${{ not.a.template }}"}));
    let shown = agent.call("command_run", &json!({"command": "depot parts:get", "dry_run": true}));
    assert_eq!(shown["dry_run"], true, "{shown}");
    let read = agent.call("command_run", &json!({"command": "depot parts:get"}));
    assert_eq!(read["status"], 201, "a read of an accepted API needs no question: {read}");
}

#[test]
fn the_policy_decides_and_says_which_line_does() {
    let shop = Shop::new();
    let folder = shop.place.root.path().join("home/.config/milepost");
    std::fs::create_dir_all(&folder).expect("makes a folder");
    let text = "[[policy.rules]]\npath = \"/parts\"\nwrites = \"deny\"\n";
    std::fs::write(folder.join("config.toml"), text).expect("writes");
    let mut agent = Agent::connect(&shop.place, &[]);
    let refused =
        agent.refused("command_run", &json!({"command": "depot parts:create", "body": {}}));
    assert_eq!(refused["error_code"], "REQUEST_REFUSED", "{refused}");
    let run = agent.call("workflow_run", &json!({"manifest": THREE, "wait_s": 20}));
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(shop.sent(), 0);
    let told = shop.place.run(["policy", "check", "depot", "parts:create", "--json"]).ends(0);
    let line = &told.json()["writes"][0];
    assert_eq!(line["agent"], json!({"writes": "deny", "by": "policy.rules[0]"}), "{line}");
}
