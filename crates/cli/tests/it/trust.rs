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
