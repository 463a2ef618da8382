//! `milepost workflow …`: one file for each subcommand.

mod delete;
mod diff;
mod graph;
mod inputs;
mod list;
mod new;
pub(crate) mod plan;
mod rename;
mod restore;
mod save;
mod show;
mod sources;
mod validate;
mod versions;

use std::ffi::OsStr;
use std::sync::Arc;

use milepost_model::document::Document;
use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Workflow;
use milepost_store::{Entry, SourceKind};

use crate::args::WorkflowCommand;
use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::Session;
use crate::target::{self, Loaded};
use crate::terminal::{Terminal, count};

pub(crate) fn run(command: &WorkflowCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        WorkflowCommand::Validate(arguments) => validate::run(arguments, terminal),
        WorkflowCommand::Show(arguments) => show::run(arguments, terminal),
        WorkflowCommand::List(arguments) => list::run(arguments.json, terminal),
        WorkflowCommand::Sources(arguments) => sources::run(arguments.json, terminal),
        WorkflowCommand::Inputs(arguments) => inputs::run(arguments, terminal),
        WorkflowCommand::Plan(arguments) => plan::run(arguments, terminal),
        WorkflowCommand::Graph(arguments) => graph::run(arguments, terminal),
        WorkflowCommand::New(arguments) => new::run(arguments, terminal),
        WorkflowCommand::Save(arguments) => save::run(arguments, terminal),
        WorkflowCommand::Rename(arguments) => rename::run(arguments, terminal),
        WorkflowCommand::Delete(arguments) => delete::run(arguments, terminal),
        WorkflowCommand::Versions(arguments) => versions::run(arguments, terminal),
        WorkflowCommand::Diff(arguments) => diff::run(arguments, terminal),
        WorkflowCommand::Restore(arguments) => restore::run(arguments, terminal),
    }
}

/// A document that must be a workflow: its errors go to standard error otherwise.
fn sound(
    target: &OsStr,
    json: bool,
    terminal: &mut Terminal,
) -> Result<(String, Arc<Document>), Failure> {
    let Loaded { name, document, .. } = target::load(target)?;
    match document.is_valid() {
        true => Ok((name, document)),
        false => Err(invalid(&name, &document, json, terminal).into()),
    }
}

/// A workflow that the user named by its id or by its file, and the operations that know it.
struct Opened {
    session: Session,
    id: String,
    document: Arc<Document>,
}

impl Opened {
    fn workflow(&self) -> Result<&Workflow, Failure> {
        workflow_of(&self.document)
    }
}

fn opened(target: &OsStr, json: bool, terminal: &mut Terminal) -> Result<Opened, Failure> {
    let (name, document) = sound(target, json, terminal)?;
    let id = workflow_of(&document)?.id.value.to_string();
    let entry = Entry {
        id: id.clone(),
        source: SourceKind::Runtime,
        path: name.into(),
        version: String::new(),
        document: Arc::clone(&document),
    };
    let session = Session::open_with(Person::new(false, json), entry)?;
    Ok(Opened { session, id, document })
}

/// The problem of a document that is no workflow; its errors are shown before.
pub(crate) fn invalid(
    name: &str,
    document: &Document,
    json: bool,
    terminal: &mut Terminal,
) -> Problem {
    let width = terminal.width();
    // As JSON they are part of the problem itself.
    for violation in document.violations.iter().filter(|_| !json) {
        let text = diagnostics::render(violation, name, document.source.as_ref(), width);
        terminal.complain(&format!("{text}\n"));
    }
    let message = format!("`{name}` is not a valid workflow");
    let mut problem =
        Problem::new(Code::WorkflowInvalid, message, "mend the errors above").context("path", name);
    problem.violations.clone_from(&document.violations);
    problem
}

/// The workflow of a document that `sound` let through.
fn workflow_of(document: &Document) -> Result<&Workflow, Failure> {
    document.workflow.as_ref().ok_or_else(|| {
        let hint = "run `milepost workflow validate` on it";
        Problem::new(Code::WorkflowInvalid, "the document is not a workflow", hint).into()
    })
}

/// As much of a version as people need to tell it from others.
fn short(version: &str) -> &str {
    version.get(..12).unwrap_or(version)
}
