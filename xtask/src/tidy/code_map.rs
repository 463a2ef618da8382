//! The code maps of ARCHITECTURE: each names modules that exist, and all modules of its crate.

use std::collections::BTreeMap;

use super::files::Listed;
use super::finding::Finding;

pub(crate) const PAGE: &str = "docs/ARCHITECTURE.md";

/// Modules that every reader expects, and that no map needs to list.
const UNLISTED: &[&str] = &["lib", "main", "limits", "tests"];

/// Compares the maps in the page with the files of the crates.
pub(crate) fn differences(page: &str, listed: &[Listed]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut modules = modules_by_crate(listed);
    for map in maps(page) {
        let Some(mut modules) = modules.remove(map.crate_name) else {
            let message = format!("there is no crate `{}`: remove its map", map.crate_name);
            findings.push(Finding::new(PAGE, map.line, message));
            continue;
        };
        for (name, line) in &map.names {
            if modules.remove(*name).is_none() && !UNLISTED.contains(name) {
                let message =
                    format!("`{}` has no module `{name}`: correct the map", map.crate_name);
                findings.push(Finding::new(PAGE, *line, message));
            }
        }
        for (module, path) in modules {
            let message = format!("module `{module}` is missing from the code map in {PAGE}");
            findings.push(Finding::new(&path, 1, message));
        }
    }
    let without_map = modules
        .into_keys()
        .map(|name| Finding::new(PAGE, 1, format!("there is no code map of `{name}`: add one")));
    findings.extend(without_map);
    findings
}

struct Map<'p> {
    crate_name: &'p str,
    line: usize,
    names: Vec<(&'p str, usize)>,
}

fn maps(page: &str) -> Vec<Map<'_>> {
    let mut maps: Vec<Map<'_>> = Vec::new();
    let mut is_in_map = false;
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(title) = text.strip_prefix("## ") {
            let name = title.strip_prefix("Code map of `").and_then(|name| name.strip_suffix('`'));
            maps.extend(name.map(|crate_name| Map { crate_name, line, names: Vec::new() }));
            is_in_map = name.is_some();
        } else if is_in_map
            && let Some(map) = maps.last_mut()
            && let Some((cell, _)) = text.strip_prefix("| `").and_then(|row| row.split_once(" |"))
        {
            let names = cell.split("`, `").map(|name| (name.trim_end_matches('`'), line));
            map.names.extend(names);
        }
    }
    maps
}

/// The top-level modules of each crate, with one of their files. A folder ends with a slash.
fn modules_by_crate(listed: &[Listed]) -> BTreeMap<&str, BTreeMap<String, String>> {
    let mut crates: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for file in listed.iter().filter(|file| file.is_rust()) {
        let Some((name, rest)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        let module = match rest.split_once('/') {
            Some((folder, "mod.rs")) => format!("{folder}/"),
            Some(_) => continue,
            None => rest.trim_end_matches(".rs").to_owned(),
        };
        let modules = crates.entry(name).or_default();
        if !UNLISTED.contains(&module.as_str()) {
            modules.insert(module, file.path.clone());
        }
    }
    crates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str, paths: &[&str]) -> Vec<String> {
        let file = |path: &&str| Listed { path: (*path).to_owned(), size: 0 };
        let listed: Vec<Listed> = paths.iter().map(file).collect();
        differences(page, &listed).iter().map(ToString::to_string).collect()
    }

    const PAGE_TEXT: &str = "## Code map of `store`\n\n| module | concept |\n|---|---|\n\
        | `file`, `runs/` | files `elsewhere` |\n\n## Glossary\n| `word` | is no module |\n";

    #[test]
    fn a_map_that_fits_has_no_finding() {
        let paths = [
            "crates/store/src/lib.rs",
            "crates/store/src/file.rs",
            "crates/store/src/file/fault.rs",
            "crates/store/src/runs/mod.rs",
            "crates/store/src/runs/writer.rs",
            "crates/store/tests/it/main.rs",
        ];
        assert_eq!(found(PAGE_TEXT, &paths), [""; 0]);
    }

    #[test]
    fn every_difference_is_found() {
        let paths =
            ["crates/store/src/runs.rs", "crates/store/src/file.rs", "crates/mock/src/lib.rs"];
        assert_eq!(
            found(PAGE_TEXT, &paths),
            [
                "docs/ARCHITECTURE.md:5: `store` has no module `runs/`: correct the map",
                "crates/store/src/runs.rs:1: module `runs` is missing from the code map in \
                 docs/ARCHITECTURE.md",
                "docs/ARCHITECTURE.md:1: there is no code map of `mock`: add one",
            ]
        );
        assert_eq!(
            found(PAGE_TEXT, &[]),
            ["docs/ARCHITECTURE.md:1: there is no crate `store`: remove its map"]
        );
    }
}
