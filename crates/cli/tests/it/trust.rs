//! Nothing is sent in a person's name that the person, or the author they trusted, did not choose.

use serde_json::json;

use crate::Place;
use crate::server::{Server, json as answer};

const UPLOADS: &str = r"
openapi: 3.1.0
info: {title: Uploads, version: 1.0.0}
paths:
  /next:
    get:
      operationId: getNext
      tags: [next]
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
  /raw:
    post:
      operationId: createRaw
      tags: [raw]
      requestBody: {content: {application/octet-stream: {schema: {}}}}
      responses: {'200': {description: ok}}
  /form:
    post:
      operationId: createForm
      tags: [form]
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
      responses: {'200': {description: ok}}
";

/// The response of an API, an input and an agent's output are data, whatever they look like: only
/// the author of a workflow names a file.
#[test]
fn data_cannot_name_a_file() {
    const CANARY: &str = "canary-in-a-file";
    let server = Server::start(|_| answer(200, &json!({"d": {"$file": ".env"}, "p": ".env"})));
    let files = [("uploads.yaml", UPLOADS), (".env", CANARY), ("named.txt", "written down")];
    let place = Place::with(&files);
    place.run(["catalog", "import", "uploads.yaml", "--base-url", &server.url]).ends(0);
    let bodies = [
        ("raw", "'${{ steps.next.output.d }}'"),
        ("raw", "{$file: '${{ steps.next.output.p }}'}"),
        ("raw", "'${{ inputs.doc }}'"),
        ("form", "{f: '${{ steps.next.output.d }}'}"),
        ("form", "{f: {$file: '${{ steps.next.output.p }}'}}"),
        ("form", "{f: ['${{ inputs.doc }}'], g: {$file: named.txt}}"),
        ("form", "'${{ {\"f\": steps.next.output.d} }}'"),
    ];
    for (target, body) in bodies {
        place.put(
            "up.yaml",
            &format!(
                "workflow: up\ninputs:\n  doc: {{type: object}}\nsteps:\n  \
                 - {{id: next, run: uploads next:get}}\n  \
                 - id: send\n    run: uploads {target}:create\n    body: {body}\n"
            ),
        );
        let doc = r#"doc={"$file": ".env"}"#;
        for more in [&[][..], &["--dry-run"]] {
            let ran = place.run([&["run", "up.yaml", "-i", doc, "--json"], more].concat());
            assert!(!ran.out.contains(CANARY), "{body}: {}", ran.out);
            let is_refused = ran.code == 3 && ran.err.contains("`$file` cannot be an expression");
            assert_eq!(is_refused, body.contains("{$file: '${{"), "{body}: {}", ran.err);
        }
    }
    let seen = server.seen();
    assert!(seen.iter().all(|request| !request.body.contains(CANARY)), "{seen:?}");
    assert!(seen.iter().any(|request| request.body.contains("written down")), "{seen:?}");
}

/// A small API at an address.
fn api(address: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: Shop, version: 1.0.0}}\nservers: [{{url: '{address}'}}]\n\
         components: {{securitySchemes: {{k: {{type: apiKey, in: header, name: X-Key}}}}}}\n\
         security: [{{k: []}}]\npaths:\n  /orders:\n    get:\n      operationId: listOrders\n      \
         tags: [orders]\n      responses: {{'200': {{description: ok}}}}\n"
    )
}

/// What a person connected is neither moved nor disconnected by an agent that imports the document
/// again, and by a person only if they say so.
#[cfg(target_os = "linux")]
#[test]
fn an_import_by_an_agent_leaves_connected_credentials_alone() {
    let here = api("https://good.example");
    let there = api("https://other.example");
    let place = Place::with(&[("shop.yaml", &here), ("moved.yaml", &there)]);
    place.run(["catalog", "import", "shop.yaml", "--vendor", "shop"]).ends(0);
    place.run(["catalog", "auth", "shop", "--key", "SHOP_TOKEN"]).ends(0);
    let record = place.root.path().join("home/.config/milepost/catalogs/shop.toml");
    let record = || std::fs::read_to_string(&record).expect("reads");
    let before = record();
    assert!(before.contains("good.example") && before.contains("SHOP_TOKEN"), "{before}");
    let import = |arguments: serde_json::Value| {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "catalog_import_openapi", "arguments": arguments}});
        let ran = crate::finish(place.command().arg("mcp"), &format!("{hello}\n{ready}\n{call}\n"));
        let mut answers = ran.ends(0).out.lines().map(str::to_owned).collect::<Vec<_>>();
        let answer: serde_json::Value =
            serde_json::from_str(&answers.pop().expect("an answer")).expect("is JSON");
        answer["result"]["structuredContent"].clone()
    };
    let moved = json!({"source": "moved.yaml", "vendor": "shop", "overwrite": true});
    let mut aimed = moved.clone();
    aimed["source"] = json!("shop.yaml");
    aimed["base_url"] = json!("https://other.example");
    for (arguments, line) in [
        (&moved, "milepost catalog import moved.yaml --overwrite --vendor shop"),
        (&aimed, "--base-url https://other.example"),
    ] {
        let told = import(arguments.clone());
        assert_eq!(told["error_code"], "PRESENCE_REQUIRED", "{told}");
        assert!(told["suggested_action"].to_string().contains(line), "{told}");
        assert_eq!(record(), before, "{arguments}");
    }
    let words = ["catalog", "import", "moved.yaml", "--vendor", "shop", "--overwrite"];
    crate::finish(place.command().args(words).env("CLAUDECODE", "1"), "").ends(8);
    // Without a terminal nobody can be asked.
    let ran = place.run(words).ends(7);
    assert!(ran.err.contains("CONFIRMATION_REQUIRED"), "{}", ran.err);
    assert!(ran.err.contains("--base-url https://good.example"), "{}", ran.err);
    crate::rogue::terminal(&place, &words.join(" "), &["n"]).ends(7);
    assert_eq!(record(), before);
    // The same address is no loss.
    let same = json!({"source": "shop.yaml", "vendor": "shop", "overwrite": true});
    assert_eq!(import(same)["replaced"], true);
    assert!(record().contains("SHOP_TOKEN"), "{}", record());
    crate::rogue::terminal(&place, &words.join(" "), &["y"]).ends(0);
    let after = record();
    assert!(after.contains("other.example") && !after.contains("SHOP_TOKEN"), "{after}");
}
