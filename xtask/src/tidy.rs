//! `cargo xtask tidy`: checks the rules of this code base that no other tool checks.
//!
//! Each check is a pure function from source files to findings, with its own tests. All findings
//! are shown at once, as `path:line: what is wrong and what to do`.

mod bounds;
mod code_map;
mod codes;
mod doc_comments;
mod exempt;
mod files;
mod finding;
mod ranks;
mod repetition;
mod rust;
mod sql;
mod statuses;
mod text;
mod tokens;
mod type_names;
mod wording;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use self::codes::Page;
use self::exempt::Hit;
use self::files::Listed;
pub(crate) use self::files::list as list_files;
use self::finding::Finding;
use self::repetition::Repetition;
pub(crate) use self::rust::test_lines;
pub(crate) use self::tokens::{RustFile, crate_of_production};
use self::type_names::TypeNames;
use crate::codegen;
use crate::report::Verdict;
use crate::workspace::Workspace;

/// `cargo xtask tidy`: runs the checks below, then checks that generated files are up to date. The
/// latter needs a build and is skipped if there are findings.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let findings = findings(workspace)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() { codegen::check(workspace) } else { Ok(ExitCode::FAILURE) }
}

/// Tidy as a stage of the test command, which checks generated files separately, after the build.
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
    let mut boundaries = Boundaries::new(root)?;
    for file in listed.iter().filter(|file| file.is_rust() || file.is_page()) {
        let text = read_file(root, &file.path)?;
        if file.is_rust() {
            findings.extend(rust_findings(&file.path, &text, &mut boundaries));
        } else {
            boundaries.read_page(&file.path, &text);
        }
    }
    findings.extend(boundaries.findings());
    findings.extend(code_findings(root, &listed)?);
    findings.extend(code_map::differences(&read_file(root, code_map::PAGE)?, &listed));
    findings.sort();
    Ok(findings)
}

pub(crate) fn read_file(root: &Path, path: &str) -> Result<String> {
    let path = root.join(path);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn rust_findings(path: &str, source: &str, boundaries: &mut Boundaries) -> Vec<Finding> {
    let mut findings = text::long_lines(path, source);
    findings.extend(text::missing_module_doc(path, source));
    findings.extend(text::ungated_faults(path, source));
    match RustFile::parse(path, source) {
        Ok(file) => {
            findings.extend(rust::long_functions(&file));
            findings.extend(rust::forbidden_attributes(&file));
            findings.extend(rust::forbidden_macros(&file));
            findings.extend(rust::unexplained_length(&file));
            findings.extend(doc_comments::empty_docs(&file));
            boundaries.read(&file);
        }
        Err(finding) => findings.push(finding),
    }
    findings
}

/// The rules that need all files or have exceptions; their findings are evaluated together.
#[derive(Default)]
struct Boundaries {
    commands: Vec<String>,
    sql: Vec<Hit>,
    wording: Vec<Hit>,
    statuses: Vec<Hit>,
    bounds: Vec<Hit>,
    type_names: TypeNames,
    repetition: Repetition,
}

impl Boundaries {
    fn new(root: &Path) -> Result<Boundaries> {
        let source = read_file(root, wording::COMMANDS)?;
        let args = RustFile::parse(wording::COMMANDS, &source)
            .map_err(|finding| anyhow::anyhow!("{finding}"))?;
        let commands = wording::commands(&args)?;
        Ok(Boundaries { commands, ..Boundaries::default() })
    }

    fn read(&mut self, file: &RustFile) {
        self.sql.extend(sql::reaches_past_the_journal(file));
        self.wording.extend(wording::commands_in_code(file, &self.commands));
        self.statuses.extend(statuses::held_as_text(file));
        self.bounds.extend(bounds::outside_limits(file));
        self.type_names.read(file);
        self.repetition.read(file);
    }

    fn read_page(&mut self, path: &str, text: &str) {
        self.wording.extend(wording::commands_in_page(path, text, &self.commands));
    }

    fn findings(self) -> impl Iterator<Item = Finding> {
        let judged = [
            (self.sql, sql::EXEMPT, "sql"),
            (self.wording, wording::EXEMPT, "wording"),
            (self.statuses, statuses::EXEMPT, "statuses"),
            (self.bounds, bounds::EXEMPT, "bounds"),
        ];
        let judged = judged.into_iter().flat_map(|(hits, exempt, rule)| {
            exempt::judge(hits, exempt, &format!("xtask/src/tidy/{rule}.rs"))
        });
        judged.chain(self.type_names.findings()).chain(self.repetition.findings())
    }
}

fn code_findings(root: &Path, listed: &[Listed]) -> Result<Vec<Finding>> {
    let source = read_file(root, codes::TABLE)?;
    let mut pages = Vec::new();
    for file in listed.iter().filter(|file| codes::is_page(&file.path)) {
        let text = read_file(root, &file.path)?;
        let title = text.lines().next().unwrap_or_default().to_owned();
        pages.push(Page { path: file.path.clone(), title });
    }
    Ok(codes::unpaired(&codes::declared(&source), &pages))
}
