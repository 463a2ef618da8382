//! `cargo xtask stress [filter]`: repeats timing-dependent tests while other threads keep the
//! processors busy. A test that passes alone and fails here is flaky: fix the test or the product.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tools;
use crate::workspace::Workspace;

/// A nextest filter for tests with several threads, processes or clocks whose order is left to the
/// system. Left out are suites that enumerate crashes one by one, which take minutes and do not
/// depend on timing; name them as the filter to repeat them.
const CONCURRENT: &str = "(package(milepost-driver) - test(/^(crash|simulation)::/)) \
    | (package(milepost-store) & test(/runs::/)) \
    | (package(milepost-mcp) & kind(test)) \
    | (package(milepost-cli) & test(/^(agent|hold|lapsed|mcp|serve|sleeping|stopped|worlds)::/))";

const ROUNDS: u32 = 30;
/// Most of these tests wait for a timer or another process, so several at a time add to the load.
const TESTS_PER_PROCESSOR: usize = 4;
/// The environment variable that overrides the number of rounds.
const ROUNDS_VARIABLE: &str = "MILEPOST_STRESS_ROUNDS";

pub(crate) fn run(workspace: &Workspace, filter: Option<&str>) -> Result<ExitCode> {
    if !tools::nextest(workspace)? {
        bail!("cargo-nextest cannot be installed");
    }
    let rounds = match std::env::var(ROUNDS_VARIABLE) {
        Ok(rounds) => {
            rounds.parse().with_context(|| format!("{ROUNDS_VARIABLE} is not a number"))?
        }
        Err(_) => ROUNDS,
    };
    // Build first, before the processors are busy.
    if !nextest(workspace, &["--no-run"])? {
        bail!("the tests cannot be built");
    }
    let mut selection = match filter {
        // A plain word selects by name, as with `cargo nextest run`.
        Some(word) => vec![word],
        None => vec!["-E", CONCURRENT],
    };
    let threads = (TESTS_PER_PROCESSOR * processors()).to_string();
    selection.extend(["--test-threads", &threads]);
    let _load = Load::start();
    let mut failed = Vec::new();
    for round in 1..=rounds {
        let began = Instant::now();
        let passed = nextest(workspace, &selection)?;
        let word = if passed { "passed" } else { "failed" };
        eprintln!("stress: round {round} of {rounds} {word} after {} s", began.elapsed().as_secs());
        if !passed {
            failed.push(round.to_string());
        }
    }
    if failed.is_empty() {
        println!("stress: {rounds} rounds passed");
        return Ok(ExitCode::SUCCESS);
    }
    println!("stress: {} of {rounds} rounds failed: {}", failed.len(), failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Runs nextest, showing only failures, and returns whether it succeeded.
fn nextest(workspace: &Workspace, arguments: &[&str]) -> Result<bool> {
    let mut command = workspace.cargo();
    command.args(["nextest", "run", "--workspace", "--locked", "--status-level", "fail"]);
    let status = command.args(arguments).status().context("cannot start cargo nextest")?;
    Ok(status.success())
}

/// Keeps one thread per processor busy until it is dropped.
struct Load {
    ends: Arc<AtomicBool>,
}

impl Load {
    fn start() -> Load {
        let ends = Arc::new(AtomicBool::new(false));
        for _ in 0..processors() {
            let ends = Arc::clone(&ends);
            thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Load { ends }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
