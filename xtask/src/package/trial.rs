//! Tries out the npm packages: they are built with the binary of the tests, installed from their
//! files alone into an empty folder, and used as people and clients use them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Build, archive, has_faults, host, npm, sums, version};
use crate::install::NPM;
use crate::report::Verdict;
use crate::tools::shout;
use crate::workspace::Workspace;

const NPX: &str = if cfg!(windows) { "npx.cmd" } else { "npx" };

/// `cargo xtask package --try`.
pub(crate) fn try_out(workspace: &Workspace) -> Result<ExitCode> {
    if let Verdict::Passed { note } = stage(workspace)? {
        println!("{note}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A stage of `cargo xtask test`.
pub(crate) fn stage(workspace: &Workspace) -> Result<Verdict> {
    if !npm::is_here() || !cfg!(unix) {
        let why = "node and npm are not both installed, on a system with signals".to_owned();
        shout(&format!("the packages are left out: {why}"));
        return Ok(Verdict::Skipped { why });
    }
    let binary = workspace.build_binary("milepost", &["--workspace", "--all-targets"])?;
    let bytes = fs::read(&binary).context("cannot read the binary")?;
    ensure!(has_faults(&bytes), "the test binary contains no fault injection either");
    let target = host(workspace)?;
    let version = version(&workspace.metadata()?)?;
    let build = Build { workspace, binary: &binary, target: &target, version };
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let packages = npm::pack(&build, folder.path())?;
    whole(&build, &packages, folder.path())?;
    let both = Consumer::install(&folder.path().join("both"), &packages)?;
    both.is_the_program(&build)?;
    both.serves_agents()?;
    both.passes_signals_on()?;
    let alone = Consumer::install(&folder.path().join("alone"), &packages[..1])?;
    alone.says_what_is_missing()?;
    Ok(Verdict::Passed { note: "archive, npm install, npx, MCP and signals".to_owned() })
}

/// Checks that the archive is complete and that there is a checksum for every file.
fn whole(build: &Build, packages: &[PathBuf], folder: &Path) -> Result<()> {
    let path = archive(build, folder)?;
    let output = Command::new("tar").arg("-tzf").arg(&path).output().context("cannot start tar")?;
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    for file in [
        "/milepost\n",
        "/README.md\n",
        "/CHANGELOG.md\n",
        "/LICENSE-MIT\n",
        "/LICENSE-APACHE\n",
        "/completions/_milepost\n",
        "/completions/milepost.bash\n",
        "/completions/milepost.fish\n",
        "/man/man1/milepost.1\n",
        "/man/man1/milepost-workflow-validate.1\n",
        "/milepost.cdx.json\n",
    ] {
        ensure!(listed.contains(file), "the archive has no {file}: {listed}");
    }
    let files: Vec<PathBuf> = packages.iter().cloned().chain([path]).collect();
    let sums = fs::read_to_string(sums(folder, &files)?).context("cannot read the sums")?;
    ensure!(sums.lines().count() == files.len(), "{sums}");
    Ok(())
}

/// A user who has installed only the packages.
struct Consumer {
    folder: PathBuf,
}

impl Consumer {
    /// Installs without a registry: only the files are available.
    fn install(folder: &Path, packages: &[PathBuf]) -> Result<Consumer> {
        fs::create_dir_all(folder.join("home")).context("cannot make a folder")?;
        fs::write(folder.join("package.json"), "{\"private\": true}\n").context("cannot write")?;
        let consumer = Consumer { folder: folder.to_owned() };
        let mut npm = consumer.command(Path::new(NPM));
        npm.args(["install", "--offline", "--no-audit", "--no-fund"]).args(packages);
        let output = npm.output().context("cannot start npm")?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "npm install ended with {}: {told}", output.status);
        Ok(consumer)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let home = self.folder.join("home");
        command.current_dir(&self.folder).env("HOME", &home).stdin(Stdio::null());
        command
            .env("npm_config_cache", home.join("npm"))
            .env("npm_config_update_notifier", "false");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        command
    }

    fn npx(&self, arguments: &[&str]) -> Result<Output> {
        let mut npx = self.command(Path::new(NPX));
        npx.args(["--offline", "milepost"]).args(arguments);
        npx.output().context("cannot start npx")
    }

    /// The launcher script, started as clients start it.
    fn script(&self) -> Command {
        self.command(&self.folder.join("node_modules/.bin/milepost"))
    }

    fn is_the_program(&self, build: &Build) -> Result<()> {
        let output = self.npx(&["--version"])?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "npx milepost ended with {}: {told}", output.status);
        ensure!(output.stdout == build.says(&["--version"])?, "another version");
        let output = self.npx(&["workflow", "show", "nobody"])?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(6), "the exit code is {:?}", output.status.code());
        ensure!(told.contains("error[WORKFLOW_NOT_FOUND]"), "{told}");
        Ok(())
    }

    fn serves_agents(&self) -> Result<()> {
        let mut script = self.script();
        script.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().context("cannot start the script")?;
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "trial", "version": "1"},
        }});
        let mut stdin = child.stdin.take().context("has no input")?;
        writeln!(stdin, "{hello}").context("cannot write")?;
        drop(stdin);
        let output = child.wait_with_output().context("does not end")?;
        let answer: Value = serde_json::from_slice(&output.stdout).context("no JSON")?;
        ensure!(answer["result"]["serverInfo"]["name"] == "milepost", "{answer}");
        ensure!(output.status.success(), "it ended with {}", output.status);
        Ok(())
    }

    /// Stops the script and checks that the program shut down cleanly.
    fn passes_signals_on(&self) -> Result<()> {
        for signal in ["-TERM", "-INT"] {
            let mut script = self.script();
            script.args(["serve", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = Ended(script.spawn().context("cannot start the script")?);
            let mut line = String::new();
            let out = child.0.stdout.take().context("has no output")?;
            BufReader::new(out).read_line(&mut line).context("cannot read")?;
            let address = line.trim().strip_prefix("http://").and_then(|url| url.split('/').next());
            let address = address.with_context(|| format!("no address: {line}"))?;
            TcpStream::connect(address).context("the server does not listen")?;
            let id = child.0.id().to_string();
            let told = Command::new("kill").args([signal, &id]).status();
            ensure!(told.context("cannot start kill")?.success(), "no signal was sent");
            let status = child.0.wait().context("does not end")?;
            ensure!(status.code() == Some(0), "after kill {signal} it ended with {status}");
            ensure!(TcpStream::connect(address).is_err(), "the program outlived its script");
        }
        Ok(())
    }

    fn says_what_is_missing(&self) -> Result<()> {
        let output = self.script().arg("--version").output().context("cannot start the script")?;
        let told = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(1) || !told.contains("is not installed\nhint: ") {
            bail!("without the program it ended with {}: {told}", output.status);
        }
        Ok(())
    }
}

/// A process that is killed when the trial ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // After a clean shutdown there is nothing to kill.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
