//! How long `milepost workflow validate` takes from start to exit, compared with a schema-only
//! peer.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::figure::{Figure, Limit};
use super::stopwatch::{Subject, medians_ms};
use super::{ajv, manifest, program};
use crate::tools::shout;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<Vec<Figure>> {
    let binary = program(workspace)?;
    let mut figures = own(workspace, &binary)?;
    match guides(workspace)? {
        Some(guides) => figures.extend(corpus(workspace, &binary, &guides)?),
        None => shout("corpus_ms and ajv_ratio skipped: set MILEPOST_CORPUS to the guide corpus"),
    }
    Ok(figures)
}

/// The figures that need only the binary.
fn own(workspace: &Workspace, binary: &Path) -> Result<Vec<Figure>> {
    let path = workspace.cache("bench")?.join("thousand-steps.yaml");
    fs::write(&path, manifest::generate())
        .with_context(|| format!("cannot write {}", path.display()))?;
    let large = Subject {
        program: binary.to_path_buf(),
        arguments: validate_arguments(std::slice::from_ref(&path)),
        codes: &[0],
    };
    let answer = large.answer().context("the generated manifest must be valid")?;
    ensure_files(&answer.stdout, 1)?;
    let version =
        Subject { program: binary.to_path_buf(), arguments: vec!["--version".into()], codes: &[0] };
    let medians = medians_ms(&[&large, &version])?;
    Ok(vec![
        milliseconds("manifest_1mib_ms", medians[0], 80),
        milliseconds("version_ms", medians[1], 5),
    ])
}

/// The figures for the guide corpus: ours, and how many times longer ajv takes.
fn corpus(workspace: &Workspace, binary: &Path, guides: &[PathBuf]) -> Result<Vec<Figure>> {
    let ours = Subject {
        program: binary.to_path_buf(),
        arguments: validate_arguments(guides),
        // The corpus contains guides that are invalid on purpose.
        codes: &[0, 3],
    };
    ensure_files(&ours.answer()?.stdout, guides.len())?;
    let schema = Subject {
        program: binary.to_path_buf(),
        arguments: vec!["schema".into(), "guide".into()],
        codes: &[0],
    };
    let schema = schema.answer()?.stdout;
    match ajv::prepare(workspace, &schema, guides)? {
        Err(why) => {
            shout(&format!("ajv_ratio skipped: {why}"));
            Ok(vec![milliseconds("corpus_ms", medians_ms(&[&ours])?[0], 60)])
        }
        Ok(peer) => {
            let medians = medians_ms(&[&ours, &peer])?;
            eprintln!("ajv: {:.1} ms over {} guides", medians[1], guides.len());
            let value = medians[1] / medians[0];
            let limit = Limit::AtLeast(10);
            Ok(vec![
                milliseconds("corpus_ms", medians[0], 60),
                Figure { name: "ajv_ratio", value, unit: "x", limit },
            ])
        }
    }
}

fn milliseconds(name: &'static str, value: f64, limit: u32) -> Figure {
    Figure { name, value, unit: "ms", limit: Limit::AtMost(limit) }
}

fn validate_arguments(files: &[PathBuf]) -> Vec<OsString> {
    let fixed = ["workflow", "validate", "--json"].map(OsString::from);
    fixed.into_iter().chain(files.iter().map(OsString::from)).collect()
}

/// Rejects a fast but wrong answer: it must mention every file.
fn ensure_files(answer: &[u8], expected: usize) -> Result<()> {
    let answer: Value = serde_json::from_slice(answer).context("validate printed no JSON")?;
    let files = answer["files"].as_array().map_or(0, Vec::len);
    ensure!(files == expected, "validate reported {files} files instead of {expected}");
    Ok(())
}

/// The guides that the corpus lists; `None` without the corpus.
fn guides(workspace: &Workspace) -> Result<Option<Vec<PathBuf>>> {
    let corpus = env::var_os("MILEPOST_CORPUS")
        .map_or_else(|| workspace.root().join("../shared/corpus"), PathBuf::from);
    let directory = corpus.join("guides");
    let list = directory.join("MANIFEST.json");
    if !list.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(&list).with_context(|| format!("cannot read {}", list.display()))?;
    Ok(Some(listed(&bytes)?.iter().map(|file| directory.join(file)).collect()))
}

fn listed(list: &[u8]) -> Result<Vec<String>> {
    let list: Value = serde_json::from_slice(list).context("the corpus list is not JSON")?;
    let entries = list.as_array().context("the corpus list is not an array")?;
    entries
        .iter()
        .map(|entry| entry["file"].as_str().map(str::to_owned).context("an entry has no `file`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_lists_its_files() {
        let list = br#"[{"file": "v1/a.json", "valid": true}, {"file": "v2/b.json"}]"#;
        assert_eq!(listed(list).unwrap(), ["v1/a.json", "v2/b.json"]);
        assert!(listed(br#"[{"id": "x"}]"#).is_err());
        assert!(listed(b"{}").is_err());
    }

    #[test]
    fn an_answer_that_leaves_a_file_out_is_refused() {
        let answer = br#"{"files": [{"path": "a"}, {"path": "b"}]}"#;
        assert!(ensure_files(answer, 2).is_ok());
        assert!(ensure_files(answer, 3).is_err());
        assert!(ensure_files(b"", 0).is_err());
    }
}
