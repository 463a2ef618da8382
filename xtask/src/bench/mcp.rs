//! The cost of a call to the server for agents: over the pipe compared with servers built on
//! `rmcp`, the TypeScript SDK and `FastMCP`, and over HTTP on its own.
//!
//! Every server answers a tool that has nothing to do; ours lists the open runs of a user who has
//! none. Subjects are timed alternately, so that noise affects them alike; a figure is a median.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::figure::{Figure, Limit};
use super::peers::{FastMcp, Npm};
use super::post::Post;
use super::talk::{Server, request};
use super::turns::{Subject, figure, in_turns, median, tell};
use super::{BARE, program};
use crate::install;
use crate::tools::shout;
use crate::workspace::Workspace;

const WINDOW: usize = 64;
const STARTS: usize = 20;
/// Calls of a single client over HTTP.
const POSTS: usize = 4_000;
const CLIENTS: usize = 200;
const POSTS_EACH: usize = 20;
const EMPTY_NODE: &str = include_str!("../../peers/empty-tool.mjs");
const EMPTY_PYTHON: &str = include_str!("../../peers/empty_tool.py");
/// The token of the clients; the server requires one that cannot be guessed.
const TOKEN: &str = "bench-0123456789abcdef0123456789abcdef";

pub(crate) fn run(workspace: &Workspace) -> Result<Vec<Figure>> {
    let binary = program(workspace)?;
    let bare = workspace.build_binary("bare", &BARE)?;
    let folder = tempfile::tempdir_in(workspace.cache("bench")?)?;
    let bench = Bench { binary, home: folder.path().to_owned() };
    let mut figures = bench.pipe(workspace, &bare)?;
    figures.extend(bench.http()?);
    figures.extend(bench.start(workspace)?);
    Ok(figures)
}

struct Bench {
    binary: PathBuf,
    home: PathBuf,
}

impl Bench {
    /// Our program with an empty home.
    fn milepost(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.home).env_clear().env("HOME", &self.home);
        command
    }

    fn pipe(&self, workspace: &Workspace, bare: &Path) -> Result<Vec<Figure>> {
        let call = |name: &str| request("tools/call", &json!({"name": name, "arguments": {}}));
        let (ours, empty) = (call("workflow_status"), call("empty"));
        let mut command = self.milepost();
        command.arg("mcp");
        let mut subjects = vec![
            Subject::new("ours", Server::greet(&mut command)?.0, &ours)?,
            Subject::new("rmcp", Server::greet(&mut Command::new(bare))?.0, &empty)?,
        ];
        match install::node_modules(workspace, "typescript")? {
            Ok(modules) => {
                let mut node = install::node(Path::new("node"), &modules, EMPTY_NODE);
                subjects.push(Subject::new(NODE, Server::greet(&mut node)?.0, &empty)?);
            }
            Err(why) => shout(&format!("the comparison with Node is skipped: {why}")),
        }
        if let Some(python) = FastMcp::prepare(workspace)? {
            let mut command = python.script(EMPTY_PYTHON);
            subjects.push(Subject::slow("FastMCP", Server::greet(&mut command)?.0, &empty)?);
        }
        let timed = in_turns(&mut subjects, WINDOW)?;
        for (subject, timed) in subjects.iter().zip(&timed) {
            let cpu = timed.cpu_us.map_or_else(String::new, |cpu| format!(", {cpu:.1} µs CPU"));
            eprintln!("{:<8} {:>9.0} calls/s{cpu}", subject.name, timed.rate());
        }
        let mut figures = Vec::new();
        if let Some(node) = subjects.iter().position(|subject| subject.name == NODE) {
            let ratio = timed[0].ratio(&timed[node]);
            figures.push(figure("stdio_node_ratio", ratio, "x", Limit::AtLeast(2)));
        }
        let percent = timed[0].cpu_us.zip(timed[1].cpu_us).map(|(own, bare)| 100.0 * own / bare);
        figures.extend(tell(percent, "stdio_rmcp_cpu_percent", "%", Limit::AtMost(130)));
        Ok(figures)
    }

    /// One client that sends one request after another, then many clients at once.
    fn http(&self) -> Result<Vec<Figure>> {
        let mut command = self.milepost();
        command.args(["serve", "--port", "0"]).env("MILEPOST_TOKEN", TOKEN);
        let mut server = Server::start(&mut command)?;
        let url = server.line()?;
        let address = url.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.with_context(|| format!("no address: {url}"))?.to_owned();
        let mut client = Post::connect(&address, TOKEN)?;
        let call = json!({"name": "workflow_status", "arguments": {}});
        let mut rates = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..POSTS {
                client.ask("tools/call", &call)?;
            }
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
            rates.push(POSTS as f64 / start.elapsed().as_secs_f64());
        }
        drop(client);
        let failures = many(&address, &call);
        ensure!(failures.is_empty(), "{} of {CLIENTS} clients: {}", failures.len(), failures[0]);
        eprintln!("{CLIENTS} concurrent clients were all answered");
        let rate = median(&mut rates);
        let mut figures = vec![figure("http_calls_per_s", rate, "/s", Limit::AtLeast(4_000))];
        figures.extend(tell(server.peak_mb(), "http_memory_mb", "MB", Limit::AtMost(60)));
        Ok(figures)
    }

    /// The time from startup to the answer to the handshake, with a large catalog.
    fn start(&self, workspace: &Workspace) -> Result<Vec<Figure>> {
        let Some(npm) = Npm::prepare(workspace)? else {
            shout("start_ms skipped: GitHub's document is unavailable");
            return Ok(Vec::new());
        };
        fs::copy(&npm.document, self.home.join("github.json"))?;
        let mut import = self.milepost();
        import.args(["catalog", "import", "github.json"]);
        install::done(&mut import)?;
        let mut times = Vec::new();
        for _ in 0..STARTS {
            let mut command = self.milepost();
            command.arg("mcp");
            times.push(Server::greet(&mut command)?.1.as_secs_f64() * 1e3);
        }
        Ok(vec![figure("start_ms", median(&mut times), "ms", Limit::AtMost(15))])
    }
}

const NODE: &str = "Node";
const ROUNDS: usize = 5;

/// Runs concurrent clients, each with its own session; returns the errors.
fn many(address: &str, call: &serde_json::Value) -> Vec<String> {
    let client = || -> Result<()> {
        let mut client = Post::connect(address, TOKEN)?;
        for _ in 0..POSTS_EACH {
            client.ask("tools/call", call)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        let ended = clients.into_iter().map(std::thread::ScopedJoinHandle::join);
        let failed = ended.filter_map(|ended| match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("{error:#}")),
            Err(_) => Some("it panicked".to_owned()),
        });
        failed.collect()
    })
}
