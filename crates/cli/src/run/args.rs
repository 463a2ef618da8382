//! The arguments of the commands about runs.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use crate::argument_values::{InputArgs, number};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each field is a separate flag")]
pub(crate) struct RunArgs {
    /// The id of a workflow in the library, or a file
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Show what would be called, and call nothing
    #[arg(long, conflicts_with_all = ["mock", "detach"])]
    pub(crate) dry_run: bool,
    /// Use mock responses instead of calling the APIs
    #[arg(long)]
    pub(crate) mock: bool,
    /// Start the run in the background and return at once
    #[arg(long)]
    pub(crate) detach: bool,
    /// Run as the background process
    #[arg(long, hide = true, conflicts_with_all = ["dry_run", "detach"])]
    pub(crate) detached: bool,
    /// Whether each step is on disk before the next one starts
    #[arg(long, value_enum, default_value_t = DurabilityChoice::Full)]
    pub(crate) durability: DurabilityChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityChoice {
    /// Acknowledged once it is on disk
    Full,
    /// Acknowledged before it is on disk; a power failure may lose the run
    Relaxed,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only runs of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Only runs that have not ended
    #[arg(long)]
    pub(crate) open: bool,
    /// Include runs from all folders
    #[arg(long)]
    pub(crate) all: bool,
    /// How many runs to list
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub(crate) limit: Option<usize>,
    /// Continue after a page, given its `next_cursor`
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Remove ended runs from this folder, with their journals
    #[command(after_help = "Example: milepost runs purge --older-than 30d")]
    Purge(PurgeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    /// Only runs that ended longer ago than this, such as `30d`
    #[arg(long, value_name = "PERIOD")]
    pub(crate) older_than: Option<String>,
    /// Only runs of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Include runs from all folders
    #[arg(long)]
    pub(crate) all: bool,
    /// Show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunIdArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct ShowRunArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// Show this step, with the requests that were sent for it
    pub(crate) step: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// Reason to record
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Cancel without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// Keep printing until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only failures and rejections
    #[arg(long)]
    pub(crate) failed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// The step to answer, if several are asking
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// Comment to record
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// The answers for the question's form, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) answer: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// The step, if several need a decision
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// The decision; asked for at the terminal if not given
    #[arg(long, value_enum)]
    pub(crate) outcome: Option<OutcomeChoice>,
    /// For `happened`: the result as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutcomeChoice {
    /// The request took effect
    Happened,
    /// The request did not take effect: run the step again
    DidNotHappen,
    /// The last submission counts, although it was rejected
    Accept,
    /// The agent gets as many attempts again
    MoreTries,
    /// Let the step fail
    GiveUp,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// The step
    pub(crate) step: Option<String>,
    /// The file with the result, or `-` for standard input
    pub(crate) output: Option<OsString>,
    /// Variables to add: a JSON file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) context: Option<OsString>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each field is a separate flag")]
pub(crate) struct ResumeArgs {
    /// The id of the run, or a prefix of it
    pub(crate) run: String,
    /// Where to resume: `failed`, `start`, or a step
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Only that step
    #[arg(long)]
    pub(crate) only: bool,
    /// That step and everything that depends on it
    #[arg(long, conflicts_with = "only")]
    pub(crate) downstream: bool,
    /// Use the newest versions of the workflow and of its catalogs
    #[arg(long)]
    pub(crate) latest: bool,
    /// Use the newest versions of the catalogs
    #[arg(long)]
    pub(crate) latest_catalogs: bool,
    /// Rerun a step that succeeded, and what depends on it
    #[arg(long, value_name = "STEP")]
    pub(crate) redo: Vec<String>,
    /// Replace the output of a step, as `step=json`
    #[arg(long = "set", value_name = "STEP=JSON")]
    pub(crate) overrides: Vec<String>,
    /// Raise a budget that was used up, as `http_calls=100`
    #[arg(long, value_name = "BUDGET=N")]
    pub(crate) budget: Vec<String>,
    /// Reason to record
    #[arg(long)]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Show what would be kept and what would run, and change nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// Resume without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Set or change the PIN that signs your decisions
    #[command(after_help = "Example: milepost person set-pin\n\
        You type it twice at this terminal; `milepost docs durability` explains what it signs")]
    SetPin,
}

#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Keep running, and show each question as it appears
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InputsCommand {
    /// Forget the input values that earlier runs saved as defaults
    #[command(after_help = "Example: milepost inputs forget --workflow refund-order")]
    Forget(ForgetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// Only values for this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Only values for this input; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) input: Vec<String>,
    /// Forget without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The folder to create; it must not exist
    pub(crate) to: OsString,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreRunsArgs {
    /// The folder that `milepost backup` wrote
    pub(crate) from: OsString,
}
