//! `milepost command …` with the real binary, against a test server.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::json;

use crate::catalog::{SHOP, problem};
use crate::server::{self, Reply, Request, Server};
use crate::{Place, Ran, finish};

/// A running shop: its catalog, its server, and the token the server requires.
struct Open {
    place: Place,
    server: Server,
}

fn answer(request: &Request) -> Reply {
    let text = |kind: &str| vec![("content-type", kind.to_owned())];
    match (request.method.as_str(), request.path()) {
        ("GET", "/v1/orders") => {
            let order = |n: u32| json!({"id": format!("o{n}"), "item": format!("thing {n}")});
            let orders = match request.target.split_once("page=").map(|(_, page)| page) {
                None | Some("1") => json!([order(1), order(2)]),
                Some("2") => json!([order(3)]),
                Some(_) => json!([]),
            };
            server::json(200, &orders)
        }
        ("POST", "/v1/orders") => server::json(201, &json!({"id": "o4", "item": "thing 4"})),
        ("GET", "/v1/orders/o1") => server::json(200, &json!({"id": "o1", "item": "thing 1"})),
        ("GET", "/v1/orders/slow") => Reply::Silence,
        ("GET", "/v1/orders/o1/receipt") => {
            Reply::Answer(200, text("application/pdf"), b"%PDF-\xff\xfe".to_vec())
        }
        ("PUT", "/v1/orders/o1/receipt") => {
            Reply::Answer(200, text("text/plain"), b"kept \x1b[31mit".to_vec())
        }
        ("DELETE", _) => Reply::Answer(204, Vec::new(), Vec::new()),
        ("POST", "/v1/photos") => Reply::Answer(201, Vec::new(), Vec::new()),
        _ => server::json(404, &json!({"error": "there is no such order"})),
    }
}

impl Open {
    fn new() -> Open {
        let server = Server::start(answer);
        let place = Place::with(&[("shop.yaml", SHOP)]);
        let base = format!("{}/v1", server.url);
        place.say(&format!("catalog import shop.yaml --base-url {base}")).ends(0);
        place.say("catalog auth shop --token TOKEN").ends(0);
        Open { place, server }
    }

    fn of(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.place.command();
        command.env("MILEPOST_SECRET_TOKEN", "open-sesame");
        finish(command.arg("command").args(arguments), input)
    }

    fn say(&self, arguments: &str) -> Ran {
        self.of(&arguments.split(' ').collect::<Vec<_>>(), "")
    }

    fn shows(&self, arguments: &str, expected: &Expect) {
        self.place.check(&self.say(arguments), expected);
    }
}

#[test]
fn commands_are_found_by_what_they_do() {
    let open = Open::new();
    open.shows(
        "search create an order",
        &expect![[r"
        COMMAND                     METHOD  SUMMARY
        shop orders:create          POST    Create an order
        shop orders:get             GET     Get an order
        shop orders:list            GET     List orders
        shop orders:receipt:update  PUT     Leave a note
        shop orders:delete          DELETE  (deprecated) Delete an order
        shop orders:receipt:get     GET     Get the receipt as a file

        WORKFLOW               TITLE
        workflow refund-order  Refund an order
        --- 0
        next: milepost command show shop orders:create
    "]],
    );
    open.shows(
        "search orders --method DELETE",
        &expect![[r"
        COMMAND             METHOD  SUMMARY
        shop orders:delete  DELETE  (deprecated) Delete an order
        --- 0
        next: milepost command show shop orders:delete
    "]],
    );
    open.shows(
        "search --catalog shop --limit 3",
        &expect![[r"
            COMMAND             METHOD  SUMMARY
            shop orders:create  POST    Create an order
            shop orders:delete  DELETE  (deprecated) Delete an order
            shop orders:get     GET     Get an order
            --- 0
            note: 4 more matches; add words or use `--limit`
            next: milepost command show shop orders:create
        "]],
    );
    open.shows(
        "search xyzzy",
        &expect![[r"
            --- 0
            nothing found; `milepost catalog list` shows what is searched
        "]],
    );
    open.shows(
        "search orders --method FETCH",
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: `FETCH` is not an HTTP method
            hint: use GET, POST, PUT, PATCH or DELETE
            more: milepost docs PARAMS_INVALID
        "]],
    );
    open.shows(
        "search orders --catalog nowhere",
        &expect![[r"
            --- 6
            error[CATALOG_NOT_FOUND]: there is no catalog `nowhere`
            hint: see `milepost catalog list`, or import it with `milepost catalog import <source>`
            more: milepost docs CATALOG_NOT_FOUND
        "]],
    );
    let found = open.say("search --json create an order").ends(0).quiet().json();
    assert_eq!(found["commands"][0]["command"], "shop orders:create");
    let found = open.say("search --json bug investigation").ends(0).quiet().json();
    assert_eq!(found["workflows"][0]["command"], "workflow bug-investigation");
}

#[test]
fn a_command_is_shown_in_full() {
    let open = Open::new();
    open.shows(
        "show shop orders:create",
        &expect![[r#"
            shop orders:create — Create an order
            POST /orders  (createOrder)

            body (required): application/json
            PROPERTY  REQUIRED  TYPE     DESCRIPTION
            item      yes       string   What to send
            count     no        integer
            gift      no        boolean

            RESPONSE  TYPE              FIELDS           DESCRIPTION
            201       application/json  id, item, count  The order

            authenticates with bearer
            --- 0
            next: milepost command run shop orders:create --body '{"item":"…"}'
        "#]],
    );
    open.shows(
        "show listOrders",
        &expect![[r"
            shop orders:list — List orders
            GET /orders  (listOrders)

            ARGUMENT  IN     REQUIRED  TYPE             DESCRIPTION
            status    query  no        open|paid        Only these
            limit     query  no        integer
            tag       query  no        array of string
            page      query  no        integer

            RESPONSE  TYPE                      FIELDS           DESCRIPTION
            200       list of application/json  id, item, count  Some orders

            authenticates with bearer
            --- 0
            next: milepost command run shop orders:list
        "]],
    );
    open.shows(
        "show shop orders:delete",
        &expect![[r"
            shop orders:delete — Delete an order
            DELETE /orders/{order_id}  (deleteOrder)
            deprecated

            ARGUMENT  IN    REQUIRED  TYPE    DESCRIPTION
            order_id  path  yes       string  Which order

            RESPONSE  TYPE  FIELDS  DESCRIPTION
            204                     Gone

            authenticates with bearer
            --- 0
            note: values for `order_id`: milepost command choices shop orders:list
            next: milepost command run shop orders:delete -p 'order_id=…'
        "]],
    );
}

#[test]
fn a_command_goes_by_several_names() {
    let open = Open::new();
    open.shows(
        "show shop orders:creat",
        &expect![[r"
            --- 6
            error[COMMAND_NOT_FOUND]: there is no command `shop orders:creat`
            hint: did you mean `shop orders:create`?
            more: milepost docs COMMAND_NOT_FOUND
        "]],
    );
    open.shows(
        "show nowhere",
        &expect![[r"
            --- 6
            error[COMMAND_NOT_FOUND]: there is no command `nowhere`
            hint: find it with `milepost command search <query>`
            more: milepost docs COMMAND_NOT_FOUND
        "]],
    );
    let quoted = open.of(&["show", "--json", "shop orders:get"], "").ends(0).quiet().json();
    let apart = open.say("show --json shop getOrder").ends(0).quiet().json();
    assert_eq!(quoted, apart);
    assert_eq!(quoted["parameters"][0]["name"], "order_id");
    open.say("show a b c").ends(2);
}

#[test]
fn a_response_is_printed_with_its_status() {
    let open = Open::new();
    open.shows(
        "run shop orders:get -p order_id=o1",
        &expect![[r#"
        {
          "id": "o1",
          "item": "thing 1"
        }
        --- 0
        HTTP 200 · [N] ms
    "#]],
    );
    assert_eq!(open.server.last().header("authorization"), Some("Bearer open-sesame"));
    open.shows(
        "run shop orders:get -p order_id=o9",
        &expect![[r#"
        {
          "error": "there is no such order"
        }
        --- 9
        HTTP 404 · [N] ms
    "#]],
    );
    let told = open.say("run shop orders:get -p order_id=o9 --json").ends(9).quiet().json();
    assert_eq!((&told["ok"], &told["status"]), (&json!(false), &json!(404)));
    assert_eq!(told["body"]["error"], "there is no such order");
}

#[test]
fn texts_are_converted_to_the_type_of_the_schema() {
    let open = Open::new();
    open.say("run listOrders -p limit=5 -p tag=a -p tag=b -p status=open").ends(0);
    assert_eq!(open.server.last().target, "/v1/orders?status=open&limit=5&tag=a&tag=b");
    let mixed = ["run", "shop", "orders:create", "-p", "count=2", "--with", r#"{"item": "a=b"}"#];
    open.of(&mixed, "").ends(0);
    let body: serde_json::Value = serde_json::from_str(&open.server.last().body).expect("JSON");
    assert_eq!(body, json!({"item": "a=b", "count": 2}));
    open.of(&["run", "shop", "orders:create", "--body", r#"{"item": "x", "gift": true}"#], "")
        .ends(0);
    assert_eq!(open.server.last().body, r#"{"item":"x","gift":true}"#);
    open.of(&["run", "shop", "orders:create", "--body", "-"], r#"{"item": "piped"}"#).ends(0);
    assert_eq!(open.server.last().body, r#"{"item":"piped"}"#);
    open.place.put("order.json", r#"{"item": "filed"}"#);
    open.say("run shop orders:create --body @order.json").ends(0);
    assert_eq!(open.server.last().body, r#"{"item":"filed"}"#);
    open.say("run shop orders:create --with @order.json").ends(0);
    assert_eq!(open.server.last().body, r#"{"item":"filed"}"#);
    open.of(&["run", "putNote", "-p", "order_id=o1", "--body", "{not json"], "").ends(0);
    assert_eq!(open.server.last().body, "{not json");
    open.say("run putNote -p order_id=o1 --body @order.json").ends(0);
    assert_eq!(open.server.last().body, r#"{"item": "filed"}"#);
    open.say("run addPhoto -p title=me -p photo=@order.json").ends(0);
    let sent = open.server.last().body;
    assert!(sent.contains("filename=\"order.json\""), "{sent}");
    assert!(sent.contains(r#"{"item": "filed"}"#), "{sent}");
}

#[test]
fn all_wrong_arguments_are_reported_together() {
    let open = Open::new();
    open.shows(
        "run listOrders -p limit=many -p status=lost -p pgae=1",
        &expect![[r#"
            --- 2
            error[ARGUMENTS_INVALID]: there is no parameter `pgae` (and 2 more)
              unknown /with/pgae: there is no parameter `pgae`
              schema /with/status: the query parameter `status`: must be `open` or `paid`, not `lost`
              schema /with/limit: the query parameter `limit`: "many" is not of type "integer"
            hint: did you mean `page`?
            more: milepost docs ARGUMENTS_INVALID
        "#]],
    );
    open.shows(
        "run shop orders:get",
        &expect![[r"
            --- 2
            error[ARGUMENTS_INVALID]: the path parameter `order_id` (string) is missing
            hint: give `-p order_id=…`
            more: milepost docs ARGUMENTS_INVALID
        "]],
    );
    open.shows(
        "run shop orders:get -p order_id",
        &expect![[r"
            --- 2
            error[ARGUMENTS_INVALID]: `order_id` is not of the form `name=value`
            hint: write it as `name=value`
            more: milepost docs ARGUMENTS_INVALID
        "]],
    );
    assert!(open.server.seen().is_empty(), "nothing was sent");
}

#[test]
fn unknown_arguments_are_reported() {
    let open = Open::new();
    open.shows(
        "run shop orders:create --body {item",
        &expect![[r#"
            --- 2
            error[ARGUMENTS_INVALID]: the body is not valid JSON at line 1, column 2
            hint: quote it for your shell: '{"name": "value"}', or put it into a file: @file
            more: milepost docs ARGUMENTS_INVALID
        "#]],
    );
    open.shows(
        "run shop orders:create --with [1]",
        &expect![[r"
            --- 2
            error[ARGUMENTS_INVALID]: `--with` is not a JSON object
            hint: pass a JSON object, or a file that contains one
            more: milepost docs ARGUMENTS_INVALID
        "]],
    );
    open.shows(
        "run shop orders:create --body @nowhere.json",
        &expect![[r"
            --- 6
            error[FILE_NOT_FOUND]: there is no file `[ROOT]/work/nowhere.json`
            hint: check the path
            more: milepost docs FILE_NOT_FOUND
        "]],
    );
    open.shows("run shop orders:get -p order_id=..", &expect![[r"
        --- 2
        error[ARGUMENTS_INVALID]: the path parameter `order_id` cannot be sent: a path segment would be `.` or `..`, which servers resolve to another path
        hint: use another value
        more: milepost docs ARGUMENTS_INVALID
    "]]);
    open.shows(
        "run shop nothing",
        &expect![[r"
            --- 6
            error[COMMAND_NOT_FOUND]: there is no command `shop nothing`
            hint: find it with `milepost command search <query>`
            more: milepost docs COMMAND_NOT_FOUND
        "]],
    );
    assert!(open.server.seen().is_empty(), "nothing was sent");
}

#[test]
fn wrong_arguments_are_reported_as_json() {
    let open = Open::new();
    let told = problem(&open.say("run listOrders --json -p limit=many -p status=lost").ends(2));
    assert_eq!(told["error_code"], "ARGUMENTS_INVALID");
    let violations = told["violations"].as_array().expect("is a list");
    assert_eq!(violations.len(), 2, "{told}");
    assert!(violations.iter().all(|one| one.get("actual").is_none()), "{told}");
    assert!(open.server.seen().is_empty(), "nothing was sent");
}

#[test]
fn a_dry_run_shows_the_exact_request() {
    let open = Open::new();
    let arguments = ["run", "shop", "orders:create", "--body", r#"{"item": "it's"}"#, "--dry-run"];
    open.place.check(&open.of(&arguments, ""), &expect![[r#"
        POST /v1/orders HTTP/1.1
        Host: 127.0.0.1:[PORT]
        Accept: application/json
        Content-Type: application/json
        Authorization: Bearer [secret:TOKEN]

        {"item":"it's"}

        curl --request POST 'http://127.0.0.1:[PORT]/v1/orders' --header 'Accept: application/json' --header 'Authorization: Bearer [secret:TOKEN]' --header 'Content-Type: application/json' --data-raw '{"item":"it'\''s"}'
        --- 0
    "#]]);
    open.shows("run shop orders:delete -p order_id=a/b --dry-run", &expect![[r"
        DELETE /v1/orders/a%2Fb HTTP/1.1
        Host: 127.0.0.1:[PORT]
        Accept: */*
        Authorization: Bearer [secret:TOKEN]

        curl --request DELETE 'http://127.0.0.1:[PORT]/v1/orders/a%2Fb' --header 'Accept: */*' --header 'Authorization: Bearer [secret:TOKEN]'
        --- 0
    "]]);
    let told = open.say("run listOrders -p limit=3 --dry-run --json").ends(0).quiet().json();
    assert_eq!(told["dry_run"], true);
    assert_eq!(told["request"]["url"], format!("{}/v1/orders?limit=3", open.server.url));
    assert!(open.server.seen().is_empty(), "nothing was sent");
    // A dry run without credentials still shows the rest of the request.
    let ran = open.place.say("command run listOrders --dry-run").ends(0);
    assert!(ran.out.starts_with("GET /v1/orders HTTP/1.1\n"), "{}", ran.out);
}

#[test]
fn deleting_needs_confirmation() {
    let open = Open::new();
    open.shows(
        "run shop orders:delete -p order_id=o1",
        &expect![[r"
            --- 7
            error[CONFIRMATION_REQUIRED]: `shop orders:delete` deletes what its arguments identify
            hint: repeat the command with `--yes` if you mean it
            more: milepost docs CONFIRMATION_REQUIRED
        "]],
    );
    assert!(open.server.seen().is_empty(), "nothing was sent");
    open.shows(
        "run shop orders:delete -p order_id=o1 --yes",
        &expect![[r"
        --- 0
        HTTP 204 · [N] ms
    "]],
    );
    assert_eq!(open.server.last().method, "DELETE");
}

#[test]
fn pages_are_joined() {
    let open = Open::new();
    let told = open.say("run listOrders --paginate --json").ends(0).quiet().json();
    assert_eq!(told["pages"], 3, "{told}");
    assert_eq!(told["body"].as_array().map(Vec::len), Some(3));
    assert_eq!(told["more"], false);
    let told = open.say("run listOrders --max-items 1 --json").ends(0).quiet().json();
    assert_eq!(told["body"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["more"], true);
    let ran = open.say("run listOrders --paginate").ends(0);
    assert!(ran.err.starts_with("HTTP 200 · "), "{}", ran.err);
    assert!(ran.err.trim_end().ends_with("ms · 3 pages"), "{}", ran.err);
}

#[test]
fn responses_that_are_not_json() {
    let open = Open::new();
    // The response is piped byte for byte.
    let ran = open.say("run putNote -p order_id=o1 --body hello").ends(0);
    assert_eq!(ran.out, "kept \u{1b}[31mit\n");
    let ran = open.say("run getReceipt -p order_id=o1").ends(0);
    let kept = fs::read(ran.out.trim_end()).expect("is kept");
    assert_eq!(kept, b"%PDF-\xff\xfe");
    assert!(ran.err.contains("is stored here (7 bytes)"), "{}", ran.err);
    let ran = open.say("run getReceipt -p order_id=o1 --output receipt.pdf").ends(0);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("wrote 7 bytes to receipt.pdf"), "{}", ran.err);
    assert_eq!(fs::read(open.place.path("receipt.pdf")).expect("is there"), kept);
    open.say("run shop orders:get -p order_id=o1 -o order.json").ends(0);
    let written = open.place.text("order.json");
    assert_eq!(written, "{\n  \"id\": \"o1\",\n  \"item\": \"thing 1\"\n}\n");
    let before = open.server.seen().len();
    let ran = open.say("run shop orders:get -p order_id=o1 -o nowhere/order.json").ends(6);
    assert!(ran.err.contains("nothing was sent"), "{}", ran.err);
    assert_eq!(open.server.seen().len(), before);
    // The body of a failed response is saved as well.
    open.say("run shop orders:get -p order_id=o9 -o lost.json").ends(9);
    assert!(open.place.text("lost.json").contains("no such order"));
}

#[test]
fn each_kind_of_failure_has_its_exit_code() {
    let open = Open::new();
    let told = problem(&open.say("run getOrder -p order_id=slow --timeout 1 --json").ends(10));
    assert_eq!(told["error_code"], "UPSTREAM_TIMEOUT");
    // First without the secret, then without any credential.
    let ran = open.place.say("command run listOrders").ends(6);
    assert!(ran.err.contains("error[SECRET_NOT_FOUND]"), "{}", ran.err);
    open.place.say("catalog auth shop --clear").ends(0);
    open.shows(
        "run listOrders",
        &expect![[r"
            --- 8
            error[AUTH_FAILED]: no credentials for `bearer`
            hint: use an existing secret: `milepost catalog auth shop --scheme bearer --token SECRET`
            more: milepost docs AUTH_FAILED
        "]],
    );
    open.say("run listOrders --profile Not!").ends(2);
    let away = Place::with(&[("shop.yaml", SHOP)]);
    away.say("catalog import shop.yaml --base-url http://127.0.0.1:1").ends(0);
    away.say("catalog auth shop --token TOKEN").ends(0);
    let mut command = away.command();
    command.env("MILEPOST_SECRET_TOKEN", "t0ken-value");
    let ran = finish(command.args(["command", "run", "listOrders", "--timeout", "5"]), "");
    assert!(ran.err.contains("error[UPSTREAM_FAILED]"), "{}", ran.err);
    assert_eq!(ran.code, 9);
    // A private address from a document is refused.
    let private = SHOP.replace("https://api.shop.test/v1", "http://127.0.0.1:9/v1");
    let place = Place::with(&[("shop.yaml", &private)]);
    place.say("catalog import shop.yaml").ends(0);
    place.say("catalog auth shop --token TOKEN").ends(0);
    let mut command = place.command();
    command.env("MILEPOST_SECRET_TOKEN", "t0ken-value");
    let ran = finish(command.args(["command", "run", "listOrders", "--json"]), "").ends(8);
    assert_eq!(problem(&ran)["error_code"], "REQUEST_REFUSED");
}

#[test]
fn an_api_without_an_address_cannot_be_called() {
    let text = SHOP.replace("servers: [{url: 'https://api.shop.test/v1'}]\n", "");
    let place = Place::with(&[("shop.yaml", &text)]);
    place.say("catalog import shop.yaml").ends(0);
    place.check(
        &place.say("command run listOrders"),
        &expect![[r"
            --- 7
            error[BASE_URL_MISSING]: catalog `shop` has no base URL
            hint: import its document again with `--overwrite --base-url https://…`
            more: milepost docs BASE_URL_MISSING
        "]],
    );
}

#[test]
fn providers_and_their_choices() {
    let open = Open::new();
    open.shows(
        "providers",
        &expect![[r"
            PROVIDER          VALUE  CONFIDENCE  SERVES
            shop orders:list  /id    95%         shop orders:get order_id, shop orders:dele…
            --- 0
            next: milepost command choices shop orders:list
        "]],
    );
    open.place.check(
        &open.of(&["providers", "--command", "shop orders:get"], ""),
        &expect![[r"
            PROVIDER          VALUE  CONFIDENCE  SERVES
            shop orders:list  /id    95%         shop orders:get order_id
            --- 0
            next: milepost command choices shop orders:list
        "]],
    );
    open.place.check(
        &open.of(&["providers", "--command", "shop orders:create"], ""),
        &expect![[r"
            --- 0
            no command provides choices here
        "]],
    );
    open.say("providers --catalog nowhere").ends(6);
    open.say("providers --catalog a --command b").ends(2);
    open.shows(
        "choices shop orders:list",
        &expect![[r"
        VALUE  LABEL
        o1
        o2
        o3
        --- 0
    "]],
    );
    open.shows(
        "choices shop orders:list --query thing.2",
        &expect![[r"
            --- 0
            there are no choices
        "]],
    );
    let told = open.say("choices --json shop orders:list -p limit=2").ends(0).quiet().json();
    assert_eq!(told["choices"][0]["value"], "o1");
    open.shows(
        "choices shop orders:create",
        &expect![[r"
            --- 6
            error[PROVIDER_NOT_FOUND]: `shop orders:create` provides no choices
            hint: see `milepost command providers` for those that do
            more: milepost docs PROVIDER_NOT_FOUND
        "]],
    );
}
