//! `cargo xtask bench <name>`: one JSON line a figure on stdout, exit code 1 when a limit breaks.

mod ajv;
mod figure;
mod manifest;
mod stopwatch;
mod validate;

use std::process::ExitCode;

use anyhow::{Result, bail};

use self::figure::Figure;
use crate::workspace::Workspace;

type Bench = fn(&Workspace) -> Result<Vec<Figure>>;

const BENCHES: &[(&str, Bench)] = &[("validate", validate::run)];

pub(crate) fn run(workspace: &Workspace, name: &str) -> Result<ExitCode> {
    let Some((_, bench)) = BENCHES.iter().find(|(known, _)| *known == name) else {
        bail!("there is no bench `{name}`, only {}", names());
    };
    let figures = bench(workspace)?;
    for figure in &figures {
        println!("{}", figure.json(name));
    }
    Ok(if figures.iter().all(Figure::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn names() -> String {
    let names: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
