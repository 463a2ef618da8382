//! The cost of catalogs: importing GitHub's document, compared with two programs that turn it into
//! tools; loading it again; calling a command; and searching.
//!
//! Imports are timed alternately, so that noise affects all alike. The best time counts, because
//! other work on the machine can only add to it. For memory, the worst counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::figure::{Figure, Limit};
use super::labels;
use super::peers::{self, FastMcp, Npm};
use super::{EXAMPLES, program};
use crate::tools::shout;
use crate::usage::{self, Usage};
use crate::workspace::Workspace;

/// How many times each program imports.
const ROUNDS: usize = 3;
/// How many times we import between two imports of the others. Ours are short, so noise affects
/// them more.
const OWN_RUNS: usize = 4;
const LOADS: usize = 20;
/// Shows one command, by its operation id.
const SHOW: [&str; 4] = ["command", "show", "--json", "pulls/create"];
const QUERIES: [&str; 3] = ["create pull request", "list issues of a repo", "add a collaborator"];

pub(crate) fn run(workspace: &Workspace) -> Result<Vec<Figure>> {
    if !cfg!(unix) {
        shout("the catalog bench is skipped: this system does not report resource usage");
        return Ok(Vec::new());
    }
    let binary = program(workspace)?;
    let mut figures = Vec::new();
    if let Some(npm) = Npm::prepare(workspace)? {
        let bench = Bench::new(workspace, binary, npm)?;
        figures.extend(bench.import()?);
        figures.extend(bench.load()?);
        figures.extend(bench.answers()?);
        figures.extend(labels::figures(workspace, &bench.npm.document)?);
    } else {
        shout("figures for GitHub's document are skipped: npm cannot fetch it");
    }
    figures.push(calls(workspace)?);
    Ok(figures)
}

struct Bench {
    binary: PathBuf,
    npm: Npm,
    fastmcp: Option<FastMcp>,
    /// The home of a user who has imported the document.
    home: PathBuf,
    /// The output folder of the generator.
    project: PathBuf,
    /// The number of operations in the document.
    operations: usize,
}

impl Bench {
    fn new(workspace: &Workspace, binary: PathBuf, npm: Npm) -> Result<Bench> {
        let fastmcp = FastMcp::prepare(workspace)?;
        if fastmcp.is_none() {
            shout("the comparison with FastMCP is skipped: it cannot be installed");
        }
        let folder = workspace.cache("bench")?.join("catalog");
        let bytes = fs::read(&npm.document).context("cannot read GitHub's document")?;
        let document = serde_json::from_slice(&bytes).context("GitHub's document is not JSON")?;
        let operations = count(&document);
        eprintln!("GitHub's document: {} bytes, {operations} operations", bytes.len());
        let (home, project) = (folder.join("home"), folder.join("generated"));
        Ok(Bench { binary, npm, fastmcp, home, project, operations })
    }

    /// Processor time and memory of an import, alternating with the peers.
    fn import(&self) -> Result<Vec<Figure>> {
        let (mut ours, mut generator, mut fastmcp) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            for _ in 0..OWN_RUNS {
                ours.push(self.import_once()?);
            }
            generator.push(self.generate()?);
            if let Some(peer) = &self.fastmcp {
                fastmcp.push(self.list(peer)?);
            }
        }
        let own = tell("milepost", &ours).context("there is no run")?;
        let mut figures = vec![figure("import_mb", own.peak_mb, "MB", Limit::AtMost(150))];
        let names = ["import_generator_ratio", "import_fastmcp_ratio"];
        let peers = [tell("openapi-mcp-generator", &generator), tell("FastMCP", &fastmcp)];
        for (name, peer) in names.into_iter().zip(peers) {
            let beside =
                |peer: Usage| figure(name, peer.cpu_ms / own.cpu_ms, "x", Limit::AtLeast(8));
            figures.extend(peer.map(beside));
        }
        Ok(figures)
    }

    fn import_once(&self) -> Result<Usage> {
        empty(&self.home)?;
        let mut command = self.milepost()?;
        command.args(["catalog", "import", "--json", "--overwrite", "--title", "GitHub"]);
        command.args(["--base-url", "https://api.github.com"]).arg(&self.npm.document);
        let (usage, output) = usage::measure(&mut command)?;
        let answer: Value = serde_json::from_slice(&output.stdout).context("import: no JSON")?;
        self.ensure_all("import", answer["command_count"].as_u64())?;
        Ok(usage)
    }

    fn generate(&self) -> Result<Usage> {
        empty(&self.project)?;
        let (usage, _) = usage::measure(&mut self.npm.generator(&self.project)?)?;
        let count = peers::generated(&self.project)?;
        self.ensure_all("openapi-mcp-generator", u64::try_from(count).ok())?;
        Ok(usage)
    }

    fn list(&self, peer: &FastMcp) -> Result<Usage> {
        let (usage, output) = usage::measure(&mut peer.tools(&self.npm.document)?)?;
        self.ensure_all("FastMCP", peers::listed(&output)?["tools"].as_u64())?;
        Ok(usage)
    }

    /// Rejects a fast but wrong import: every operation must have become a command.
    fn ensure_all(&self, who: &str, count: Option<u64>) -> Result<()> {
        let expected = u64::try_from(self.operations).ok();
        ensure!(count == expected, "{who} made {count:?} of {} operations", self.operations);
        Ok(())
    }

    /// The time from starting a process to its answer about an imported document: showing one
    /// command, and a search over all commands and workflows.
    fn load(&self) -> Result<Vec<Figure>> {
        let (mut shown, mut found) = (Vec::with_capacity(LOADS), Vec::with_capacity(LOADS));
        for _ in 0..LOADS {
            shown.push(usage::measure(self.milepost()?.args(SHOW))?.0);
            found.push(usage::measure(self.milepost()?.args(search(QUERIES[0])))?.0);
        }
        let show = tell("load and show", &shown).context("there is no run")?;
        let search = tell("load and search", &found).context("there is no run")?;
        let most = |name, value| figure(name, value, "ms", Limit::AtMost(60));
        Ok(vec![
            most("load_show_ms", show.wall_ms),
            most("load_show_cpu_ms", show.cpu_ms),
            most("load_search_ms", search.wall_ms),
            most("load_search_cpu_ms", search.cpu_ms),
        ])
    }

    /// The amount of text that a model must read: one of our responses compared with a peer's whole
    /// tool list.
    fn answers(&self) -> Result<Vec<Figure>> {
        let mut longest = 0;
        for query in QUERIES {
            let (_, output) = usage::measure(self.milepost()?.args(search(query)))?;
            eprintln!("answer to {query:?}: {} bytes", output.stdout.len());
            longest = longest.max(output.stdout.len());
        }
        if let Some(peer) = &self.fastmcp {
            let mut command = peer.tools(&self.npm.document)?;
            let answer = peers::listed(&usage::measure(command.arg("--bytes"))?.1)?;
            eprintln!("FastMCP's tool list: {} bytes", answer["bytes"]);
        }
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let bytes = longest as f64;
        Ok(vec![figure("search_answer_kb", bytes / 1e3, "kB", Limit::AtMost(8))])
    }

    /// Our program, measured, without any of this user's settings.
    fn milepost(&self) -> Result<Command> {
        let mut command = usage::command(&self.binary)?;
        command.current_dir(&self.home).env_clear().env("HOME", &self.home);
        Ok(command)
    }
}

fn search(query: &str) -> [&str; 4] {
    ["command", "search", "--json", query]
}

/// Calls of one command per second, made with the `command.run` operation.
fn calls(workspace: &Workspace) -> Result<Figure> {
    let program = workspace.build_binary("call_rate", &EXAMPLES)?;
    let mut command = Command::new(program);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("cannot start call_rate")?;
    ensure!(output.status.success(), "call_rate ended with {}", output.status);
    let answer: Value = serde_json::from_slice(&output.stdout).context("call_rate: no JSON")?;
    eprintln!("call_rate: {answer}");
    let (made, opened) = (answer["calls"].as_u64(), answer["connections"].as_u64());
    let (made, opened) = made.zip(opened).context("call_rate does not report connections")?;
    ensure!(opened * 100 <= made, "{made} calls took {opened} connections: they are not reused");
    let rate = answer["calls_per_s"].as_f64().context("call_rate does not report a rate")?;
    Ok(figure("calls_per_s", rate, "/s", Limit::AtLeast(5_000)))
}

/// The number of operations in a document, counted without any of our code.
fn count(document: &Value) -> usize {
    const METHODS: [&str; 8] =
        ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
    let paths = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let keys = paths.filter_map(Value::as_object).flat_map(|path| path.keys());
    keys.filter(|key| METHODS.contains(&key.as_str())).count()
}

/// Reports the runs and returns the best times and the highest memory.
fn tell(who: &str, runs: &[Usage]) -> Option<Usage> {
    let best = best(runs)?;
    let Usage { wall_ms, cpu_ms, peak_mb } = best;
    let mut walls: Vec<f64> = runs.iter().map(|run| run.wall_ms).collect();
    walls.sort_unstable_by(f64::total_cmp);
    let (middle, times) = (walls[walls.len() / 2], runs.len());
    eprintln!(
        "{who:<22} {cpu_ms:>9.1} ms CPU, {wall_ms:>9.1} ms at best of {times}, {middle:>9.1} ms \
         in the middle, {peak_mb:>6.1} MB",
    );
    Some(best)
}

fn best(runs: &[Usage]) -> Option<Usage> {
    runs.iter().copied().reduce(|one, other| Usage {
        wall_ms: one.wall_ms.min(other.wall_ms),
        cpu_ms: one.cpu_ms.min(other.cpu_ms),
        peak_mb: one.peak_mb.max(other.peak_mb),
    })
}

/// Creates an empty folder.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

fn figure(name: &'static str, value: f64, unit: &'static str, limit: Limit) -> Figure {
    Figure { name, value, unit, limit }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_what_has_a_method() {
        let path = json!({"get": {}, "parameters": [], "post": {}, "x-note": {}});
        assert_eq!(count(&json!({"paths": {"/a": path, "/b": {"trace": {}}}})), 3);
        assert_eq!(count(&json!({})), 0);
    }

    #[test]
    fn the_least_time_and_the_most_memory_count() {
        let run = |wall_ms, cpu_ms, peak_mb| Usage { wall_ms, cpu_ms, peak_mb };
        let runs = [run(9.0, 5.0, 70.0), run(8.0, 6.0, 90.0), run(7.0, 7.0, 80.0)];
        assert_eq!(best(&runs), Some(run(7.0, 5.0, 90.0)));
        assert_eq!(best(&[]), None);
    }
}
