//! How directories follow from the environment and the working directory.

use std::path::{Path, PathBuf};

use milepost_store::{Locations, SourceKind};

use crate::put;

fn resolve(variables: &[(&str, &str)], working: &Path) -> Locations {
    let variable = |name: &str| {
        let found = variables.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Locations::resolve(&variable, working)
}

fn check(variables: &[(&str, &str)], expected: &[(SourceKind, &str)]) {
    let found = resolve(variables, Path::new("/w")).directories;
    let expected: Vec<(SourceKind, PathBuf)> =
        expected.iter().map(|(kind, path)| (*kind, PathBuf::from(path))).collect();
    assert_eq!(found, expected, "{variables:?}");
}

use SourceKind::{Path as Listed, Runtime, User};

#[test]
fn the_users_directory_is_the_runtime_directory_by_default() {
    check(&[("HOME", "/h")], &[(Runtime, "/h/.config/milepost/workflows")]);
    check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], &[(Runtime, "/x/milepost/workflows")]);
    // Without a home directory, only the project is used.
    check(&[], &[(Runtime, "/w/.milepost/workflows")]);
    check(&[("HOME", "relative")], &[(Runtime, "/w/.milepost/workflows")]);
}

#[test]
fn the_runtime_directory_follows_the_variables() {
    let user = (User, "/h/.config/milepost/workflows");
    check(&[("HOME", "/h"), ("REGISTRY_WORKFLOWS_PATH", "/r")], &[user, (Runtime, "/r")]);
    check(
        &[("HOME", "/h"), ("REGISTRY_CONFIG_PATH", "/c/my.toml")],
        &[user, (Runtime, "/c/workflows")],
    );
    check(
        &[
            ("HOME", "/h"),
            ("REGISTRY_CONFIG_PATH", "/c/my.toml"),
            ("REGISTRY_WORKFLOWS_PATH", "/r"),
        ],
        &[user, (Runtime, "/r")],
    );
    check(&[("HOME", "/h"), ("REGISTRY_WORKFLOWS_PATH", "")], &[(Runtime, user.1)]);
}

#[test]
fn a_list_of_directories_keeps_its_order_and_drops_repeats() {
    check(
        &[
            ("HOME", "/h"),
            ("REGISTRY_WORKFLOWS_PATH", "/r"),
            ("WORKFLOW_STORAGE_PATH", "/one::/two:/one/:/r"),
        ],
        &[
            (User, "/h/.config/milepost/workflows"),
            (Listed, "/one"),
            (Listed, "/two"),
            (Runtime, "/r"),
        ],
    );
}

#[test]
fn values_are_expanded() {
    let cases = [
        ("~", "/h"),
        ("~/flows", "/h/flows"),
        ("~other/flows", "/w/~other/flows"),
        ("$TEAM/flows", "/t/flows"),
        ("${TEAM}x", "/tx"),
        ("/a/$SUB/b", "/a/s/b"),
        ("/a/$SUB-b", "/a/s-b"),
        ("$TEAM$TEAM", "/t/t"),
        ("/a/$NOBODY/b", "/a/$NOBODY/b"),
        ("/a/${NOBODY}/b", "/a/${NOBODY}/b"),
        ("/a/${NOBODY", "/a/${NOBODY"),
        ("/a/$", "/a/$"),
        ("/a/$é", "/a/$é"),
        ("flows", "/w/flows"),
        ("./flows", "/w/./flows"),
        ("../flows", "/w/../flows"),
        ("$ODD", "/w/~/$SUB"),
    ];
    for (text, expected) in cases {
        let variables = [
            ("HOME", "/h"),
            ("TEAM", "/t"),
            ("SUB", "s"),
            ("ODD", "~/$SUB"),
            ("REGISTRY_WORKFLOWS_PATH", text),
        ];
        let found = resolve(&variables, Path::new("/w"));
        assert_eq!(found.runtime(), Path::new(expected), "{text}");
    }
}

#[test]
fn a_home_with_a_dollar_in_it_stays_as_it_is() {
    let variables = [("HOME", "/h/$SUB"), ("SUB", "s"), ("REGISTRY_WORKFLOWS_PATH", "~/x")];
    assert_eq!(resolve(&variables, Path::new("/w")).runtime(), Path::new("/h/$SUB/x"));
}

#[test]
fn the_nearest_project_wins_over_the_user_and_loses_to_the_variable() {
    let root = tempfile::tempdir().expect("makes a directory");
    let outer = root.path().join(".milepost/config.toml");
    let inner = root.path().join("a/b/.milepost/config.toml");
    put(&outer, "");
    put(&inner, "");
    let deep = root.path().join("a/b/c/d");
    std::fs::create_dir_all(&deep).expect("makes folders");
    let home = [("HOME", "/h")];
    assert_eq!(resolve(&home, &deep).config, inner);
    assert_eq!(resolve(&home, &deep).runtime(), root.path().join("a/b/.milepost/workflows"));
    assert_eq!(resolve(&home, &root.path().join("a")).config, outer);
    let named = [("HOME", "/h"), ("REGISTRY_CONFIG_PATH", "/c/my.toml")];
    assert_eq!(resolve(&named, &deep).config, Path::new("/c/my.toml"));
}

#[test]
fn a_directory_of_the_projects_name_is_no_project() {
    let root = tempfile::tempdir().expect("makes a directory");
    std::fs::create_dir_all(root.path().join(".milepost/config.toml")).expect("makes folders");
    let found = resolve(&[("HOME", "/h")], root.path());
    assert_eq!(found.config, Path::new("/h/.config/milepost/config.toml"));
}

#[test]
fn catalogs_lie_beside_the_configuration() {
    let catalogs = |variables: &[(&str, &str)]| resolve(variables, Path::new("/w")).catalogs();
    assert_eq!(catalogs(&[("HOME", "/h")]), Path::new("/h/.config/milepost/catalogs"));
    let named = [("HOME", "/h"), ("REGISTRY_CONFIG_PATH", "/c/my.toml")];
    assert_eq!(catalogs(&named), Path::new("/c/catalogs"));
    assert_eq!(catalogs(&[]), Path::new("/w/.milepost/catalogs"));
}

#[test]
fn data_and_cache_are_the_users() {
    let places = |variables: &[(&str, &str)]| {
        let found = resolve(variables, Path::new("/w"));
        (found.data.display().to_string(), found.cache.display().to_string())
    };
    let pair = |data: &str, cache: &str| (data.to_owned(), cache.to_owned());
    let home = [("HOME", "/h")];
    assert_eq!(places(&home), pair("/h/.local/share/milepost", "/h/.cache/milepost"));
    let named = [("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("XDG_CACHE_HOME", "~/c")];
    assert_eq!(places(&named), pair("/d/milepost", "/h/c/milepost"));
    assert_eq!(places(&[]), pair("/w/.milepost/data", "/w/.milepost/cache"));
    // The configuration moves the catalogs, but not the user's data.
    let moved = [("HOME", "/h"), ("REGISTRY_CONFIG_PATH", "/c/my.toml")];
    assert_eq!(places(&moved), places(&home));
}

#[test]
fn the_project_is_the_folder_with_a_configuration() {
    let root = tempfile::tempdir().expect("makes a directory");
    put(&root.path().join("a/.milepost/config.toml"), "");
    let deep = root.path().join("a/b");
    std::fs::create_dir_all(&deep).expect("makes folders");
    let named = [("REGISTRY_CONFIG_PATH", "/c/my.toml")];
    assert_eq!(resolve(&named, &deep).project, Some(root.path().join("a")));
    assert_eq!(resolve(&named, root.path()).project, None);
}
