//! `milepost workflow inputs` and `workflow plan` with the real binary, against a test server.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::catalog::{SHOP, problem};
use crate::server::{self, Reply, Server};
use crate::{Place, Ran, finish};

const REFUND: &str = r#"workflow: refund
inputs:
  order:
    description: Which order
    provider: shop orders:list
    select: {value_field: id, display_field: item}
    on_error: cached
    cache_ttl_sec: 0
  count: {type: integer, name: How many, default: {from: literal, value: 1}}
  tags: {mode: multiple, optional: true}
  note: {optional: true, default: {from: env, value: NOTE}}
  token: {secret: true, default: {from: env, value: SHOP_TOKEN}}
steps:
  - {id: look, run: shop orders:get, with: {order_id: "${{ inputs.order }}"}}
  - {id: ok, approve: "Refund ${{ steps.look.output.item }}?", if: inputs.count > 0}
  - id: again
    run: shop orders:create
    depends_on: [ok]
    headers: {X-Token: "${{ inputs.token }}"}
    body: {item: "${{ inputs.order }}", count: "${{ inputs.count }}"}
"#;

struct Open {
    place: Place,
    server: Server,
}

impl Open {
    fn new() -> Open {
        let server = Server::start(|request| match request.path() {
            "/v1/orders" => server::json(
                200,
                &json!([{"id": "o1", "item": "thing 1"}, {"id": "o2", "item": "thing 2"}]),
            ),
            _ => Reply::Answer(404, Vec::new(), Vec::new()),
        });
        let place = Place::with(&[("shop.yaml", SHOP), ("refund.yaml", REFUND)]);
        let base = format!("{}/v1", server.url);
        place.say(&format!("catalog import shop.yaml --base-url {base}")).ends(0);
        place.say("catalog auth shop --token TOKEN").ends(0);
        let config = place.root.path().join("home/.config/milepost/config.toml");
        std::fs::write(config, "env_allow = [\"SHOP_TOKEN\"]\n").expect("written");
        Open { place, server }
    }

    fn of(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.place.command();
        command.env("MILEPOST_SECRET_TOKEN", "open-sesame").env("SHOP_TOKEN", "canary-token");
        let ran = finish(command.arg("workflow").args(arguments), input);
        for told in [&ran.out, &ran.err] {
            assert!(!told.contains("canary-token"), "{told}");
        }
        ran
    }

    fn say(&self, arguments: &str) -> Ran {
        self.of(&arguments.split(' ').collect::<Vec<_>>(), "")
    }

    fn shows(&self, arguments: &str, expected: &Expect) {
        self.place.check(&self.say(arguments), expected);
    }
}

#[test]
fn inputs_are_listed_with_what_is_missing() {
    let open = Open::new();
    open.shows(
        "inputs refund.yaml",
        &expect![[r"
        INPUT  TYPE         VALUE           STATUS    ABOUT
        order  string                       missing   Which order
        count  integer      1               default   How many
        tags   string list                  optional
        note   string                       optional
        token  string       [secret:token]  default
        --- 0
        required: input `order` is required
        hint: give a value of type string with `-i order=…`
    "]],
    );
    open.shows(
        "inputs refund.yaml -i order=o1 -i count=3 -i tags=a -i tags=b",
        &expect![[r#"
        INPUT  TYPE         VALUE           STATUS    ABOUT
        order  string       o1              given     Which order
        count  integer      3               given     How many
        tags   string list  ["a","b"]       given
        note   string                       optional
        token  string       [secret:token]  default
        --- 0
    "#]],
    );
    assert!(open.server.seen().is_empty());
}

#[test]
fn choices_are_fetched_on_request() {
    let open = Open::new();
    open.shows(
        "inputs refund.yaml --choices",
        &expect![[r"
        INPUT  TYPE         VALUE           STATUS    ABOUT
        order  string                       missing   Which order
        count  integer      1               default   How many
        tags   string list                  optional
        note   string                       optional
        token  string       [secret:token]  default

        choices for order, from shop orders:list
        VALUE  LABEL
        o1     thing 1
        o2     thing 2
        --- 0
        required: input `order` is required
        hint: give a value of type string with `-i order=…`
        note: more choices: `milepost command choices shop orders:list`
    "]],
    );
    let told = open.say("inputs refund.yaml --choices --json").ends(0).quiet().json();
    assert_eq!(
        told["providers"]["order"]["choices"][1],
        json!({"value": "o2", "label": "thing 2"})
    );
    assert_eq!(told["ready"], false);
    let told = open.say("inputs refund.yaml --choices --json -i order=o2").ends(0).quiet().json();
    assert_eq!(
        (&told["ready"], &told["resolved"]["token"]),
        (&json!(true), &json!("[secret:token]"))
    );
}

#[test]
fn inputs_are_given_one_by_one_or_as_one_object() {
    let open = Open::new();
    open.place.put("inputs.json", r#"{"order": "o1", "count": 2, "tags": ["x"]}"#);
    let told = open.say("inputs refund.yaml --json --inputs inputs.json -i count=5").ends(0).json();
    let value = |index: usize| told["inputs"][index]["value"].clone();
    assert_eq!((value(0), value(1), value(2)), (json!("o1"), json!(5), json!(["x"])));
    let given = ["inputs", "refund.yaml", "--json", "--inputs", r#"{"order": "o9"}"#];
    assert_eq!(open.of(&given, "").ends(0).json()["inputs"][0]["value"], "o9");
    let given = ["inputs", "refund.yaml", "--json", "--inputs", "-"];
    let told = open.of(&given, r#"{"order": "o7"}"#).ends(0).json();
    assert_eq!(told["inputs"][0]["value"], "o7");
    for (given, words) in [
        ("[1]", "`--inputs` is not a JSON object"),
        ("{\"order\": canary-token}", "`--inputs` is not valid JSON at line 1"),
        ("{\"order\": 1, \"x\": 2}", "is not a string"),
    ] {
        let ran = open.of(&["inputs", "refund.yaml", "--inputs", given], "");
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(words), "{given}: {told}");
    }
}

#[test]
fn a_plan_shows_the_exact_requests() {
    let open = Open::new();
    open.shows(
        "plan refund.yaml -i order=o1",
        &expect![[r"
            #  WAVE  STEP   DOES      WAITS FOR  RUNS
            1  1     look   run GET              yes
            2  2     ok     approve   look       yes, its condition is true
            3  3     again  run POST  ok         yes
            3 steps in 3 waves, at most 1 at a time
            what this run can change and call:
              POST http://127.0.0.1:[PORT]/v1/orders (once)
            --- 0
        "]],
    );
    open.shows(
        "plan refund.yaml --requests -i order=o1",
        &expect![[r#"
            look: shop orders:get
              GET /v1/orders/o1 HTTP/1.1
              Host: 127.0.0.1:[PORT]
              Accept: application/json
              Authorization: Bearer [secret:TOKEN]
            ok: approve (not known yet: steps.look.output.item)
              Refund ${{ steps.look.output.item }}?
            again: shop orders:create
              POST /v1/orders HTTP/1.1
              Host: 127.0.0.1:[PORT]
              Accept: application/json
              X-Token: [secret:token]
              Content-Type: application/json
              Authorization: Bearer [secret:TOKEN]

              {"item":"o1","count":1}
            --- 0
        "#]],
    );
    assert!(open.server.seen().is_empty());
    let wrong = open.of(&["plan", "refund.yaml", "--json", "-i", "count=x"], "").ends(2);
    assert_eq!(problem(&wrong)["error_code"], "INPUT_INVALID");
    let wrong = ["plan", "refund.yaml", "--json", "--inputs", r#"{"count": "x", "nope": 1}"#];
    let wrong = problem(&open.of(&wrong, "").ends(2));
    let paths: Vec<_> = wrong["violations"].as_array().expect("a list").iter().collect();
    assert_eq!((&paths[0]["path"], &paths[0]["rule"]), (&json!("/inputs/count"), &json!("type")));
    assert_eq!(paths[1]["path"], "/inputs/nope");
    assert!(paths[1]["suggestion"].is_string());
}
