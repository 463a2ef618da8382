//! The peer of the validate bench: ajv on Node, from npm, kept in the user's cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stopwatch::Subject;
use crate::workspace::Workspace;

const PACKAGES: [&str; 2] = ["ajv@8.20.0", "ajv-formats@3.0.1"];
const SCRIPT: &str = include_str!("ajv.js");

/// Prepares the peer, or reports why that is impossible on this machine.
pub(crate) fn prepare(
    workspace: &Workspace,
    schema: &[u8],
    guides: &[PathBuf],
) -> Result<Result<Subject, String>> {
    if !runs("node") || !runs(NPM) {
        return Ok(Err("node and npm are not both installed".to_owned()));
    }
    let directory = workspace.cache("bench")?.join("ajv");
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    if !installed(&directory) && !install(&directory)? {
        return Ok(Err("npm cannot install ajv".to_owned()));
    }
    let script = written(&directory, "validate.js", SCRIPT.as_bytes())?;
    let schema = written(&directory, "guide.schema.json", schema)?;
    let paths = [script, schema].into_iter().chain(guides.iter().cloned());
    let arguments: Vec<OsString> = paths.map(PathBuf::into_os_string).collect();
    let subject = Subject { program: "node".into(), arguments, codes: &[0] };
    let counted = count(&subject.answer()?.stdout)?;
    ensure!(counted == guides.len() as u64, "ajv read {counted} of {} guides", guides.len());
    Ok(Ok(subject))
}

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

fn runs(program: &str) -> bool {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn installed(directory: &Path) -> bool {
    PACKAGES.iter().all(|package| {
        let Some((name, version)) = package.split_once('@') else { return false };
        let manifest = directory.join("node_modules").join(name).join("package.json");
        fs::read(manifest)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
            .is_some_and(|manifest| manifest["version"] == version)
    })
}

fn install(directory: &Path) -> Result<bool> {
    written(directory, "package.json", b"{\"private\": true}\n")?;
    // npm's output goes to stderr, like everything that is not a figure.
    let output = Command::new(NPM)
        .current_dir(directory)
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .args(PACKAGES)
        .stdin(Stdio::null())
        .output()
        .context("cannot start npm")?;
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok(output.status.success())
}

fn written(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let path = directory.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn count(answer: &[u8]) -> Result<u64> {
    let answer: Value = serde_json::from_slice(answer).context("ajv's script printed no JSON")?;
    eprintln!("ajv: {answer}");
    answer["files"].as_u64().context("ajv's script named no files")
}
