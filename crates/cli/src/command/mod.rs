//! `milepost command …`.

pub(crate) mod args;
pub(crate) mod http;
pub(crate) mod lists;
mod run;
mod show;

use milepost_model::problem::Code;
use milepost_ops::command::CommandSummary;

use self::args::ApiCommand;
use crate::argument_values::pair;
use crate::failure::{CommandResult, Failure};
use crate::terminal::Terminal;

pub(crate) fn run(command: &ApiCommand, terminal: &mut Terminal) -> CommandResult {
    match command {
        ApiCommand::Search(args) => lists::search(args, terminal),
        ApiCommand::Show(args) => show::run(args, terminal),
        ApiCommand::Run(args) => run::run(args, terminal),
        ApiCommand::Providers(args) => lists::providers(args, terminal),
        ApiCommand::Choices(args) => lists::choices(args, terminal),
    }
}

/// A table of commands.
pub(crate) fn show_commands(commands: &[CommandSummary], terminal: &mut Terminal) {
    let row = |one: &CommandSummary| {
        let deprecated = if one.deprecated { "(deprecated) " } else { "" };
        let summary = format!("{deprecated}{}", one.summary);
        vec![one.command.clone(), one.method.clone(), summary]
    };
    terminal.table(&["command", "method", "summary"], commands.iter().map(row));
}

/// Arguments as `name=value`.
fn pairs(texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let split = |text: &String| {
        let (name, value) = pair(text, Code::ArgumentsInvalid, "name=value")?;
        Ok((name.to_owned(), value.to_owned()))
    };
    texts.iter().map(split).collect()
}
