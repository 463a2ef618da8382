//! The locations of the checkout, its build output and the per-user cache, and how cargo is called.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The checkout that the task works on.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the checkout from the directory of this package as cargo reports it at run time. A
    /// build directory may serve several checkouts, so the compiled-in path may belong to another.
    pub(crate) fn find() -> Result<Workspace> {
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.parent().context("the xtask package has no parent directory")?;
        Ok(Workspace { root: root.to_path_buf() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A cargo command at the root. The variables that `cargo run` sets for the xtask package are
    /// removed, because build scripts that watch them would run again unnecessarily.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).stdin(Stdio::null());
        for (name, _) in env::vars_os() {
            if describes_a_package(&name) {
                command.env_remove(name);
            }
        }
        command
    }

    /// Members, their targets and their direct dependencies.
    pub(crate) fn metadata(&self) -> Result<Value> {
        let output = self
            .cargo()
            .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed");
        }
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")
    }

    /// Runs a cargo build and returns the binary with this name.
    pub(crate) fn build_binary(&self, name: &str, arguments: &[&str]) -> Result<PathBuf> {
        let output = self
            .cargo()
            .arg("build")
            .args(arguments)
            .args(["--locked", "--message-format", "json-render-diagnostics"])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo build")?;
        if !output.status.success() {
            bail!("cargo build failed");
        }
        executable_in(&String::from_utf8_lossy(&output.stdout), name)
            .with_context(|| format!("the build made no binary `{name}`"))
    }

    /// A directory that outlives builds and checkouts, for tools and generated bench data.
    pub(crate) fn cache(&self, name: &str) -> Result<PathBuf> {
        let base =
            user_cache().map_or_else(|| self.root.join("target"), |dir| dir.join("milepost"));
        let preferred = base.join(name);
        if fs::create_dir_all(&preferred).is_ok() {
            return Ok(preferred);
        }
        let fallback = self.root.join("target").join(name);
        fs::create_dir_all(&fallback)
            .with_context(|| format!("cannot create {}", fallback.display()))?;
        Ok(fallback)
    }
}

fn describes_a_package(variable: &OsStr) -> bool {
    variable.to_str().is_some_and(|name| {
        name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name.starts_with("CARGO_BIN_")
    })
}

fn user_cache() -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .or_else(|| absolute("LOCALAPPDATA"))
}

/// Reads the last binary with this name from cargo's messages, one JSON object per line.
fn executable_in(messages: &str, name: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| {
            message["target"]["name"] == name && message["profile"]["test"] == Value::Bool(false)
        })
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_told_from_its_test_build_and_from_other_lines() {
        let messages = concat!(
            "not json\n",
            r#"{"target":{"name":"milepost"},"profile":{"test":false},"executable":"/t/milepost"}"#,
            "\n",
            r#"{"target":{"name":"milepost"},"profile":{"test":true},"executable":"/t/test-1"}"#,
            "\n",
            r#"{"target":{"name":"other"},"profile":{"test":false},"executable":"/t/other"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable_in(messages, "milepost"), Some(PathBuf::from("/t/milepost")));
        assert_eq!(executable_in(messages, "absent"), None);
    }

    #[test]
    fn only_what_cargo_says_about_a_package_is_taken_away() {
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_BIN_NAME"] {
            assert!(describes_a_package(OsStr::new(name)), "{name}");
        }
        for name in ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "PATH"] {
            assert!(!describes_a_package(OsStr::new(name)), "{name}");
        }
    }
}
