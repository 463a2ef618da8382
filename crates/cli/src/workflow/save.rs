//! `milepost workflow save`.

use std::path::Path;

use milepost_model::limits::DOCUMENT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::source::Format;
use milepost_ops::workflow::save::{Request, Response, Save as Operation};
use milepost_store::read_document;

use super::short;
use crate::args::Save;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::target;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Save, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (bytes, format) = if arguments.file == "-" {
        (target::standard_bytes()?, None)
    } else {
        let path = Path::new(&arguments.file);
        let ending = path.extension().and_then(|ending| ending.to_str());
        (read_document(path, DOCUMENT_BYTES)?, ending.and_then(Format::of_extension))
    };
    let content = String::from_utf8(bytes).map_err(|error| {
        let message = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
        Problem::new(Code::WorkflowInvalid, message, "save the file as UTF-8")
    })?;
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let response = session.run::<Operation>(Request {
        content,
        workflow_id: None,
        format: format.map(Into::into),
        overwrite: arguments.overwrite,
        expected_version: arguments.expect.clone(),
    })?;
    if json {
        print(&response, terminal)?;
    } else {
        show(&response, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    for warning in &response.warnings {
        let (line, message) = (warning.line, safe(&warning.message));
        terminal.remark(&format!("warning[{}]: line {line}: {message}", warning.rule));
    }
    let (id, version) = (&response.workflow_id, short(&response.version));
    let path = safe(&response.path);
    match response.previous_version.as_deref() {
        Some(previous) if previous == response.version => {
            terminal.line(&format!("{id} is {version} already: {path}"))?;
        }
        Some(previous) => {
            let previous = short(previous);
            terminal.line(&format!("saved {id} {version} over {previous}: {path}"))?;
            terminal.remark(&format!("undo: milepost workflow restore {id} {previous}"));
        }
        None => terminal.line(&format!("saved {id} {version}: {path}"))?,
    }
    if let Some(other) = &response.overrides {
        let note = "note: it now counts before the one that is only read";
        terminal.remark(&format!("{note} ({}: {})", other.source, safe(&other.path)));
    }
    Ok(())
}
