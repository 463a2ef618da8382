//! Real MCP clients: third-party SDKs and programs that drive the real binary over stdio and over
//! HTTP. Each is a script that fails at the first unexpected result.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::install::{self, FOLDER};
use crate::report::Verdict;
use crate::tools::shout;
use crate::workspace::Workspace;

/// Environment variables that pass a script the binary to drive, the way to reach it, and the
/// location of its files.
const BINARY: &str = "MILEPOST_BINARY";
const TRANSPORT: &str = "MILEPOST_TRANSPORT";
const CLIENTS_FOLDER: &str = "MILEPOST_CLIENTS";

/// The runtime of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runtime {
    Node,
    /// A newer Node than many machines have installed.
    NewerNode,
    Python,
    /// Python, only on systems with pseudo-terminals.
    PythonWithTerminals,
}

/// The transport between client and server; otherwise the script is the same for both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Via {
    /// `milepost mcp`, which the client starts itself.
    Pipe,
    /// `milepost serve`, which the script starts and stops.
    Http,
}

impl Via {
    fn word(self) -> &'static str {
        match self {
            Via::Pipe => "stdio",
            Via::Http => "http",
        }
    }
}

/// A client: its name, the folder it is installed from, its script and its transport.
pub(crate) struct Client {
    pub(crate) stage: &'static str,
    folder: &'static str,
    script: &'static str,
    runtime: Runtime,
    via: Via,
}

impl Client {
    const fn new(
        stage: &'static str,
        folder: &'static str,
        script: &'static str,
        runtime: Runtime,
    ) -> Client {
        Client { stage, folder, script, runtime, via: Via::Pipe }
    }

    /// The same script over HTTP.
    const fn over_http(self, stage: &'static str) -> Client {
        Client { stage, via: Via::Http, ..self }
    }
}

const TASKS: Client = Client::new("typescript tasks", "typescript", "tasks.mjs", Runtime::Node);
const TYPESCRIPT_2: Client = Client::new("typescript 2", "typescript2", "walk.mjs", Runtime::Node);
const INSPECTOR: Client = Client::new("inspector", "inspector", "walk.mjs", Runtime::NewerNode);
const WORKFLOWS: Client =
    Client::new("python workflows", "python", "workflows.py", Runtime::Python);
const FASTMCP: Client = Client::new("fastmcp", "python", "fast.py", Runtime::Python);

/// All clients, in the order in which they run.
pub(crate) const CLIENTS: [Client; 13] = [
    Client::new("typescript client", "typescript", "walk.mjs", Runtime::Node),
    TASKS,
    TASKS.over_http("typescript tasks over HTTP"),
    TYPESCRIPT_2,
    TYPESCRIPT_2.over_http("typescript 2 over HTTP"),
    INSPECTOR,
    INSPECTOR.over_http("inspector over HTTP"),
    Client::new("python client", "python", "walk.py", Runtime::Python),
    WORKFLOWS,
    WORKFLOWS.over_http("python workflows over HTTP"),
    FASTMCP,
    FASTMCP.over_http("fastmcp over HTTP"),
    Client::new("story", "python", "story.py", Runtime::PythonWithTerminals),
];

/// `cargo xtask clients`: runs all clients.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let walks = Walks::new(workspace);
    let mut code = ExitCode::SUCCESS;
    for client in &CLIENTS {
        eprintln!("==> {}", client.stage);
        if let Verdict::Failed { why } = walks.walk(client)? {
            eprintln!("error: {}: {why}", client.stage);
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Runs clients against one build.
pub(crate) struct Walks<'w> {
    workspace: &'w Workspace,
    binary: OnceCell<PathBuf>,
}

impl<'w> Walks<'w> {
    pub(crate) fn new(workspace: &'w Workspace) -> Walks<'w> {
        Walks { workspace, binary: OnceCell::new() }
    }

    /// Runs one client.
    pub(crate) fn walk(&self, client: &Client) -> Result<Verdict> {
        let clients = self.workspace.root().join(FOLDER);
        let script = clients.join(client.folder).join(client.script);
        let mut command = match self.command(client, &script)? {
            Ok(command) => command,
            Err(why) => return Ok(skipped(why)),
        };
        let output = command
            .env(BINARY, self.binary()?)
            .env(TRANSPORT, client.via.word())
            .env(CLIENTS_FOLDER, &clients)
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

    fn command(
        &self,
        client: &Client,
        script: &Path,
    ) -> Result<std::result::Result<Command, &'static str>> {
        if client.via == Via::Http && !cfg!(unix) {
            return Ok(Err("it stops its server with a Unix signal"));
        }
        let node = match client.runtime {
            Runtime::Node => Ok(PathBuf::from("node")),
            Runtime::NewerNode => install::newer_node(self.workspace)?,
            Runtime::PythonWithTerminals if !cfg!(unix) => {
                return Ok(Err("it needs a Unix terminal"));
            }
            Runtime::Python | Runtime::PythonWithTerminals => {
                let python = install::python_with(self.workspace, client.folder)?;
                return Ok(python.map(|python| {
                    let mut command = Command::new(python);
                    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
                    command
                }));
            }
        };
        let text = fs::read_to_string(script)
            .with_context(|| format!("cannot read {}", script.display()))?;
        let modules = install::node_modules(self.workspace, client.folder)?;
        Ok(node.and_then(|node| Ok(install::node(&node, &modules?, &text))))
    }

    /// Uses the build that all stages share, so that nothing is built again.
    fn binary(&self) -> Result<&Path> {
        if self.binary.get().is_none() {
            let arguments = ["--workspace", "--all-targets"];
            let built = self.workspace.build_binary("milepost", &arguments)?;
            return Ok(self.binary.get_or_init(|| built));
        }
        self.binary.get().map(PathBuf::as_path).context("the binary is not built")
    }
}

fn skipped(why: &str) -> Verdict {
    shout(&format!("a client is skipped: {why}"));
    Verdict::Skipped { why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_stage_of_its_own_and_a_script() {
        let folder = Workspace::find().expect("a checkout").root().join(FOLDER);
        let mut stages: Vec<&str> = CLIENTS.iter().map(|client| client.stage).collect();
        stages.sort_unstable();
        stages.dedup();
        assert_eq!(stages.len(), CLIENTS.len());
        for client in &CLIENTS {
            assert!(folder.join(client.folder).join(client.script).is_file(), "{}", client.stage);
        }
    }
}
