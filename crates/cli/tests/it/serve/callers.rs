//! Two callers of one server, each with a token of their own. Whatever one of them tries, nothing
//! of the other's comes back, and nothing of the other's changes.

use std::collections::BTreeSet;

use milepost_ops::{OPERATIONS, OperationSpec, Task};
use serde_json::{Value, json};

use super::oauth::{Issuer, RESOURCE, claims};
use super::wire::Ask;
use super::{Server, Session};
use crate::Place;

const LOGIN: &str = "https://login.example";
/// What Ada gives and produces. It is in every run of hers, and never in anything that Eve gets.
const CANARY: &str = "ada-canary-7d1f";

/// Remembers its input, asks for an output, and returns both.
const ASKS: &str = "workflow: asks\ninputs: {note: {type: string, default: {from: history}}}\n\
    steps:\n  - id: look\n    prompt: 'Look at ${{ inputs.note }}'\n    \
    output_schema: {type: object, required: [seen], properties: {seen: {type: string}}}\n  \
    - {id: again, prompt: Look again, depends_on: [look]}\n\
    final_output: {seen: \"${{ steps.look.output.seen }}\"}\n";
/// Starts with the result of the other.
const REUSES: &str = "workflow: reuses\n\
    inputs: {before: {type: object, default: {from: workflow_output, value: done}}}\n\
    steps: [{id: a, set: {b: \"${{ inputs.before }}\"}}]\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";
const DONE: &str = "workflow: done\ninputs: {note: {type: string, default: {from: history}}}\n\
    steps: [{id: a, set: {b: \"${{ inputs.note }}\"}}]\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";
const FAILS: &str = "workflow: fails\ninputs: {note: {type: string, default: {from: history}}}\n\
    steps: [{id: a, fail: \"no luck with ${{ inputs.note }}\"}]\n";
const DEPOT: &str = "openapi: 3.1.0\ninfo: {title: Depot, version: 1.0.0}\n\
    servers: [{url: 'https://depot.example'}]\npaths:\n  /parts:\n    get:\n      \
    operationId: listParts\n      tags: [parts]\n      responses: {'200': {description: ok}}\n";
const KEY: &str = "the same key";

/// A server for Ada and Eve.
struct Shared {
    _place: Place,
    server: Server,
    tokens: [String; 2],
}

impl Shared {
    fn start() -> Shared {
        let issuer = Issuer::new("one");
        let keys = json!({"keys": [issuer.key()]}).to_string();
        let place = Place::with(&[("keys.json", &keys), ("depot.yaml", DEPOT)]);
        for (id, text) in [("asks", ASKS), ("reuses", REUSES), ("done", DONE), ("fails", FAILS)] {
            let file = format!("{id}.yaml");
            place.put(&file, text);
            place.workflow(&format!("save {file}")).ends(0);
        }
        place.run(["catalog", "import", "depot.yaml"]).ends(0);
        let arguments = ["--oauth-issuer", LOGIN, "--oauth-resource", RESOURCE];
        let keys = ["--oauth-jwks", "keys.json"];
        let server = Server::start(&place, &[&arguments[..], &keys].concat());
        let tokens = ["ada", "eve"].map(|who| {
            let mut claims = claims(LOGIN);
            claims["sub"] = json!(who);
            issuer.token(&claims)
        });
        Shared { _place: place, server, tokens }
    }

    fn ada(&self) -> Session<'_> {
        self.server.connect_as(&self.tokens[0], "2025-11-25", &json!({"tasks": {}}))
    }

    fn eve(&self) -> Session<'_> {
        self.server.connect_as(&self.tokens[1], "2025-11-25", &json!({"tasks": {}}))
    }

    /// A request of Eve's without a handshake.
    fn eve_alone(&self, method: &str, params: Value, capabilities: &Value) -> Ask {
        let params = super::alone(params, capabilities);
        let body = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params});
        let bearer = format!("Bearer {}", self.tokens[1]);
        self.server.ask_alone(method, &body).header("Authorization", &bearer)
    }
}

/// The runs of Ada.
#[derive(Debug, Default)]
struct Theirs {
    runs: Vec<String>,
}

impl Theirs {
    /// Starts runs of every kind: one that waits, one that has succeeded, one that has failed, and
    /// an orchestration that waits.
    fn begin(ada: &Session<'_>) -> Theirs {
        let start = |id: &str| {
            let inputs = json!({"note": CANARY});
            let arguments = json!({"workflow_id": id, "inputs": inputs, "idempotency_key": KEY,
                "wait_s": 20});
            ada.tool("workflow_run", &arguments)["run_id"].as_str().expect("an id").to_owned()
        };
        let mut runs = vec![start("asks")];
        let keyed = |id: &str| {
            let arguments = json!({"workflow_id": id, "inputs": {"note": CANARY}, "wait_s": 20});
            ada.tool("workflow_run", &arguments)["run_id"].as_str().expect("an id").to_owned()
        };
        runs.extend([keyed("done"), keyed("fails")]);
        for goal in [json!({"goal": CANARY}), json!({"goal": "x", "workflow_id": "asks"})] {
            let call = json!({"name": "workflow_author_and_run", "arguments": goal, "task": {}});
            let made = ada.call("tools/call", &call);
            runs.push(made["task"]["taskId"].as_str().expect("an id").to_owned());
        }
        Theirs { runs }
    }

    /// Everything that Ada can see of her own, without what depends on the time of asking.
    fn seen(&self, ada: &Session<'_>) -> Vec<Value> {
        let status = |run: &String| {
            let mut seen = ada.tool("workflow_status", &json!({"run_id": run, "wait_s": 2}));
            seen.as_object_mut().expect("a run").retain(|name, _| !name.ends_with("_ms"));
            for step in seen["steps"].as_array_mut().into_iter().flatten() {
                step.as_object_mut().expect("a step").retain(|name, _| !name.ends_with("_ms"));
            }
            seen
        };
        let mut all: Vec<Value> = self.runs.iter().map(status).collect();
        for id in ["asks", "done", "fails"] {
            let inputs = ada.tool("workflow_preview_inputs", &json!({"workflow_id": id}));
            assert!(inputs.to_string().contains(CANARY), "{id}: {inputs}");
            all.push(inputs["inputs"].clone());
        }
        let reused = ada.tool("workflow_preview_rendered", &json!({"workflow_id": "reuses"}));
        assert!(reused.to_string().contains(CANARY), "{reused}");
        all
    }

    /// Asserts that an answer to Eve has nothing of Ada's, apart from what she sent herself.
    fn are_not_in(&self, answer: &Value, sent: &Value, what: &str) {
        let (answer, sent) = (answer.to_string(), sent.to_string());
        assert!(!answer.contains(CANARY), "{what}: {answer}");
        for run in self.runs.iter().filter(|run| !sent.contains(run.as_str())) {
            assert!(!answer.contains(run.as_str()), "{what}: {answer}");
        }
    }
}

/// The id of a run that nobody has started, another one for each run that somebody has.
fn nobodys(run: &str) -> String {
    let digits: String = run.trim_start_matches("run_").chars().skip(1).collect();
    format!("run_5{}", digits.chars().rev().collect::<String>())
}

/// Ways to start a run with what somebody else gave.
fn starts() -> Vec<Value> {
    vec![
        json!({"workflow_id": "asks"}),
        json!({"workflow_id": "reuses"}),
        json!({"workflow_id": "done"}),
        json!({"workflow_id": "fails"}),
        json!({"workflow_id": "asks", "idempotency_key": KEY}),
        json!({"workflow_id": "done", "idempotency_key": KEY}),
        json!({"workflow_id": "asks", "inputs": {"note": "of Eve"}, "idempotency_key": KEY}),
        json!({"manifest": REUSES}),
    ]
}

/// What a second caller tries with a tool, given the id of a run that is not theirs.
fn attempts(operation: &OperationSpec, run: &str) -> Vec<Value> {
    let of_workflow =
        || ["asks", "reuses", "done", "fails"].map(|id| json!({"workflow_id": id})).to_vec();
    match operation.name {
        // Catalogs and workflows belong to the server, for all of its callers.
        "catalog.validate_openapi" | "catalog.preview_import" | "catalog.import_openapi" => {
            vec![json!({"source": "depot.yaml"})]
        }
        "catalog.list" | "command.list" | "provider.list" | "workflow.list" | "guide.list" => {
            vec![json!({})]
        }
        "catalog.set_enabled" => vec![json!({"catalog_id": "depot", "enabled": true})],
        "catalog.remove" | "catalog.auth" => vec![json!({"catalog_id": "depot"})],
        "catalog.diff" => vec![json!({"catalog_id": "depot", "source": "depot.yaml"})],
        "command.get" => vec![json!({"command": "depot parts:list"})],
        "command.run" => vec![json!({"command": "depot parts:list", "dry_run": true})],
        "provider.values" => vec![json!({"provider": "depot parts:list"})],
        "workflow.get" | "workflow.versions" | "workflow.delete" => of_workflow(),
        "workflow.diff" => vec![json!({"workflow_id": "asks"})],
        "workflow.restore" => vec![json!({"workflow_id": "asks", "version": "0000"})],
        "workflow.rename" => vec![json!({"workflow_id": "asks", "new_id": "done"})],
        "workflow.validate" => vec![json!({"content": ASKS})],
        "workflow.save" => vec![json!({"content": ASKS})],
        // What is remembered belongs to its caller.
        "workflow.preview_inputs"
        | "workflow.resolve_inputs"
        | "workflow.step_plan"
        | "workflow.preview_rendered" => of_workflow(),
        "workflow.purge_history" => {
            let mut all = of_workflow();
            all.push(json!({"input_keys": ["note"]}));
            all
        }
        "workflow.run" | "workflow.execute" => starts(),
        "workflow.author_and_run" => vec![
            json!({"goal": "the same"}),
            json!({"goal": "x", "workflow_id": "asks"}),
            json!({"goal": "x", "workflow_id": "reuses"}),
        ],
        // Runs belong to their caller.
        "workflow.repair_and_rerun" => {
            vec![json!({"run_id": run}), json!({"run_id": run, "repaired_manifest": DONE})]
        }
        "workflow.status" => vec![
            json!({"run_id": run}),
            json!({"run_id": run, "step_id": "look", "inline_max": 100_000}),
            json!({"run_id": run, "after_seq": 0, "wait_s": 1}),
            json!({"run_id": run.get(..12)}),
            json!({}),
        ],
        "workflow.submit" => vec![
            json!({"run_id": run, "step_id": "look", "output": {"seen": "by Eve"}}),
            json!({"run_id": run, "output": {"seen": "by Eve"}, "attempt": 1}),
            json!({"run_id": run, "context": {"seen": true}}),
            json!({"run_id": run, "step_id": "inputs", "output": {"note": "by Eve"}}),
        ],
        "workflow.resume" => {
            vec![json!({"run_id": run}), json!({"run_id": run, "plan_only": true})]
        }
        "workflow.cancel" | "workflow.pause" => vec![json!({"run_id": run})],
        other => panic!("say here what a second caller may try with `{other}`"),
    }
}

/// An answer without what differs from call to call.
fn plain(answer: &Value, run: &str) -> String {
    let mut answer = answer.clone();
    answer["id"] = Value::Null;
    for place in ["/result/structuredContent", "/error/data"] {
        if let Some(Value::Object(told)) = answer.pointer_mut(place) {
            told.remove("correlation_id");
        }
    }
    // The text of a result repeats its structure.
    if let Some(Value::Object(result)) = answer.pointer_mut("/result") {
        result.remove("content");
    }
    answer.to_string().replace(run, "_").replace(run.get(..12).unwrap_or(run), "_")
}

/// Every operation, with every way to name what is somebody else's.
#[test]
fn no_operation_crosses_from_one_caller_to_another() {
    let shared = Shared::start();
    let theirs = Theirs::begin(&shared.ada());
    let before = theirs.seen(&shared.ada());
    let mut tried = 0;
    {
        let eve = shared.eve();
        for operation in OPERATIONS {
            let tool = operation.tool();
            let call = |run: &str| {
                let all = match tool {
                    Some(_) => attempts(operation, run),
                    None => vec![json!({"run_id": run})],
                };
                all.into_iter().flat_map(move |arguments| {
                    let params = json!({"name": operation.name, "arguments": arguments});
                    let mut as_task = params.clone();
                    as_task["task"] = json!({});
                    let is_task = tool.is_some_and(|tool| tool.task != Task::Never);
                    [Some(params), is_task.then_some(as_task)].into_iter().flatten()
                })
            };
            for run in &theirs.runs {
                let nobodys = nobodys(run);
                for (params, other) in call(run).zip(call(&nobodys)) {
                    let answer = eve.request("tools/call", &params);
                    tried += 1;
                    theirs.are_not_in(&answer, &params, operation.name);
                    if operation.tool().is_none() && operation.guide_tool().is_none() {
                        assert!(answer["error"].is_object(), "{}: {answer}", operation.name);
                    }
                    // Somebody else's run is no different from one that does not exist.
                    if params != other {
                        let same = eve.request("tools/call", &other);
                        let (told, same) = (plain(&answer, run), plain(&same, &nobodys));
                        assert_eq!(told, same, "{params}");
                        let is_refused = told.contains("RUN_NOT_FOUND") || told.contains("-32");
                        assert!(is_refused, "{params}: {told}");
                    }
                }
            }
        }
        assert!(tried > OPERATIONS.len() * theirs.runs.len(), "{tried} attempts");
        // Her own runs are hers alone, and begin with nothing of Ada's.
        let own = eve.tool("workflow_status", &json!({}));
        assert!(!own["runs"].as_array().expect("a list").is_empty());
        theirs.are_not_in(&own, &json!({}), "workflow.status");
    }
    assert_eq!(theirs.seen(&shared.ada()), before, "after {tried} attempts");
}

/// Every resource that the server lists, and every template filled in with what is Ada's.
#[test]
fn no_resource_or_completion_crosses_from_one_caller_to_another() {
    let shared = Shared::start();
    let theirs = Theirs::begin(&shared.ada());
    let (mut fixed, mut templates) = (Vec::new(), Vec::new());
    let eve = shared.eve();
    let listed = |method: &str, of: &str, what: &str| -> Vec<String> {
        let all = eve.call(method, &json!({}));
        let all = all[of].as_array().expect("a list").iter();
        all.map(|one| one[what].as_str().expect("is text").to_owned()).collect()
    };
    fixed.extend(listed("resources/list", "resources", "uri"));
    templates.extend(listed("resources/templates/list", "resourceTemplates", "uriTemplate"));
    assert!(fixed.len() > 5 && templates.len() > 3);
    let filled = |template: &str, run: &str, step: &str| {
        let mut uri = template.to_owned();
        for (name, value) in [
            ("run_id", run),
            ("step_id", step),
            ("workflow_id", "asks"),
            ("catalog", "depot"),
            ("topic", "workflows"),
        ] {
            uri = uri.replace(&format!("{{{name}}}"), value);
        }
        assert!(!uri.contains('{'), "say here what a second caller may try with {template}");
        uri
    };
    for uri in &fixed {
        let params = json!({"uri": uri});
        theirs.are_not_in(&eve.request("resources/read", &params), &params, uri);
    }
    for template in &templates {
        for run in &theirs.runs {
            for step in ["look", "a", "draft", "run", "resolve"] {
                let ask = |run: &str| {
                    let params = json!({"uri": filled(template, run, step)});
                    (eve.request("resources/read", &params), params)
                };
                let (answer, params) = ask(run);
                theirs.are_not_in(&answer, &params, template);
                if template.contains("run_id") {
                    assert!(answer.to_string().contains("RUN_NOT_FOUND"), "{params}: {answer}");
                    assert_eq!(
                        plain(&answer, run),
                        plain(&ask(&nobodys(run)).0, &nobodys(run)),
                        "{params}"
                    );
                }
            }
        }
        for name in ["run_id", "step_id", "workflow_id", "catalog", "topic"] {
            for run in &theirs.runs {
                let params = json!({
                    "ref": {"type": "ref/resource", "uri": template},
                    "argument": {"name": name, "value": ""},
                    "context": {"arguments": {"run_id": run}},
                });
                let answer = eve.request("completion/complete", &params);
                theirs.are_not_in(&answer, &params, name);
                if name.ends_with("run_id") || name == "step_id" {
                    assert_eq!(answer["result"]["completion"]["values"], json!([]), "{answer}");
                }
            }
        }
    }
    for prompt in listed("prompts/list", "prompts", "name") {
        let params = json!({"name": prompt});
        theirs.are_not_in(&eve.request("prompts/get", &params), &params, &prompt);
    }
}

/// Every task method of both revisions.
#[test]
fn no_task_method_crosses_from_one_caller_to_another() {
    let shared = Shared::start();
    let theirs = Theirs::begin(&shared.ada());
    let before = theirs.seen(&shared.ada());
    let listed = shared.ada().call("tasks/list", &json!({}));
    assert!(
        listed["tasks"].as_array().is_some_and(|all| all.len() >= theirs.runs.len()),
        "{listed}"
    );
    {
        let eve = shared.eve();
        assert_eq!(eve.call("tasks/list", &json!({}))["tasks"], json!([]));
        for run in &theirs.runs {
            for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
                let ask = |run: &str| eve.request(method, &json!({"taskId": run}));
                let answer = ask(run);
                assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
                assert_eq!(
                    plain(&answer, run),
                    plain(&ask(&nobodys(run)), &nobodys(run)),
                    "{method}"
                );
            }
            let extension = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
            for (method, answers) in [
                ("tasks/get", json!({})),
                ("tasks/update", json!({})),
                (
                    "tasks/update",
                    json!({"draft:1": {"role": "assistant", "model": "m",
                    "content": {"type": "text", "text": "workflow: of-eve\n"}}}),
                ),
                ("tasks/update", json!({"look:1": {"action": "accept", "content": {"seen": "x"}}})),
                ("tasks/cancel", json!({})),
            ] {
                let ask = |run: &str| {
                    let params = json!({"taskId": run, "inputResponses": answers});
                    shared.eve_alone(method, params, &extension).send().message()
                };
                let answer = ask(run);
                assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
                assert_eq!(
                    plain(&answer, run),
                    plain(&ask(&nobodys(run)), &nobodys(run)),
                    "{method}"
                );
            }
        }
        assert_eq!(eve.call("tasks/list", &json!({}))["tasks"], json!([]));
    }
    assert_eq!(theirs.seen(&shared.ada()), before);
}

/// Both callers subscribe to a run of Ada's: only she hears of it, and Eve cannot end her
/// subscription.
#[test]
fn no_subscription_crosses_from_one_caller_to_another() {
    let shared = Shared::start();
    let run = Theirs::begin(&shared.ada()).runs.remove(0);
    let uris = [format!("milepost://run/{run}"), format!("milepost://run/{run}/step/look/output")];
    let (ada, eve) = (shared.ada(), shared.eve());
    let mut hers = ada.ask("GET").open();
    let mut theirs = eve.ask("GET").open();
    assert_eq!((hers.status, theirs.status), (200, 200));
    for uri in &uris {
        ada.call("resources/subscribe", &json!({"uri": uri}));
        eve.call("resources/subscribe", &json!({"uri": uri}));
    }
    let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
    let mut listens = shared.eve_alone("subscriptions/listen", wanted, &json!({})).open();
    assert_eq!(listens.status, 200);
    let mut said = Vec::new();
    for output in [json!({"seen": CANARY}), json!({})] {
        let step = if said.is_empty() { "look" } else { "again" };
        let submission = json!({"run_id": run, "step_id": step, "output": output});
        ada.tool("workflow_submit", &submission);
        let note = loop {
            let note = hers.event().expect("a notification");
            if note["method"] == "notifications/resources/updated" {
                break note;
            }
        };
        said.push(note["params"]["uri"].clone());
        // What Eve ends is her own.
        for uri in &uris {
            let refused = eve.request("resources/unsubscribe", &json!({"uri": uri}));
            assert!(refused.get("error").is_none(), "{refused}");
            eve.call("resources/subscribe", &json!({"uri": uri}));
        }
    }
    let said: BTreeSet<String> = said.iter().map(ToString::to_string).collect();
    assert!(!said.is_empty());
    // The end of her session ends her stream, and with it everything she was told.
    assert_eq!(eve.ask("DELETE").send().status, 204);
    while let Some(note) = theirs.event() {
        assert_ne!(note["method"], "notifications/resources/updated", "{note}");
    }
    // A listener is told once that everything may have changed, whether it exists or not.
    let first = listens.event().expect("is acknowledged");
    assert!(!first.to_string().contains(CANARY), "{first}");
}
