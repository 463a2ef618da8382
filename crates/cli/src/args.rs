//! The command line: every command, its arguments, and their help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use milepost_model::problem::{Code, Problem};

use crate::catalog::args::CatalogCommand;
use crate::command::args::CommandSubcommand;
use crate::deferred_args::Deferred;
use crate::demo::args::DemoArgs;
use crate::failure::CliError;
use crate::log::LogArgs;
use crate::policy::PolicyArgs;
use crate::run::args as run;
use crate::secret::SecretCommand;
use crate::server::args::{McpArgs, ServeArgs};
use crate::terminal::Terminal;
use crate::trust::{GrantsArgs, TrustArgs};
use crate::workflow::args::WorkflowCommand;

/// Workflows that AI agents and APIs run together
#[derive(Debug, Parser)]
#[command(name = "milepost", version, max_term_width = 100)]
#[command(after_help = "Example: milepost demo\n\
    Without a command: open runs, what is waiting for you, and what to type next")]
pub(crate) struct CliArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    #[command(flatten, next_help_heading = "Global options")]
    pub(crate) global: GlobalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only the result, questions and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl CliArgs {
    /// Parses the command line; exits if it is invalid.
    pub(crate) fn from_command_line() -> CliArgs {
        let args = CliArgs::try_parse().unwrap_or_else(|error| refuse(&error));
        if let Some(CliCommand::Mcp(mcp)) = &args.command
            && mcp.command.is_none()
            && args.global.json
        {
            let message = "'--json' cannot be used with 'milepost mcp': it speaks MCP";
            refuse(&CliArgs::command().error(ErrorKind::ArgumentConflict, message));
        }
        args
    }
}

/// Exits with a message about invalid arguments, as JSON if `--json` was among them.
fn refuse(error: &clap::Error) -> ! {
    let wants_json = || std::env::args_os().skip(1).take_while(|word| word != "--");
    if !error.use_stderr() || !wants_json().any(|word| word == "--json") {
        error.exit();
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // The message may continue below its first line, up to the usage.
    let rest = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("tip:"));
    let message = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let words = usage.unwrap_or("milepost").split(' ');
    let words = words.take_while(|word| word.starts_with(char::is_alphabetic));
    let help = format!("see `{} --help`", words.collect::<Vec<_>>().join(" "));
    let hint = tip.unwrap_or(&help);
    let problem = Problem::new(Code::ParamsInvalid, message, hint);
    let exit = CliError::from(problem).show(&mut Terminal::new(true));
    std::process::exit(i32::from(exit.code()))
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a workflow durably
    #[command(after_help = "Example: milepost init && milepost run order-report --mock\n\
        Exit codes: 0 done, 1 the run failed, 2 invalid inputs, 3 invalid workflow, 4 waiting for \
        a person, 5 waiting for an agent, 6 no such workflow, 130 interrupted: the run can be \
        resumed")]
    Run(Deferred<run::RunArgs>),
    /// List runs, newest first
    #[command(after_help = "Example: milepost runs --open")]
    Runs(Deferred<run::RunsArgs>),
    /// Show a run: its steps and what it is waiting for
    #[command(after_help = "Example: milepost show run_0f4\n\
        What was sent for a step: milepost show run_0f4 refund")]
    Show(Deferred<run::ShowRunArgs>),
    /// Show the events of a run
    #[command(after_help = "Example: milepost logs run_0f4 --follow")]
    Logs(Deferred<run::LogsArgs>),
    /// Stop a run; it can be resumed
    #[command(after_help = "Example: milepost cancel run_0f4 --reason 'wrong order'")]
    Cancel(Deferred<run::CancelArgs>),
    /// Start no new work in a run until it is resumed
    #[command(after_help = "Example: milepost pause run_0f4")]
    Pause(Deferred<run::RunIdArgs>),
    /// Resume a run: keep what is done, rerun what failed
    #[command(after_help = "Example: milepost resume run_0f4 --plan")]
    Resume(Deferred<run::ResumeArgs>),
    /// Show what is waiting for you
    #[command(after_help = "Example: milepost inbox\n\
        While an agent works: milepost inbox --watch")]
    Inbox(Deferred<run::InboxArgs>),
    /// Approve a step of a run at this terminal
    #[command(after_help = "Example: milepost approve run_0f4 -m 'checked the order'")]
    Approve(Deferred<run::ApprovalArgs>),
    /// Reject a step of a run at this terminal
    #[command(after_help = "Example: milepost reject run_0f4 -m 'the amount is wrong'")]
    Reject(Deferred<run::ApprovalArgs>),
    /// Record the outcome of a request that was interrupted
    #[command(after_help = "Example: milepost decide run_0f4 --outcome did-not-happen")]
    Decide(Deferred<run::DecideArgs>),
    /// Submit the result of a step that is waiting for an agent
    #[command(after_help = "Example: milepost submit run_0f4 decide result.json")]
    Submit(Deferred<run::SubmitArgs>),
    /// Copy all runs to a folder while they continue
    #[command(after_help = "Example: milepost backup runs-backup")]
    Backup(Deferred<run::BackupArgs>),
    /// Restore the runs from a backup, if there are no runs yet
    #[command(after_help = "Example: milepost restore runs-backup")]
    Restore(Deferred<run::RestoreRunsArgs>),
    /// Manage the input values of earlier runs
    #[command(subcommand)]
    #[command(after_help = "Example: milepost inputs forget --workflow refund-order")]
    Inputs(Deferred<run::InputsCommand>),
    /// Look at what the folder here asks for, and decide whether it may act
    #[command(after_help = "Example: milepost trust\n\
        Without a terminal: milepost trust --accept \"$(milepost trust --digest)\"\n\
        Exit codes: 0 trusted, 1 changed (with --check), 8 not trusted")]
    Trust(Deferred<TrustArgs>),
    /// Stop trusting the folder here
    #[command(after_help = "Example: milepost untrust")]
    Untrust,
    /// Show what you allowed until you revoke it
    #[command(after_help = "Example: milepost grants\n\
        Example: milepost grants revoke 4f1c09")]
    Grants(Deferred<GrantsArgs>),
    /// Show what writes need before they are sent
    #[command(after_help = "Example: milepost policy check refund-order")]
    Policy(Deferred<PolicyArgs>),
    /// Manage the PIN that signs your decisions
    #[command(subcommand)]
    #[command(after_help = "Example: milepost person set-pin")]
    Person(Deferred<run::PersonCommand>),
    /// Work with workflow documents
    #[command(subcommand)]
    #[command(after_help = "Example: milepost workflow validate refund.yaml")]
    Workflow(Deferred<WorkflowCommand>),
    /// Walk through a guide by hand: see what an agent is told and how its output is checked
    #[command(subcommand)]
    #[command(after_help = "Example: milepost guide next bug-investigation")]
    Guide(Deferred<GuideCommand>),
    /// Import OpenAPI documents as commands and manage them
    #[command(subcommand)]
    #[command(after_help = "Example: milepost catalog import https://api.shop.test/openapi.yaml")]
    Catalog(Deferred<CatalogCommand>),
    /// Find, show and call the commands of imported APIs
    #[command(subcommand)]
    #[command(after_help = "Example: milepost command search refund")]
    #[command(name = "command")]
    Api(Deferred<CommandSubcommand>),
    /// Store the secrets that APIs need, by name
    #[command(subcommand)]
    #[command(after_help = "Example: milepost secret set SHOP_TOKEN")]
    Secret(Deferred<SecretCommand>),
    /// Serve agents over standard input and output (MCP)
    #[command(after_help = "Example, in an MCP client's configuration:\n  \
        {\"mcpServers\": {\"milepost\": {\"command\": \"milepost\", \"args\": [\"mcp\"]}}}")]
    Mcp(Deferred<McpArgs>),
    /// Serve agents over HTTP (MCP), by default on this machine only
    #[command(after_help = "Example: milepost serve --port 6453\n\
        Clients send a token: it is printed once, when it is created, and stored in the data \
        directory")]
    Serve(Deferred<ServeArgs>),
    /// Take the tour: runs, an approval, resuming after a failure; offline, in its own folder
    #[command(after_help = "Example: milepost demo\n\
        Example: milepost demo rogue-agent\n\
        Look around afterwards: milepost demo -- runs")]
    Demo(Deferred<DemoArgs>),
    /// Start a project here, with a sample that validates and runs
    #[command(after_help = "Example: milepost init && milepost run order-report --mock\n\
        Existing files are never overwritten")]
    Init(Deferred<InitArgs>),
    /// Find what is wrong with this installation and how to fix it
    #[command(after_help = "Example: milepost doctor --fix\n\
        Exit codes: 0 no faults, 1 at least one fault")]
    Doctor(Deferred<DoctorArgs>),
    /// Show where everything is stored, and read or change the configuration
    #[command(subcommand)]
    #[command(after_help = "Example: milepost config path")]
    Config(Deferred<ConfigCommand>),
    /// Read the documentation
    #[command(after_help = "Example: milepost docs durability\n\
        Example: milepost docs WORKFLOW_INVALID | less")]
    Docs(Deferred<DocsArgs>),
    /// Print a shell completion script
    #[command(after_help = "Example: milepost completions bash \\\n  \
        > ~/.local/share/bash-completion/completions/milepost\n\
        Example: milepost completions zsh > ~/.zfunc/_milepost\n\
        Example: milepost completions fish > ~/.config/fish/completions/milepost.fish")]
    Completions(Deferred<CompletionsArgs>),
    /// Print the manual page, or write one page per command
    #[command(after_help = "Example: milepost man --dir ~/.local/share/man/man1")]
    Man(Deferred<ManArgs>),
    /// Print the JSON Schema for workflows, or for a command's output
    #[command(after_help = "Example: milepost schema workflow > workflow.schema.json\n\
        Example: milepost schema output runs\n\
        In a document: # yaml-language-server: $schema=workflow.schema.json")]
    Schema(Deferred<SchemaArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// What the schema describes
    pub(crate) of: SchemaKind,
    /// For `output`: the command as typed; without one, all commands are listed
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Workflows written as manifests
    Workflow,
    /// Workflows written as guides
    Guide,
    /// What a command prints with `--json`
    Output,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The project folder [default: the working directory]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// First fix what is safe to fix
    #[arg(long)]
    pub(crate) fix: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show where everything is stored, and why
    #[command(after_help = "Example: milepost config path")]
    Path,
    /// Show the value of a key, or of all keys
    #[command(after_help = "Example: milepost config get budget.writes\n\
        Exit codes: 0 done, 2 there is no such key, or the file is invalid")]
    Get(ConfigGetArgs),
    /// Set a key; without a value, reset it to its default
    #[command(after_help = "Example: milepost config set env_allow SHOP_TOKEN,REGION\n\
        Example: milepost config set budget.writes\n\
        Exit codes: 0 done, 2 there is no such key, or the value is not valid for it")]
    Set(ConfigSetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigGetArgs {
    /// The key, such as `policy.writes` or `budget.writes`
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigSetArgs {
    /// The key, such as `policy.writes` or `budget.writes`
    pub(crate) key: String,
    /// The new value; separate several with commas
    pub(crate) value: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// A page, or an error code
    pub(crate) topic: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page per command to this folder
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuideCommand {
    /// Show the next step, given the steps that are done
    #[command(after_help = "Example: milepost guide next bug-investigation --done triage\n\
        Exit codes: 0 a step is next or all are done, 5 the context lacks a variable, \
        6 no such workflow or step, 7 a variable has the wrong type")]
    Next(GuideNextArgs),
    /// Check the output of a step against its criteria
    #[command(after_help = "Example: milepost guide check bug-investigation triage notes.md\n\
        Exit codes: 0 valid, 1 not valid, 3 the criteria are invalid, 6 no such workflow or step")]
    Check(GuideCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GuideNextArgs {
    /// The id of a workflow in the library, or a file
    pub(crate) target: OsString,
    /// The steps that are done, named as this command named them
    #[arg(long, value_name = "STEP,…", value_delimiter = ',')]
    pub(crate) done: Vec<String>,
    /// The variables that conditions, loops and prompts read: a JSON file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) context: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct GuideCheckArgs {
    /// The id of a workflow in the library, or a file
    pub(crate) target: OsString,
    /// The id of the step
    pub(crate) step: String,
    /// The file with the output, or `-` for standard input
    pub(crate) output: OsString,
    /// The variables that the criteria read: a JSON file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) context: Option<OsString>,
}
