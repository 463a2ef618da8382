//! `milepost workflow new`.

use std::path::PathBuf;

use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_model::problem::{Code, Problem};
use milepost_model::source::Format;
use milepost_store::write_atomic;
use serde_json::json;

use crate::args::{New, NewKind};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;
use crate::terminal::{Terminal, safe};

const MANIFEST: &str = include_str!("../../templates/manifest.yaml");
const GUIDE: &str = include_str!("../../templates/guide.yaml");

pub(crate) fn run(arguments: &New, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let id = WorkflowId::parse(&arguments.id).map_err(|invalid| {
        let hint = format!("use {}", invalid.rule);
        Problem::new(Code::IdInvalid, invalid.to_string(), hint)
    })?;
    let (text, format) = match &arguments.from {
        Some(from) => copy(from, &id)?,
        None => (String::new(), Format::Yaml),
    };
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{id}.{}", format.name())));
    let text = match arguments.from {
        Some(_) => text,
        None => template(arguments.kind, &id, &path.display().to_string()),
    };
    let promised = path.extension().and_then(|end| end.to_str()).and_then(Format::of_extension);
    if promised == Some(Format::Json) && format == Format::Yaml {
        let message = format!("`{}` would hold YAML", path.display());
        return Err(Problem::new(Code::InputInvalid, message, "end its name in `.yaml`").into());
    }
    check(&text, format)?;
    if path.as_os_str() == "-" {
        terminal.line(text.trim_end())?;
        return Ok(Exit::Done);
    }
    write_atomic(&path, text.as_bytes(), false)?;
    let shown = path.display().to_string();
    if arguments.json.json {
        terminal.line(&json!({"path": shown, "workflow_id": id.as_str()}).to_string())?;
    } else {
        let shown = safe(&shown);
        terminal.line(&format!("wrote {shown}"))?;
        terminal.remark(&format!("next: milepost workflow validate {shown}"));
    }
    Ok(Exit::Done)
}

fn template(kind: NewKind, id: &WorkflowId, path: &str) -> String {
    let text = match kind {
        NewKind::Manifest => MANIFEST,
        NewKind::Guide => GUIDE,
    };
    text.replace("{{id}}", id.as_str()).replace("{{file}}", path)
}

/// The text of another workflow with its id replaced and nothing else.
fn copy(from: &str, id: &WorkflowId) -> Result<(String, Format), Failure> {
    let loaded = target::load(from.as_ref())?;
    let document = &loaded.document;
    let (Some(source), Some(workflow)) = (&document.source, &document.workflow) else {
        let message = format!("`{from}` is not a valid workflow");
        let hint = format!("see `milepost workflow validate {from}`");
        return Err(Problem::new(Code::WorkflowInvalid, message, hint).into());
    };
    let at = workflow.id.at;
    let written = source.slice(at);
    let quoted = written.starts_with(['"', '\'']);
    let id = if quoted { format!("\"{id}\"") } else { id.to_string() };
    let text = source.text();
    let copy = format!("{}{id}{}", &text[..at.start as usize], &text[at.end as usize..]);
    Ok((copy, source.format()))
}

/// What is written must be valid: an id that a guide does not take is refused here.
fn check(text: &str, format: Format) -> Result<(), Failure> {
    let document = Document::read(text.as_bytes(), Some(format), target::world());
    let error = document.violations.iter().find(|_| !document.is_valid());
    match error {
        None => Ok(()),
        Some(violation) => {
            let hint = violation.suggestion.clone().unwrap_or_default();
            Err(Problem::new(Code::IdInvalid, violation.message.clone(), hint).into())
        }
    }
}
