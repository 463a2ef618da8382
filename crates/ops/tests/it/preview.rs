//! Previews before a run: which inputs are requested, in which order, and exactly what would be
//! sent.

use expect_test::expect_file;
use milepost_ops::Code;
use serde_json::{Value, json};

use crate::depot::Depot;

#[test]
fn inputs_are_shown_with_all_that_is_known_of_them() {
    let depot = Depot::with("env_allow = [\"TOKEN\"]\n", &[("TOKEN", "canary")]);
    let partial = json!({"zone": "south", "tags": ["a", "b"], "mail": "none"});
    let arguments = json!({"manifest": include_str!("rich.yaml"), "partial_inputs": partial});
    let shown = depot.call("workflow.preview_inputs", arguments).expect("answered");
    expect_file!["preview_inputs.json"].assert_eq(&format!("{shown:#}\n"));
    assert!(depot.server.seen().is_empty(), "nothing is asked");
}

const PLAN: &str = r#"workflow: plan
concurrency: 2
inputs:
  code: {type: string}
  many: {type: array, optional: true}
  go: {type: boolean, default: {from: literal, value: false}}
  token: {secret: true, optional: true}
steps:
  - {id: name, set: {upper: "${{ inputs.code + '-1' }}"}}
  - {id: look, run: depot shelves:get, with: {code: "${{ steps.name.output.upper }}"}}
  - {id: skip, run: depot shelves:list, if: inputs.go}
  - id: maybe
    prompt: "Look at ${{ steps.look.output.label }}"
    if: "inputs.go || steps.look.output.nr > 1"
  - id: ok
    approve: {message: "Order for ${{ inputs.code }}?", by: [ada], expires: 1h}
    depends_on: [maybe]
    needs: any
  - id: order
    run: depot orders:create
    depends_on: [ok]
    headers: {X-Token: "${{ inputs.?token }}"}
    body: {shelf: "${{ inputs.code }}", count: "${{ steps.look.output.nr }}"}
  - id: each
    run: depot shelves:get
    for_each: "${{ inputs.?many.orValue([]) }}"
    as: one
    with: {code: "${{ one }}/${{ index }}"}
  - {id: twice, run: depot orders:create, idempotent: true, body: {shelf: "${{ inputs.code }}"}}
finally:
  - {id: end, set: {done: true}}
"#;

fn plan(depot: &Depot, inputs: &Value) -> Value {
    let arguments = json!({"manifest": PLAN, "inputs": inputs});
    depot.call("workflow.step_plan", arguments).expect("answered")
}

fn step<'v>(shown: &'v Value, id: &str) -> &'v Value {
    let steps = shown["steps"].as_array().expect("steps");
    steps.iter().find(|step| step["id"] == id).unwrap_or_else(|| panic!("no `{id}`"))
}

#[test]
fn a_plan_says_what_runs_when_and_what_it_does() {
    let depot = Depot::new();
    let shown = plan(&depot, &json!({"code": "A", "many": [1, 2, 3]}));
    let steps = shown["steps"].as_array().expect("steps");
    let order: Vec<String> = steps
        .iter()
        .map(|step| format!("{} {} {}", step["wave"], step["kind"], step["id"]).replace('"', ""))
        .collect();
    assert_eq!(
        order,
        [
            "1 set name",
            "2 run look",
            "1 run skip",
            "3 prompt maybe",
            "4 approve ok",
            "5 run order",
            "1 run each",
            "1 run twice",
            "6 set end",
        ]
    );
    assert_eq!((&shown["waves"], &shown["concurrency"]), (&json!(6), &json!(2)));
    assert_eq!(shown["plan_hash"].as_str().map(str::len), Some(64));
    assert_eq!(step(&shown, "order")["depends_on"], json!(["look", "ok"]));
    assert_eq!(step(&shown, "order")["approved_by"], json!(["ok"]));
    assert_eq!(step(&shown, "ok")["approval"], json!({"by": ["ada"], "expires_s": 3600}));
    assert_eq!(step(&shown, "ok")["text"], "Order for A?");
    assert_eq!(step(&shown, "end")["finally"], true);
    let call = |id: &str| {
        let call = &step(&shown, id)["call"];
        json!([call["method"], call["path"], call["effect"], call["may_repeat"]])
    };
    assert_eq!(call("look"), json!(["GET", "/shelves/{code}", "read", true]));
    assert_eq!(call("order"), json!(["POST", "/orders", "create", false]));
    assert_eq!(call("twice"), json!(["POST", "/orders", "create", true]));
    assert_eq!(step(&shown, "each")["items"], 3);
    assert!(depot.server.seen().is_empty(), "nothing is sent");
}

#[test]
fn a_plan_decides_what_the_inputs_decide_and_names_the_rest() {
    let depot = Depot::new();
    let shown = plan(&depot, &json!({"code": "A"}));
    assert_eq!(step(&shown, "skip")["condition_holds"], false);
    assert_eq!(step(&shown, "maybe")["condition_holds"], Value::Null);
    assert_eq!(step(&shown, "maybe")["condition_needs"], json!(["steps.look.output.nr"]));
    assert_eq!(step(&shown, "maybe")["pending"], json!(["steps.look.output.label"]));
    // Values that follow from the inputs are known, too.
    assert_eq!(step(&shown, "look")["call"]["with"], json!({"code": "A-1"}));
    assert_eq!(
        step(&shown, "order")["call"]["body"],
        json!({
            "shelf": "A", "count": "${{ steps.look.output.nr }}",
        })
    );
    assert_eq!(step(&shown, "order")["pending"], json!(["steps.look.output.nr"]));
    let shown = plan(&depot, &json!({"code": "A", "go": true}));
    assert_eq!(step(&shown, "maybe")["condition_holds"], true, "the other side does not matter");
    // A missing required input does not prevent a plan.
    let shown = plan(&depot, &json!({}));
    assert_eq!(shown["missing"][0]["path"], "/inputs/code");
    assert_eq!(step(&shown, "twice")["pending"], json!(["inputs.code"]));
    let wrong = json!({"manifest": PLAN, "inputs": {"code": 1, "x": 1}});
    let problem = depot.call("workflow.step_plan", wrong).expect_err("refused");
    assert_eq!((problem.code, problem.arguments.len()), (Code::InputInvalid, 2));
}

#[test]
fn a_condition_on_a_secret_is_not_decided() {
    let depot = Depot::new();
    let manifest = "workflow: x\ninputs: {token: {secret: true}}\n\
                    steps: [{id: a, prompt: Do, if: inputs.token == 'x1234'}]\n";
    for token in ["x1234", "y1234"] {
        let arguments = json!({"manifest": manifest, "inputs": {"token": token}});
        let shown = depot.call("workflow.step_plan", arguments).expect("answered");
        assert_eq!(step(&shown, "a")["condition_holds"], Value::Null);
        assert_eq!(step(&shown, "a")["condition_needs"], json!(["inputs.token"]));
    }
}

#[test]
fn requests_are_exact_where_the_inputs_decide_them() {
    let depot = Depot::new();
    let inputs = json!({"code": "A B", "many": ["x", "y"], "token": "canary"});
    let arguments = json!({"manifest": PLAN, "inputs": inputs});
    let shown = depot.call("workflow.preview_rendered", arguments).expect("answered");
    let url = |path: &str| format!("{}{path}", depot.server.url);
    let look = step(&shown, "look");
    assert_eq!((&look["status"], &look["requests"][0]["method"]), (&json!("known"), &json!("GET")));
    assert_eq!(look["requests"][0]["url"], url("/shelves/A%20B-1"));
    let twice = &step(&shown, "twice")["requests"][0];
    assert_eq!(twice["body"], r#"{"shelf":"A B"}"#);
    assert_eq!(twice["url"], url("/orders"));
    let each = step(&shown, "each")["requests"].as_array().expect("requests");
    let urls: Vec<&Value> = each.iter().map(|request| &request["url"]).collect();
    assert_eq!(urls, [&json!(url("/shelves/x%2F0")), &json!(url("/shelves/y%2F1"))]);
    assert_eq!(step(&shown, "skip")["status"], "skipped");
    let order = step(&shown, "order");
    assert_eq!((&order["status"], &order["method"]), (&json!("unknown"), &json!("POST")));
    assert_eq!(order["unknown"], json!(["steps.look.output.nr"]));
    assert_eq!(order["requests"], Value::Null);
    assert_eq!(step(&shown, "ok")["text"], "Order for A B?");
    assert!(depot.server.seen().is_empty(), "nothing is sent");
    assert!(!shown.to_string().contains("canary"));
}

/// `preview_rendered` shows the same request as `command.run` with the same arguments.
#[test]
fn a_previewed_request_is_the_one_that_a_dry_run_shows() {
    let depot = Depot::new();
    let arguments = json!({"manifest": PLAN, "inputs": {"code": "A"}});
    let shown = depot.call("workflow.preview_rendered", arguments).expect("answered");
    let with = json!({"command": "depot orders:create", "body": {"shelf": "A"}, "dry_run": true});
    let dry = depot.call("command.run", with).expect("answered");
    assert_eq!(step(&shown, "twice")["requests"][0], dry["request"]);
}

#[test]
fn what_would_fail_is_told_before_it_does() {
    let depot = Depot::new();
    let manifest = "workflow: x\ninputs: {n: {type: integer}, h: {}}\nsteps:\n\
        - {id: a, set: {x: \"${{ 1 / inputs.n }}\"}}\n\
        - {id: b, run: depot shelves:list, headers: {X-A: \"${{ inputs.h }}\"}}\n\
        - {id: c, run: depot shelves:list, with: {zone: \"${{ now() }}\"}}\n";
    let inputs = json!({"n": 0, "h": "a\r\nb: c"});
    let arguments = json!({"manifest": manifest, "inputs": inputs});
    let shown = depot.call("workflow.preview_rendered", arguments).expect("answered");
    assert_eq!(step(&shown, "a")["problems"], json!(["division by zero"]));
    assert_eq!(step(&shown, "b")["status"], "problem", "{shown}");
    assert_eq!(step(&shown, "c")["unknown"], json!(["now()"]));
}

#[test]
fn a_workflow_is_named_by_its_text_or_its_id_and_must_be_sound() {
    let depot = Depot::new();
    let names = [
        "workflow.preview_inputs",
        "workflow.resolve_inputs",
        "workflow.step_plan",
        "workflow.preview_rendered",
    ];
    for name in names {
        let by_id = depot.call(name, json!({"workflow_id": "bug-investigation"}));
        assert_eq!(by_id.expect("answered")["workflow_id"], "bug-investigation", "{name}");
        let object = json!({"workflow": "x", "steps": [{"id": "a", "prompt": "Do"}]});
        let by_object = depot.call(name, json!({"manifest": object}));
        assert_eq!(by_object.expect("answered")["workflow_id"], "x", "{name}");
        for (arguments, code) in [
            (json!({}), Code::ParamsInvalid),
            (json!({"manifest": "x", "workflow_id": "x"}), Code::ParamsInvalid),
            (json!({"workflow_id": "nowhere"}), Code::WorkflowNotFound),
            (json!({"manifest": "workflow: x\n"}), Code::WorkflowInvalid),
            (
                json!({"manifest": "workflow: x\nsteps: [{id: a, run: depot shelves:lst}]\n"}),
                Code::WorkflowInvalid,
            ),
        ] {
            let problem = depot.call(name, arguments.clone()).expect_err("refused");
            assert_eq!(problem.code, code, "{name} {arguments}");
            let told = code != Code::WorkflowInvalid || !problem.violations.is_empty();
            assert!(told, "{name} {arguments}");
        }
    }
}
