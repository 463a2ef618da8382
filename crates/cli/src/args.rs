//! The command line: what can be said, and how it is explained.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use milepost_model::problem::{Code, Problem};

use crate::catalog::args::CatalogCommand;
use crate::command::args::CommandCommand;
use crate::deferred::Deferred;
use crate::demo::args::Demo;
use crate::failure::Failure;
use crate::inputs::InputArguments;
use crate::install::args::Install;
use crate::log::LogArguments;
use crate::run::args as run;
use crate::secret::args::SecretCommand;
use crate::terminal::Terminal;

/// Workflows that AI agents and APIs run together
#[derive(Debug, Parser)]
#[command(name = "milepost", version, max_term_width = 100)]
#[command(after_help = "Example: milepost demo\n\
    Without a command: how things stand, and what to type next")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) status: Json,
    #[command(flatten, next_help_heading = "Options of every command")]
    pub(crate) every: Every,
}

/// What can be said with every command.
#[derive(Debug, Args)]
pub(crate) struct Every {
    /// Say nothing but the result, questions and what went wrong
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) log: LogArguments,
}

impl Arguments {
    /// What was typed. Whatever cannot be meant ends the process with its reason.
    pub(crate) fn typed() -> Arguments {
        let arguments = Arguments::try_parse().unwrap_or_else(|error| refused(&error));
        if arguments.command.is_some() && arguments.status.json {
            let message = "'--json' belongs behind the command";
            refused(&Arguments::command().error(ErrorKind::ArgumentConflict, message));
        }
        arguments
    }

    /// Whether the caller wants JSON, also for what goes wrong.
    pub(crate) fn json(&self) -> bool {
        let Some(command) = &self.command else { return self.status.json };
        match command {
            Command::Workflow(command) => command.json(),
            Command::Guide(command) => match &**command {
                GuideCommand::Next(command) => command.json.json,
                GuideCommand::Check(command) => command.json.json,
            },
            Command::Catalog(command) => command.json(),
            Command::Api(command) => command.json(),
            Command::Secret(command) => command.json(),
            Command::Run(command) => command.json.json,
            Command::Runs(command) => command.json(),
            Command::Show(command) => command.one.json.json,
            Command::Pause(command) => command.json.json,
            Command::Logs(command) => command.one.json.json,
            Command::Cancel(command) => command.one.json.json,
            Command::Resume(command) => command.one.json.json,
            Command::Inbox(command) => command.json.json,
            Command::Approve(command) | Command::Reject(command) => command.one.json.json,
            Command::Decide(command) => command.one.json.json,
            Command::Submit(command) => command.json.json,
            Command::Backup(command) => command.json.json,
            Command::Restore(command) => command.json.json,
            Command::Inputs(command) => match &**command {
                run::InputsCommand::Forget(command) => command.json.json,
            },
            Command::Mcp(arguments) => match &arguments.command {
                Some(McpCommand::Budget(command)) => command.json,
                Some(McpCommand::Install(command)) => command.json.json,
                None => false,
            },
            Command::Serve(arguments) => arguments.json.json,
            Command::Doctor(command) => command.json.json,
            Command::Init(command) => command.json.json,
            Command::Config(command) => command.json(),
            Command::Docs(command) => command.json.json,
            Command::Completions(command) => command.json.json,
            Command::Man(command) => command.json.json,
            Command::Demo(command) => command.json.json,
            Command::Person(command) => match &**command {
                run::PersonCommand::SetPin(json) => json.json,
            },
            Command::Schema(command) => command.json.json,
        }
    }
}

/// Ends the process with what is wrong with its arguments, as JSON if that was one of them.
fn refused(error: &clap::Error) -> ! {
    let wants_json = || std::env::args_os().skip(1).take_while(|word| word != "--");
    if !error.use_stderr() || !wants_json().any(|word| word == "--json") {
        error.exit();
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // What belongs to the first line is below it, up to how it is used.
    let rest = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("tip:"));
    let message = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let hint = tip.unwrap_or("see `--help` of the command");
    let problem = Problem::new(Code::ParamsInvalid, message, hint);
    let exit = Failure::from(problem).show(&mut Terminal::new(), true);
    std::process::exit(i32::from(exit.code()))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workflow, durably
    #[command(after_help = "Example: milepost init && milepost run order-report --mock\n\
        Exit codes: 0 done, 1 the run failed, 2 inputs, 3 the workflow is invalid, 4 it waits for \
        a person, 5 for an agent, 130 interrupted: the run can be resumed")]
    Run(Deferred<run::Start>),
    /// List runs, newest first
    #[command(after_help = "Example: milepost runs --open")]
    Runs(Deferred<run::Runs>),
    /// Show a run: its steps, and what it waits for
    #[command(after_help = "Example: milepost show run_0f4\n\
        What was sent for a step: milepost show run_0f4 refund")]
    Show(Deferred<run::Show>),
    /// Show what happened in a run, event by event
    #[command(after_help = "Example: milepost logs run_0f4 --follow")]
    Logs(Deferred<run::Logs>),
    /// Stop a run; it can be resumed
    #[command(after_help = "Example: milepost cancel run_0f4 --reason 'wrong order'")]
    Cancel(Deferred<run::Cancel>),
    /// Let nothing new begin in a run until it is resumed
    #[command(after_help = "Example: milepost pause run_0f4")]
    Pause(Deferred<run::One>),
    /// Go on with a run: what is done is kept, what failed runs again
    #[command(after_help = "Example: milepost resume run_0f4 --plan")]
    Resume(Deferred<run::Resume>),
    /// Show what waits for you
    #[command(after_help = "Example: milepost inbox")]
    Inbox(Deferred<run::Inbox>),
    /// Say yes to what a run asks, at this terminal
    #[command(after_help = "Example: milepost approve run_0f4 -m 'checked the order'")]
    Approve(Deferred<run::Verdict>),
    /// Say no to what a run asks, at this terminal
    #[command(after_help = "Example: milepost reject run_0f4 -m 'the amount is wrong'")]
    Reject(Deferred<run::Verdict>),
    /// Say what became of a request nobody saw the end of
    #[command(after_help = "Example: milepost decide run_0f4 --outcome did-not-happen")]
    Decide(Deferred<run::Decide>),
    /// Hand in the result of a step that waits for an agent
    #[command(after_help = "Example: milepost submit run_0f4 decide result.json")]
    Submit(Deferred<run::Submit>),
    /// Copy all runs to a folder, while they go on
    #[command(after_help = "Example: milepost backup runs-backup")]
    Backup(Deferred<run::Backup>),
    /// Put the runs of a backup where there are none
    #[command(after_help = "Example: milepost restore runs-backup")]
    Restore(Deferred<run::Restore>),
    /// Values that were given to earlier runs
    #[command(subcommand)]
    #[command(after_help = "Example: milepost inputs forget --workflow refund-order")]
    Inputs(Deferred<run::InputsCommand>),
    /// Who decides: the PIN that decisions are signed with
    #[command(subcommand)]
    #[command(after_help = "Example: milepost person set-pin")]
    Person(Deferred<run::PersonCommand>),
    /// Work with workflow documents
    #[command(subcommand)]
    #[command(after_help = "Example: milepost workflow validate refund.yaml")]
    Workflow(Deferred<WorkflowCommand>),
    /// Walk a guide by hand: what an agent is told, and how its output is judged
    #[command(subcommand)]
    #[command(after_help = "Example: milepost guide next bug-investigation")]
    Guide(Deferred<GuideCommand>),
    /// Turn OpenAPI documents into commands, and look after them
    #[command(subcommand)]
    #[command(after_help = "Example: milepost catalog import https://api.shop.test/openapi.yaml")]
    Catalog(Deferred<CatalogCommand>),
    /// Find, look at and call commands of imported APIs
    #[command(subcommand)]
    #[command(after_help = "Example: milepost command search refund")]
    #[command(name = "command")]
    Api(Deferred<CommandCommand>),
    /// Keep the secrets that APIs ask for, by name
    #[command(subcommand)]
    #[command(after_help = "Example: milepost secret set SHOP_TOKEN")]
    Secret(Deferred<SecretCommand>),
    /// Serve agents over standard input and output (MCP)
    #[command(after_help = "Example, in the configuration of an MCP client:\n  \
        {\"mcpServers\": {\"milepost\": {\"command\": \"milepost\", \"args\": [\"mcp\"]}}}")]
    Mcp(Deferred<Mcp>),
    /// Serve agents over HTTP (MCP), on this machine unless told otherwise
    #[command(after_help = "Example: milepost serve --port 6453\n\
        Clients send the token: it is printed once, when it is made, and kept in the data \
        directory")]
    Serve(Deferred<Serve>),
    /// Take the tour: runs, an approval, a failure resumed; offline, in a folder of its own
    #[command(after_help = "Example: milepost demo\n\
        Example: milepost demo rogue-agent\n\
        To look around in what it left: milepost demo -- runs")]
    Demo(Deferred<Demo>),
    /// Begin a project here: a sample that validates and runs
    #[command(after_help = "Example: milepost init && milepost run order-report --mock\n\
        What is there already is never overwritten")]
    Init(Deferred<Init>),
    /// Look for what is wrong, and say how to fix it
    #[command(after_help = "Example: milepost doctor --fix\n\
        Exit codes: 0 nothing is at fault, 1 something is")]
    Doctor(Deferred<Doctor>),
    /// Show where everything is, and read or change the configuration
    #[command(subcommand)]
    #[command(after_help = "Example: milepost config path")]
    Config(Deferred<ConfigCommand>),
    /// Read the documentation, page by page
    #[command(after_help = "Example: milepost docs durability\n\
        Example: milepost docs WORKFLOW_INVALID | less")]
    Docs(Deferred<Docs>),
    /// Print what lets a shell complete these commands
    #[command(after_help = "Example: milepost completions bash \\\n  \
        > ~/.local/share/bash-completion/completions/milepost\n\
        Example: milepost completions zsh > ~/.zfunc/_milepost\n\
        Example: milepost completions fish > ~/.config/fish/completions/milepost.fish")]
    Completions(Deferred<Completions>),
    /// Print the manual page, or write those of all commands
    #[command(after_help = "Example: milepost man --dir ~/.local/share/man/man1")]
    Man(Deferred<Manual>),
    /// Print a JSON Schema: of a spelling of workflows, or of what a command prints
    #[command(after_help = "Example: milepost schema workflow > workflow.schema.json\n\
        Example: milepost schema output runs\n\
        In a document: # yaml-language-server: $schema=workflow.schema.json")]
    Schema(Deferred<Schema>),
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what
    pub(crate) of: SchemaOf,
    /// For `output`: the command, as it is typed; without one, all commands are listed
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder of the project; the working directory otherwise
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Fix first what is safe to fix
    #[arg(long)]
    pub(crate) fix: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show where everything is, and what decided on it
    #[command(after_help = "Example: milepost config path")]
    Path(Json),
    /// Show what a key says, or all of them
    #[command(after_help = "Example: milepost config get budget.writes\n\
        Exit codes: 0 done, 2 there is no such key, or the file is at fault")]
    Get(ConfigGet),
    /// Change what a key says; without a value it is as it is by default
    #[command(after_help = "Example: milepost config set env_allow SHOP_TOKEN,REGION\n\
        Example: milepost config set confirm\n\
        Exit codes: 0 done, 2 there is no such key, or it takes something else")]
    Set(ConfigSet),
}

impl ConfigCommand {
    fn json(&self) -> bool {
        match self {
            ConfigCommand::Path(json) => json.json,
            ConfigCommand::Get(command) => command.json.json,
            ConfigCommand::Set(command) => command.json.json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConfigGet {
    /// The key, such as `confirm` or `budget.writes`
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigSet {
    /// The key, such as `confirm` or `budget.writes`
    pub(crate) key: String,
    /// What it says from now on; of several, with commas between
    pub(crate) value: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// A page, or the code of an error
    pub(crate) topic: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Write the pages of all commands to this folder
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuideCommand {
    /// Show the step that is due, from those that are done
    #[command(after_help = "Example: milepost guide next bug-investigation --done triage\n\
        Exit codes: 0 a step is due or all are done, 5 the context has to say more, \
        6 no such workflow or step, 7 a variable has the wrong type")]
    Next(GuideNext),
    /// Check the output of a step against its criteria
    #[command(after_help = "Example: milepost guide check bug-investigation triage notes.md\n\
        Exit codes: 0 valid, 1 not valid, 3 the criteria are broken, 6 no such workflow or step")]
    Check(GuideCheck),
}

#[derive(Debug, Args)]
pub(crate) struct GuideNext {
    /// The id of a workflow of the library, or a file
    pub(crate) target: OsString,
    /// The steps that are done, as they were named here
    #[arg(long, value_name = "STEP,…", value_delimiter = ',')]
    pub(crate) done: Vec<String>,
    /// The variables that conditions, loops and prompts read: a JSON file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) context: Option<OsString>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct GuideCheck {
    /// The id of a workflow of the library, or a file
    pub(crate) target: OsString,
    /// The id of the step
    pub(crate) step: String,
    /// The file with the output, or `-` for standard input
    pub(crate) output: OsString,
    /// The variables that the criteria read: a JSON file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) context: Option<OsString>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Show what the list of tools costs a model, tool by tool
    #[command(after_help = "Example: milepost mcp --tools core budget")]
    Budget(Json),
    /// Let a client know this server: one entry in its own configuration
    #[command(after_help = "Example: milepost mcp install claude-code\n\
        Example: milepost mcp install vscode --scope project --print\n\
        Exit codes: 0 done or nothing to do, 2 the file cannot be read or changed, 7 the entry \
        says something else, 8 the file is not to be written, 75 it cannot be written")]
    Install(Install),
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) shown: McpShown,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) shown: McpShown,
    /// The port to listen on; 0 is any that is free
    #[arg(long, default_value_t = 6453, conflicts_with = "listen")]
    pub(crate) port: u16,
    /// The address to listen on, for example 0.0.0.0:6453
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Listen also where other machines can reach it
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Admit requests that name this host; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// Admit pages of this origin; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Read the token from this file; it may be in `MILEPOST_TOKEN` instead
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Take tokens of this authorization server instead
    #[arg(long, value_name = "URL", conflicts_with = "token_file")]
    pub(crate) oauth_issuer: Option<String>,
    /// What those tokens must be for: this server's URL as its clients know it
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    pub(crate) oauth_resource: Option<String>,
    /// The keys that sign them, a file or URL; else where the issuer's metadata says
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    pub(crate) oauth_jwks: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// What clients of a server see.
#[derive(Debug, Args)]
pub(crate) struct McpShown {
    /// Which tools are offered
    #[arg(long, value_enum, default_value_t = McpSurface::Auto)]
    pub(crate) surface: McpSurface,
    /// How many tools are listed
    #[arg(long, value_enum, default_value_t = McpTools::Full)]
    pub(crate) tools: McpTools,
    /// How tools are spelled; several clients refuse dots
    #[arg(long, value_enum, default_value_t = McpNames::Underscore)]
    pub(crate) tool_names: McpNames,
    /// How failures are told; `jsonrpc` where names are dotted
    #[arg(long, value_enum)]
    pub(crate) errors: Option<McpErrors>,
    /// Speak this protocol version only, for example 2024-11-05
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpSurface {
    /// What fits the client's protocol version
    Auto,
    /// The five guide tools, whatever the version
    Workflowlookup,
    /// The tools for writing and running workflows, whatever the version
    Workflows,
    /// Both
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTools {
    /// All there are
    Full,
    /// The ten that most work needs
    Core,
    /// Those to work on runs; none shows the text of a workflow
    Work,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpNames {
    /// `workflow_save`
    Underscore,
    /// `workflow.save`
    Dotted,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpErrors {
    /// As results that say they are errors, which models read
    Result,
    /// As JSON-RPC errors
    Jsonrpc,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The manifest spelling
    Workflow,
    /// The guide spelling
    Guide,
    /// What a command prints with `--json`
    Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check documents: every problem at once, with its line and its fix
    #[command(after_help = "Example: milepost workflow validate refund.yaml\n\
        Exit codes: 0 all valid, 2 usage, 3 one is not valid, 6 one does not exist")]
    Validate(Validate),
    /// Show a workflow: what it asks for and what it does
    #[command(after_help = "Example: milepost workflow show refund-order")]
    Show(Target),
    /// List the workflows of the library
    #[command(after_help = "Example: milepost workflow list")]
    List(Json),
    /// Show where workflows come from and which one wins
    #[command(after_help = "Example: milepost workflow sources")]
    Sources(Json),
    /// Show what a workflow asks for, and what is missing
    #[command(after_help = "Example: milepost workflow inputs refund.yaml --choices")]
    Inputs(Inputs),
    /// Show the order of the steps, and which conditions are known
    #[command(after_help = "Example: milepost workflow plan refund.yaml -i order_id=42")]
    Plan(Plan),
    /// Draw a workflow
    #[command(after_help = "Example: milepost workflow graph refund.yaml --svg > refund.svg")]
    Graph(Graph),
    /// Write a new workflow to begin from
    #[command(after_help = "Example: milepost workflow new tidy-inbox --kind guide")]
    New(New),
    /// Put a document into the library, after checking it
    #[command(after_help = "Example: milepost workflow save refund.yaml --overwrite\n\
        Exit codes: 0 saved, 3 not valid, 7 there is one already, or another version")]
    Save(Save),
    /// Give a workflow another id, in its text and as the name of its file
    #[command(after_help = "Example: milepost workflow rename refund refund-order\n\
        Exit codes: 0 renamed, 6 no such workflow, 7 the new id is taken")]
    Rename(Rename),
    /// Delete a workflow; its versions stay
    #[command(after_help = "Example: milepost workflow delete refund-order --yes\n\
        Exit codes: 0 deleted, 6 no such workflow, 7 not confirmed, or another version")]
    Delete(Delete),
    /// List what a workflow said before, also of one that was deleted
    #[command(after_help = "Example: milepost workflow versions refund-order")]
    Versions(Versions),
    /// Show what changed between two versions of a workflow
    #[command(after_help = "Example: milepost workflow diff refund-order 9f2c\n\
        Without versions it shows the last change; with one, all since then")]
    Diff(Diff),
    /// Bring back a version of a workflow, or a workflow that was deleted
    #[command(after_help = "Example: milepost workflow restore refund-order 9f2c")]
    Restore(Restore),
}

impl WorkflowCommand {
    fn json(&self) -> bool {
        match self {
            WorkflowCommand::Validate(command) => command.json.json,
            WorkflowCommand::Show(command) => command.json.json,
            WorkflowCommand::List(json) | WorkflowCommand::Sources(json) => json.json,
            WorkflowCommand::Inputs(command) => command.target.json.json,
            WorkflowCommand::Plan(command) => command.target.json.json,
            WorkflowCommand::Graph(command) => command.json.json,
            WorkflowCommand::New(command) => command.json.json,
            WorkflowCommand::Save(command) => command.json.json,
            WorkflowCommand::Rename(command) => command.json.json,
            WorkflowCommand::Delete(command) => command.json.json,
            WorkflowCommand::Versions(command) => command.json.json,
            WorkflowCommand::Diff(command) => command.json.json,
            WorkflowCommand::Restore(command) => command.json.json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Target {
    /// A file, the id of a workflow of the library, or `-` for standard input
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Files, ids of workflows of the library, or `-` for standard input
    #[arg(required = true)]
    pub(crate) targets: Vec<OsString>,
    /// Apply every certain fix of an error; of standard input, print the fixed text
    #[arg(long)]
    pub(crate) fix: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// Show the exact requests and texts instead, as far as the inputs decide them
    #[arg(long)]
    pub(crate) requests: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Inputs {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) given: InputArguments,
    /// Fetch the choices that providers offer
    #[arg(long)]
    pub(crate) choices: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// A file, the id of a workflow of the library, or `-` for standard input
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) form: GraphForm,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct GraphForm {
    /// As text for a terminal (the default)
    #[arg(long)]
    pub(crate) text: bool,
    /// As a Mermaid flowchart
    #[arg(long)]
    pub(crate) mermaid: bool,
    /// As SVG
    #[arg(long)]
    pub(crate) svg: bool,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The id of the new workflow
    pub(crate) id: String,
    /// Begin from this workflow of the library
    #[arg(long, conflicts_with = "kind")]
    pub(crate) from: Option<String>,
    /// Which spelling to begin in
    #[arg(long, value_enum, default_value = "manifest")]
    pub(crate) kind: NewKind,
    /// Where to write it; `<id>.yaml` in the working directory otherwise
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewKind {
    /// Every kind of step
    Manifest,
    /// Agent steps only
    Guide,
}

#[derive(Debug, Args)]
pub(crate) struct Save {
    /// The file, or `-` for standard input
    pub(crate) file: OsString,
    /// Save only if this is the version that is there now
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["new", "overwrite"])]
    pub(crate) expect: Option<String>,
    /// Save only if there is no workflow of this id yet (the default)
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) new: bool,
    /// Replace whatever is there
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Rename {
    /// The id it has
    pub(crate) id: String,
    /// The id it gets
    pub(crate) new_id: String,
    /// Rename only if this is the version that is there now
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Its id
    pub(crate) id: String,
    /// Delete without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Delete only if this is the version that is there now
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Versions {
    /// Its id
    pub(crate) id: String,
    /// How many at most
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Its id
    pub(crate) id: String,
    /// The older version, or its first digits
    pub(crate) from: Option<String>,
    /// The newer version, or its first digits; what it says now otherwise
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Its id
    pub(crate) id: String,
    /// The version, or its first digits
    pub(crate) version: String,
    /// Restore only if this is the version that is there now
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}
