//! The guides that the guide bench serves: the largest real one, alone and among 10,000.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::tools::shout;
use crate::workspace::Workspace;

const MANY: usize = 10_000;

pub(crate) struct GuideFiles {
    /// A folder with the largest guide alone.
    pub(crate) few: PathBuf,
    /// A folder with ten thousand other guides in addition.
    pub(crate) many: PathBuf,
    /// An empty folder.
    pub(crate) home: PathBuf,
    /// The largest guide.
    pub(crate) largest: Value,
}

impl GuideFiles {
    pub(crate) fn fill(workspace: &Workspace) -> Result<GuideFiles> {
        let root = workspace.cache("bench")?.join("guides");
        let files = |name: &str| -> Result<PathBuf> {
            let folder = root.join(name);
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
            Ok(folder)
        };
        let (few, many, home) = (files("few")?, files("many")?, files("home")?);
        let text = largest(workspace)?;
        let largest: Value =
            serde_json::from_str(&text).context("the largest guide is not JSON")?;
        for folder in [&few, &many] {
            write(&folder.join("largest.json"), &text)?;
        }
        // This file is written last; it shows that all the others exist and are of this version.
        let path = |number: usize| many.join(format!("guide-{number:05}.json"));
        if fs::read_to_string(path(MANY - 1)).ok() != Some(guide(MANY - 1)) {
            (0..MANY).try_for_each(|number| write(&path(number), &guide(number)))?;
        }
        Ok(GuideFiles { few, many, home, largest })
    }

    pub(crate) fn id(&self) -> &str {
        self.largest["id"].as_str().unwrap_or_default()
    }

    /// The step with the most criteria.
    pub(crate) fn judged(&self) -> Result<&str> {
        let mut steps = Vec::new();
        collect(&self.largest["steps"], &mut steps);
        let rules = |step: &&&Value| step["validationCriteria"].as_array().map_or(0, Vec::len);
        let most = steps.iter().rev().max_by_key(rules).context("the guide has no steps")?;
        ensure!(rules(&most) > 0, "the largest guide has no criteria");
        most["id"].as_str().context("a step has no id")
    }
}

fn collect<'g>(steps: &'g Value, into: &mut Vec<&'g Value>) {
    for step in steps.as_array().into_iter().flatten() {
        into.push(step);
        collect(&step["body"], into);
    }
}

/// The text of the largest valid guide in the corpus, or among the built-in ones.
fn largest(workspace: &Workspace) -> Result<String> {
    let corpus = env::var_os("MILEPOST_CORPUS")
        .map_or_else(|| workspace.root().join("../shared/corpus"), PathBuf::from);
    let folder = corpus.join("guides");
    let list = folder.join("MANIFEST.json");
    let paths = if let Ok(bytes) = fs::read(&list) {
        valid(&bytes)?.iter().map(|file| folder.join(file)).collect()
    } else {
        shout("no corpus of guides (MILEPOST_CORPUS): using the largest example instead");
        examples(&workspace.root().join("examples/guides"))?
    };
    let mut longest = String::new();
    for path in paths {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if text.len() > longest.len() {
            longest = text;
        }
    }
    Ok(longest)
}

fn valid(list: &[u8]) -> Result<Vec<String>> {
    let list: Vec<Value> =
        serde_json::from_slice(list).context("the corpus list is not an array")?;
    let valid = list.iter().filter(|entry| entry["valid"] == true);
    valid
        .map(|entry| entry["file"].as_str().map(str::to_owned).context("an entry has no `file`"))
        .collect()
}

fn examples(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A guide of typical size: six steps in about three kilobytes.
fn guide(number: usize) -> String {
    let prompt =
        "Read what was written before, decide what it means here, and note why. ".repeat(5);
    let step = |index: usize| {
        json!({
            "id": format!("step-{index}"),
            "title": format!("Step {index} of guide {number}"),
            "prompt": prompt,
            "agentRole": "You are careful and say what you do not know.",
            "guidance": ["Name your sources", "Be brief"],
            "requireConfirmation": index == 5,
        })
    };
    let guide = json!({
        "id": format!("guide-{number:05}"),
        "name": format!("Guide {number}"),
        "description": "One of many, as a large library has them.",
        "version": "1.0.0",
        "steps": (0..6).map(step).collect::<Vec<_>>(),
    });
    format!("{guide:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_guides_count() {
        let list = br#"[{"file": "a.json", "valid": true}, {"file": "b.json", "valid": false}]"#;
        assert_eq!(valid(list).unwrap(), ["a.json"]);
        assert!(valid(br#"[{"valid": true}]"#).is_err());
    }

    #[test]
    fn the_step_with_the_most_rules_is_judged() {
        let body = json!([{"id": "b", "validationCriteria": [1, 2]}]);
        let steps = json!([{"id": "a", "validationCriteria": [1]}, {"id": "l", "body": body}]);
        let none = PathBuf::new();
        let largest = json!({"id": "g", "steps": steps});
        let files = GuideFiles { few: none.clone(), many: none.clone(), home: none, largest };
        assert_eq!(files.judged().unwrap(), "b");
    }
}
