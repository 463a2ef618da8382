//! `milepost catalog …` with the real binary.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::server::{self, Server};
use crate::{Place, Ran, finish};

pub(crate) const SHOP: &str = include_str!("shop.yaml");

impl Place {
    /// Runs `milepost` with arguments separated by spaces.
    pub(crate) fn say(&self, arguments: &str) -> Ran {
        self.run(arguments.split(' '))
    }

    /// A folder with the shop imported.
    pub(crate) fn shop() -> Place {
        let place = Place::with(&[("shop.yaml", SHOP)]);
        place.say("catalog import shop.yaml").ends(0);
        place
    }

    /// Replaces everything that differs from run to run.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let root = self.root.path().display().to_string();
        let text = text.replace(&root, "[ROOT]");
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
        let mut tidy = String::new();
        for (index, part) in text.split("127.0.0.1:").enumerate() {
            let rest = if index == 0 { part } else { &part[digits(part)..] };
            tidy.push_str(if index == 0 { "" } else { "127.0.0.1:[PORT]" });
            tidy.push_str(rest);
        }
        match tidy.split_once(" · ") {
            Some((before, after)) if before.ends_with(|c: char| c.is_ascii_digit()) => {
                format!("{before} · [N]{}", &after[digits(after)..])
            }
            _ => tidy,
        }
    }

    /// Compares the exit code and both streams.
    pub(crate) fn check(&self, ran: &Ran, expected: &Expect) {
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        let (out, err) = (self.tidy(&ran.out), self.tidy(&ran.err));
        expected.assert_eq(&format!("{out}--- {}\n{err}", ran.code));
    }

    fn shows(&self, arguments: &str, expected: &Expect) {
        self.check(&self.say(arguments), expected);
    }
}

/// The problem printed as JSON.
pub(crate) fn problem(ran: &Ran) -> Value {
    assert_eq!(ran.out, "");
    let problem: Value = serde_json::from_str(&ran.err).expect("is JSON alone");
    problem["error"].clone()
}

#[test]
fn a_correct_document_is_valid() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.shows(
        "catalog validate shop.yaml",
        &expect![[r"
        shop.yaml: valid, OpenAPI 3.0, 7 operations, 7 commands, 0 warnings
        --- 0
        next: milepost catalog import shop.yaml
    "]],
    );
    let ran = place.say("catalog validate --json shop.yaml").ends(0).quiet();
    let response = ran.json();
    assert_eq!(response["valid"], true);
    assert_eq!(response["document_kind"], "openapi_3");
    assert_eq!(response["operation_count"], 7);
    assert_eq!(response["violations"], json!([]));
    assert!(!place.root.path().join("home/.config/milepost/catalogs").exists());
}

#[test]
fn an_invalid_document_shows_every_fault() {
    let many: Vec<String> = (0..30)
        .map(|n| format!("  /things{n}:\n    get: {{operationId: same, responses: {{}}}}\n"))
        .collect();
    let many = many.concat();
    let odd = format!("openapi: 3.0.3\ninfo: {{title: Odd, version: '1'}}\npaths:\n{many}");
    let place = Place::with(&[
        ("none.json", r#"{"openapi": "3.0.3", "info": {"title": "None", "version": "1"}}"#),
        ("wrong.json", r#"{"openapi": "3.0.3", "info": {"title": "W"}, "paths": []}"#),
        ("poem.txt", "roses are red\n"),
        ("empty.yaml", ""),
        ("odd.yaml", &odd),
    ]);
    place.shows("catalog validate none.json", &expect![[r#"
        error[paths] /paths: OpenAPI 3.0 requires `paths`, a map of paths
        warning[server] /servers: the document has no usable server URL: set a base URL before running a command
        warning[specification]: does not match the specification (`required`): "paths" is a required property
        none.json: not valid, OpenAPI 3.0, 1 error, 2 warnings
        --- 2
    "#]]);
    place.shows("catalog validate wrong.json", &expect![[r#"
        error[paths] /paths: `paths` must be a map from path to operations
        warning[server] /servers: the document has no usable server URL: set a base URL before running a command
        warning[specification] /info: does not match the specification (`required`): "version" is a required property
        warning[specification] /paths: does not match the specification (`type`): value is not of type "object"
        wrong.json: not valid, OpenAPI 3.0, 1 error, 3 warnings
        --- 2
    "#]]);
    place.shows("catalog validate poem.txt", &expect![[r"
        error[unreadable]: the document is text, not a map; an OpenAPI document starts with `openapi:`
        poem.txt: not valid, not an OpenAPI document, 1 error, 0 warnings
        --- 2
    "]]);
    place.shows(
        "catalog validate empty.yaml",
        &expect![[r"
            error[unreadable]: the document is empty; give an OpenAPI document in JSON or YAML
            empty.yaml: not valid, not an OpenAPI document, 1 error, 0 warnings
            --- 2
        "]],
    );
    let ran = place.say("catalog validate odd.yaml").ends(0);
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("warning[")).count(), 20);
    assert!(ran.out.contains("more; `--json` lists them all\n"), "{}", ran.out);
    let response = place.say("catalog validate --json none.json").ends(2).quiet().json();
    assert_eq!(response["valid"], false);
    let violation = response["violations"][0].as_object().expect("is an object");
    assert_eq!(violation.keys().collect::<Vec<_>>(), ["path", "rule", "message"]);
}

#[test]
fn sources_that_cannot_be_read() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    fs::create_dir(place.path("folder")).expect("makes a folder");
    place.shows(
        "catalog validate nowhere.yaml",
        &expect![[r"
            --- 6
            error[FILE_NOT_FOUND]: there is no file `[ROOT]/work/nowhere.yaml`
            hint: check the path
            more: milepost docs FILE_NOT_FOUND
        "]],
    );
    place.shows(
        "catalog validate folder",
        &expect![[r"
            --- 8
            error[FILE_REFUSED]: `[ROOT]/work/folder` is not a regular file
            hint: name a regular file
            more: milepost docs FILE_REFUSED
        "]],
    );
    place.shows("catalog validate ftp://files.test/a.yaml", &expect![[r"
        --- 8
        error[REQUEST_REFUSED]: GET ftp://files.test/a.yaml: not sent: `ftp` is neither http nor https
        hint: give an http or https URL
        more: milepost docs REQUEST_REFUSED
    "]]);
    place.shows("catalog validate http://127.0.0.1:1/a.yaml", &expect![[r"
        --- 9
        error[UPSTREAM_FAILED]: GET http://127.0.0.1:[PORT]/a.yaml: cannot connect: Connection refused
        hint: check the address and that the API is up
        more: milepost docs UPSTREAM_FAILED
    "]]);
    place.say("catalog validate").ends(2);
    place.say("catalog validate shop.yaml --refs-root nowhere").ends(6);
    let failing = Server::start(|_| server::json(500, &json!({})));
    let ran = place.say(&format!("catalog import {}/a.yaml", failing.url)).ends(9);
    assert!(ran.err.contains("returned status 500"), "{}", ran.err);
    let told = problem(&place.say("catalog import --json nowhere.yaml").ends(6));
    assert_eq!(told["error_code"], "FILE_NOT_FOUND");
}

#[test]
fn a_document_can_be_read_from_a_url() {
    let server = Server::start(|_| {
        let kind = vec![("content-type", "application/yaml".to_owned())];
        server::Reply::Answer(200, kind, SHOP.as_bytes().to_vec())
    });
    let place = Place::new();
    let ran = place.say(&format!("catalog import --json {}/shop.yaml", server.url)).ends(0).quiet();
    assert_eq!(ran.json()["command_count"], 7);
    let listed = place.say("catalog list --json").ends(0).quiet().json();
    assert_eq!(listed["catalogs"][0]["source"], format!("{}/shop.yaml", server.url));
}

#[test]
fn preview_writes_nothing() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.shows(
        "catalog preview shop.yaml",
        &expect![[r"
        shop — Shop
        https://api.shop.test/v1
        7 operations, 7 commands, 1 provider
        --- 0
        next: milepost catalog import shop.yaml
    "]],
    );
    place.shows(
        "catalog preview shop.yaml --vendor acme --commands",
        &expect![[r"
        acme — Shop
        https://api.shop.test/v1
        7 operations, 7 commands, 1 provider

        COMMAND                     METHOD  SUMMARY
        acme orders:list            GET     List orders
        acme orders:create          POST    Create an order
        acme orders:get             GET     Get an order
        acme orders:delete          DELETE  (deprecated) Delete an order
        acme orders:receipt:get     GET     Get the receipt as a file
        acme orders:receipt:update  PUT     Leave a note
        acme photos:create          POST    Add a photo
        --- 0
        next: milepost catalog import shop.yaml --vendor acme
    "]],
    );
    let ran = place.say("catalog preview --json shop.yaml --base-url http://127.0.0.1:9/x");
    let response = ran.ends(0).quiet().json();
    assert_eq!(response["catalog"]["base_url"], "http://127.0.0.1:9/x");
    assert_eq!(response.get("command_preview"), None);
    place.shows(
        "catalog preview shop.yaml --base-url gopher://x",
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: the base URL `gopher://x` is not an http or https URL
            hint: correct `--base-url`
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.say("catalog list").ends(0).quiet();
    assert!(!place.root.path().join("home/.config/milepost/catalogs").exists());
}

/// Two imports of the shop, one of them disabled.
fn two() -> Place {
    let place = Place::shop();
    place.say("catalog import shop.yaml --title Other --disabled").ends(0);
    place
}

#[test]
fn imported_catalogs_are_listed() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.shows(
        "catalog list",
        &expect![[r"
        no catalogs yet
        hint: import one with `milepost catalog import <file|url>`
        --- 0
    "]],
    );
    place.shows(
        "catalog import shop.yaml",
        &expect![[r"
        imported shop: 7 operations, 7 commands, 1 provider
        https://api.shop.test/v1
        [ROOT]/home/.config/milepost/catalogs/shop.toml
        --- 0
        next: milepost catalog show shop
    "]],
    );
    place.shows(
        "catalog import shop.yaml",
        &expect![[r"
        --- 7
        error[CATALOG_EXISTS]: catalog `shop` (Shop) already exists
        hint: use `--overwrite` to replace it, or give another `--vendor` and `--title`
        more: milepost docs CATALOG_EXISTS
    "]],
    );
    place.shows(
        "catalog import shop.yaml --overwrite",
        &expect![[r"
        replaced shop: 7 operations, 7 commands, 1 provider
        https://api.shop.test/v1
        [ROOT]/home/.config/milepost/catalogs/shop.toml
        --- 0
        next: milepost catalog show shop
    "]],
    );
    place.shows(
        "catalog import shop.yaml --title Other --disabled",
        &expect![[r"
        imported other: 7 operations, 7 commands, 1 provider
        https://api.shop.test/v1
        [ROOT]/home/.config/milepost/catalogs/other.toml
        --- 0
        next: milepost catalog enable other
    "]],
    );
    place.shows(
        "catalog list",
        &expect![[r"
        ID     STATE     COMMANDS  ADDRESS                   TITLE
        other  disabled  7         https://api.shop.test/v1  Other
        shop   enabled   7         https://api.shop.test/v1  Shop
        --- 0
    "]],
    );
}

#[test]
fn a_catalog_is_shown() {
    let place = two();
    place.shows(
        "catalog show shop",
        &expect![[r"
        shop — Shop
        enabled, 7 commands
        address   https://api.shop.test/v1
        source    [ROOT]/work/shop.yaml
        record    [ROOT]/home/.config/milepost/catalogs/shop.toml
        document  [ROOT]/home/.config/milepost/catalogs/shop.source.yaml

        SCHEME  SECRETS  KIND
        bearer  none     bearer token

        COMMAND                     METHOD  SUMMARY
        shop orders:create          POST    Create an order
        shop orders:delete          DELETE  (deprecated) Delete an order
        shop orders:get             GET     Get an order
        shop orders:list            GET     List orders
        shop orders:receipt:get     GET     Get the receipt as a file
        shop orders:receipt:update  PUT     Leave a note
        shop photos:create          POST    Add a photo
        --- 0
    "]],
    );
    place.shows(
        "catalog show Other",
        &expect![[r"
        other — Other
        disabled, 7 commands
        address   https://api.shop.test/v1
        source    [ROOT]/work/shop.yaml
        record    [ROOT]/home/.config/milepost/catalogs/other.toml
        document  [ROOT]/home/.config/milepost/catalogs/other.source.yaml

        SCHEME  SECRETS  KIND
        bearer  none     bearer token
        --- 0
        next: milepost catalog enable other
    "]],
    );
    place.shows(
        "catalog show shp",
        &expect![[r"
            --- 6
            error[CATALOG_NOT_FOUND]: there is no catalog `shp`
            hint: did you mean `shop`?
            more: milepost docs CATALOG_NOT_FOUND
        "]],
    );
    place.shows(
        "catalog preview shop.yaml",
        &expect![[r"
            shop — Shop
            https://api.shop.test/v1
            7 operations, 7 commands, 1 provider
            --- 0
            note: catalog `shop` already exists
            next: milepost catalog import shop.yaml --overwrite
        "]],
    );
}

#[test]
fn removing_a_catalog_needs_confirmation() {
    let place = two();
    place.shows("catalog remove shop", &expect![[r"
        --- 7
        error[CONFIRMATION_REQUIRED]: this removes catalog `shop` (Shop) with 7 commands: its settings and the names of its secrets are lost
        hint: repeat the command with `--yes` if you mean it
        more: milepost docs CONFIRMATION_REQUIRED
    "]]);
    place.shows(
        "catalog remove shop --yes",
        &expect![[r"
            removed shop; 1 catalog left
            --- 0
            note: its document is kept for the next import; `--manifest` removes it
        "]],
    );
    place.shows(
        "catalog remove other --manifest -y",
        &expect![[r"
        removed other; 0 catalogs left
        --- 0
    "]],
    );
    place.shows(
        "catalog remove shop --yes",
        &expect![[r"
            --- 6
            error[CATALOG_NOT_FOUND]: there is no catalog `shop`
            hint: see `milepost catalog list`, or import it with `milepost catalog import <source>`
            more: milepost docs CATALOG_NOT_FOUND
        "]],
    );
    let catalogs = place.root.path().join("home/.config/milepost/catalogs");
    let left = fs::read_dir(catalogs).expect("is there").flatten();
    let mut left: Vec<String> =
        left.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    left.retain(|name| !name.starts_with('.'));
    assert_eq!(left, ["shop.source.yaml"]);
}

#[test]
fn json_output_is_the_response_of_the_operation() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    let told = place.say("catalog import --json shop.yaml").ends(0).quiet().json();
    assert_eq!((&told["catalog_id"], &told["replaced"]), (&json!("shop"), &json!(false)));
    let conflict = problem(&place.say("catalog import --json shop.yaml").ends(7));
    assert_eq!(conflict["error_code"], "CATALOG_EXISTS");
    assert_eq!(conflict["context"]["catalog_id"], "shop");
    let told = place.say("catalog show --json shop").ends(0).quiet().json();
    assert_eq!(told["catalogs"][0]["command_count"], 7);
    let told = place.say("catalog disable --json shop").ends(0).quiet().json();
    assert_eq!(
        told,
        json!({"catalog_id": "shop", "enabled": false, "command_count_after_toggle": 0})
    );
    let told = place.say("catalog enable --json shop").ends(0).quiet().json();
    assert_eq!(told["command_count_after_toggle"], 7);
    let refused = problem(&place.say("catalog remove --json shop").ends(7));
    assert_eq!(refused["error_code"], "CONFIRMATION_REQUIRED");
    let told = place.say("catalog remove --json --yes --manifest shop").ends(0).quiet().json();
    assert_eq!(told["manifest_removed"], true);
}

#[test]
fn every_fault_of_an_import_is_reported() {
    let twice = r#"{"openapi": "3.0.3", "info": {"title": "T", "version": "1"},
        "servers": [{"url": "ftp://files.test"}], "paths": []}"#;
    let place = Place::with(&[("twice.json", twice)]);
    place.shows("catalog import twice.json", &expect![[r"
        --- 2
        error[CATALOG_INVALID]: `twice.json` cannot be imported: `paths` must be a map from path to operations (and 1 more)
          paths /paths: `paths` must be a map from path to operations
          server-scheme /servers/0: the server `ftp://files.test` is not an http or https URL
        hint: correct the document; check it with `milepost catalog validate twice.json`
        more: milepost docs CATALOG_INVALID
    "]]);
    let told = problem(&place.say("catalog import --json twice.json").ends(2));
    assert_eq!(told["error_code"], "CATALOG_INVALID");
    let violations = told["violations"].as_array().expect("is a list");
    assert!(!violations.is_empty());
    for violation in violations {
        let keys: Vec<&String> = violation.as_object().expect("is an object").keys().collect();
        assert_eq!(keys, ["path", "rule", "message"]);
    }
}

#[test]
fn catalogs_can_be_disabled_and_enabled() {
    let place = Place::shop();
    place.shows(
        "catalog disable shop",
        &expect![[r"
            shop is disabled; 0 commands available
            --- 0
        "]],
    );
    place.shows(
        "command show shop orders:list",
        &expect![[r"
            --- 7
            error[CATALOG_DISABLED]: catalog `shop` is disabled
            hint: enable it with `milepost catalog enable shop`
            more: milepost docs CATALOG_DISABLED
        "]],
    );
    place.shows(
        "catalog show shop",
        &expect![[r"
        shop — Shop
        disabled, 7 commands
        address   https://api.shop.test/v1
        source    [ROOT]/work/shop.yaml
        record    [ROOT]/home/.config/milepost/catalogs/shop.toml
        document  [ROOT]/home/.config/milepost/catalogs/shop.source.yaml

        SCHEME  SECRETS  KIND
        bearer  none     bearer token
        --- 0
        next: milepost catalog enable shop
    "]],
    );
    place.shows(
        "catalog enable Shop",
        &expect![[r"
            shop is enabled; 7 commands available
            --- 0
        "]],
    );
    place.shows(
        "catalog enable nowhere",
        &expect![[r"
            --- 6
            error[CATALOG_NOT_FOUND]: there is no catalog `nowhere`
            hint: see `milepost catalog list`, or import it with `milepost catalog import <source>`
            more: milepost docs CATALOG_NOT_FOUND
        "]],
    );
}

const SEVERAL: &str = "openapi: 3.0.3
info: {title: Several, version: '1'}
servers: [{url: 'https://several.test'}]
paths: {/a: {get: {responses: {}}}}
components:
  securitySchemes:
    key: {type: apiKey, in: query, name: key}
    user: {type: http, scheme: basic}
    client:
      type: oauth2
      flows: {clientCredentials: {tokenUrl: 'https://several.test/token', scopes: {}}}
";

#[test]
fn how_a_catalog_authenticates() {
    let place = Place::shop();
    place.shows(
        "catalog auth shop",
        &expect![[r"
        SCHEME  SECRETS  KIND
        bearer  none     bearer token
        --- 0
        next: milepost catalog auth shop --scheme bearer --token NAME
    "]],
    );
    place.shows(
        "catalog auth shop --token SHOP_TOKEN",
        &expect![[r"
        SCHEME  SECRETS                     KIND
        bearer  token=SHOP_TOKEN (missing)  bearer token
        --- 0
        warning: there is no secret `SHOP_TOKEN` yet
        next: milepost secret set SHOP_TOKEN
    "]],
    );
    place.shows(
        "catalog auth shop --key SHOP_TOKEN",
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: the scheme has no `key`
            hint: give `--token SECRET`
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.shows(
        "catalog auth shop --scheme bearr --token A",
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: the document has no security scheme `bearr`
            hint: did you mean `bearer`?
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.shows("catalog auth shop --token not/a/name", &expect![[r"
        --- 2
        error[PARAMS_INVALID]: this is not a valid secret name: use letters, digits, `_`, `-` and `.`, a letter or `_` first, 1 to 64 characters
        hint: name a secret, such as SHOP_TOKEN; its value is set with `milepost secret set <name>`
        more: milepost docs PARAMS_INVALID
    "]]);
}

#[test]
fn one_scheme_of_several_is_named() {
    let place = Place::shop();
    place.put("several.yaml", SEVERAL);
    place.say("catalog import several.yaml").ends(0);
    place.shows(
        "catalog auth several --key A",
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: the document has several schemes
            hint: say which with `--scheme`: `client`, `key` or `user`
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.shows(
        "catalog auth several --scheme user --username U --password P",
        &expect![[r"
            SCHEME  SECRETS                              KIND
            client  none                                 OAuth 2 client credentials from ht…
            key     none                                 key in the query `key`
            user    password=P (missing), username=U (…  user and password
            --- 0
            warning: there is no secret `P` yet
            warning: there is no secret `U` yet
            next: milepost secret set P
        "]],
    );
    let client = "catalog auth several --json --profile test --scheme client --client-id I \
                  --client-secret S --client-auth post --scope a --scope b --audience x";
    let told = place.say(client).ends(0).quiet().json();
    assert_eq!(told["profile"], "test");
    let schemes = told["schemes"].as_array().expect("is a list");
    let client = schemes.iter().find(|one| one["scheme"] == "client").expect("is there");
    assert_eq!(client["secrets"], json!({"client_id": "I", "client_secret": "S"}));
    place.shows(
        "catalog auth shop --clear",
        &expect![[r"
        SCHEME  SECRETS  KIND
        bearer  none     bearer token
        --- 0
        next: milepost catalog auth shop --scheme bearer --token NAME
    "]],
    );
    place.say("catalog auth nowhere").ends(6);
    place.say("catalog auth several --client-auth header").ends(2);
    place.put(
        "open.yaml",
        "openapi: 3.0.3\ninfo: {title: Open, version: '1'}\npaths: {/a: {get: {responses: {}}}}\n",
    );
    place.say("catalog import open.yaml").ends(0);
    place.shows(
        "catalog auth open",
        &expect![[r"
            the document declares no security scheme: no authentication is needed
            --- 0
        "]],
    );
}

#[test]
fn diff_shows_what_would_change() {
    let place = Place::shop();
    place.shows(
        "catalog diff shop",
        &expect![[r"
            shop: no changes
            --- 0
        "]],
    );
    let newer =
        SHOP.replace("/photos", "/pictures").replace("required: [item]", "required: [item, count]");
    place.put("newer.yaml", &newer);
    place.shows(
        "catalog diff shop newer.yaml",
        &expect![[r"
        + shop pictures:create  POST /pictures
        - shop photos:create  POST /photos
        ~ shop orders:create
            schemas that it references have changed
        shop: 1 command added, 1 removed, 1 changed; breaking: existing calls may fail
        --- 0
    "]],
    );
    let told = place.say("catalog diff --json shop newer.yaml").ends(0).quiet().json();
    assert_eq!((&told["changes"], &told["breaking"]), (&json!(true), &json!(true)));
    place.say("catalog diff nowhere").ends(6);
    place.say("catalog diff shop nowhere.yaml").ends(6);
    place.put("bad.yaml", "openapi: 3.0.3\n");
    place.say("catalog diff shop bad.yaml").ends(2);
}

#[test]
fn references_stay_below_their_root() {
    let spec = "openapi: 3.0.3
info: {title: Split, version: '1'}
servers: [{url: 'https://split.test'}]
paths:
  /a:
    get:
      responses:
        '200':
          description: A
          content: {application/json: {schema: {$ref: '../../common/a.yaml#/A'}}}
";
    let place = Place::with(&[
        ("api/spec/v1/openapi.yaml", spec),
        ("api/common/a.yaml", "A: {type: object, properties: {id: {type: string}}}\n"),
    ]);
    let ran = place.say("catalog validate api/spec/v1/openapi.yaml").ends(2);
    assert!(ran.out.contains("error["), "{}", ran.out);
    let ran = place.say("catalog import api/spec/v1/openapi.yaml --refs-root api").ends(0);
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    let shown = place.say("command show --json split a:get").ends(0).quiet().json();
    assert_eq!(shown["responses"][0]["fields"], json!(["id"]));
}

#[test]
fn two_concurrent_imports_leave_one_complete_catalog() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    for round in 0..5 {
        let start = || {
            let mut command = place.command();
            command.args(["catalog", "import", "shop.yaml", "--json"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("starts")
        };
        let both = [start(), start()];
        let mut codes: Vec<i32> = both
            .into_iter()
            .map(|child| child.wait_with_output().expect("ends").status.code().expect("a code"))
            .collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 7], "round {round}");
        let listed = place.say("catalog list --json").ends(0).quiet().json();
        assert_eq!(listed["catalogs"][0]["command_count"], 7);
        assert_eq!(listed.get("unreadable"), None);
        place.say("catalog remove shop --yes --manifest").ends(0);
    }
}

#[test]
fn a_broken_record_is_reported_and_can_be_removed() {
    let place = Place::shop();
    let record = place.root.path().join("home/.config/milepost/catalogs/shop.toml");
    fs::write(&record, "title = ").expect("writes");
    let ran = place.say("catalog list").ends(0);
    assert!(ran.err.contains("warning: skipped `"), "{}", ran.err);
    place.say("catalog show shop").ends(2);
    place.say("catalog remove shop --yes").ends(0);
    assert!(!record.exists());
}

#[test]
fn help_has_examples_and_exit_codes() {
    let place = Place::new();
    for (group, commands) in [
        (
            "catalog",
            "validate preview import list show enable disable remove auth diff mock".to_owned(),
        ),
        ("command", "search show run providers choices".to_owned()),
        ("secret", "set list remove".to_owned()),
    ] {
        for command in commands.split(' ') {
            let help = place.say(&format!("{group} {command} --help")).ends(0).quiet().out;
            assert!(
                help.contains(&format!("Example: milepost {group} {command}"))
                    || help.contains("Example: "),
                "{help}"
            );
            assert!(help.contains("Exit codes: 0"), "{help}");
            assert!(help.contains("--json"), "{help}");
            let page = crate::docs::read("docs/cli.md");
            let named = page.contains(&format!("{group} {command}"));
            assert!(named, "docs/cli.md says nothing of `{group} {command}`");
        }
    }
}

#[test]
fn text_from_documents_cannot_control_the_terminal() {
    let hostile = "openapi: 3.0.3
info: {title: \"E\\e[31mvil\\u202e\", version: '1'}
servers: [{url: 'https://evil.test'}]
paths: {/a: {get: {summary: \"S\\e]0;x\\aum\", description: \"\\e[2J\", responses: {}}}}
";
    let place = Place::with(&[("evil.yaml", hostile)]);
    for arguments in [
        "catalog validate evil.yaml",
        "catalog preview evil.yaml --commands",
        "catalog import evil.yaml --vendor evil",
        "catalog list",
        "catalog show evil",
        "command search a --catalog evil",
        "command show evil a:get",
    ] {
        let ran = place.say(arguments).ends(0);
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{arguments}: {text:?}");
        }
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let place = Place::shop();
    let mut command = place.command();
    let mut child = command
        .args(["catalog", "list"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    finish(place.command().args(["catalog", "show", "shop"]).env("COLUMNS", "40"), "").ends(0);
}

/// A document large enough that a command is read from a slice of it.
fn large_document() -> String {
    let mut paths = serde_json::Map::new();
    for number in 0..2_000 {
        let reference = json!({"$ref": format!("#/components/schemas/part{number}")});
        let content = json!({"application/json": {"schema": reference}});
        let answer = json!({"description": "what it is", "content": content});
        let operation =
            json!({"operationId": format!("part{number}"), "responses": {"200": answer}});
        paths.insert(format!("/parts/{number}"), json!({"get": operation}));
    }
    let schemas = (0..2_000).map(|number| {
        let next = json!({"$ref": format!("#/components/schemas/part{}", (number + 1) / 2)});
        (format!("part{number}"), json!({"properties": {"plain": next}}))
    });
    let schemas: serde_json::Map<String, Value> = schemas.collect();
    let document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Parts", "version": "1"},
        "servers": [{"url": "https://parts.example"}],
        "paths": paths,
        "components": {"schemas": schemas},
    });
    document.to_string()
}

/// The only file under a folder of the home directory with this suffix.
fn only_file(place: &Place, folder: &str, end: &str) -> PathBuf {
    let folder = place.root.path().join("home").join(folder);
    let files = fs::read_dir(folder).expect("is there").map(|file| file.expect("a file").path());
    let mut files = files.filter(|file| file.to_string_lossy().ends_with(end));
    files.next().expect("is there")
}

/// Derived data makes reads fast but is never trusted over the document: not if it belongs to
/// another document, is damaged, or predates an edit, however small.
#[test]
fn a_command_follows_the_current_document() {
    let place = Place::with(&[("parts.json", &large_document())]);
    place.say("catalog import parts.json").ends(0);
    let show = || place.say("command show --json part1500").ends(0).out;
    let first = show();
    assert!(first.contains("plain"), "{first}");
    let derived = only_file(&place, ".cache/milepost/derived", ".bin");
    let marked = || !fs::read(&derived).expect("reads").ends_with(b"null");
    let started = std::time::Instant::now();
    while !marked() {
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "is never marked");
        assert_eq!(show(), first);
    }
    assert_eq!(show(), first, "from an excerpt");
    let bytes = fs::read(&derived).expect("reads");
    let half = bytes[..bytes.len() / 2].to_vec();
    for damaged in [half, [bytes.as_slice(), b"x"].concat(), Vec::new()] {
        fs::write(&derived, damaged).expect("writes");
        assert_eq!(show(), first, "with damaged derived data");
    }
    while !marked() {
        assert_eq!(show(), first);
    }
    let document = only_file(&place, ".config/milepost/catalogs", ".json");
    let text = fs::read_to_string(&document).expect("reads");
    fs::write(&document, text.replace("plain", "other")).expect("writes");
    assert_eq!(show(), first.replace("plain", "other"));
    fs::write(&document, &text).expect("writes");
    assert_eq!(show(), first);
}

/// Two catalogs whose ids share a prefix, and one whose id does not.
fn three() -> Place {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    for vendor in ["shop-eu", "shop-us", "depot"] {
        let line = format!("catalog import shop.yaml --vendor {vendor} --title {vendor}");
        place.say(&line).ends(0);
    }
    place
}

fn ids(place: &Place) -> Vec<String> {
    let listed = place.say("catalog list --json").ends(0).json();
    let all = listed["catalogs"].as_array().expect("a list").iter();
    all.map(|one| one["catalog_id"].as_str().expect("an id").to_owned()).collect()
}

/// A unique prefix of an id selects the catalog wherever one is named.
#[test]
fn a_unique_prefix_of_an_id_is_enough() {
    let place = three();
    for (command, id) in [
        ("catalog show dep", "/catalogs/0/catalog_id"),
        ("catalog disable dep", "/catalog_id"),
        ("catalog enable shop-e", "/catalog_id"),
        ("catalog auth shop-u", "/catalog_id"),
        ("catalog diff dep shop.yaml", "/catalog_id"),
        ("catalog remove dep --yes", "/removed_catalog_id"),
    ] {
        let told = place.say(&format!("{command} --json")).ends(0).json();
        let wanted = command.split(' ').nth(2).expect("a word");
        let id = told.pointer(id).and_then(Value::as_str).unwrap_or_default();
        assert!(id.starts_with(wanted) && id.len() > wanted.len(), "{command}: {told}");
    }
}

#[test]
fn an_ambiguous_prefix_lists_all_matches() {
    let place = three();
    for command in
        ["show shop", "enable s", "disable shop-", "remove shop --yes", "auth shop", "mock shop"]
    {
        let ran = place.say(&format!("catalog {command}")).ends(6);
        assert!(ran.err.contains("several catalog ids start with `s"), "{command}: {}", ran.err);
        assert!(ran.err.contains("`shop-eu`, `shop-us`"), "{command}: {}", ran.err);
    }
    let ran = place.say("catalog diff shop shop.yaml").ends(6);
    assert!(ran.err.contains("`shop-eu`, `shop-us`"), "{}", ran.err);
    assert_eq!(ids(&place), ["depot", "shop-eu", "shop-us"]);
}

/// An exact id never selects another catalog with that prefix, even if its own catalog was removed
/// and only the document was kept.
#[test]
fn an_exact_id_wins_over_a_prefix() {
    let place = three();
    place.say("catalog import shop.yaml --vendor shop").ends(0);
    let shown = place.say("catalog show shop --json").ends(0).json();
    assert_eq!(shown.pointer("/catalogs/0/catalog_id"), Some(&json!("shop")), "{shown}");
    place.say("catalog remove shop --yes").ends(0);
    place.say("catalog remove shop-us --yes").ends(0);
    // Only the document of `shop` is left; the name must not select `shop-eu`.
    let gone = place.say("catalog remove shop --manifest --yes --json").ends(0).json();
    assert_eq!(gone["removed_catalog_id"], "shop", "{gone}");
    assert_eq!(ids(&place), ["depot", "shop-eu"]);
}

/// Commands are named by the full id of their catalog: the next import must not change the meaning
/// of a workflow.
#[test]
fn a_command_needs_the_full_id_of_its_catalog() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.say("catalog import shop.yaml --vendor shop-of-the-town --title Town").ends(0);
    let ran = place.say("command run shop orders:list").ends(6);
    assert!(ran.err.contains("did you mean `shop-of-the-town`?"), "{}", ran.err);
}
