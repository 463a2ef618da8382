//! `cargo xtask count`: counts the lines of production code, by crate.
//!
//! A production line is a line in `crates/*/src` that contains code: blank lines, comments and
//! test-only code are not counted. Formatting hardly affects the count, because rustfmt decides
//! where lines break.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use anyhow::{Result, anyhow};

use crate::tidy::{RustFile, crate_of_production, list_files, read_file, test_lines};
use crate::workspace::Workspace;

/// Prints one row per crate and the total; with `per_file`, one row per file instead.
pub(crate) fn run(workspace: &Workspace, per_file: bool) -> Result<ExitCode> {
    let root = workspace.root();
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    for file in list_files(root)?.iter().filter(|file| file.is_rust()) {
        let Some(name) = crate_of_production(&file.path) else { continue };
        let source = read_file(root, &file.path)?;
        let parsed =
            RustFile::parse(&file.path, &source).map_err(|finding| anyhow!("{finding}"))?;
        let row = if per_file { &file.path } else { name };
        *rows.entry(row.to_owned()).or_default() += production_lines(&source, &test_lines(&parsed));
    }
    for (row, lines) in &rows {
        println!("{lines:>7} {row}");
    }
    println!("{:>7} total", rows.values().sum::<usize>());
    Ok(ExitCode::SUCCESS)
}

fn production_lines(source: &str, test_lines: &BTreeSet<usize>) -> usize {
    let lines = source.lines().enumerate().filter(|(index, line)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("//") && !test_lines.contains(&(index + 1))
    });
    lines.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_that_ships_is_counted() {
        let source = "\
//! Doc.

/// Doc.
fn a() {
    // Why.
    b(); // counted
}
#[cfg(test)]
mod tests {
    fn c() {}
}
impl S {
    #[cfg(test)]
    fn d() {}
    fn e() {}
}
";
        let file = RustFile::parse("crates/a/src/lib.rs", source).unwrap();
        assert_eq!(production_lines(source, &test_lines(&file)), 6);
        let only_tests = "#![cfg(test)]\nfn a() {}\n";
        let file = RustFile::parse("crates/a/src/b.rs", only_tests).unwrap();
        assert_eq!(production_lines(only_tests, &test_lines(&file)), 0);
    }
}
