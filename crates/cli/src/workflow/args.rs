//! The arguments of `milepost workflow …`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::argument_values::{InputArgs, number};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check documents: every error at once, with its line and its fix
    #[command(after_help = "Example: milepost workflow validate refund.yaml\n\
        Exit codes: 0 all valid, 2 usage, 3 one is not valid, 6 one does not exist")]
    Validate(ValidateArgs),
    /// Show a workflow: its inputs and its steps
    #[command(after_help = "Example: milepost workflow show refund-order")]
    Show(TargetArgs),
    /// List the workflows in the library
    #[command(after_help = "Example: milepost workflow list")]
    List,
    /// Show where workflows come from and which source wins
    #[command(after_help = "Example: milepost workflow sources")]
    Sources,
    /// Show the inputs of a workflow, and which are missing
    #[command(after_help = "Example: milepost workflow inputs refund.yaml --choices")]
    Inputs(WorkflowInputsArgs),
    /// Show the order of the steps, and which conditions are known
    #[command(after_help = "Example: milepost workflow plan refund.yaml -i order_id=42")]
    Plan(PlanArgs),
    /// Draw a workflow
    #[command(after_help = "Example: milepost workflow graph refund.yaml --svg > refund.svg")]
    Graph(GraphArgs),
    /// Write a new workflow to start from
    #[command(after_help = "Example: milepost workflow new tidy-inbox --kind guide")]
    New(NewArgs),
    /// Check a document and save it to the library
    #[command(after_help = "Example: milepost workflow save refund.yaml --overwrite\n\
        Exit codes: 0 saved, 3 not valid, 7 it already exists, or `--expect` is outdated")]
    Save(SaveArgs),
    /// Change the id of a workflow, in its text and its file name
    #[command(after_help = "Example: milepost workflow rename refund refund-order\n\
        Exit codes: 0 renamed, 6 no such workflow, 7 the id is taken, or `--expect` is outdated")]
    Rename(RenameArgs),
    /// Delete a workflow; its earlier versions are kept
    #[command(after_help = "Example: milepost workflow delete refund-order --yes\n\
        Exit codes: 0 deleted, 6 no such workflow, 7 not confirmed, or `--expect` is outdated")]
    Delete(DeleteArgs),
    /// List the versions of a workflow, even of a deleted one
    #[command(after_help = "Example: milepost workflow versions refund-order")]
    Versions(VersionsArgs),
    /// Show what changed between two versions of a workflow
    #[command(after_help = "Example: milepost workflow diff refund-order 9f2c\n\
        Without versions it shows the last change; with one, all changes since then")]
    Diff(WorkflowDiffArgs),
    /// Restore an earlier version of a workflow, or a deleted workflow
    #[command(after_help = "Example: milepost workflow restore refund-order 9f2c")]
    Restore(RestoreWorkflowArgs),
    /// Mark workflows as reviewed, so that agents run them without asking you
    #[command(after_help = "Examples: milepost workflow review refund-order\n          \
        milepost workflow review --alone nightly\n\
        Without arguments it shows which workflows were reviewed.\n\
        Exit codes: 0 done, 6 no such workflow, 7 not confirmed, 8 there is no terminal")]
    Review(ReviewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// The ids of workflows in the library
    pub(crate) ids: Vec<String>,
    /// Review every workflow that is new or has changed
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    /// Let their runs give every approval themselves, as long as nothing changes
    #[arg(long, requires = "ids")]
    pub(crate) alone: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// A file, the id of a workflow in the library, or `-` for standard input
    pub(crate) target: OsString,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Files, ids of workflows in the library, or `-` for standard input
    #[arg(required = true)]
    pub(crate) targets: Vec<OsString>,
    /// Apply every fix that is certain; for standard input, print the fixed text
    #[arg(long)]
    pub(crate) fix: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// A file, the id of a workflow in the library, or `-` for standard input
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Show the exact requests and messages instead, as far as the inputs determine them
    #[arg(long)]
    pub(crate) requests: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowInputsArgs {
    /// A file, the id of a workflow in the library, or `-` for standard input
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) given: InputArgs,
    /// Fetch the choices that providers offer
    #[arg(long)]
    pub(crate) choices: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// A file, the id of a workflow in the library, or `-` for standard input
    pub(crate) target: OsString,
    #[command(flatten)]
    pub(crate) form: GraphFormatArgs,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct GraphFormatArgs {
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
pub(crate) struct NewArgs {
    /// The id of the new workflow
    pub(crate) id: String,
    /// Start from a copy of this workflow in the library
    #[arg(long, conflicts_with = "kind")]
    pub(crate) from: Option<String>,
    /// The format
    #[arg(long, value_enum, default_value = "manifest")]
    pub(crate) kind: NewWorkflowKind,
    /// Where to write it; by default `<id>.yaml` in the working directory
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewWorkflowKind {
    /// Every kind of step
    Manifest,
    /// Agent steps only
    Guide,
}

#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// The file, or `-` for standard input
    pub(crate) file: OsString,
    /// Save only if the current version is this one
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["new", "overwrite"])]
    pub(crate) expect: Option<String>,
    /// Save only if no workflow has this id yet (the default)
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) new: bool,
    /// Replace the current version, whatever it is
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// The current id
    pub(crate) id: String,
    /// The new id
    pub(crate) new_id: String,
    /// Rename only if the current version is this one
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The id of the workflow
    pub(crate) id: String,
    /// Delete without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Delete only if the current version is this one
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct VersionsArgs {
    /// The id of the workflow
    pub(crate) id: String,
    /// How many versions to list at most
    #[arg(long, value_parser = number::<usize>)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowDiffArgs {
    /// The id of the workflow
    pub(crate) id: String,
    /// The older version, or its first digits
    pub(crate) from: Option<String>,
    /// The newer version, or its first digits [default: the current version]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreWorkflowArgs {
    /// The id of the workflow
    pub(crate) id: String,
    /// The version, or its first digits
    pub(crate) version: String,
    /// Restore only if the current version is this one
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<String>,
}
