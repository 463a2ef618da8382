//! What can be said of commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::Json;

#[derive(Debug, Subcommand)]
pub(crate) enum CommandCommand {
    /// Find commands by what they do; without words, list them all
    #[command(after_help = "Example: milepost command search create an order\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Search(Search),
    /// Show a command: its arguments, its body, its answers
    #[command(after_help = "Example: milepost command show shop orders:create\n\
        Exit codes: 0 done, 6 there is no such command, 7 its catalog is disabled")]
    Show(Named),
    /// Call a command
    #[command(after_help = "Example: milepost command run shop orders:get -p id=42\n\
        The answer is printed; how it went is told on standard error.\n\
        Exit codes: 0 answered below 400, 2 arguments do not fit, 6 no such command, \
        7 a conflict, or nobody said yes, 8 refused or not authenticated, \
        9 answered with 400 or above, or not at all, 10 no answer in time")]
    Run(Run),
    /// List the commands that yield choices for parameters of others
    #[command(after_help = "Example: milepost command providers --command \"shop orders:get\"\n\
        Exit codes: 0 done, 6 there is no such catalog or command")]
    Providers(Providers),
    /// Fetch the choices that a list command yields
    #[command(after_help = "Example: milepost command choices shop orders:list\n\
        Exit codes: 0 done, 2 arguments do not fit, 6 it yields no choices, 8 refused, \
        9 the API fails, 10 no answer in time")]
    Choices(Choices),
}

impl CommandCommand {
    pub(crate) fn json(&self) -> bool {
        match self {
            CommandCommand::Search(command) => command.json.json,
            CommandCommand::Show(command) => command.json.json,
            CommandCommand::Run(command) => command.named.json.json,
            CommandCommand::Providers(command) => command.json.json,
            CommandCommand::Choices(command) => command.named.json.json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What the command does, or its name
    pub(crate) words: Vec<String>,
    /// One catalog alone, by id or title
    #[arg(long)]
    pub(crate) catalog: Option<String>,
    /// One method alone
    #[arg(long)]
    pub(crate) method: Option<String>,
    /// How many, at most 200
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The group and the name of the command, or its operationId
    #[arg(required = true, num_args = 1..=2, value_names = ["GROUP", "NAME"])]
    words: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

impl Named {
    /// `group name`, or an operationId.
    pub(crate) fn command(&self) -> String {
        self.words.join(" ")
    }
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) named: Named,
    /// An argument as `name=value`, wherever it travels; repeat a name for a list, and write
    /// `name=@file` where the body takes a file
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Arguments as a JSON object, or `@file`; `-p` wins over these
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
    /// Fetch pages until there are so many items
    #[arg(long, value_name = "N")]
    pub(crate) max_items: Option<usize>,
    /// The media type of the body; the plainest there is otherwise
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The media type of the answer; JSON otherwise
    #[arg(long, value_name = "TYPE")]
    pub(crate) accept: Option<String>,
    /// The profile whose credentials are used; `default` otherwise
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// Seconds the call may take; 30 otherwise, at most 600
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Write the body of the answer to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Do not ask before something is deleted
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Providers {
    /// Those of one catalog, by id or title
    #[arg(long, conflicts_with = "command")]
    pub(crate) catalog: Option<String>,
    /// Those that serve this command
    #[arg(long, value_name = "GROUP NAME")]
    pub(crate) command: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Choices {
    #[command(flatten)]
    pub(crate) named: Named,
    /// An argument as `name=value`
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Only choices whose value or label holds this text
    #[arg(long)]
    pub(crate) query: Option<String>,
    /// The profile whose credentials are used; `default` otherwise
    #[arg(long)]
    pub(crate) profile: Option<String>,
}
