//! `milepost workflow new`.

use std::path::PathBuf;

use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_model::problem::{Code, Problem};
use milepost_store::write_atomic;
use milepost_syntax::source::Format;
use serde_json::json;

use super::args::{NewArgs, NewWorkflowKind};
use crate::document;
use crate::environment;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::{Terminal, safe};

const MANIFEST: &str = include_str!("../../templates/manifest.yaml");
const GUIDE: &str = include_str!("../../templates/guide.yaml");

pub(super) fn run(args: &NewArgs, terminal: &mut Terminal) -> CliResult {
    let id = WorkflowId::parse(&args.id).map_err(|invalid| {
        let hint = format!("use {}", invalid.rule);
        Problem::new(Code::IdInvalid, invalid.to_string(), hint)
    })?;
    let copied = args.from.as_deref().map(|from| copy(from, &id)).transpose()?;
    let format = copied.as_ref().map_or(Format::Yaml, |(_, format)| *format);
    let default = || PathBuf::from(format!("{id}.{}", format.name()));
    let path = args.output.clone().unwrap_or_else(default);
    let shown = path.display().to_string();
    let text = copied.map_or_else(|| template(args.kind, &id, &shown), |(text, _)| text);
    let expected = path.extension().and_then(|end| end.to_str()).and_then(Format::of_extension);
    if expected == Some(Format::Json) && format == Format::Yaml {
        let message = format!("`{shown}` would contain YAML, not JSON");
        return Err(
            Problem::new(Code::ParamsInvalid, message, "use a name that ends in `.yaml`").into()
        );
    }
    check(&text, format)?;
    if path.as_os_str() == "-" {
        terminal.line(text.trim_end());
        return Ok(Exit::DONE);
    }
    write_atomic(&path, text.as_bytes(), false)?;
    terminal.answer(&json!({"path": shown, "workflow_id": id.as_str()}), |terminal| {
        let shown = safe(&shown);
        terminal.line(format!("wrote {shown}"));
        terminal.remark(format!("next: milepost workflow validate {shown}"));
    })
}

fn template(kind: NewWorkflowKind, id: &WorkflowId, path: &str) -> String {
    let text = match kind {
        NewWorkflowKind::Manifest => MANIFEST,
        NewWorkflowKind::Guide => GUIDE,
    };
    text.replace("{{id}}", id.as_str()).replace("{{file}}", path)
}

/// The source of another workflow, with only its id replaced.
fn copy(from: &str, id: &WorkflowId) -> CliResult<(String, Format)> {
    let loaded = document::load(from.as_ref())?;
    let document = &loaded.document;
    let (Some(source), Some(workflow)) = (&document.source, &document.workflow) else {
        let message = format!("`{from}` is not a valid workflow");
        let hint = format!("see `milepost workflow validate {from}`");
        return Err(Problem::new(Code::WorkflowInvalid, message, hint).into());
    };
    let (at, text) = (workflow.id.at, source.text());
    let quoted = source.slice(at).starts_with(['"', '\'']);
    let id = if quoted { format!("\"{id}\"") } else { id.to_string() };
    let copy = format!("{}{id}{}", &text[..at.start as usize], &text[at.end as usize..]);
    Ok((copy, source.format()))
}

/// Checks that the new source is valid; guides, for example, allow fewer ids.
fn check(text: &str, format: Format) -> CliResult<()> {
    let document = Document::read(text.as_bytes(), Some(format), environment::world());
    let Some(violation) = document.violations.first().filter(|_| !document.is_valid()) else {
        return Ok(());
    };
    let hint = violation.suggestion.clone().unwrap_or_default();
    Err(Problem::new(Code::IdInvalid, violation.message.clone(), hint).into())
}
