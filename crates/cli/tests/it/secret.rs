//! `milepost secret …` with the real binary.

use std::fs;

use expect_test::expect;
use serde_json::json;

use crate::catalog::problem;
use crate::{Place, Ran, finish};

fn secret(place: &Place, arguments: &str, input: &str) -> Ran {
    finish(place.command().arg("secret").args(arguments.split(' ')), input)
}

#[test]
fn secrets_are_stored_listed_and_removed() {
    let place = Place::new();
    place.check(
        &secret(&place, "list", ""),
        &expect![[r"
            no secrets yet
            hint: store one with `milepost secret set <NAME>`
            --- 0
        "]],
    );
    place.check(
        &secret(&place, "set SHOP_TOKEN", "hunter2-hunter2\n"),
        &expect![[r"
            saved secret SHOP_TOKEN
            --- 0
        "]],
    );
    let bound = "set BOUND --origin https://api.shop.test/v1";
    place.check(
        &secret(&place, bound, "hunter3-hunter3"),
        &expect![[r"
            saved secret BOUND, for https://api.shop.test only
            --- 0
        "]],
    );
    place.check(
        &secret(&place, "list", ""),
        &expect![[r"
        NAME        FROM  FOR
        BOUND       file  https://api.shop.test
        SHOP_TOKEN  file  any catalog
        --- 0
    "]],
    );
    let told = secret(&place, "list --json", "").ends(0).quiet().json();
    assert_eq!(
        told["secrets"][0],
        json!({"name": "BOUND", "from": "file", "shadowed": false, "origin": "https://api.shop.test"})
    );
    let told = secret(&place, "set SHOP_TOKEN --json", "hunter4-hunter4\r\n").ends(0).json();
    assert_eq!(told, json!({"name": "SHOP_TOKEN", "from": "file", "shadowed": false}));
    place.check(
        &secret(&place, "remove SHOP_TOKEN", ""),
        &expect![[r"
            removed secret SHOP_TOKEN
            --- 0
        "]],
    );
    place.check(
        &secret(&place, "remove SHOP_TOKEN", ""),
        &expect![[r"
        --- 6
        error[SECRET_NOT_FOUND]: there is no secret `SHOP_TOKEN`
        hint: list them with `milepost secret list`
        more: milepost docs SECRET_NOT_FOUND
    "]],
    );
    let told = secret(&place, "remove BOUND --json", "").ends(0).quiet().json();
    assert_eq!(told, json!({"removed": "BOUND"}));
}

#[test]
fn invalid_names_and_values_are_refused() {
    let place = Place::new();
    place.check(
        &secret(&place, "set EMPTY", ""),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: a secret cannot be empty
            hint: type its value, or pipe it in
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.check(&secret(&place, "set not/a/name", "value-value"), &expect![[r"
        --- 2
        error[PARAMS_INVALID]: this is not a valid secret name: use letters, digits, `_`, `-` and `.`, a letter or `_` first, 1 to 64 characters
        hint: use letters, digits, `_`, `-` and `.`, such as SHOP_TOKEN
        more: milepost docs PARAMS_INVALID
    "]]);
    place.check(
        &secret(&place, "set A --origin nowhere", "value-value"),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: `nowhere` is not an http or https URL
            hint: write it as https://api.example.com
            more: milepost docs PARAMS_INVALID
        "]],
    );
    place.check(
        &secret(&place, "set A --origin ftp://x.test", "value-value"),
        &expect![[r"
            --- 2
            error[PARAMS_INVALID]: `ftp://x.test` is not an http or https URL
            hint: write it as https://api.example.com
            more: milepost docs PARAMS_INVALID
        "]],
    );
    // A value is never passed as an argument, where every user could see it.
    secret(&place, "set NAME value", "").ends(2);
    secret(&place, "set LARGE", &"x".repeat(70_000)).ends(2);
    let told = problem(&secret(&place, "remove --json NAME", "").ends(6));
    assert_eq!(told["error_code"], "SECRET_NOT_FOUND");
    assert_eq!(secret(&place, "list", "").out.lines().next(), Some("no secrets yet"));
}

#[test]
fn the_environment_takes_precedence_over_the_store() {
    let place = Place::new();
    let with = |arguments: &str, input: &str| {
        let mut command = place.command();
        command.env("MILEPOST_SECRET_TOKEN", "from-outside");
        finish(command.arg("secret").args(arguments.split(' ')), input)
    };
    let ran = with("set TOKEN", "from-inside").ends(0);
    assert!(ran.err.contains("takes precedence over it"), "{}", ran.err);
    place.check(
        &with("list", ""),
        &expect![[r"
        NAME   FROM                            FOR
        TOKEN  env (overrides the stored one)  any catalog
        --- 0
    "]],
    );
}

#[test]
fn a_store_that_cannot_be_opened_says_why() {
    let place = Place::new();
    secret(&place, "set TOKEN", "hunter2-hunter2").ends(0);
    let data = place.root.path().join("home/.local/share/milepost");
    let store = files(&data)
        .into_iter()
        .find(|path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"age-encryption")));
    fs::write(store.expect("an encrypted file"), "garbage").expect("writes");
    let told = problem(&secret(&place, "list --json", "").ends(8));
    assert_eq!(told["error_code"], "SECRETS_UNUSABLE");
}

/// Every file below a folder.
pub(crate) fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

#[cfg(target_os = "linux")]
#[test]
fn leaving_the_prompt_changes_nothing() {
    let place = Place::new();
    let line = format!("{} secret set SHOP_TOKEN", env!("CARGO_BIN_EXE_milepost"));
    let typed = |keys: &str| {
        let mut script = crate::program("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
        script.env("HOME", place.root.path().join("home"));
        crate::rogue::typed(&mut script, &[keys])
    };
    // Ctrl-C ends the command as usual; Ctrl-D enters no value.
    let stopped = typed("\u{3}").ends(130);
    assert!(stopped.out.contains("interrupted: nothing was changed"), "{}", stopped.out);
    let ended = typed("\u{4}").ends(7);
    assert!(ended.out.contains("no value given: nothing was saved"), "{}", ended.out);
    assert_eq!(secret(&place, "list --json", "").ends(0).json()["secrets"], json!([]));
}

#[test]
fn a_similar_name_is_suggested() {
    let place = Place::new();
    secret(&place, "set SHOP_TOKEN", "hunter2").ends(0);
    let near = secret(&place, "remove SHOP_TOKE", "").ends(6);
    assert!(near.err.contains("did you mean `SHOP_TOKEN`?"), "{}", near.err);
    let none = secret(&place, "remove OTHER", "").ends(6);
    assert!(none.err.contains("milepost secret list"), "{}", none.err);
}
