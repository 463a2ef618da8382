//! Prerequisites of pages: files, catalogs and runs that exist before a page is played, and a
//! separate run for every line that names one.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::block::{blocks, read};
use super::stage::Stage;
use crate::Place;
use crate::server::{Reply, Request, Server, json as answer};

/// The run id used on pages.
const RUN: &str = "run_0f4";

/// An unrepeatable write after a completed step.
const ORDER: &str = r#"
workflow: order
inputs: {name: {type: string}}
steps:
  - {id: price, set: {total: 12}}
  - {id: ship, run: depot parts:create, body: {name: "${{ inputs.name }}"}, depends_on: [price]}
"#;
/// A workflow with a misspelt key, as shown for `validate --json`.
const REFUND: &str = "workflow: refund\ntitle: Refund an order\nsteps:\n  - id: a\n    \
    tiemout: 30s\n    prompt: Look at it\n";

/// Prepares the folder before the first block.
pub(super) fn begin(stage: &mut Stage) {
    let place = &stage.place;
    match stage.page.as_str() {
        "docs/catalogs.md" => place.put("shop.yaml", &read("examples/shop.yaml")),
        "docs/cli.md" => {
            place.put("refund.yaml", REFUND);
            import(place);
        }
        "docs/durability.md" => {
            let api = Server::start(unreliable());
            stage.place = crate::runs::depot(&api);
            stage.place.put("order.yaml", ORDER);
            stage.place.run(["workflow", "save", "order.yaml"]).ends(0);
            stage.api = Some(api);
        }
        "docs/guides.md" => {
            let guides = blocks(&read("docs/guides.md"))
                .into_iter()
                .filter(|block| block.heading == "A worked example" && block.language == "json");
            for guide in guides {
                let library = "../home/.config/milepost/workflows";
                for folder in [".", crate::client::GUIDES, library] {
                    place.put(&format!("{folder}/update-dependency.json"), &guide.body);
                }
            }
            place.put("context.json", r#"{"package": "left-pad", "changes": ["a", "b"]}"#);
            place.put("output.txt", "From 1.3 to 2.0 the padding became a named argument.\n");
        }
        "docs/operations.md" => {
            place.put("sums.yaml", "workflow: sums\nsteps: [{id: a, set: {b: 1}}]\n");
            place.run(["run", "sums.yaml"]).ends(0);
            place.put("shop.yaml", &read("examples/shop.yaml"));
            place.put("order-report.yaml", &read("examples/order-report.yaml"));
            place.run(["catalog", "import", "shop.yaml"]).ends(0);
            place.run(["workflow", "save", "order-report.yaml"]).ends(0);
        }
        _ => {}
    }
}

/// Prepares everything that a line refers to, and replaces its placeholders.
pub(super) fn before(stage: &Stage, line: &str) -> String {
    if !line.contains(RUN) {
        return line.to_owned();
    }
    if ["accept", "more-tries"].iter().any(|answer| line.ends_with(answer)) {
        return line.replace(RUN, &used_up(stage));
    }
    let run = match line.starts_with("milepost decide") {
        true => stage.place.run(["run", "order", "-i", "name=lost", "--json"]).ends(4),
        false => stage.place.run(["run", "order", "-i", "name=refused", "--json"]).ends(1),
    };
    let run: Value = serde_json::from_str(run.out.lines().last().expect("lines")).expect("JSON");
    line.replace(RUN, run["run_id"].as_str().expect("an id"))
}

/// A run whose agent has no attempts left.
fn used_up(stage: &Stage) -> String {
    let text = "workflow: letter\nsteps:\n  - id: draft\n    prompt: Write it\n    \
         max_attempts: 1\n    output_schema: {type: object}\n";
    stage.place.put("letter.yaml", text);
    let run = stage.place.run(["run", "letter.yaml", "--json"]).ends(5);
    let run: Value = serde_json::from_str(run.out.lines().last().expect("lines")).expect("JSON");
    let run = run["run_id"].as_str().expect("an id").to_owned();
    stage.place.put("letter.txt", "no object");
    stage.place.run(["submit", &run, "draft", "letter.txt"]).ends(1);
    run
}

/// Responses that pages show reformatted.
pub(super) fn shown(stage: &Stage, heading: &str) -> Option<Value> {
    let place = &stage.place;
    match (stage.page.as_str(), heading) {
        ("docs/cli.md", "validate --json") => {
            Some(place.run(["workflow", "validate", "--json", "refund.yaml"]).ends(3).json())
        }
        ("docs/cli.md", "JSON") => {
            let words = "command run shop orders:list -p limit=many --dry-run --json";
            let told = place.say(words).ends(2).err;
            Some(serde_json::from_str(&told).expect("is JSON"))
        }
        ("docs/clients.md", "The command") => {
            let home = place.root.path().join("home").display().to_string();
            place.put("../home/.cursor/mcp.json", "{\"mcpServers\": {}}\n");
            let mut told = place.command();
            let binary = std::path::Path::new(env!("CARGO_BIN_EXE_milepost"));
            told.env("PATH", binary.parent().expect("a folder"));
            told.args(["mcp", "install", "cursor", "--json"]);
            let told = crate::finish(&mut told, "").ends(0).out;
            Some(serde_json::from_str(&told.replace(&home, "/home/u")).expect("is JSON"))
        }
        _ => None,
    }
}

fn import(place: &Place) {
    place.put("shop.yaml", &read("examples/shop.yaml"));
    place.run(["catalog", "import", "shop.yaml", "--vendor", "shop"]).ends(0);
}

/// An API that loses or refuses the first write of every run, depending on its body.
fn unreliable() -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let known: Mutex<BTreeSet<String>> = Mutex::default();
    move |request| {
        let key = request.header("idempotency-key").unwrap_or_default();
        let run = key.split('/').next().unwrap_or_default().to_owned();
        match known.lock().expect("nobody panics").insert(run) {
            true if request.body.contains("lost") => Reply::HangUp,
            true => answer(422, &json!({"message": "out of stock"})),
            false => answer(201, &json!({"id": "p1"})),
        }
    }
}
