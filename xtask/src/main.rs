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

  test [--quick]     everything a change must pass; --quick: fmt, tidy, clippy and tests only
  tidy               the rules of this code base that no other tool checks
  count [--files]    production lines by crate, or by file
  clients            drive the server with the SDKs and the tools of others
  conformance        the official suite of MCP, on its fixtures and on `milepost serve`
  mock               hold the answers of mocks against real documents, by schemathesis
  package [--target <triple>]
                     the archive and the npm packages of a release, below the build directory
  package --try      the same of the test build, installed by npm and used
  soak <area>        the suites that look for rare things, for as long as that takes
  stress [filter]    tests that depend on timing, 30 times on busy processors
  codegen [--check]  write the generated files, or compare them with what would be written
  bench <name> [--check]
                     one JSON line a figure; exit code 1 when a limit is broken: of `validate`
                     always, of `guide` and `catalog` with --check, as they need a quiet
                     machine";

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
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}
