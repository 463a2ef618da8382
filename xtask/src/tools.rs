//! The cargo tools that the test command needs: found on the `PATH`, or installed once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// The version to install if no usable one is found.
const NEXTEST: Pin = Pin { package: "cargo-nextest", version: "0.9.151" };
const DENY: Pin = Pin { package: "cargo-deny", version: "0.20.2" };

/// The cargo-deny versions that understand `deny.toml`.
const DENY_SERIES: &str = "0.20.";

struct Pin {
    package: &'static str,
    version: &'static str,
}

/// A working cargo-deny.
pub(crate) struct Deny {
    program: PathBuf,
}

impl Deny {
    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(workspace.root()).stdin(Stdio::null());
        command
    }
}

/// Makes `cargo nextest` available and returns whether that worked.
pub(crate) fn nextest(workspace: &Workspace) -> Result<bool> {
    if says_its_version(workspace.cargo().arg("nextest")).is_some() {
        return Ok(true);
    }
    install(workspace, &NEXTEST, None)
}

/// Makes cargo-deny available: the one on the `PATH`, or one in the tools directory of the user's
/// cache, where it is built at most once. `None` only if the registry does not respond.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<Option<Deny>> {
    let tools = workspace.cache("tools")?;
    let own = tools.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    for program in [PathBuf::from("cargo-deny"), own.clone()] {
        let version = says_its_version(&mut Command::new(&program));
        if version.is_some_and(|version| is_of_series(&version, DENY_SERIES)) {
            return Ok(Some(Deny { program }));
        }
    }
    if install(workspace, &DENY, Some(&tools))? {
        return Ok(Some(Deny { program: own }));
    }
    ensure!(!registry_answers(workspace, &DENY)?, "cargo-deny cannot be installed");
    Ok(None)
}

/// Prints something that would otherwise be missed in the output of the stages.
pub(crate) fn shout(what: &str) {
    eprintln!("\n!!! {what}\n");
}

fn says_its_version(command: &mut Command) -> Option<String> {
    let output = command.arg("--version").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_of_series(version: &str, series: &str) -> bool {
    version.split_whitespace().nth(1).is_some_and(|number| number.starts_with(series))
}

fn install(workspace: &Workspace, pin: &Pin, root: Option<&Path>) -> Result<bool> {
    let Pin { package, version } = pin;
    eprintln!("installing {package} {version}: this takes a few minutes, once");
    let mut command = workspace.cargo();
    command.args(["install", package, "--version", version, "--locked", "--force"]);
    // The parts of a tool must not fill up the workspace's build directory.
    command.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_BUILD_TARGET_DIR");
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    Ok(command.status().context("cannot start cargo install")?.success())
}

/// Whether the registry responds. The query runs outside the workspace, because cargo would
/// otherwise answer from the lock file, and never in offline mode, because cargo would then answer
/// from the local index.
fn registry_answers(workspace: &Workspace, pin: &Pin) -> Result<bool> {
    if std::env::var_os("CARGO_NET_OFFLINE").is_some_and(|offline| offline == "true") {
        return Ok(false);
    }
    let status = workspace
        .cargo()
        .current_dir(workspace.cache("tools")?)
        .args(["info", "--quiet", &format!("{}@{}", pin.package, pin.version)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start cargo info")?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_another_series_is_not_taken() {
        assert!(is_of_series("cargo-deny 0.20.2\n", DENY_SERIES));
        assert!(!is_of_series("cargo-deny 0.16.4\n", DENY_SERIES));
        assert!(!is_of_series("", DENY_SERIES));
    }

    #[test]
    fn the_pinned_cargo_deny_is_of_the_accepted_series() {
        assert!(DENY.version.starts_with(DENY_SERIES));
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(says_its_version(&mut Command::new("milepost-no-such-program")), None);
    }
}
