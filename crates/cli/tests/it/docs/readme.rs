//! Statements of the README outside its blocks.

use std::path::Path;

use serde_json::Value;

use super::block::{blocks, read};
use crate::{Place, finish};

#[test]
fn the_first_command_of_the_readme_works() {
    let readme = read("README.md");
    let line = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run --release -- "))
        .expect("the README has its first command");
    Place::new().run(line.split_whitespace()).ends(0);
    assert!(readme.contains("\ncargo xtask test\n"), "and its second");
}

#[test]
fn the_sixty_seconds_work() {
    let readme = read("README.md");
    let commands: Vec<&str> =
        readme.lines().filter_map(|line| line.strip_prefix("milepost ")).collect();
    assert_eq!(commands.len(), 4);
    let place = Place::new();
    place.run(commands[0].split_whitespace()).ends(0);
    let whole = place.text("tidy-inbox.yaml");
    let broken = whole
        .replacen("title: Look", "titel: Look", 1)
        .replacen("steps.look.output.summary }}?", "steps.lok.output.summary }}?", 1)
        .replacen("${{ inputs.subject }}", "{{ inputs.subject }}", 1);
    let broken = broken.replacen("this? ${{ steps.look.", "this? ${{ steps.lok.", 1);
    place.put("tidy-inbox.yaml", &broken);
    let ran = place.workflow("validate tidy-inbox.yaml").ends(3);
    let example = blocks(&readme).into_iter().find(|block| block.language == "text");
    let example = example.expect("an example").body;
    assert!(ran.out.contains(example.trim_end()), "README shows:\n{example}\nwe:\n{}", ran.out);
    place.workflow("validate --fix tidy-inbox.yaml").ends(0);
    assert_eq!(place.text("tidy-inbox.yaml"), whole, "every byte is back");
}

/// Building as the README describes takes minutes, so only the prerequisites are checked.
#[test]
fn the_crate_that_cargo_installs_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["README.md", "docs/quick-start.md", "docs/operations.md"] {
        let text = read(page);
        let (_, rest) = text.split_once("cargo install ").expect("says how");
        let line = rest.split(['`', '\n']).next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["--path", path, "--locked"] = words[..] else { panic!("{page}: {line}") };
        assert!(root.join("Cargo.lock").is_file(), "`--locked` needs a lock file");
        let manifest = root.join(path).join("Cargo.toml");
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut cargo = std::process::Command::new(cargo);
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        let told = finish(cargo.arg("--manifest-path").arg(manifest), "").ends(0).json();
        let packages = told["packages"].as_array().expect("a list").iter();
        let binaries = packages
            .filter(|package| package["name"] == "milepost-cli")
            .flat_map(|package| package["targets"].as_array().expect("a list"))
            .filter(|target| target["kind"][0] == "bin");
        let names: Vec<&Value> = binaries.map(|target| &target["name"]).collect();
        assert_eq!(names, ["milepost"], "{page}");
    }
}
