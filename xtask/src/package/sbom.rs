//! The software bill of materials as `CycloneDX` 1.5: every crate that is linked into the program
//! on a platform, with its version, license and checksum.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::workspace::Workspace;

/// The crate whose dependencies are listed.
const PROGRAM: &str = "milepost-cli";

/// The components of the program on a platform.
pub(super) fn of(workspace: &Workspace, target: &str) -> Result<Value> {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
    let output = cargo.stderr(Stdio::inherit()).output().context("cannot start cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata failed");
    let metadata = serde_json::from_slice(&output.stdout).context("no JSON from cargo")?;
    let lock = fs::read_to_string(workspace.root().join("Cargo.lock")).context("no lock file")?;
    told(&metadata, &checksums(&lock))
}

fn told(metadata: &Value, sums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|one| Some((one["id"].as_str()?.to_owned(), one.clone()))).collect()
    };
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let program = packages.iter().find(|(_, package)| package["name"] == PROGRAM);
    let (root, program) = program.context("the program is not in the workspace")?;
    let linked = linked(root, &nodes);
    let component = |id: &String| packages.get(id).map(|package| library(package, sums));
    let libraries = linked.keys().filter(|id| *id != root).filter_map(component);
    let edges = linked.iter().filter_map(|(id, below)| {
        let below: Vec<String> = below.iter().filter_map(|id| packages.get(id)).map(purl).collect();
        Some(json!({"ref": purl(packages.get(id)?), "dependsOn": below}))
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": purl(program),
            "name": "milepost",
            "version": program["version"],
            "licenses": [{"expression": program["license"]}],
        }},
        "components": libraries.collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    }))
}

/// The crates that are linked into the program, without those that are only needed to build or test
/// it.
fn linked(root: &str, nodes: &BTreeMap<String, Value>) -> BTreeMap<String, BTreeSet<String>> {
    let (mut open, mut found) = (vec![root.to_owned()], BTreeMap::new());
    while let Some(id) = open.pop() {
        let below = nodes.get(&id).map(|node| &node["deps"]);
        let below = below.and_then(Value::as_array).into_iter().flatten().filter(|dependency| {
            let kinds = dependency["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        });
        let below: BTreeSet<String> =
            below.filter_map(|one| one["pkg"].as_str().map(str::to_owned)).collect();
        open.extend(below.iter().filter(|one| !found.contains_key(*one)).cloned());
        found.insert(id, below);
    }
    found
}

fn library(package: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    let mut library = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": name,
        "version": version,
        "purl": purl(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // `/` is the notation from before license expressions.
        library["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(sum) = sums.get(&(name, version)) {
        library["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    library
}

fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

/// The checksums in the lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1);
    let field = |package: &str, key: &str| {
        let begin = format!("{key} = \"");
        let line = package.lines().find_map(|line| line.strip_prefix(&begin))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let sum = |package| {
        let name = (field(package, "name")?, field(package, "version")?);
        Some((name, field(package, "checksum")?))
    };
    packages.filter_map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_told_with_every_crate_that_is_linked_into_it() {
        let workspace = Workspace::find().expect("a checkout");
        let target = super::super::host(&workspace).expect("a host");
        let told = of(&workspace, &target).expect("a list");
        assert_eq!(
            (&told["bomFormat"], &told["specVersion"]),
            (&"CycloneDX".into(), &"1.5".into())
        );
        let libraries = told["components"].as_array().expect("a list");
        let named = |name: &str| libraries.iter().find(|one| one["name"] == name);
        for name in ["milepost-model", "rmcp", "rusqlite", "libsqlite3-sys", "rustls", "ring"] {
            let library = named(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert!(library["licenses"][0]["expression"].is_string(), "{library}");
            let own = name.starts_with("milepost-");
            let sum = library["hashes"][0]["content"].as_str().unwrap_or_default();
            assert_eq!(sum.len(), if own { 0 } else { 64 }, "{library}");
        }
        // Test dependencies and build scripts are not included.
        for name in ["expect-test", "proptest", "cc", "xtask"] {
            assert!(named(name).is_none(), "{name} is not shipped");
        }
        let mut refs: BTreeSet<&str> =
            libraries.iter().filter_map(|one| one["bom-ref"].as_str()).collect();
        assert_eq!(refs.len(), libraries.len(), "every part is told once");
        refs.extend(told["metadata"]["component"]["bom-ref"].as_str());
        for edge in told["dependencies"].as_array().expect("a list") {
            let below = edge["dependsOn"].as_array().expect("a list").iter();
            let ends = below.chain([&edge["ref"]]).filter_map(Value::as_str);
            ends.for_each(|end| assert!(refs.contains(end), "{end} is not told"));
        }
    }

    #[test]
    fn sums_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
            checksum = \"ff\"\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let name = ("a".to_owned(), "1.0.0".to_owned());
        assert_eq!(checksums(lock), BTreeMap::from([(name, "ff".to_owned())]));
    }
}
