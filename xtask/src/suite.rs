//! `cargo xtask test`: runs every check that a change must pass, in one command that needs nothing
//! but Rust.
//!
//! All stages run even if one fails, so that one invocation shows everything; only a broken build
//! stops it.

use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result};

use crate::clients::{CLIENTS, Walks};
use crate::report::{Report, Verdict};
use crate::workspace::Workspace;
use crate::{codegen, conformance, mock, package, tidy, tools};

/// How much of the suite to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The stages to run after every change: fmt, tidy, clippy and the tests.
    Quick,
    /// All stages.
    Full,
}

pub(crate) fn run(workspace: &Workspace, extent: Extent) -> ExitCode {
    let mut report = Report::default();
    report.stage("fmt", || cargo(workspace, &["fmt", "--all", "--check"]));
    report.stage("tidy", || tidy::stage(workspace));
    match extent {
        Extent::Quick => {
            report.stage("clippy", || clippy(workspace));
            report.stage("tests", || tests(workspace, extent));
        }
        Extent::Full => full(workspace, &mut report),
    }
    eprintln!("{}", report.table());
    if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn full(workspace: &Workspace, report: &mut Report) {
    // The same targets, and therefore the same features, as the tests need, so that nothing is
    // built twice.
    let build = ["build", "--workspace", "--all-targets", "--locked"];
    if report.stage("build", || cargo(workspace, &build)) {
        report.stage("clippy", || clippy(workspace));
        report.stage("otlp", || otlp(workspace));
        report.stage("codegen --check", || codegen::stage(workspace));
        let doctests = ["test", "--doc", "--workspace", "--locked"];
        report.stage("doctests", || cargo(workspace, &doctests));
        report.stage("tests", || tests(workspace, Extent::Full));
        let walks = Walks::new(workspace);
        for client in &CLIENTS {
            report.stage(client.stage, || walks.walk(client));
        }
        report.stage("conformance", || conformance::stage(workspace));
        report.stage("mock", || mock::stage(workspace));
        report.stage("package", || package::stage(workspace));
        report.stage("doc", || documentation(workspace));
    } else {
        let before = ["clippy", "otlp", "codegen --check", "doctests", "tests"];
        let clients = CLIENTS.iter().map(|client| client.stage);
        let after = ["conformance", "mock", "package", "doc"];
        for stage in before.into_iter().chain(clients).chain(after) {
            report.skip(stage, "the build failed");
        }
    }
    deny(workspace, report);
}

fn clippy(workspace: &Workspace) -> Result<Verdict> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    cargo(workspace, &arguments)
}

/// Tests the OpenTelemetry export, a feature that is off by default, with a collector on loopback.
/// It is built with the features of all crates together, so that only the binary and the exporter
/// are rebuilt.
fn otlp(workspace: &Workspace) -> Result<Verdict> {
    let feature = ["--features", "milepost-cli/otlp"];
    let only = ["--test", "it", "otlp::"];
    cargo(workspace, &[&["test", "--workspace", "--locked"][..], &feature, &only].concat())
}

fn tests(workspace: &Workspace, extent: Extent) -> Result<Verdict> {
    if tools::nextest(workspace)? {
        let mut nextest = seeded(workspace, extent);
        // Many tests wait for a timer or another process, so two per processor finish sooner.
        let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
        nextest.args(["nextest", "run", "--workspace", "--locked", "--test-threads"]);
        return judge(nextest.arg(threads.to_string()));
    }
    let note = "by cargo test, as cargo-nextest cannot be installed".to_owned();
    tools::shout(&format!("tests run {note}"));
    let mut test = seeded(workspace, extent);
    let verdict = judge(test.args(["test", "--workspace", "--all-targets", "--locked"]))?;
    Ok(if verdict == Verdict::passed() { Verdict::Passed { note } } else { verdict })
}

fn documentation(workspace: &Workspace) -> Result<Verdict> {
    let mut command = workspace.cargo();
    command.args(["doc", "--workspace", "--no-deps", "--locked"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    judge(&mut command)
}

/// Licenses, bans and sources are always checked. Advisories need a database from outside the
/// registry, so they are checked only if it can be fetched.
fn deny(workspace: &Workspace, report: &mut Report) {
    let mut found = None;
    report.stage("deny", || {
        let Some(deny) = tools::cargo_deny(workspace)? else {
            let why = "there is no cargo-deny and no registry to install it from".to_owned();
            tools::shout(&why);
            return Ok(Verdict::Skipped { why });
        };
        let deny = found.insert(deny);
        let checks = ["--locked", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
        judge(deny.command(workspace).args(checks))
    });
    let Some(deny) = found else {
        report.skip("deny advisories", "there is no cargo-deny");
        return;
    };
    report.stage("deny advisories", || {
        let fetched = deny.command(workspace).args(["--locked", "fetch", "db"]).status();
        if !fetched.context("cannot start cargo-deny")?.success() {
            let why = "the advisory database cannot be fetched".to_owned();
            tools::shout(&why);
            return Ok(Verdict::Skipped { why });
        }
        let checks = ["--locked", "check", "--hide-inclusion-graph", "advisories"];
        judge(deny.command(workspace).args(checks))
    });
}

/// The environment variable for the seed of the property tests.
const SEED: &str = "PROPTEST_RNG_SEED";
/// The environment variable that allows tests to take more time.
const FULL: &str = "MILEPOST_TEST_FULL";

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<Verdict> {
    judge(seeded(workspace, Extent::Quick).args(arguments))
}

fn seeded(workspace: &Workspace, extent: Extent) -> Command {
    let mut command = workspace.cargo();
    // A run must fail because of a change and not by chance, so property tests use the same cases
    // each time. Set the seed, or run `cargo nextest` without it, to try others.
    if std::env::var_os(SEED).is_none() {
        command.env(SEED, "20240229");
    }
    if extent == Extent::Full {
        command.env(FULL, "1");
    }
    command
}

fn judge(command: &mut Command) -> Result<Verdict> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if status.success() {
        return Ok(Verdict::passed());
    }
    Ok(Verdict::Failed { why: status.to_string() })
}
