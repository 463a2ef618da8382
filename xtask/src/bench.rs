//! `cargo xtask bench <name>`: prints one JSON line per figure on stdout, and on stderr whether it
//! meets its limit. Exits with 1 if a limit is exceeded: always, or only with `--check` for figures
//! that depend on the load of the machine.

mod ajv;
mod catalog;
mod engine;
mod figure;
mod guide;
mod guide_files;
mod labels;
mod loopback;
mod manifest;
mod mcp;
mod peers;
mod post;
mod runners;
mod stopwatch;
mod talk;
mod turns;
mod validate;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use self::figure::Figure;
use crate::workspace::Workspace;

/// Build arguments for the program, built as it is shipped.
const PROGRAM: [&str; 4] = ["--profile", "dist", "--bin", "milepost"];
/// Build arguments for a minimal server on the same libraries.
const BARE: [&str; 4] = ["--profile", "dist", "--example", "bare"];
/// Build arguments for the bench programs; they are built together so that shared code is compiled
/// once.
const EXAMPLES: [&str; 8] = [
    "--profile",
    "dist",
    "--example",
    "call_rate",
    "--example",
    "run_rate",
    "--example",
    "search_eval",
];

/// Names another binary to measure instead of this checkout's, so that two versions can be measured
/// alternately.
const OTHER_BINARY: &str = "MILEPOST_BENCH_BINARY";

/// When an exceeded limit counts as a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Always,
    Checked,
}

struct Bench {
    name: &'static str,
    measure: fn(&Workspace) -> Result<Vec<Figure>>,
    gate: Gate,
}

const BENCHES: &[Bench] = &[
    Bench { name: "validate", measure: validate::run, gate: Gate::Always },
    Bench { name: "guide", measure: guide::run, gate: Gate::Checked },
    Bench { name: "catalog", measure: catalog::run, gate: Gate::Checked },
    Bench { name: "mcp", measure: mcp::run, gate: Gate::Checked },
    Bench { name: "engine", measure: engine::run, gate: Gate::Checked },
];

pub(crate) fn run(workspace: &Workspace, name: &str, check: bool) -> Result<ExitCode> {
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        bail!("there is no bench `{name}`, only {}", names());
    };
    let figures = (bench.measure)(workspace)?;
    for figure in &figures {
        println!("{}", figure.json(name));
        eprintln!("{figure}");
    }
    let counts = check || bench.gate == Gate::Always;
    let holds = figures.iter().all(Figure::holds);
    Ok(if holds || !counts { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn names() -> String {
    let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    names.join(", ")
}

/// The binary to measure.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    let Some(named) = env::var_os(OTHER_BINARY) else {
        return workspace.build_binary("milepost", &PROGRAM);
    };
    let binary = PathBuf::from(&named)
        .canonicalize()
        .with_context(|| format!("{OTHER_BINARY} names {}", named.display()))?;
    eprintln!("measuring {}", binary.display());
    Ok(binary)
}
