//! `milepost workflow …`.

pub(crate) mod args;
mod edit;
mod inputs;
mod library;
pub(crate) mod plan;
mod review;
mod scaffold;
mod validate;

use self::args::WorkflowCommand;
use crate::failure::CliResult;
use crate::terminal::Terminal;

pub(crate) fn run(command: &WorkflowCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        WorkflowCommand::Validate(args) => validate::run(args, terminal),
        WorkflowCommand::Show(args) => plan::show(args, terminal),
        WorkflowCommand::List => library::list(terminal),
        WorkflowCommand::Sources => library::sources(terminal),
        WorkflowCommand::Inputs(args) => inputs::run(args, terminal),
        WorkflowCommand::Plan(args) => plan::run(args, terminal),
        WorkflowCommand::Graph(args) => plan::graph(args, terminal),
        WorkflowCommand::New(args) => scaffold::run(args, terminal),
        WorkflowCommand::Save(args) => edit::save(args, terminal),
        WorkflowCommand::Rename(args) => edit::rename(args, terminal),
        WorkflowCommand::Delete(args) => edit::delete(args, terminal),
        WorkflowCommand::Versions(args) => edit::versions(args, terminal),
        WorkflowCommand::Diff(args) => edit::diff(args, terminal),
        WorkflowCommand::Review(args) => review::run(args, terminal),
        WorkflowCommand::Restore(args) => edit::restore(args, terminal),
    }
}
