//! `milepost workflow …`.

pub(crate) mod args;
mod edit;
mod inputs;
mod library;
mod new;
pub(crate) mod plan;
mod show;
mod validate;
mod versions;

use self::args::WorkflowCommand;
use crate::failure::CommandResult;
use crate::terminal::Terminal;

pub(crate) fn run(command: &WorkflowCommand, terminal: &mut Terminal) -> CommandResult {
    match command {
        WorkflowCommand::Validate(args) => validate::run(args, terminal),
        WorkflowCommand::Show(args) => show::run(args, terminal),
        WorkflowCommand::List => library::list(terminal),
        WorkflowCommand::Sources => library::sources(terminal),
        WorkflowCommand::Inputs(args) => inputs::run(args, terminal),
        WorkflowCommand::Plan(args) => plan::run(args, terminal),
        WorkflowCommand::Graph(args) => show::graph(args, terminal),
        WorkflowCommand::New(args) => new::run(args, terminal),
        WorkflowCommand::Save(args) => edit::save(args, terminal),
        WorkflowCommand::Rename(args) => edit::rename(args, terminal),
        WorkflowCommand::Delete(args) => edit::delete(args, terminal),
        WorkflowCommand::Versions(args) => versions::list(args, terminal),
        WorkflowCommand::Diff(args) => versions::diff(args, terminal),
        WorkflowCommand::Restore(args) => versions::restore(args, terminal),
    }
}

/// As much of a version as people need to tell it from others.
fn short(version: &str) -> &str {
    version.get(..12).unwrap_or(version)
}
