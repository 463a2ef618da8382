//! Other programs that run workflows of requests. They are kept in the user's cache, with a folder
//! for each version; one that cannot be installed is reported and left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::install::{NPM, PYTHON, PYTHON_PROBE, done, installed, python_of, runs};
use crate::tools::shout;
use crate::workspace::Workspace;

pub(crate) const HURL: &str = "Hurl";
pub(crate) const RESPECT: &str = "respect";
pub(crate) const ARAZZO: &str = "arazzo-runner";

const HURL_VERSION: &str = "8.0.1";
const RESPECT_PACKAGE: &str = "@redocly/cli@2.73.0";
const ARAZZO_PACKAGE: &str = "arazzo-runner==0.9.6";

/// A program that runs the workflows in its working directory.
pub(crate) struct Runner {
    pub(crate) name: &'static str,
    program: PathBuf,
}

impl Runner {
    /// Runs the workflow with this many steps.
    pub(crate) fn command(&self, steps: usize) -> Command {
        let mut command = match self.name {
            RESPECT => Command::new("node"),
            _ => Command::new(&self.program),
        };
        match self.name {
            HURL => command.arg(format!("{steps}.hurl")),
            RESPECT => {
                // Otherwise it checks for updates and sends telemetry.
                command.env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
                command.env("REDOCLY_TELEMETRY", "off");
                command.arg(&self.program).arg("respect").arg(format!("{steps}.arazzo.yaml"))
            }
            _ => {
                // Its launcher contains the path of the installation folder, which has been renamed
                // since.
                command.args(["-m", "arazzo_runner", "--log-level", "ERROR", "execute-workflow"]);
                command.arg(format!("{steps}.arazzo.yaml"));
                command.args(["--workflow-id", "chain", "--inputs", "{}"])
            }
        };
        command
    }
}

/// All runners that can be installed on this machine.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Vec<Runner>> {
    let cache = workspace.cache("bench")?;
    let found =
        [(HURL, hurl(workspace, &cache)), (RESPECT, respect(&cache)), (ARAZZO, arazzo(&cache))];
    let runners = found.into_iter().filter_map(|(name, program)| match program {
        Ok(program) => Some(Runner { name, program }),
        Err(error) => {
            shout(&format!("the comparison with {name} is skipped: {error:#}"));
            None
        }
    });
    Ok(runners.collect())
}

/// The `hurl` on the `PATH`, or one built from source, because its npm package only downloads a
/// binary from elsewhere.
fn hurl(workspace: &Workspace, cache: &Path) -> Result<PathBuf> {
    if runs(Command::new("hurl").arg("--version")) {
        return Ok(PathBuf::from("hurl"));
    }
    let folder = installed(cache, "hurl", HURL_VERSION.as_bytes(), |into| {
        let mut cargo = workspace.cargo();
        cargo.args(["install", "hurl", "--version", HURL_VERSION, "--locked", "--root"]).arg(into);
        // The parts of a tool must not fill up the workspace's build directory.
        cargo.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_BUILD_TARGET_DIR");
        done(&mut cargo).context("its build needs libclang and the headers of libxml2 and libcurl")
    })?;
    Ok(folder.join("bin").join(format!("hurl{}", std::env::consts::EXE_SUFFIX)))
}

fn respect(cache: &Path) -> Result<PathBuf> {
    let folder = installed(cache, "respect", RESPECT_PACKAGE.as_bytes(), |into| {
        fs::write(into.join("package.json"), "{\"private\": true}\n")?;
        let mut npm = Command::new(NPM);
        npm.current_dir(into).args(["install", "--no-audit", "--no-fund", "--ignore-scripts"]);
        done(npm.arg(RESPECT_PACKAGE))
    })?;
    Ok(folder.join("node_modules/@redocly/cli/bin/cli.js"))
}

fn arazzo(cache: &Path) -> Result<PathBuf> {
    anyhow::ensure!(
        runs(Command::new(PYTHON).args(["-c", PYTHON_PROBE])),
        crate::install::NO_PYTHON
    );
    let folder = installed(cache, "arazzo-runner", ARAZZO_PACKAGE.as_bytes(), |into| {
        done(Command::new(PYTHON).args(["-m", "venv"]).arg(into))?;
        let mut pip = Command::new(python_of(into));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        done(pip.arg(ARAZZO_PACKAGE))
    })?;
    Ok(python_of(&folder))
}
