//! What can be said about runs.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::Json;
use crate::inputs::InputArguments;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Start {
    /// The id of a workflow of the library, or a file
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) given: InputArguments,
    /// Show what would be called, and call nothing
    #[arg(long, conflicts_with_all = ["mock", "detach"])]
    pub(crate) dry_run: bool,
    /// Let the mock of each catalog answer
    #[arg(long)]
    pub(crate) mock: bool,
    /// Start it and come back at once: it goes on in the background
    #[arg(long)]
    pub(crate) detach: bool,
    /// Be the process in the background
    #[arg(long, hide = true, conflicts_with_all = ["dry_run", "detach"])]
    pub(crate) detached: bool,
    /// Whether every step is on disk before the next one begins
    #[arg(long, value_enum, default_value_t = DurabilityWord::Full)]
    pub(crate) durability: DurabilityWord,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityWord {
    /// Acknowledged when it is on disk
    Full,
    /// Acknowledged before: for runs that may be lost with the power
    Relaxed,
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    /// Only those that stand like this
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only those of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Only those that have not ended
    #[arg(long)]
    pub(crate) open: bool,
    /// Those of every workspace
    #[arg(long)]
    pub(crate) all: bool,
    /// How many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Those behind a page, by its `next_cursor`
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

impl Runs {
    /// Whether the caller wants JSON.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            Some(RunsCommand::Purge(purge)) => purge.json.json,
            None => self.json.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Remove runs of this project that ended, with their journals
    #[command(after_help = "Example: milepost runs purge --older-than 30d")]
    Purge(Purge),
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// Only runs that ended before this long ago, such as `30d`
    #[arg(long, value_name = "PERIOD")]
    pub(crate) older_than: Option<String>,
    /// Only those of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Those of every project, not only of this one
    #[arg(long)]
    pub(crate) all: bool,
    /// Show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The run, or the beginning of its id
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) one: One,
    /// One step, with the requests that were sent for it
    pub(crate) step: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) one: One,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Cancel without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) one: One,
    /// Go on until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only what went wrong
    #[arg(long)]
    pub(crate) failed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Verdict {
    #[command(flatten)]
    pub(crate) one: One,
    /// The question, when several are open
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// What to tell
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// The answer to the form of the question, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) answer: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Decide {
    #[command(flatten)]
    pub(crate) one: One,
    /// The step, when several wait
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// What became of it; asked for at the terminal unless given
    #[arg(long, value_enum)]
    pub(crate) outcome: Option<Outcome>,
    /// What came of it, as JSON, when it happened
    #[arg(long, value_name = "JSON")]
    pub(crate) output: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Outcome {
    /// It took effect
    Happened,
    /// It did not: it is done again
    DidNotHappen,
    /// The step has failed
    GiveUp,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The run, or the beginning of its id
    pub(crate) run: String,
    /// The step
    pub(crate) step: Option<String>,
    /// The file with what was done, or `-` for standard input
    pub(crate) output: Option<OsString>,
    /// Variables to add, as a JSON file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) context: Option<OsString>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Resume {
    #[command(flatten)]
    pub(crate) one: One,
    /// Where to go on: `failed`, `start`, or a step
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Only that step
    #[arg(long)]
    pub(crate) only: bool,
    /// That step and everything that depends on it
    #[arg(long, conflicts_with = "only")]
    pub(crate) downstream: bool,
    /// On the newest versions of the workflow and of its catalogs
    #[arg(long)]
    pub(crate) latest: bool,
    /// On the newest versions of its catalogs
    #[arg(long)]
    pub(crate) latest_catalogs: bool,
    /// Do a step again that succeeded, and what depends on it
    #[arg(long, value_name = "STEP")]
    pub(crate) redo: Vec<String>,
    /// Put an output in the place of a step's own, as `step=json`
    #[arg(long = "set", value_name = "STEP=JSON")]
    pub(crate) overrides: Vec<String>,
    /// A budget that was used up, as `http_calls=100`
    #[arg(long, value_name = "BUDGET=N")]
    pub(crate) budget: Vec<String>,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) given: InputArguments,
    /// Show what would be kept and what would run, and change nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// Go on without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Set or change the PIN that decisions are signed with
    #[command(after_help = "Example: milepost person set-pin\n\
        It is asked for twice, at this terminal; what it signs is in milepost docs durability")]
    SetPin(Json),
}

#[derive(Debug, Subcommand)]
pub(crate) enum InputsCommand {
    /// Forget the input values that earlier runs left for defaults
    #[command(after_help = "Example: milepost inputs forget --workflow refund-order")]
    Forget(Forget),
}

#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// Only those of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Only those of this input; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) input: Vec<String>,
    /// Forget without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The folder to write; it must not exist
    pub(crate) to: OsString,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The folder that `milepost backup` wrote
    pub(crate) from: OsString,
    #[command(flatten)]
    pub(crate) json: Json,
}
