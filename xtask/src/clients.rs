//! The real clients of the server: SDKs of other languages, which drive the real binary over stdio.
//!
//! Each is installed once, into a folder of the user's cache that is named after its lock file: an
//! SDK of another version gets another folder. What a machine lacks is said aloud and skipped.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::report::Verdict;
use crate::tools::shout;
use crate::workspace::Workspace;

const FOLDER: &str = "tests/clients";
const BINARY: &str = "MILEPOST_BINARY";
pub(crate) const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
pub(crate) const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// What the Python SDK needs of Python, as a program that fails where it is not there.
pub(crate) const PYTHON_PROBE: &str =
    "import sys, venv, ensurepip; sys.exit(0 if sys.version_info >= (3, 10) else 1)";

/// Why a stage that needs Python is left out.
pub(crate) const NO_PYTHON: &str = "there is no python3 of 3.10 or later that makes environments";

/// `cargo xtask clients`: both of them.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let verdicts = [typescript(workspace)?, python(workspace)?];
    let failed = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Failed { .. }));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Walks a guide with the TypeScript SDK.
pub(crate) fn typescript(workspace: &Workspace) -> Result<Verdict> {
    let Some(modules) = node_modules(workspace)? else {
        return Ok(skipped("node and npm are not both here"));
    };
    let script = workspace.root().join(FOLDER).join("typescript/walk.mjs");
    let script =
        fs::read_to_string(&script).with_context(|| format!("cannot read {}", script.display()))?;
    walk(workspace, node(&modules, &script))
}

/// Walks a guide with the Python SDK.
pub(crate) fn python(workspace: &Workspace) -> Result<Verdict> {
    let Some(python) = python_with(workspace, "python")? else {
        return Ok(skipped(NO_PYTHON));
    };
    let mut command = Command::new(python);
    command.arg(workspace.root().join(FOLDER).join("python/walk.py"));
    walk(workspace, command)
}

/// A Python with the requirements of a folder of the clients; none where Python is not.
pub(crate) fn python_with(workspace: &Workspace, name: &str) -> Result<Option<PathBuf>> {
    if !runs(Command::new(PYTHON).args(["-c", PYTHON_PROBE])) {
        return Ok(None);
    }
    let list = workspace.root().join(FOLDER).join(name).join("requirements.txt");
    let cache = workspace.cache("clients")?;
    let environment = installed(&cache, name, &read(&list)?, |into| {
        done(Command::new(PYTHON).args(["-m", "venv"]).arg(into))?;
        let mut pip = Command::new(python_of(into));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        done(pip.arg("--requirement").arg(&list))
    })?;
    Ok(Some(python_of(&environment)))
}

/// The folder with the TypeScript SDK in it; none where Node is not.
pub(crate) fn node_modules(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let versions = [Command::new("node"), Command::new(NPM)];
    if !versions.into_iter().all(|mut program| runs(program.arg("--version"))) {
        return Ok(None);
    }
    let folder = workspace.root().join(FOLDER).join("typescript");
    let lock = folder.join("package-lock.json");
    let cache = workspace.cache("clients")?;
    let modules = installed(&cache, "typescript", &read(&lock)?, |into| {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(folder.join(name), into.join(name))
                .with_context(|| format!("cannot copy {name}"))?;
        }
        let mut npm = Command::new(NPM);
        npm.current_dir(into).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
        done(&mut npm)
    })?;
    Ok(Some(modules))
}

/// A module as a program: Node looks for what it imports from the working directory on.
pub(crate) fn node(modules: &Path, script: &str) -> Command {
    let mut command = Command::new("node");
    command.current_dir(modules).args(["--input-type=module", "--eval", script]);
    command
}

fn walk(workspace: &Workspace, mut client: Command) -> Result<Verdict> {
    // The same build as that of all other stages: nothing is built again.
    let binary = workspace.build_binary("milepost", &["--workspace", "--all-targets"])?;
    let output = client
        .env(BINARY, binary)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the client")?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    eprintln!("{said}");
    if output.status.success() {
        return Ok(Verdict::Passed { note: said });
    }
    Ok(Verdict::Failed { why: output.status.to_string() })
}

/// The folder that belongs to the text of a lock file, filled once: first under another name, so
/// that a folder with the right one is whole.
pub(crate) fn installed(
    cache: &Path,
    name: &str,
    lock: &[u8],
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = cache.join(format!("{name}-{:016x}", fingerprint(lock)));
    if folder.is_dir() {
        return Ok(folder);
    }
    eprintln!("installing {name}, once");
    let partial = cache.join(format!("{name}-{}.partial", std::process::id()));
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let filled = fill(&partial).and_then(|()| {
        let moved = fs::rename(&partial, &folder);
        // Another run may have been faster.
        ensure!(moved.is_ok() || folder.is_dir(), "cannot create {}", folder.display());
        Ok(())
    });
    if partial.is_dir() {
        fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    filled.map(|()| folder)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// FNV-1a: tells one lock file from another.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(crate) fn python_of(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

pub(crate) fn runs(command: &mut Command) -> bool {
    let output = command.stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs a command that must succeed; what it prints goes to stderr, like all that is no data.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let program = Path::new(&program).file_name().unwrap_or(OsStr::new("?")).to_string_lossy();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{program} cannot install it ({})", output.status);
    Ok(())
}

fn skipped(why: &str) -> Verdict {
    shout(&format!("a client is left out: {why}"));
    Verdict::Skipped { why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_file_has_its_own_folder() {
        assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn the_lock_file_names_no_registry() {
        let lock = include_str!("../../tests/clients/typescript/package-lock.json");
        assert!(!lock.contains("\"resolved\""));
        assert!(lock.contains("\"integrity\""));
    }
}
