//! Which crates may depend on which: our own crates have ranks, and some third-party crates may be
//! used only by certain crates of ours.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::finding::Finding;

/// A crate may depend only on crates of a strictly lower rank. `xtask` is exempt.
const RANKS: &[(&str, u8)] = &[
    ("syntax", 0),
    ("metrics", 0),
    ("model", 1),
    ("catalog", 2),
    ("engine", 2),
    ("mock", 3),
    ("outbound", 3),
    ("store", 3),
    ("driver", 4),
    ("scale", 4),
    ("ops", 5),
    ("mcp", 6),
    ("console", 6),
    ("cli", 7),
];

/// Third-party crates that only these crates of ours may use in shipped code (tests may use them).
const HOMES: &[(&str, &[&str])] = &[
    ("anyhow", &["cli"]),
    ("axum", &["mcp", "console", "cli"]),
    ("clap", &["cli"]),
    ("reqwest", &["outbound"]),
    ("restate-sdk", &["scale"]),
    ("rmcp", &["mcp", "outbound"]),
    ("rusqlite", &["store"]),
];

/// One of our crates, with the file that declares its dependencies.
pub(crate) struct Member {
    folder: String,
    manifest_path: String,
    manifest: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    for_tests_only: bool,
}

impl Member {
    fn finding(&self, dependency: &str, message: String) -> Finding {
        let line = self.manifest.lines().position(|line| {
            line.trim_start().strip_prefix(dependency).is_some_and(|rest| {
                rest.starts_with(|c: char| c == '.' || c == '=' || c.is_whitespace())
            })
        });
        Finding::new(&self.manifest_path, line.map_or(1, |index| index + 1), message)
    }
}

/// Reads our crates from the output of `cargo metadata --no-deps`.
pub(crate) fn members(metadata: &Value, root: &Path) -> Result<Vec<Member>> {
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut members = Vec::new();
    for package in packages {
        let name = package["name"].as_str().context("a package has no name")?;
        let Some(folder) = our_crate(name) else { continue };
        let path = package["manifest_path"].as_str().context("a package has no manifest")?;
        let manifest = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
        let relative = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
        members.push(Member {
            folder: folder.to_owned(),
            manifest_path: relative.to_string_lossy().replace('\\', "/"),
            manifest,
            dependencies: dependencies(package),
        });
    }
    Ok(members)
}

fn our_crate(package: &str) -> Option<&str> {
    package.strip_prefix("milepost-")
}

fn dependencies(package: &Value) -> Vec<Dependency> {
    let listed = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    listed
        .iter()
        .filter_map(|dependency| {
            let name = dependency["name"].as_str()?.to_owned();
            Some(Dependency { name, for_tests_only: dependency["kind"] == "dev" })
        })
        .collect()
}

fn rank(folder: &str) -> Option<u8> {
    RANKS.iter().find(|(name, _)| *name == folder).map(|(_, rank)| *rank)
}

pub(crate) fn wrong_rank(members: &[Member]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        let Some(own) = rank(&member.folder) else {
            let message = format!("`{}` has no rank: give it one in xtask tidy", member.folder);
            findings.push(member.finding("name", message));
            continue;
        };
        for dependency in &member.dependencies {
            let name = dependency.name.as_str();
            let message = if name == "xtask" {
                "nothing depends on `xtask`: move what is needed into a crate".to_owned()
            } else {
                match our_crate(name).and_then(rank) {
                    Some(other) if other >= own => format!(
                        "rank {own} may not depend on `{name}` of rank {other}: \
                         move the code down or invert it with a trait"
                    ),
                    _ => continue,
                }
            };
            findings.push(member.finding(name, message));
        }
    }
    findings
}

pub(crate) fn misplaced_dependency(members: &[Member]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        for dependency in member.dependencies.iter().filter(|found| !found.for_tests_only) {
            let name = dependency.name.as_str();
            let Some((_, homes)) = HOMES.iter().find(|(external, _)| *external == name) else {
                continue;
            };
            if !homes.contains(&member.folder.as_str()) {
                let message =
                    format!("`{name}` may be used only in {}: go through it", homes.join(", "));
                findings.push(member.finding(name, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::finding::places;
    use super::*;

    /// A crate whose manifest lists each dependency on its own line, starting at line 3.
    fn member(folder: &str, dependencies: &[&str]) -> Member {
        let lines: Vec<String> =
            dependencies.iter().map(|name| format!("{name}.workspace = true")).collect();
        Member {
            folder: folder.to_owned(),
            manifest_path: format!("crates/{folder}/Cargo.toml"),
            manifest: format!("name = \"milepost-{folder}\"\n\n{}\n", lines.join("\n")),
            dependencies: dependencies
                .iter()
                .map(|name| Dependency { name: (*name).to_owned(), for_tests_only: false })
                .collect(),
        }
    }

    #[test]
    fn a_crate_depends_on_strictly_lower_ranks() {
        let members = [
            member("cli", &["milepost-store", "milepost-model", "serde"]),
            member("store", &["milepost-model", "milepost-outbound"]),
            member("model", &["milepost-cli"]),
        ];
        let expected = ["crates/store/Cargo.toml:4", "crates/model/Cargo.toml:3"];
        assert_eq!(places(&wrong_rank(&members)), expected);
    }

    #[test]
    fn the_driver_stands_between_the_store_and_the_operations() {
        let members = [
            member("driver", &["milepost-store", "milepost-engine", "milepost-ops"]),
            member("ops", &["milepost-driver", "milepost-mock"]),
            member("mock", &["milepost-catalog", "milepost-outbound"]),
            member("model", &["milepost-syntax", "milepost-metrics"]),
        ];
        let expected = ["crates/driver/Cargo.toml:5", "crates/mock/Cargo.toml:4"];
        assert_eq!(places(&wrong_rank(&members)), expected);
    }

    #[test]
    fn a_crate_without_a_rank_and_a_use_of_xtask_are_findings() {
        let members = [member("extras", &[]), member("cli", &["xtask"])];
        let expected = ["crates/extras/Cargo.toml:1", "crates/cli/Cargo.toml:3"];
        assert_eq!(places(&wrong_rank(&members)), expected);
    }

    #[test]
    fn an_external_crate_stays_in_its_home() {
        let members = [
            member("store", &["rusqlite", "serde", "clap"]),
            member("cli", &["clap", "axum", "reqwest"]),
            member("mcp", &["rmcp", "axum"]),
        ];
        let expected = ["crates/store/Cargo.toml:5", "crates/cli/Cargo.toml:5"];
        assert_eq!(places(&misplaced_dependency(&members)), expected);
    }

    #[test]
    fn tests_may_use_any_external_crate() {
        let mut store = member("store", &["reqwest"]);
        store.dependencies[0].for_tests_only = true;
        assert_eq!(misplaced_dependency(&[store]), []);
    }

    #[test]
    fn metadata_names_kinds_of_dependencies() {
        let package = json!({"dependencies": [
            {"name": "serde", "kind": null},
            {"name": "proptest", "kind": "dev"},
            {"name": "cc", "kind": "build"},
        ]});
        let found: Vec<(String, bool)> =
            dependencies(&package).into_iter().map(|d| (d.name, d.for_tests_only)).collect();
        let expected = [("serde", false), ("proptest", true), ("cc", false)]
            .map(|(name, tests)| (name.to_owned(), tests));
        assert_eq!(found, expected);
    }
}
