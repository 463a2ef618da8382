//! Valid and invalid configurations.

use std::fs;
use std::path::Path;

use milepost_store::{Config, ConfigError, FileError, Grants, Locations, SecretsBackend, limits};

use crate::{locations, put};

fn read(root: &Path, text: &str) -> Result<Config, ConfigError> {
    let mut locations = locations(root);
    locations.home = Some("/home/ada".into());
    put(&locations.config, text);
    Config::read(&locations, &Grants::of(&locations.data))
}

fn fresh(locations: &Locations) -> Result<Config, ConfigError> {
    Config::read(locations, &Grants::of(&locations.data))
}

fn check_fault(text: &str, expected: &str) {
    let root = tempfile::tempdir().expect("makes a directory");
    let error = read(root.path(), text).expect_err(text);
    let shown = error.to_string();
    let (path, fault) = shown.split_once("`: ").expect("names the file");
    assert!(path.ends_with("config/config.toml"), "{shown}");
    assert_eq!(fault, expected);
}

#[test]
fn without_a_file_everything_is_as_by_default() {
    let root = tempfile::tempdir().expect("makes a directory");
    let config = fresh(&locations(root.path())).expect("needs no file");
    assert_eq!(config, Config::default());
    assert_eq!(config.secrets, SecretsBackend::File);
    assert_eq!(read(root.path(), "").expect("is empty"), Config::default());
}

#[test]
fn everything_that_can_be_said() {
    let root = tempfile::tempdir().expect("makes a directory");
    let text = "\u{feff}allow_private = [\"localhost:8080\", \"10.0.0.7\"]\r\n\
                source_roots = [\"specs\", \"~/apis\", \"/srv/apis\", \"~\"]\r\n\
                env_allow = [\"REGION\", \"SHOP_TOKEN\"]\r\n\
                [secrets]\r\nbackend = \"env\"\r\n";
    let config = read(root.path(), text).expect("is right");
    assert_eq!(config.env_allow, ["REGION", "SHOP_TOKEN"]);
    let hosts: Vec<String> = config.allow_private.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["localhost:8080", "10.0.0.7"]);
    let beside = root.path().join("config/specs");
    let roots = [beside.as_path(), "/home/ada/apis".as_ref(), "/srv/apis".as_ref()];
    assert_eq!(config.source_roots[..3], roots);
    assert_eq!(config.source_roots[3], Path::new("/home/ada"));
    assert_eq!(config.secrets, SecretsBackend::Env);
    assert_eq!(config.warnings, []);
}

#[test]
fn unknown_keys_are_reported_and_do_no_harm() {
    let root = tempfile::tempdir().expect("makes a directory");
    let text = "allow-private = [\"x\"]\nsource_roots = [\"/a\"]\n\
                [secrets]\nbackend = \"file\"\nbakend = \"env\"\n[other]\na = 1\n";
    let config = read(root.path(), text).expect("is right");
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    let expected = [
        "line 5, column 1: unknown key `secrets.bakend`: did you mean `backend`?",
        "line 1, column 1: unknown key `allow-private`: did you mean `allow_private`?",
        "line 6, column 2: unknown key `other`: remove it",
    ];
    assert_eq!(warnings, expected);
    assert_eq!(config.allow_private, []);
}

#[test]
fn wrong_types_have_a_place() {
    check_fault(
        "allow_private = \"localhost\"",
        "line 1, column 17: `allow_private` must be a list, not a string",
    );
    check_fault(
        "# é\nallow_private = [\"a\", 7]",
        "line 2, column 23: `allow_private[1]` must be a host such as `localhost`, \
         `10.0.0.7:8080` or `[::1]:80`, not a number",
    );
    check_fault(
        "secrets = true",
        "line 1, column 11: `secrets` must be a table, not `true` or `false`",
    );
    check_fault(
        "source_roots = [[]]",
        "line 1, column 17: `source_roots[0]` must be a directory, not a list",
    );
    check_fault(
        "[secrets]\nbackend = \"vault\"",
        "line 2, column 11: `secrets.backend` must be `file`, `keyring` or `env`",
    );
    for name in ["", "A=B", "A B", "MILEPOST_SECRET_X", "MILEPOST_SECRETS_PASSPHRASE"] {
        check_fault(
            &format!("env_allow = [\"{name}\"]"),
            "line 1, column 14: `env_allow[0]` must be the name of a variable",
        );
    }
    check_fault(
        "source_roots = [\"\"]",
        "line 1, column 17: `source_roots[0]` must be a directory",
    );
}

#[test]
fn what_is_no_toml_has_a_place_and_is_not_quoted() {
    let root = tempfile::tempdir().expect("makes a directory");
    for text in ["a = \n[x", "tok3n-canary", "a = tok3n-canary", "a = 1\na = 'tok3n-canary'"] {
        let error = read(root.path(), text).expect_err(text);
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("invalid TOML") && shown.contains("line "), "{shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
    put(&locations(root.path()).config, "");
    fs::write(locations(root.path()).config, b"a = \"\xff\"").expect("writes");
    let error = fresh(&locations(root.path())).expect_err("is not text");
    assert!(
        error.to_string().ends_with("the file is not valid UTF-8: save it as UTF-8"),
        "{error}"
    );
}

#[test]
fn the_size_is_bounded() {
    let root = tempfile::tempdir().expect("makes a directory");
    let fits = "#".repeat(limits::CONFIG_BYTES);
    read(root.path(), &fits).expect("is not too large");
    let error = read(root.path(), &format!("{fits}#")).expect_err("is too large");
    assert!(matches!(error, ConfigError::File(FileError::TooLarge { .. })), "{error:?}");
}
