//! `cargo xtask package [--target <triple>]`: creates the release files in `package` below the
//! build directory: an archive with everything, the npm packages, and checksums.
//!
//! Nothing is uploaded.

mod npm;
mod sbom;
mod trial;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::workspace::Workspace;
pub(crate) use trial::{stage, try_out};

/// Shells with completions, and the names of the completion files.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "milepost.bash"),
    ("zsh", "_milepost"),
    ("fish", "milepost.fish"),
    ("powershell", "_milepost.ps1"),
    ("elvish", "milepost.elv"),
];
/// Files that are copied unchanged next to the program.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Prints the path of every file that was created.
pub(crate) fn run(workspace: &Workspace, target: Option<&str>) -> Result<ExitCode> {
    let target = match target {
        Some(target) => target.to_owned(),
        None => host(workspace)?,
    };
    let arguments = ["--profile", "dist", "--bin", "milepost", "--target", &target];
    let binary = workspace.build_binary("milepost", &arguments)?;
    let bytes = fs::read(&binary).context("cannot read the binary")?;
    ensure!(!has_faults(&bytes), "the binary for {target} contains fault injection");
    ensure!(
        !target.contains("-musl") || is_static(&bytes),
        "the binary for {target} needs a loader"
    );
    let metadata = workspace.metadata()?;
    let folder = metadata["target_directory"].as_str().context("no build directory")?;
    let folder = Path::new(folder).join("package");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot empty the folder of packages")?;
    }
    fs::create_dir_all(&folder).context("cannot make the folder of packages")?;
    let build = Build { workspace, binary: &binary, target: &target, version: version(&metadata)? };
    let mut made = vec![archive(&build, &folder)?];
    if npm::is_here() {
        made.extend(npm::pack(&build, &folder)?);
    } else {
        eprintln!("npm is not installed: its packages are skipped");
    }
    made.push(sums(&folder, &made)?);
    for path in &made {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// A binary to be packaged.
pub(crate) struct Build<'b> {
    workspace: &'b Workspace,
    binary: &'b Path,
    target: &'b str,
    version: String,
}

impl Build<'_> {
    /// Runs the binary and returns its output, such as completions and manual pages.
    fn says(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = Command::new(self.binary).args(arguments).stdin(Stdio::null()).output();
        let output = output.context("cannot start the binary that was built")?;
        ensure!(output.status.success(), "milepost {arguments:?} ended with {}", output.status);
        Ok(output.stdout)
    }

    /// Copies text files from the checkout into a folder.
    fn texts(&self, names: &[&str], folder: &Path) -> Result<()> {
        for name in names {
            fs::copy(self.workspace.root().join(name), folder.join(name))
                .with_context(|| format!("cannot copy {name}"))?;
        }
        Ok(())
    }
}

/// Creates the archive: program, text files, completions, manual pages and SBOM.
fn archive(build: &Build, folder: &Path) -> Result<PathBuf> {
    let name = format!("milepost-{}-{}", build.version, build.target);
    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let inner = scratch.path().join(&name);
    for part in ["completions", "man/man1"] {
        fs::create_dir_all(inner.join(part)).context("cannot make a folder")?;
    }
    let program = build.binary.file_name().context("a binary has a name")?;
    fs::copy(build.binary, inner.join(program)).context("cannot copy the binary")?;
    build.texts(&TEXTS, &inner)?;
    for (shell, file) in SHELLS {
        let script = build.says(&["completions", shell])?;
        fs::write(inner.join("completions").join(file), script).context("cannot write")?;
    }
    let pages = inner.join("man/man1");
    build.says(&["man", "--dir", pages.to_str().context("the path is not UTF-8")?])?;
    let parts = sbom::of(build.workspace, build.target)?;
    fs::write(inner.join("milepost.cdx.json"), format!("{parts:#}\n")).context("cannot write")?;
    let path = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&path).arg("-C").arg(scratch.path()).arg(&name);
    ensure!(tar.status().context("cannot start tar")?.success(), "tar failed");
    Ok(path)
}

/// Writes one line per file, in the format that `sha256sum --check` reads.
fn sums(folder: &Path, files: &[PathBuf]) -> Result<PathBuf> {
    let mut lines = String::new();
    for path in files {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().context("a file has a name")?.to_string_lossy();
        let sum = Sha256::digest(&bytes);
        for byte in sum {
            write!(lines, "{byte:02x}").context("cannot write")?;
        }
        writeln!(lines, "  {name}").context("cannot write")?;
    }
    let path = folder.join("SHA256SUMS");
    fs::write(&path, lines).context("cannot write the sums")?;
    Ok(path)
}

fn version(metadata: &serde_json::Value) -> Result<String> {
    let packages = metadata["packages"].as_array().context("no packages")?;
    let cli = packages.iter().find(|package| package["name"] == "milepost-cli");
    let version = cli.and_then(|package| package["version"].as_str());
    Ok(version.context("no version")?.to_owned())
}

/// The target triple of the host.
fn host(workspace: &Workspace) -> Result<String> {
    let mut rustc = Command::new("rustc");
    let output = rustc.arg("-vV").current_dir(workspace.root()).output();
    let output = output.context("cannot start rustc")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not report its host")?.to_owned())
}

/// Whether a binary contains the fault injection that is meant for tests, recognized by the name of
/// the variable that enables it.
fn has_faults(bytes: &[u8]) -> bool {
    let names: [&[u8]; 5] = [
        b"MILEPOST_FAIL",
        b"MILEPOST_CLOCK",
        b"MILEPOST_DISK",
        b"MILEPOST_LEASE_MS",
        b"MILEPOST_ARRIVES_MS",
    ];
    let is_name = |at: &[u8]| at[0] == b'M' && names.iter().any(|name| at.starts_with(name));
    bytes.windows(19).any(is_name)
}

/// Whether a 64-bit ELF file needs no dynamic loader.
fn is_static(bytes: &[u8]) -> bool {
    let number = |at: usize, size: usize| -> Option<u64> {
        let field = bytes.get(at..at + size)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let interpreter = || -> Option<bool> {
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        let kinds = (0..count).map(|index| number(usize::try_from(table + index * size).ok()?, 4));
        // PT_INTERP.
        Some(kinds.collect::<Option<Vec<_>>>()?.contains(&3))
    };
    bytes.starts_with(b"\x7fELF\x02\x01") && interpreter() == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_as_sha256sum_has_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.txt");
        fs::write(&file, "abc").expect("writes");
        let path = sums(folder.path(), &[file]).expect("sums");
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(fs::read_to_string(path).expect("reads"), format!("{sum}  a.txt\n"));
    }

    #[test]
    fn a_program_that_needs_a_loader_is_not_static() {
        let elf = |kind: u8| {
            let mut bytes = vec![0; 64 + 56];
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
            bytes
        };
        assert!(is_static(&elf(1)));
        assert!(!is_static(&elf(3)));
        assert!(!is_static(b"MZ"));
        assert!(!is_static(&elf(1)[..66]));
    }
}
