//! The cost of durable runs: whole processes compared with others that send the same requests to
//! the same server, many concurrent runs compared with the disk, and a journal with many finished
//! runs.
//!
//! Subjects are timed alternately, so that noise affects them alike; a figure is a median. Only our
//! runs are durable; the other programs persist nothing.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::figure::{Figure, Limit};
use super::loopback::Loopback;
use super::runners::{self, Runner};
use super::talk::Server;
use super::{EXAMPLES, program};
use crate::tools::shout;
use crate::workspace::Workspace;

/// How many times each subject runs.
const ROUNDS: usize = 15;
const LENGTHS: [usize; 2] = [10, 100];
/// Approximate bytes of one step's commit.
const COMMIT_BYTES: usize = 16 * 1024;
const SYNCS: usize = 300;
/// How long an idle server is observed.
const IDLE: Duration = Duration::from_secs(10);

pub(crate) fn run(workspace: &Workspace) -> Result<Vec<Figure>> {
    let binary = program(workspace)?;
    let folder = tempfile::tempdir_in(workspace.cache("bench")?)?;
    let bench = Bench::prepare(workspace, binary, folder.path())?;
    let mut figures = bench.alone()?;
    let program = workspace.build_binary("run_rate", &EXAMPLES)?;
    figures.extend(together(&program, folder.path())?);
    figures.extend(bench.many(&program)?);
    Ok(figures)
}

struct Bench {
    binary: PathBuf,
    /// The home of a user who has imported the API.
    home: PathBuf,
    runners: Vec<Runner>,
    server: Loopback,
}

/// A program that is timed alternately with others.
struct Subject<'b> {
    name: &'static str,
    command: Box<dyn Fn(usize) -> Command + 'b>,
}

impl Bench {
    fn prepare(workspace: &Workspace, binary: PathBuf, folder: &Path) -> Result<Bench> {
        let server = Loopback::start()?;
        let home = folder.join("home");
        fs::create_dir_all(&home)?;
        fs::write(home.join("openapi.yaml"), document(&server.url))?;
        for steps in LENGTHS {
            fs::write(home.join(format!("{steps}.yaml")), workflow(steps))?;
            fs::write(home.join(format!("{steps}.arazzo.yaml")), arazzo(steps))?;
            fs::write(home.join(format!("{steps}.hurl")), hurl(steps, &server.url))?;
        }
        let bench = Bench { binary, home, runners: runners::prepare(workspace)?, server };
        let mut import = bench.milepost();
        import.args(["catalog", "import", "openapi.yaml", "--base-url", &bench.server.url]);
        done(&mut import)?;
        Ok(bench)
    }

    /// Our program without any of this user's settings.
    fn milepost(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.home).env_clear().env("HOME", &self.home);
        command
    }

    fn subjects(&self) -> Vec<Subject<'_>> {
        let ours = |durability: &'static str| {
            Box::new(move |steps: usize| {
                let mut command = self.milepost();
                command.arg("run").arg(format!("{steps}.yaml"));
                command.args(["--durability", durability]);
                command
            }) as Box<dyn Fn(usize) -> Command>
        };
        let mut subjects = vec![
            Subject { name: "durable", command: ours("full") },
            Subject { name: "relaxed", command: ours("relaxed") },
        ];
        for runner in &self.runners {
            let command = move |steps: usize| {
                let mut command = runner.command(steps);
                command.current_dir(&self.home);
                command
            };
            subjects.push(Subject { name: runner.name, command: Box::new(command) });
        }
        subjects
    }

    /// One run after another, each a whole process.
    fn alone(&self) -> Result<Vec<Figure>> {
        let subjects = self.subjects();
        let mut figures = Vec::new();
        for steps in LENGTHS {
            let walls = self.in_turns(&subjects, steps)?;
            for (subject, walls) in subjects.iter().zip(&walls) {
                let wall = median(walls);
                eprintln!("{steps:>3} steps: {:<16} {wall:>8.1} ms", subject.name);
            }
            let durable = &walls[0];
            for (subject, walls) in subjects.iter().zip(&walls).skip(2) {
                let (name, least) = match (subject.name, steps) {
                    (runners::RESPECT, 10) => ("run_10_respect_ratio", 8),
                    (runners::RESPECT, _) => ("run_100_respect_ratio", 8),
                    (runners::ARAZZO, 10) => ("run_10_arazzo_runner_ratio", 4),
                    (runners::ARAZZO, _) => ("run_100_arazzo_runner_ratio", 4),
                    _ => continue,
                };
                figures.push(figure(name, ratio(walls, durable), "x", Limit::AtLeast(least)));
            }
            let hurl = subjects.iter().position(|subject| subject.name == runners::HURL);
            if let Some(hurl) = hurl.filter(|_| steps == 100) {
                let percent = 100.0 * ratio(&walls[1], &walls[hurl]);
                let limit = Limit::AtMost(160);
                figures.push(figure("relaxed_100_hurl_percent", percent, "%", limit));
            }
            self.beside_the_disk(steps, median(durable) - median(&walls[1]))?;
        }
        Ok(figures)
    }

    /// Prints what durability adds to a run, next to the time that the disk takes for the same
    /// number of syncs. There is one sync per step, because its outcome and the intent of the next
    /// step are written together.
    fn beside_the_disk(&self, steps: usize, cost_ms: f64) -> Result<()> {
        let sync_ms = sync_ms(&self.home)?;
        let rate = 1e3 / sync_ms;
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let least = (steps + 1) as f64 * sync_ms;
        eprintln!(
            "{steps:>3} steps: durability costs {cost_ms:.1} ms; the disk syncs {rate:.0} times a \
             second, {} of them take {least:.1} ms",
            steps + 1,
        );
        Ok(())
    }

    fn in_turns(&self, subjects: &[Subject<'_>], steps: usize) -> Result<Vec<Vec<f64>>> {
        let mut walls = vec![Vec::with_capacity(ROUNDS); subjects.len()];
        // The first round only warms the caches.
        for round in 0..=ROUNDS {
            for (subject, walls) in subjects.iter().zip(&mut walls) {
                let before = self.server.answered();
                let start = Instant::now();
                done(&mut (subject.command)(steps))?;
                let wall = start.elapsed().as_secs_f64() * 1e3;
                let sent = self.server.answered() - before;
                // A run that sent too few requests does not count.
                ensure!(sent == steps, "{} sent {sent} of {steps} requests", subject.name);
                if round > 0 {
                    walls.push(wall);
                }
            }
        }
        Ok(walls)
    }

    /// A journal with many finished runs: startup, a page of the list, and an idle server.
    fn many(&self, program: &Path) -> Result<Vec<Figure>> {
        let told = told(Command::new(program).arg("fill").arg(&self.home))?;
        let page =
            told["page_ms"].as_f64().context("run_rate does not report the time of a page")?;
        let mut starts = Vec::new();
        for _ in 0..=ROUNDS {
            let start = Instant::now();
            done(self.milepost().args(["runs", "--json", "--all"]))?;
            starts.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let mut figures = vec![
            figure("many_start_ms", median(&starts), "ms", Limit::AtMost(300)),
            figure("many_page_ms", page, "ms", Limit::AtMost(5)),
        ];
        let mut command = self.milepost();
        command.arg("mcp");
        let (server, _) = Server::greet(&mut command)?;
        // The server reads the journal once and is idle from then on.
        thread::sleep(IDLE / 2);
        let before = server.cpu_s();
        thread::sleep(IDLE);
        match before.zip(server.cpu_s()) {
            Some((before, after)) => {
                let percent = 100.0 * (after - before) / IDLE.as_secs_f64();
                eprintln!("an idle server uses {percent:.2} % of a processor");
                figures.push(figure("idle_cpu_percent", percent.round(), "%", Limit::AtMost(0)));
            }
            None => shout("idle_cpu_percent skipped: not reported on this system"),
        }
        Ok(figures)
    }
}

/// A thousand concurrent runs. The limit is group commit on this disk: how fast the journal
/// acknowledges the same events if each is a separate write and nothing else is done. The time for
/// the runs' own writes, with and without their requests, is printed next to it.
fn together(program: &Path, folder: &Path) -> Result<Vec<Figure>> {
    let told = told(Command::new(program).arg("rate").arg(folder))?;
    eprintln!("run_rate: {told}");
    let percent = told["percent"].as_f64().context("run_rate does not report a percentage")?;
    Ok(vec![figure("together_limit_percent", percent, "%", Limit::AtLeast(50))])
}

fn told(command: &mut Command) -> Result<Value> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("cannot start run_rate")?;
    ensure!(output.status.success(), "run_rate ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("run_rate: no JSON")
}

/// The median time that the disk takes to sync what a step writes.
fn sync_ms(folder: &Path) -> Result<f64> {
    let path = folder.join("sync");
    let mut file = File::create(&path)?;
    let bytes = vec![7; COMMIT_BYTES];
    // Like a journal's log, write to the same, already allocated place over and over.
    file.write_all(&bytes)?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let start = Instant::now();
        std::io::Seek::rewind(&mut file)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    fs::remove_file(path)?;
    Ok(median(&times))
}

/// Runs a command that must succeed.
fn done(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    Ok(())
}

fn document(url: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{title: Bench, version: 1.0.0}}
servers: [{{url: '{url}'}}]
paths:
  /items/{{id}}:
    get:
      operationId: getItem
      tags: [items]
      parameters: [{{name: id, in: path, required: true, schema: {{type: string}}}}]
      responses:
        '200':
          description: An item
          content:
            application/json:
              schema:
                type: object
                properties: {{id: {{type: string}}, state: {{type: string}}}}
"
    )
}

fn workflow(steps: usize) -> String {
    let mut text = "workflow: chain\nsteps:\n".to_owned();
    for step in 0..steps {
        let _ = writeln!(text, "  - {{id: s{step}, run: bench items:get, with: {{id: i{step}}}}}");
    }
    text
}

fn arazzo(steps: usize) -> String {
    let mut text = "arazzo: 1.0.1
info: {title: Bench, version: 1.0.0}
sourceDescriptions: [{name: bench, type: openapi, url: openapi.yaml}]
workflows:
  - workflowId: chain
    steps:
"
    .to_owned();
    for step in 0..steps {
        let _ = write!(
            text,
            "      - stepId: s{step}
        operationId: getItem
        parameters: [{{name: id, in: path, value: i{step}}}]
        successCriteria: [{{condition: $statusCode == 200}}]
"
        );
    }
    text
}

fn hurl(steps: usize, url: &str) -> String {
    let mut text = String::new();
    for step in 0..steps {
        let _ = write!(text, "GET {url}/items/i{step}\nHTTP 200\n\n");
    }
    text
}

fn figure(name: &'static str, value: f64, unit: &'static str, limit: Limit) -> Figure {
    Figure { name, value, unit, limit }
}

/// How many times longer one subject takes than another that was timed alternately with it.
fn ratio(own: &[f64], other: &[f64]) -> f64 {
    let ratios: Vec<f64> = own.iter().zip(other).map(|(own, other)| own / other).collect();
    median(&ratios)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_sends_the_same_requests() {
        assert_eq!(workflow(3).matches("items:get").count(), 3);
        assert_eq!(arazzo(3).matches("operationId: getItem").count(), 3);
        assert_eq!(hurl(3, "http://h").matches("GET http://h/items/i").count(), 3);
    }

    #[test]
    fn one_odd_round_does_not_decide() {
        assert!((ratio(&[9.0, 1.0, 3.0], &[3.0, 1.0, 1.0]) - 3.0).abs() < 1e-9);
    }
}
