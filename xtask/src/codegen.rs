//! Generated files: the product prints them and the repository keeps them, so that changes show up
//! in review.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::report::Verdict;
use crate::workspace::Workspace;

/// A committed file and the arguments of `milepost` that print it.
struct Generated {
    path: &'static str,
    arguments: &'static [&'static str],
}

const GENERATED: &[Generated] = &[
    Generated { path: "schemas/workflow.schema.json", arguments: &["schema", "workflow"] },
    Generated { path: "schemas/guide.schema.json", arguments: &["schema", "guide"] },
];

/// `cargo xtask codegen`.
pub(crate) fn write(workspace: &Workspace) -> Result<ExitCode> {
    let binary = binary(workspace, &["--workspace", "--exclude", "xtask"])?;
    for generated in GENERATED {
        let path = workspace.root().join(generated.path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
        }
        fs::write(&path, printed(&binary, generated)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", generated.path);
    }
    Ok(ExitCode::SUCCESS)
}

/// `cargo xtask codegen --check`.
pub(crate) fn check(workspace: &Workspace) -> Result<ExitCode> {
    let stale = stale(workspace, &binary(workspace, &["--workspace", "--exclude", "xtask"])?)?;
    for finding in &stale {
        println!("{finding}");
    }
    Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The check as a stage of the test command, which has already built the binary.
pub(crate) fn stage(workspace: &Workspace) -> Result<Verdict> {
    let stale = stale(workspace, &binary(workspace, &["--workspace", "--all-targets"])?)?;
    for finding in &stale {
        eprintln!("{finding}");
    }
    if stale.is_empty() {
        return Ok(Verdict::passed());
    }
    Ok(Verdict::Failed { why: format!("{} stale, run cargo xtask codegen", stale.len()) })
}

fn binary(workspace: &Workspace, scope: &[&str]) -> Result<std::path::PathBuf> {
    workspace.build_binary("milepost", scope)
}

fn stale(workspace: &Workspace, binary: &Path) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for generated in GENERATED {
        let kept = match fs::read(workspace.root().join(generated.path)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", generated.path));
            }
        };
        let fresh = printed(binary, generated)?;
        stale.extend(difference(generated.path, kept.as_deref(), &fresh));
    }
    Ok(stale)
}

fn printed(binary: &Path, generated: &Generated) -> Result<Vec<u8>> {
    let output = Command::new(binary)
        .args(generated.arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if !output.status.success() {
        bail!("`milepost {}` failed: {}", generated.arguments.join(" "), output.status);
    }
    Ok(output.stdout)
}

/// Describes the first line in which a committed file differs from the generated one.
fn difference(path: &str, kept: Option<&[u8]>, fresh: &[u8]) -> Option<String> {
    let Some(kept) = kept else {
        return Some(format!("{path}:1: is missing: run `cargo xtask codegen` and commit it"));
    };
    if kept == fresh {
        return None;
    }
    let equal = kept.split(|&b| b == b'\n').zip(fresh.split(|&b| b == b'\n'));
    let line = equal.take_while(|(kept, fresh)| kept == fresh).count() + 1;
    Some(format!("{path}:{line}: is stale: run `cargo xtask codegen` and commit it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_fresh() {
        assert_eq!(difference("a.json", Some(b"{}\n"), b"{}\n"), None);
    }

    #[test]
    fn the_first_differing_line_is_named() {
        let finding = difference("a.json", Some(b"{\n1\n}\n"), b"{\n2\n}\n");
        assert!(finding.is_some_and(|text| text.starts_with("a.json:2: is stale")));
        let finding = difference("a.json", Some(b"{}\n"), b"{}");
        assert!(finding.is_some_and(|text| text.starts_with("a.json:2: is stale")));
    }

    #[test]
    fn a_missing_file_is_a_finding() {
        let finding = difference("a.json", None, b"{}\n");
        assert!(finding.is_some_and(|text| text.starts_with("a.json:1: is missing")));
    }
}
