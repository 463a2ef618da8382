//! The cost of the guide server, compared with a minimal Node server and a minimal echo.
//!
//! All subjects are timed alternately, so that noise affects them alike; a figure is a median.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::figure::{Figure, Limit};
use super::guide_files::GuideFiles;
use super::program;
use super::talk::{Server, request};
use super::turns::{Subject, figure, in_turns, median, tell};
use crate::install;
use crate::tools::shout;
use crate::workspace::Workspace;

const STARTS: usize = 20;
/// The number of requests in flight: one, and as many as a busy client has.
const WINDOWS: [usize; 2] = [1, 64];
const PEER: &str = include_str!("../../peers/empty-tool.mjs");

pub(crate) fn run(workspace: &Workspace) -> Result<Vec<Figure>> {
    let binary = program(workspace)?;
    let files = GuideFiles::fill(workspace)?;
    let modules = install::node_modules(workspace, "typescript")?;
    if let Err(why) = modules {
        shout(&format!("the comparison with Node is skipped: {why}"));
    }
    let bench = Bench { binary, files, modules: modules.ok() };
    let (next, validate) = bench.requests()?;
    let mut figures = bench.start()?;
    figures.extend(bench.memory(&next, &validate)?);
    figures.extend(bench.calls(&next, &validate)?);
    figures.extend(bench.library(&next)?);
    Ok(figures)
}

struct Bench {
    binary: PathBuf,
    files: GuideFiles,
    /// The folder of the TypeScript SDK, if it is available.
    modules: Option<PathBuf>,
}

impl Bench {
    /// Our server with a folder of guides.
    fn ours(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(["mcp", "--surface", "workflowlookup"])
            .current_dir(&self.files.home)
            .env_clear()
            .env("HOME", &self.files.home)
            .env("REGISTRY_CONFIG_PATH", self.files.home.join("config.toml"))
            .env("WORKFLOW_STORAGE_PATH", folder);
        command
    }

    fn few(&self) -> Command {
        self.ours(&self.files.few)
    }

    fn many(&self) -> Command {
        self.ours(&self.files.many)
    }

    fn node(&self) -> Option<Command> {
        self.modules.as_ref().map(|modules| install::node(Path::new("node"), modules, PEER))
    }

    /// The two calls that are timed: one in the middle of a walk, and the one with the most
    /// criteria.
    fn requests(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        let (mut server, _) = Server::greet(&mut self.few())?;
        let mut completed: Vec<Value> = Vec::new();
        let id = self.files.id();
        let next = |completed: &[Value]| json!({"workflowId": id, "completedSteps": completed});
        for _ in 0..5 {
            let mut step = server.call("workflow_next", &next(&completed))?;
            completed.push(step["completedStep"].take());
        }
        let call = |name: &str, arguments: &Value| {
            request("tools/call", &json!({"name": name, "arguments": arguments}))
        };
        let output = "Two causes are likely. H1: the cache is read before it is filled. ".repeat(4);
        let step = self.files.judged()?;
        let judged = json!({"workflowId": id, "stepId": step, "output": output});
        server.call("workflow_validate", &judged)?;
        Ok((call("workflow_next", &next(&completed)), call("workflow_validate", &judged)))
    }

    /// The time from startup to the answer to the handshake.
    fn start(&self) -> Result<Vec<Figure>> {
        let (mut ours, mut node) = (Vec::new(), Vec::new());
        for _ in 0..=STARTS {
            ours.push(milliseconds(Server::greet(&mut self.few())?.1));
            if let Some(mut command) = self.node() {
                node.push(milliseconds(Server::greet(&mut command)?.1));
            }
        }
        let value = median(&mut ours);
        let mut figures = vec![figure("start_ms", value, "ms", Limit::AtMost(10))];
        if !node.is_empty() {
            let node = median(&mut node);
            eprintln!("start: {value:.2} ms, Node {node:.1} ms");
            figures.push(figure("start_node_ratio", node / value, "x", Limit::AtLeast(30)));
        }
        Ok(figures)
    }

    /// Peak memory over a thousand calls of each kind.
    fn memory(&self, next: &[u8], validate: &[u8]) -> Result<Vec<Figure>> {
        let (mut server, _) = Server::greet(&mut self.few())?;
        server.rate(next, 1_000, 64)?;
        server.rate(validate, 1_000, 64)?;
        let figure = tell(server.peak_mb(), "memory_mb", "MB", Limit::AtMost(20));
        Ok(figure.into_iter().collect())
    }

    /// Calls per second and processor time per call, alternating with Node and the echo.
    fn calls(&self, next: &[u8], validate: &[u8]) -> Result<Vec<Figure>> {
        let empty = request("tools/call", &json!({"name": "empty", "arguments": {}}));
        let mut subjects = vec![
            Subject::new("next", Server::greet(&mut self.few())?.0, next)?,
            Subject::new("validate", Server::greet(&mut self.few())?.0, validate)?,
            Subject::new("echo", echo()?, next)?,
        ];
        if let Some(mut command) = self.node() {
            subjects.push(Subject::new("Node", Server::greet(&mut command)?.0, &empty)?);
        }
        eprintln!("calls of a client that never sleeps, with `window` of them in flight");
        let mut figures = Vec::new();
        for window in WINDOWS {
            let timed = in_turns(&mut subjects, window)?;
            for (subject, timed) in subjects.iter().zip(&timed) {
                let rate = timed.rate();
                let cpu = timed.cpu_us.map_or_else(String::new, |cpu| format!(", {cpu:.1} µs CPU"));
                eprintln!("window {window:>2}: {:<8} {rate:>9.0} calls/s{cpu}", subject.name);
            }
            // With one call at a time, most of the time is spent switching between processes: a
            // loop that only echoes makes 2.6 times as many calls as Node, so no server can make 3
            // times as many. Ours is therefore measured against that loop; an answer that checks
            // the files it depends on takes three times the loop's processor time.
            if window == 1 {
                for (subject, name) in timed.iter().zip(ALONE) {
                    let percent = 100.0 * subject.ratio(&timed[ECHO]);
                    figures.push(figure(name, percent, "%", Limit::AtLeast(25)));
                }
            } else {
                for (subject, name) in timed.iter().zip(BUSY) {
                    let beside = |node| figure(name, subject.ratio(node), "x", Limit::AtLeast(2));
                    figures.extend(timed.get(NODE).map(beside));
                }
                for (timed, name) in timed.iter().zip(["next_cpu_us", "validate_cpu_us"]) {
                    figures.extend(tell(timed.cpu_us, name, "us", Limit::AtMost(40)));
                }
            }
        }
        Ok(figures)
    }

    /// The same calls with ten thousand other guides in the library.
    fn library(&self, next: &[u8]) -> Result<Vec<Figure>> {
        let (mut greeted, mut answered) = (Vec::new(), Vec::new());
        for _ in 0..=STARTS / 2 {
            let start = Instant::now();
            let (mut server, elapsed) = Server::greet(&mut self.many())?;
            server.rate(next, 1, 1)?;
            answered.push(milliseconds(start.elapsed()));
            greeted.push(milliseconds(elapsed));
        }
        let mut subjects = [
            Subject::new("few", Server::greet(&mut self.few())?.0, next)?,
            Subject::new("many", Server::greet(&mut self.many())?.0, next)?,
        ];
        let timed = in_turns(&mut subjects, 64)?;
        let (few, many) = (&timed[0], &timed[1]);
        eprintln!("next with few guides {:.0} calls/s, with many {:.0}", few.rate(), many.rate());
        let share = 100.0 * many.ratio(few);
        let mut figures = vec![
            figure("many_start_ms", median(&mut greeted), "ms", Limit::AtMost(150)),
            figure("many_first_next_ms", median(&mut answered), "ms", Limit::AtMost(150)),
            figure("many_rate_percent", share, "%", Limit::AtLeast(90)),
        ];
        let peak = subjects[1].server.peak_mb();
        figures.extend(tell(peak, "many_memory_mb", "MB", Limit::AtMost(80)));
        Ok(figures)
    }
}

/// The index of the echo among the subjects.
const ECHO: usize = 2;
const NODE: usize = 3;
/// One call at a time: our calls as a percentage of the echo's.
const ALONE: [&str; 2] = ["next_alone_percent", "validate_alone_percent"];
/// A busy client: how many times faster than Node we are.
const BUSY: [&str; 2] = ["next_node_ratio", "validate_node_ratio"];

fn echo() -> Result<Server> {
    let program = std::env::current_exe().context("cannot determine the path of this program")?;
    Server::start(Command::new(program).arg("echo"))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
