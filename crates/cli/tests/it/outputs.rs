//! Checks the `--json` output of commands against the schemas that `milepost schema output` prints.

use serde_json::Value;

use crate::{Place, SOUND, finish};

const SOUNDER: &str = "workflow: sound\nsteps: [{id: a, prompt: Look twice}]\n";
const ASKS: &str = "workflow: asks\nsteps:\n  - {id: ok, approve: Go on?}\n";
const FAILS: &str = "workflow: fails\nsteps:\n  - {id: b, fail: no luck}\n";
const SHOP: &str = include_str!("../../../../examples/shop.yaml");

/// Commands in an order in which each finds what it needs; `RUN` stands for the newest run.
const CALLS: &[(&str, &str)] = &[
    ("milepost", ""),
    ("run", "run asks.yaml"),
    ("run", "run sound.yaml --dry-run"),
    ("milepost", ""),
    ("inbox", "inbox"),
    ("runs", "runs"),
    ("show", "show RUN"),
    ("logs", "logs RUN"),
    ("cancel", "cancel RUN --yes"),
    ("run", "run fails.yaml"),
    ("resume", "resume RUN --plan"),
    ("resume", "resume RUN"),
    ("run", "run sound.yaml"),
    ("pause", "pause RUN"),
    ("resume", "resume RUN"),
    ("submit", "submit RUN a sound.yaml"),
    ("backup", "backup copy"),
    ("inputs forget", "inputs forget --yes"),
    ("runs purge", "runs purge --yes"),
    ("workflow validate", "workflow validate sound.yaml fails.yaml"),
    ("workflow show", "workflow show sound.yaml"),
    ("workflow list", "workflow list"),
    ("workflow sources", "workflow sources"),
    ("workflow inputs", "workflow inputs sound.yaml"),
    ("workflow plan", "workflow plan sound.yaml"),
    ("workflow plan", "workflow plan sound.yaml --requests"),
    ("workflow graph", "workflow graph sound.yaml"),
    ("workflow new", "workflow new tidy"),
    ("workflow save", "workflow save sound.yaml"),
    ("workflow save", "workflow save sounder.yaml --overwrite"),
    ("workflow versions", "workflow versions sound"),
    ("policy check", "policy check sound"),
    ("workflow review", "workflow review"),
    ("workflow diff", "workflow diff sound"),
    ("workflow rename", "workflow rename sound other"),
    ("workflow delete", "workflow delete other --yes"),
    ("guide next", "guide next bug-investigation"),
    ("guide check", "guide check sound.yaml a sound.yaml"),
    ("catalog validate", "catalog validate shop.yaml"),
    ("catalog preview", "catalog preview shop.yaml"),
    ("catalog import", "catalog import shop.yaml"),
    ("catalog list", "catalog list"),
    ("catalog show", "catalog show shop-api"),
    ("catalog auth", "catalog auth shop-api"),
    ("catalog diff", "catalog diff shop-api shop.yaml"),
    ("catalog disable", "catalog disable shop-api"),
    ("catalog enable", "catalog enable shop-api"),
    ("command search", "command search refund"),
    ("command show", "command show shop-api orders:get"),
    ("command run", "command run shop-api orders:list --dry-run"),
    ("command providers", "command providers"),
    ("policy check", "policy check shop-api orders:create"),
    (
        "secret allow",
        "secret allow SHOP_TOKEN --command shop-api\u{a0}orders:list --field headers.X",
    ),
    ("catalog remove", "catalog remove shop-api --yes"),
    ("secret set", "secret set SHOP_TOKEN"),
    ("secret list", "secret list"),
    ("grants", "grants"),
    ("grants revoke", "grants revoke grant_"),
    ("trust", "trust --check"),
    ("trust", "trust --digest"),
    ("trust", "trust --list"),
    ("untrust", "untrust"),
    ("secret remove", "secret remove SHOP_TOKEN"),
    ("mcp budget", "mcp budget"),
    ("mcp install", "mcp install cursor"),
    ("doctor", "doctor"),
    ("init", "init"),
    ("config path", "config path"),
    ("config get", "config get"),
    ("config get", "config get policy.writes"),
    ("config set", "config set policy.writes approve"),
    ("docs", "docs"),
    ("docs", "docs cli"),
    ("completions", "completions bash"),
    ("man", "man"),
    ("man", "man --dir pages"),
    ("schema", "schema guide"),
    ("schema", "schema output"),
    ("demo", "demo order-health"),
];

#[test]
fn json_output_fits_its_schema() {
    let place = Place::with(&[
        ("sound.yaml", SOUND),
        ("asks.yaml", ASKS),
        ("fails.yaml", FAILS),
        ("shop.yaml", SHOP),
        ("sounder.yaml", SOUNDER),
    ]);
    let mut wrong = Vec::new();
    for (name, call) in CALLS {
        let words = call.replace("RUN", "run_");
        let mut words: Vec<String> =
            words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        for word in &mut words {
            if word == "run_" {
                let runs = place.run(["runs", "--json"]).ends(0).json();
                *word = runs["runs"][0]["run_id"].as_str().expect("a run").to_owned();
            }
        }
        for word in &mut words {
            if word == "grant_" {
                let grants = place.run(["grants", "--json"]).ends(0).json();
                *word = grants["grants"][0]["id"].as_str().expect("a grant").to_owned();
            }
            // A word may contain a space.
            *word = word.replace('\u{a0}', " ");
        }
        words.push("--json".to_owned());
        let ran = finish(place.command().args(&words), "hunter2");
        assert!(!ran.out.is_empty(), "{call}: {}", ran.err);
        let schema = ["schema", "output"].into_iter().chain(name.split(' '));
        let schema = place.run(schema).ends(0).quiet().json();
        let schema = jsonschema::validator_for(&schema).expect("is a schema");
        for line in ran.out.lines() {
            let told: Value = serde_json::from_str(line).expect("an object a line");
            let faults: Vec<String> = schema.iter_errors(&told).map(|e| e.to_string()).collect();
            if !faults.is_empty() {
                wrong.push(format!("{call}: {faults:#?}\n{line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Commands that speak MCP and have no output of their own.
const OTHER: [&str; 1] = ["mcp"];

#[test]
fn every_command_has_a_schema() {
    let place = Place::new();
    let listed = place.run(["schema", "output", "--json"]).ends(0).quiet().json();
    let listed: Vec<&str> =
        listed["commands"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let inner = crate::snapshots::below(&place, &path);
        let words = path.join(" ");
        if inner.is_empty() && !OTHER.contains(&&*words) {
            assert!(listed.contains(&&*words), "`{words}` has no schema");
            let help = place.run(path.iter().map(String::as_str).chain(["--help"])).ends(0).out;
            assert!(help.contains("--json"), "`{words}` has no `--json`");
        }
        open.extend(inner);
    }
    let wrong = place.run(["schema", "output", "rnus"]).ends(2);
    assert!(wrong.err.contains("did you mean `milepost schema output runs`?"), "{}", wrong.err);
}

#[test]
fn argument_errors_are_json_as_well() {
    let place = Place::new();
    for call in ["run --json", "runs --opne --json", "workfow list --json", "mcp --json"] {
        let ran = place.run(call.split(' ')).ends(2);
        let told: Value = serde_json::from_str(&ran.err).expect("an object");
        let error = &told["error"];
        assert_eq!(error["error_code"], "PARAMS_INVALID", "{call}");
        assert!(error["message"].as_str().is_some_and(|text| !text.contains('\n')), "{told}");
        assert_eq!(ran.out, "");
    }
    let near = place.run(["runs", "--opne", "--json"]).ends(2).err;
    assert!(near.contains("'--open'"), "{near}");
    // Without `--json`, errors are text.
    assert!(place.run(["run"]).ends(2).err.starts_with("error: "));
    place.run(["run", "--json", "--help"]).ends(0).quiet();
}
