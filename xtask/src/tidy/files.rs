//! The files of the repository: which exist, how large they may be, and how they may be named.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::finding::Finding;

const SIZE_MAX: u64 = 200_000;
const SIZE_EXEMPT: &[&str] = &["Cargo.lock"];

/// Names that do not describe the content.
const BANNED_NAMES: &[&str] = &[
    "again",
    "all",
    "already",
    "also",
    "always",
    "anew",
    "apart",
    "at_once",
    "before",
    "both",
    "common",
    "core",
    "done",
    "elsewhere",
    "every",
    "found",
    "given",
    "hands",
    "helpers",
    "it",
    "keep",
    "kept",
    "known",
    "lately",
    "later",
    "like",
    "look",
    "manager",
    "meant",
    "misc",
    "named",
    "new",
    "now",
    "once",
    "other",
    "past",
    "plain",
    "quick",
    "recent",
    "said",
    "same",
    "several",
    "some",
    "spread",
    "such",
    "then",
    "thing",
    "things",
    "this",
    "together",
    "told",
    "types",
    "utils",
    "wanted",
    "what",
    "where",
    "who",
    "whole",
    "words",
    "yet",
];

/// A file that is committed, or would be by `git add`.
pub(crate) struct Listed {
    /// Relative to the root, with `/` as the separator.
    pub(crate) path: String,
    pub(crate) size: u64,
}

impl Listed {
    pub(crate) fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    /// Whether the file is a Markdown page.
    pub(crate) fn is_page(&self) -> bool {
        self.has_extension("md")
    }

    fn has_extension(&self, wanted: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == wanted)
    }
}

/// Lists files with git if there is a repository, otherwise (in a release archive) by walking the
/// tree.
pub(crate) fn list(root: &Path) -> Result<Vec<Listed>> {
    let git = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let paths = match git {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .split_terminator('\0')
            .map(str::to_owned)
            .collect(),
        _ => {
            let mut paths = Vec::new();
            walk(root, "", &mut paths)?;
            paths
        }
    };
    let mut listed = Vec::new();
    for path in paths {
        // A file that git lists may be missing from the tree. Links are skipped.
        if let Ok(metadata) = fs::symlink_metadata(root.join(&path))
            && metadata.is_file()
        {
            listed.push(Listed { path, size: metadata.len() });
        }
    }
    Ok(listed)
}

fn walk(directory: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if !["target", ".git"].contains(&name.as_str()) {
            walk(&entry.path(), &format!("{path}/"), paths)?;
        }
    }
    Ok(())
}

pub(crate) fn too_large(listed: &[Listed]) -> Vec<Finding> {
    listed
        .iter()
        .filter(|file| file.size > SIZE_MAX && !SIZE_EXEMPT.contains(&file.path.as_str()))
        .map(|file| {
            let size = file.size;
            let message = format!("has {size} bytes (limit {SIZE_MAX}): generate or shrink it");
            Finding::new(&file.path, 1, message)
        })
        .collect()
}

pub(crate) fn banned_names(listed: &[Listed]) -> Vec<Finding> {
    listed.iter().filter(|file| file.is_rust()).filter_map(banned_name).collect()
}

fn banned_name(file: &Listed) -> Option<Finding> {
    let mut parts = file.path.trim_end_matches(".rs").rsplit('/');
    let stem = parts.next()?;
    let module = if stem == "mod" { parts.next()? } else { stem };
    BANNED_NAMES.contains(&module).then(|| {
        let message = format!("`{module}` says nothing: name the file after its one concept");
        Finding::new(&file.path, 1, message)
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn listed(path: &str, size: u64) -> Listed {
        Listed { path: path.to_owned(), size }
    }

    #[test]
    fn only_what_is_over_the_limit_is_too_large() {
        let files = [
            listed("docs/picture.png", SIZE_MAX + 1),
            listed("docs/small.png", SIZE_MAX),
            listed("Cargo.lock", SIZE_MAX * 2),
        ];
        assert_eq!(places(&too_large(&files)), ["docs/picture.png:1"]);
    }

    #[test]
    fn names_that_say_nothing_are_refused_for_rust_files_and_modules() {
        let files = [
            listed("crates/model/src/utils.rs", 1),
            listed("crates/model/src/types/mod.rs", 1),
            listed("crates/model/src/plan.rs", 1),
            listed("crates/model/src/core_idea.rs", 1),
            listed("docs/common.md", 1),
            listed("xtask/src/misc.rs", 1),
        ];
        let expected = [
            "crates/model/src/utils.rs:1",
            "crates/model/src/types/mod.rs:1",
            "xtask/src/misc.rs:1",
        ];
        assert_eq!(places(&banned_names(&files)), expected);
    }

    #[test]
    fn without_git_the_tree_is_walked_past_build_output() {
        let root = std::env::temp_dir().join(format!("xtask-walk-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("target")).unwrap();
        fs::write(root.join("a/b/c.rs"), "").unwrap();
        fs::write(root.join("target/d.rs"), "").unwrap();
        let mut paths = Vec::new();
        walk(&root, "", &mut paths).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(paths, ["a/b/c.rs"]);
    }
}
