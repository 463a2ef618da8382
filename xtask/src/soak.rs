//! `cargo xtask soak <area>`: runs the suites that look for rare failures, with high counts.
//!
//! Rare failures need new input, so every soak covers new ground: simulations start from a seed
//! derived from the date.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// Suites that read their counts from environment variables.
struct Area {
    name: &'static str,
    package: &'static str,
    /// The prefixes of the tests to run; empty for the whole package.
    tests: &'static [&'static str],
    counts: &'static [(&'static str, u64)],
}

const AREAS: &[Area] = &[
    // Half an hour on two cores.
    Area {
        name: "service",
        package: "milepost-driver",
        tests: &[],
        counts: &[("MILEPOST_SEEDS", 50_000), ("MILEPOST_KILLS", 5_000), ("MILEPOST_CRASHES", 60)],
    },
    // A few minutes.
    Area {
        name: "runs",
        package: "milepost-store",
        tests: &["runs::log_damage::"],
        counts: &[("MILEPOST_DAMAGES", 1_000)],
    },
    Area {
        name: "runs",
        package: "milepost-cli",
        tests: &["worlds::"],
        counts: &[("MILEPOST_WORLD_KILLS", 100)],
    },
    Area {
        name: "runs",
        package: "milepost-driver",
        tests: &["pauses::"],
        counts: &[("MILEPOST_PAUSES", 200)],
    },
    // Processes that are suspended for nine seconds, as by closing a laptop lid, with 48 writes in
    // flight.
    Area {
        name: "runs",
        package: "milepost-cli",
        tests: &["stopped::"],
        counts: &[
            ("MILEPOST_STOPS", 20),
            ("MILEPOST_STOP_WRITES", 48),
            ("MILEPOST_STOP_MS", 9_000),
        ],
    },
    Area {
        name: "runs",
        package: "milepost-cli",
        tests: &["sleeping::"],
        counts: &[("MILEPOST_SLEEPERS", 10_000), ("MILEPOST_SLEEPERS_MS", 60_000)],
    },
    // What people, agents and programs try in order to get around a decision: every test with
    // `soak` in its name, with as many cases as the variable says.
    Area {
        name: "trust",
        package: "milepost-store",
        tests: &["soak"],
        counts: &[("MILEPOST_SOAK", 20_000)],
    },
    Area {
        name: "trust",
        package: "milepost-engine",
        tests: &["soak"],
        counts: &[("MILEPOST_SOAK", 20_000)],
    },
    Area {
        name: "trust",
        package: "milepost-ops",
        tests: &["soak"],
        counts: &[("MILEPOST_SOAK", 20_000)],
    },
    Area {
        name: "trust",
        package: "milepost-mcp",
        tests: &["soak"],
        counts: &[("MILEPOST_SOAK", 100_000)],
    },
    Area {
        name: "trust",
        package: "milepost-cli",
        tests: &["soak"],
        counts: &[("MILEPOST_SOAK", 1_000)],
    },
];

/// The environment variable for the first seed of simulations.
const FIRST_SEED: &str = "MILEPOST_FIRST_SEED";
/// Large enough that no two days share a seed.
const SEEDS_A_DAY: u64 = 1_000_000;

pub(crate) fn run(workspace: &Workspace, name: &str) -> Result<ExitCode> {
    if !AREAS.iter().any(|area| area.name == name) {
        bail!("there is no area `{name}`, only {}", names());
    }
    let mut all_passed = true;
    for area in AREAS.iter().filter(|area| area.name == name) {
        all_passed &= soak(workspace, area)?;
    }
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the suites of one package; returns whether all passed.
fn soak(workspace: &Workspace, area: &Area) -> Result<bool> {
    let mut command = workspace.cargo();
    // Not with nextest, which kills tests that take minutes.
    // Also tests beside the code: some of what is pure is tested there.
    command.args(["test", "--locked", "--package", area.package, "--lib", "--bins"]);
    command.args(["--test", "it", "--"]);
    command.args(area.tests);
    let first = first_seed(SystemTime::now());
    let counts = area.counts.iter().copied().chain([(FIRST_SEED, first)]);
    let mut told = Vec::new();
    for (variable, usual) in counts {
        // The environment variable overrides the default count.
        let count = std::env::var(variable).unwrap_or_else(|_| usual.to_string());
        told.push(format!("{variable}={count}"));
        command.env(variable, count);
    }
    let (name, told) = (format!("{} of {}", area.name, area.package), told.join(" "));
    eprintln!("soak {name}: {told}");
    let began = Instant::now();
    let status = command.status().context("cannot start cargo test")?;
    let (word, seconds) = (if status.success() { "passed" } else { "failed" }, began.elapsed());
    println!("soak {name}: {word} after {} s: {told}", seconds.as_secs());
    Ok(status.success())
}

/// The first seed of a day.
fn first_seed(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    since.as_secs() / (24 * 60 * 60) * SEEDS_A_DAY
}

pub(crate) fn names() -> String {
    let mut names: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_days_share_a_seed() {
        let day = Duration::from_hours(24);
        let (first, next) = (SystemTime::UNIX_EPOCH + day * 20_000, day * 20_001);
        assert_eq!(first_seed(first), first_seed(first + Duration::from_hours(23)));
        assert_eq!(first_seed(SystemTime::UNIX_EPOCH + next) - first_seed(first), SEEDS_A_DAY);
        let most = AREAS.iter().flat_map(|area| area.counts).map(|(_, count)| *count).max();
        assert!(most < Some(SEEDS_A_DAY));
    }
}
