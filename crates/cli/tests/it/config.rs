//! `milepost config …` with the real binary.

use expect_test::expect;
use serde_json::{Value, json};

use crate::catalog::problem;
use crate::{Place, Ran, finish};

fn config(place: &Place, arguments: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = place.command();
    command.envs(variables.iter().copied());
    finish(command.arg("config").args(arguments.split(' ')), "")
}

/// The source of a named path, the variable that set it, and its location below the root.
fn told(place: &Place, variables: &[(&str, &str)], name: &str) -> (String, Value, String) {
    let report = config(place, "path --json", variables).ends(0).quiet().json();
    let places = report["places"].as_array().expect("a list");
    let one = places.iter().find(|one| one["name"] == name).expect(name);
    let from = one["from"].as_str().expect("is text").to_owned();
    let path = place.tidy(one["path"].as_str().expect("is text"));
    (from, one["variable"].clone(), path)
}

/// The user's own file, from the working directory.
const OWN: &str = "../home/.config/milepost/config.toml";

fn own_path(place: &Place) -> String {
    place.root.path().join("home/.config/milepost/config.toml").display().to_string()
}

#[test]
fn every_path_says_what_set_it() {
    let place = Place::new();
    let from = |variables: &[(&str, &str)], name: &str| told(&place, variables, name);
    let of = |from: &str, variable: Value, path: &str| (from.to_owned(), variable, path.to_owned());
    let user = "[ROOT]/home/.config/milepost/config.toml";
    assert_eq!(from(&[], "config"), of("user", Value::Null, user));
    assert_eq!(from(&[], "user config"), of("default", Value::Null, user));
    let data = "[ROOT]/home/.local/share/milepost";
    assert_eq!(from(&[], "data"), of("default", Value::Null, data));
    let xdg = [("XDG_DATA_HOME", "/d"), ("XDG_CACHE_HOME", "/c"), ("XDG_CONFIG_HOME", "/x")];
    assert_eq!(from(&xdg, "data"), of("environment", json!("XDG_DATA_HOME"), "/d/milepost"));
    assert_eq!(from(&xdg, "cache"), of("environment", json!("XDG_CACHE_HOME"), "/c/milepost"));
    assert_eq!(from(&xdg, "config"), of("user", Value::Null, "/x/milepost/config.toml"));
    let chosen = [("REGISTRY_CONFIG_PATH", "/r/c.toml"), ("REGISTRY_WORKFLOWS_PATH", "/w")];
    let variable = json!("REGISTRY_CONFIG_PATH");
    assert_eq!(from(&chosen, "config"), of("environment", variable.clone(), "/r/c.toml"));
    assert_eq!(from(&chosen, "catalogs"), of("environment", variable, "/r/catalogs"));
    let variable = json!("REGISTRY_WORKFLOWS_PATH");
    assert_eq!(from(&chosen, "workflows"), of("environment", variable, "/w"));
    place.put(".milepost/config.toml", "");
    let project = "[ROOT]/work/.milepost/config.toml";
    assert_eq!(from(&[], "config"), of("project", Value::Null, project));
    assert_eq!(from(&[], "project"), of("project", Value::Null, "[ROOT]/work"));
    let shown = config(&place, "path", &[]).ends(0).quiet().out;
    assert!(shown.starts_with("WHAT ") && shown.contains(" project "), "{shown}");
}

#[test]
fn keys_are_shown_with_their_effective_values() {
    let place = Place::new();
    place.check(
        &config(&place, "get", &[]),
        &expect![[r"
            KEY                  FROM     VALUE
            allow_private        default  none
            approvals.presence   default  elicitation
            budget.attempts      default  no limit
            budget.http_calls    default  no limit
            budget.writes        default  no limit
            env_allow            default  none
            policy.writes        default  consent
            secrets.backend      default  file
            secrets.inputs_days  default  7
            source_roots         default  none
            --- 0
        "]],
    );
    place.put(OWN, "env_allow = ['A', 'B']\n[budget]\nwrites = 7\n");
    place.put(".milepost/config.toml", "[budget]\nwrites = 5\n");
    assert_eq!(config(&place, "get env_allow", &[]).ends(0).quiet().out, "A,B\n");
    assert_eq!(config(&place, "get policy.writes", &[]).ends(0).quiet().out, "consent\n");
    let one = config(&place, "get budget.writes --json", &[]).ends(0).quiet().json();
    let path = place.path(".milepost/config.toml").display().to_string();
    let expected = json!({"key": "budget.writes", "value": 5, "from": "project", "path": path});
    assert_eq!(one, expected);
    let all = config(&place, "get --json", &[]).ends(0).quiet().json();
    assert_eq!(all["settings"].as_array().map(Vec::len), Some(10));
}

#[test]
fn changing_a_key_leaves_the_rest_alone() {
    let place = Place::new();
    let before = "# Mine.\n[policy]\nwrites = \"consent\" # for now\n\n# Room.\n[budget] # small\n\
                  # The most.\nwrites = 5 # each\n";
    place.put(OWN, before);
    let text = || place.text(OWN);
    let ran = config(&place, "set budget.writes 7", &[]).ends(0).quiet();
    let path = own_path(&place);
    assert_eq!(ran.out, format!("set budget.writes to 7 in {path}\n"));
    assert_eq!(text(), before.replace("writes = 5", "writes = 7"));
    config(&place, "set policy.writes deny", &[]).ends(0).quiet();
    finish(place.command().args(["config", "set", "env_allow", "[\"A\"]"]), "").ends(0);
    let after = text();
    for kept in ["# Mine.", "# for now", "# Room.", "# small", "# The most.", "# each"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(after.contains("writes = \"deny\" # for now"), "{after}");
    let told = config(&place, "set policy.writes --json", &[]).ends(0).quiet().json();
    assert_eq!((&told["value"], &told["from"]), (&json!("consent"), &json!("default")));
    assert!(!text().contains("deny") && text().contains("# Mine."), "{}", text());
    config(&place, "set budget.writes", &[]).ends(0).quiet();
    assert!(!text().contains("writes") && text().contains("# The most."), "{}", text());
}

#[test]
fn setting_the_first_key_creates_the_file() {
    let place = Place::new();
    config(&place, "set secrets.backend env", &[]).ends(0).quiet();
    let path = place.root.path().join("home/.config/milepost/config.toml");
    let text = std::fs::read_to_string(path).expect("is there");
    assert_eq!(text, "[secrets]\nbackend = \"env\"\n");
    assert_eq!(config(&place, "get secrets.backend", &[]).ends(0).out, "env\n");
}

#[test]
fn values_that_could_not_be_read_back_are_not_written() {
    let place = Place::with(&[(OWN, "[policy]\nwrites = 'deny'\n")]);
    place.check(
        &config(&place, "set polcy.writes deny", &[]),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: there is no key `polcy.writes` in the configuration
            hint: did you mean `policy.writes`?
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.check(
        &config(&place, "get http_calls", &[]),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: there is no key `http_calls` in the configuration
            hint: did you mean `budget.http_calls`?
            more: milepost docs PARAMS_INVALID
        "]],
    );
    // Two tables have this name.
    place.check(
        &config(&place, "get writes", &[]),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: there is no key `writes` in the configuration
            hint: `milepost config get` lists all keys
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.check(
        &config(&place, "set policy.writes never", &[]),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: `policy.writes` must be `allow`, `consent`, `approve` or `deny`
            hint: nothing was written; give another value
            more: milepost docs PARAMS_INVALID
        "]],
    );
    for (key, value) in [
        ("budget.writes", "many"),
        ("budget.writes", "-1"),
        ("allow_private", "not a host"),
        ("env_allow", "[1"),
        ("env_allow", "MILEPOST_SECRET_A"),
        ("nothing.at.all", "1"),
    ] {
        let ran = finish(place.command().args(["config", "set", "--json", key, "--", value]), "");
        assert_eq!(problem(&ran.ends(2))["error_code"], "PARAMS_INVALID", "{key} {value}");
    }
    assert_eq!(place.text(OWN), "[policy]\nwrites = 'deny'\n");
    place.put(OWN, "confirm = [\n");
    let told = problem(&config(&place, "set budget.writes 1 --json", &[]).ends(2));
    assert_eq!(told["error_code"], "CONFIG_INVALID");
    assert_eq!(place.text(OWN), "confirm = [\n");
}
