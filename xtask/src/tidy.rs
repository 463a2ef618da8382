//! `cargo xtask tidy`: the rules of this code base that no other tool checks.
//!
//! Each check is a pure function from what was read to findings, with its own tests. All findings
//! are shown at once, as `path:line: what, and what to do`.

mod codes;
mod files;
mod finding;
mod ranks;
mod rust;
mod text;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use self::codes::Page;
use self::files::Listed;
use self::finding::Finding;
use self::rust::RustFile;
use crate::codegen;
use crate::report::Verdict;
use crate::workspace::Workspace;

/// `cargo xtask tidy`: the checks below, then the freshness of generated files.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let findings = findings(workspace)?;
    for finding in &findings {
        println!("{finding}");
    }
    let generated = codegen::check(workspace)?;
    Ok(if findings.is_empty() { generated } else { ExitCode::FAILURE })
}

/// Tidy as a stage of the test command, which checks generated files on its own, after the build.
pub(crate) fn stage(workspace: &Workspace) -> Result<Verdict> {
    let findings = findings(workspace)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() {
        return Ok(Verdict::passed());
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    Ok(Verdict::Failed { why: format!("{} {noun}", findings.len()) })
}

fn findings(workspace: &Workspace) -> Result<Vec<Finding>> {
    let root = workspace.root();
    let listed = files::list(root)?;
    let members = ranks::members(&workspace.metadata()?, root)?;

    let mut findings = files::too_large(&listed);
    findings.extend(files::banned_names(&listed));
    findings.extend(ranks::wrong_rank(&members));
    findings.extend(ranks::misplaced_dependency(&members));
    for file in listed.iter().filter(|file| file.is_rust()) {
        let path = root.join(&file.path);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        findings.extend(rust_findings(&file.path, &text));
    }
    findings.extend(code_findings(root, &listed)?);
    findings.sort();
    Ok(findings)
}

fn rust_findings(path: &str, source: &str) -> Vec<Finding> {
    let mut findings = text::long_lines(path, source);
    findings.extend(text::missing_module_doc(path, source));
    findings.extend(text::ungated_faults(path, source));
    match RustFile::parse(path, source) {
        Ok(file) => {
            findings.extend(rust::long_functions(&file));
            findings.extend(rust::forbidden_attributes(&file));
            findings.extend(rust::forbidden_macros(&file));
            findings.extend(rust::unexplained_length(&file));
        }
        Err(finding) => findings.push(finding),
    }
    findings
}

fn code_findings(root: &Path, listed: &[Listed]) -> Result<Vec<Finding>> {
    let table = root.join(codes::TABLE);
    let source =
        fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))?;
    let mut pages = Vec::new();
    for file in listed.iter().filter(|file| codes::is_page(&file.path)) {
        let path = root.join(&file.path);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let title = text.lines().next().unwrap_or_default().to_owned();
        pages.push(Page { path: file.path.clone(), title });
    }
    Ok(codes::unpaired(&codes::declared(&source), &pages))
}
