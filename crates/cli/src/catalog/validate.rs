//! `milepost catalog validate`.

use milepost_ops::catalog::validate::{Request, Response, Validate as Operation};

use super::args::Validate;
use super::remarks;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Validate, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let source = &arguments.source;
    let session = Session::open(Person::new(false, source.json.json))?;
    let response = session.run::<Operation>(Request {
        source: source.named.clone(),
        source_type: None,
        allow_refs: source.references.allow_refs.clone(),
        refs_root: source.references.refs_root.clone(),
    })?;
    if source.json.json {
        print(&response, terminal)?;
    } else {
        show(&source.named, &response, terminal)?;
    }
    Ok(if response.valid { Exit::Done } else { Exit::Usage })
}

fn show(source: &str, response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    // What was found is the result here, so it stands where results do.
    for violation in &response.violations {
        terminal.line(&remarks::line("error", violation))?;
    }
    for line in remarks::warnings(&response.warnings) {
        terminal.line(&line)?;
    }
    let source = safe(source);
    let kind = match &response.version {
        Some(version) => format!("OpenAPI {}", safe(version)),
        None => "no OpenAPI document".to_owned(),
    };
    let operations = count(response.operation_count, "operation");
    let commands = count(response.command_count, "command");
    let warnings = count(response.warnings.len(), "warning");
    if response.valid {
        terminal.line(&format!("{source}: valid, {kind}, {operations}, {commands}, {warnings}"))?;
        terminal.remark(&format!("next: milepost catalog import {source}"));
    } else {
        let errors = count(response.violations.len(), "error");
        terminal.line(&format!("{source}: not valid, {kind}, {errors}, {warnings}"))?;
    }
    Ok(())
}
