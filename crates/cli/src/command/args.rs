//! The arguments of `milepost command …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::argument_values::number;

#[derive(Debug, Subcommand)]
pub(crate) enum CommandSubcommand {
    /// Find commands by what they do; without words, list them all
    #[command(after_help = "Example: milepost command search create an order\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Search(SearchArgs),
    /// Show a command: its arguments, its body and its responses
    #[command(after_help = "Example: milepost command show shop orders:create\n\
        Exit codes: 0 done, 6 there is no such command, 7 its catalog is disabled")]
    Show(CommandArgs),
    /// Call a command
    #[command(after_help = "Example: milepost command run shop orders:get -p id=42\n\
        The response goes to standard output, the status to standard error.\n\
        Exit codes: 0 a status below 400, 2 invalid arguments, 6 no such command, \
        7 a conflict, or not confirmed, 8 refused or not authenticated, \
        9 a status of 400 or above, or no response, 10 no response in time")]
    Run(RunCommandArgs),
    /// List commands that provide choices for other commands' parameters
    #[command(after_help = "Example: milepost command providers --command \"shop orders:get\"\n\
        Exit codes: 0 done, 6 there is no such catalog or command")]
    Providers(ProvidersArgs),
    /// Fetch the choices that a list command provides
    #[command(after_help = "Example: milepost command choices shop orders:list\n\
        Exit codes: 0 done, 2 invalid arguments, 6 it provides no choices, 8 refused, \
        9 the API fails, 10 no response in time")]
    Choices(ChoicesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What the command does, or its name
    pub(crate) words: Vec<String>,
    /// Only this catalog, by id or title
    #[arg(long)]
    pub(crate) catalog: Option<String>,
    /// Only this method
    #[arg(long)]
    pub(crate) method: Option<String>,
    /// How many, at most 200
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// The group and name of the command, or its operationId
    #[arg(required = true, num_args = 1..=2, value_names = ["GROUP", "NAME"])]
    words: Vec<String>,
}

impl CommandArgs {
    /// `group name`, or an operationId.
    pub(crate) fn command(&self) -> String {
        self.words.join(" ")
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    /// An argument as `name=value`, for a parameter or a body property; repeat a name for a list,
    /// and write `name=@file` for a file
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Arguments as a JSON object, or `@file`; `-p` takes precedence
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) with: Option<String>,
    /// The body: JSON, `@file`, or `-` for standard input
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) body: Option<String>,
    /// Print the exact request, secrets masked, and send nothing
    #[arg(long = "dry-run")]
    pub(crate) dry: bool,
    /// Fetch all pages of a list
    #[arg(long)]
    pub(crate) paginate: bool,
    /// Fetch pages until there are this many items
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub(crate) max_items: Option<usize>,
    /// The media type of the body [default: the simplest one available]
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The media type of the response [default: JSON]
    #[arg(long, value_name = "TYPE")]
    pub(crate) accept: Option<String>,
    /// The profile whose credentials are used [default: default]
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// Seconds the call may take, at most 600 [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = number::<u64>)]
    pub(crate) timeout: Option<u64>,
    /// Write the response body to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Delete without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProvidersArgs {
    /// Only providers in this catalog, by id or title
    #[arg(long, conflicts_with = "command")]
    pub(crate) catalog: Option<String>,
    /// Only providers that serve this command
    #[arg(long, value_name = "GROUP NAME")]
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ChoicesArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    /// An argument as `name=value`
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Only choices whose value or label contains this text
    #[arg(long)]
    pub(crate) query: Option<String>,
    /// The profile whose credentials are used [default: default]
    #[arg(long)]
    pub(crate) profile: Option<String>,
}
