//! The peers of the catalog bench and the document that they share: GitHub's, the largest one in
//! wide use. All are kept in the user's cache, with a folder for each version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::install::{NPM, PYTHON, PYTHON_PROBE, done, installed, python_of, runs};
use crate::tools::shout;
use crate::usage;
use crate::workspace::Workspace;

const NPM_PACKAGES: [&str; 2] = ["@octokit/openapi@23.0.2", "openapi-mcp-generator@4.0.1"];
const PYTHON_PACKAGE: &str = "fastmcp==4.1.2";
const SCRIPT: &str = include_str!("../../peers/from_openapi.py");

/// GitHub's document and the packages installed with it.
pub(crate) struct Npm {
    modules: PathBuf,
    pub(crate) document: PathBuf,
}

impl Npm {
    /// `None` if npm is missing or cannot fetch the packages.
    pub(crate) fn prepare(workspace: &Workspace) -> Result<Option<Npm>> {
        let versions = [Command::new("node"), Command::new(NPM)];
        if !versions.into_iter().all(|mut program| runs(program.arg("--version"))) {
            return Ok(None);
        }
        let cache = workspace.cache("bench")?;
        let lock = NPM_PACKAGES.join("\n");
        let folder = installed(&cache, "catalog-npm", lock.as_bytes(), |into| {
            fs::write(into.join("package.json"), "{\"private\": true}\n")?;
            let mut npm = Command::new(NPM);
            npm.current_dir(into).args(["install", "--no-audit", "--no-fund", "--ignore-scripts"]);
            done(npm.args(NPM_PACKAGES))
        });
        let Some(folder) = or_shout(folder) else { return Ok(None) };
        let modules = folder.join("node_modules");
        let document = modules.join("@octokit/openapi/generated/api.github.com.json");
        Ok(Some(Npm { modules, document }))
    }

    /// `openapi-mcp-generator`, which writes a project to a new folder.
    pub(crate) fn generator(&self, into: &Path) -> Result<Command> {
        let mut command = usage::command("node")?;
        command
            .arg(self.modules.join("openapi-mcp-generator/bin/openapi-mcp-generator.js"))
            .args(["--force", "--input"])
            .arg(&self.document)
            .arg("--output")
            .arg(into);
        Ok(command)
    }
}

/// The number of tools in a generated project, each of which is an entry of a map.
pub(crate) fn generated(project: &Path) -> Result<usize> {
    let path = project.join("src/index.ts");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(entries(&text))
}

fn entries(code: &str) -> usize {
    code.lines().filter(|line| line.starts_with("  [\"") && line.ends_with("\", {")).count()
}

/// `FastMCP` in its own environment.
pub(crate) struct FastMcp {
    python: PathBuf,
}

impl FastMcp {
    /// `None` if Python is missing or the package cannot be fetched.
    pub(crate) fn prepare(workspace: &Workspace) -> Result<Option<FastMcp>> {
        if !runs(Command::new(PYTHON).args(["-c", PYTHON_PROBE])) {
            return Ok(None);
        }
        let cache = workspace.cache("bench")?;
        let folder = installed(&cache, "catalog-python", PYTHON_PACKAGE.as_bytes(), |into| {
            done(Command::new(PYTHON).args(["-m", "venv"]).arg(into))?;
            let mut pip = Command::new(python_of(into));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            done(pip.arg(PYTHON_PACKAGE))
        });
        Ok(or_shout(folder).map(|folder| FastMcp { python: python_of(&folder) }))
    }

    /// A Python script that uses `FastMCP`.
    pub(crate) fn script(&self, text: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-c", text]);
        command
    }

    /// Serves the document and lists its tools.
    pub(crate) fn tools(&self, document: &Path) -> Result<Command> {
        let mut command = usage::command(&self.python)?;
        command.args(["-c", SCRIPT]).arg(document);
        Ok(command)
    }
}

/// The output of the `FastMCP` script.
pub(crate) fn listed(output: &Output) -> Result<Value> {
    serde_json::from_slice(&output.stdout).context("the script of FastMCP printed no JSON")
}

/// Reports a peer that cannot be installed instead of failing, so that our own figures can be
/// measured without a network.
fn or_shout(folder: Result<PathBuf>) -> Option<PathBuf> {
    folder.inspect_err(|error| shout(&format!("{error:#}"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_of_the_generated_map_are_counted() {
        let code = r#"const tools = new Map([
  ["meta_root", {
    name: "meta_root",
  }],
  ["orgs_list", {
  }],
]);
"#;
        assert_eq!(entries(code), 2);
        assert_eq!(entries(""), 0);
    }
}
