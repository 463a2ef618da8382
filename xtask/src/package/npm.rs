//! The npm packages: `milepost`, from `npm/milepost` in the checkout, and one package with the
//! binary for each platform, which npm installs on matching systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::Build;
use crate::install::{NPM, runs};

/// The package that people install.
const MAIN: &str = "npm/milepost";
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// A platform in npm's terms, and the Rust targets whose binaries run on it.
struct Platform {
    targets: &'static [&'static str],
    os: &'static str,
    cpu: &'static str,
}

/// A static binary runs on every Linux distribution, so one package serves all of them.
const PLATFORMS: [Platform; 5] = [
    Platform { targets: &["aarch64-apple-darwin"], os: "darwin", cpu: "arm64" },
    Platform { targets: &["x86_64-apple-darwin"], os: "darwin", cpu: "x64" },
    Platform {
        targets: &["aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"],
        os: "linux",
        cpu: "arm64",
    },
    Platform {
        targets: &["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"],
        os: "linux",
        cpu: "x64",
    },
    Platform { targets: &["x86_64-pc-windows-msvc"], os: "win32", cpu: "x64" },
];

impl Platform {
    fn name(&self) -> String {
        format!("@milepost/{}-{}", self.os, self.cpu)
    }
}

/// Whether npm and its prerequisites are available.
pub(super) fn is_here() -> bool {
    let programs = [Command::new("node"), Command::new(NPM)];
    programs.into_iter().all(|mut program| runs(program.arg("--version")))
}

/// Packs both packages into a folder: first the one that people install, then the one for this
/// platform.
pub(super) fn pack(build: &Build, folder: &Path) -> Result<Vec<PathBuf>> {
    let platform = PLATFORMS.iter().find(|platform| platform.targets.contains(&build.target));
    let platform = platform.with_context(|| format!("npm has no name for {}", build.target))?;
    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let main = scratch.path().join("main");
    let source = build.workspace.root().join(MAIN);
    fs::create_dir_all(main.join("bin")).context("cannot make a folder")?;
    for name in ["package.json", "README.md", "bin/milepost.js"] {
        fs::copy(source.join(name), main.join(name))
            .with_context(|| format!("cannot copy {name}"))?;
    }
    let own = scratch.path().join("own");
    fs::create_dir_all(own.join("bin")).context("cannot make a folder")?;
    let program = build.binary.file_name().context("a binary has a name")?;
    fs::copy(build.binary, own.join("bin").join(program)).context("cannot copy the binary")?;
    let (name, (os, cpu)) = (platform.name(), (platform.os, platform.cpu));
    let manifest = json!({
        "name": name,
        "version": build.version,
        "description": format!("The milepost binary for {os} on {cpu}"),
        "license": "MIT OR Apache-2.0",
        "files": ["bin", "LICENSE-MIT", "LICENSE-APACHE"],
        "os": [os],
        "cpu": [cpu],
        // The binary is reached only by its path.
        "preferUnplugged": true,
    });
    fs::write(own.join("package.json"), format!("{manifest:#}\n")).context("cannot write")?;
    [main, own]
        .iter()
        .map(|package| {
            build.texts(&LICENCES, package)?;
            packed(package, folder)
        })
        .collect()
}

fn packed(package: &Path, folder: &Path) -> Result<PathBuf> {
    let mut npm = Command::new(NPM);
    npm.current_dir(package).args(["pack", "--silent", "--pack-destination"]).arg(folder);
    let output = npm.output().context("cannot start npm")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm pack ended with {}: {told}", output.status);
    let name = said.trim().lines().next_back().context("npm pack printed no file name")?;
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn the_package_names_every_platform_and_the_version_of_the_workspace() {
        let workspace = Workspace::find().expect("a checkout");
        let version = super::super::version(&workspace.metadata().expect("metadata"));
        let version = version.expect("a version");
        let manifest = fs::read_to_string(workspace.root().join(MAIN).join("package.json"));
        let manifest: Value = serde_json::from_str(&manifest.expect("reads")).expect("JSON");
        assert_eq!(manifest["version"], version.as_str());
        let listed = manifest["optionalDependencies"].as_object().expect("a map");
        let names: Vec<String> = PLATFORMS.iter().map(Platform::name).collect();
        assert_eq!(listed.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
        assert!(listed.values().all(|one| one == version.as_str()), "{listed:?}");
        assert!(manifest.get("scripts").is_none(), "nothing runs when it is installed");
    }
}
