//! The project's development tasks: `cargo xtask test | tidy | clients | conformance | …`.
//!
//! Nothing here is shipped. Stdout carries data (findings, figures); everything else goes to
//! stderr.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task prints its results to stdout and its progress to stderr"
)]

mod bench;
mod clients;
mod codegen;
mod conformance;
mod count;
mod echo;
mod install;
mod mock;
mod package;
mod report;
mod soak;
mod stress;
mod suite;
mod tidy;
mod tools;
mod usage;
mod workspace;

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::suite::Extent;
use crate::workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask <chore>

  test [--quick]     run everything a change must pass; --quick: fmt, tidy, clippy and tests only
  tidy               check the rules of this code base that no other tool checks
  count [--files]    count production lines by crate, or by file
  clients            drive the server with other projects' SDKs and tools
  conformance        the official MCP suite, on its fixtures and on `milepost serve`
  mock               check the responses of mocks against real documents, with schemathesis
  package [--target <triple>]
                     build the archive and the npm packages of a release, in the build directory
  package --try      the same with the test build, installed by npm and used
  soak <area>        run the long suites that look for rare failures
  stress [filter]    repeat tests that depend on timing, 30 times on busy processors
  codegen [--check]  write the generated files, or check that they are up to date
  bench <name> [--check]
                     one JSON line per figure; exit code 1 if a limit is exceeded: always for
                     `validate`, with --check for the others, which need a quiet machine";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    match arguments {
        ["test"] => Ok(suite::run(&workspace, Extent::Full)),
        ["test", "--quick"] => Ok(suite::run(&workspace, Extent::Quick)),
        ["tidy"] => tidy::run(&workspace),
        ["count"] => count::run(&workspace, false),
        ["count", "--files"] => count::run(&workspace, true),
        ["clients"] => clients::run(&workspace),
        ["conformance"] => conformance::run(&workspace),
        ["mock"] => mock::run(&workspace),
        ["package"] => package::run(&workspace, None),
        ["package", "--try"] => package::try_out(&workspace),
        ["package", "--target", target] => package::run(&workspace, Some(target)),
        ["codegen"] => codegen::write(&workspace),
        ["codegen", "--check"] => codegen::check(&workspace),
        ["bench", name] => bench::run(&workspace, name, false),
        ["bench", name, "--check"] => bench::run(&workspace, name, true),
        ["bench"] => {
            eprintln!("error: name a bench: {}", bench::names());
            Ok(ExitCode::from(2))
        }
        ["soak", area] => soak::run(&workspace, area),
        ["soak"] => {
            eprintln!("error: name an area: {}", soak::names());
            Ok(ExitCode::from(2))
        }
        ["stress"] => stress::run(&workspace, None),
        ["stress", filter] => stress::run(&workspace, Some(filter)),
        // Only used by the benches, which start these themselves.
        ["echo"] => echo::run().map(|()| ExitCode::SUCCESS).context("cannot echo"),
        ["usage", program, arguments @ ..] => usage::run(program, arguments),
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        [] => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
        unknown => {
            eprintln!("error: `{}` is not a chore\n\n{USAGE}", unknown.join(" "));
            Ok(ExitCode::from(2))
        }
    }
}
