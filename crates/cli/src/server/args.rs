//! The arguments of `milepost mcp` and `milepost serve`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::argument_values::number;
use crate::install::args::InstallArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Show what the list of tools costs a model, tool by tool
    #[command(after_help = "Example: milepost mcp --tools core budget")]
    Budget,
    /// Add this server to a client's configuration
    #[command(after_help = "Example: milepost mcp install claude-code\n\
        Example: milepost mcp install vscode --scope project --print\n\
        Exit codes: 0 done or nothing to do, 2 the file cannot be read or changed, 7 a different \
        entry exists, 8 the file may not be written, 75 writing it failed")]
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) shown: McpSurfaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) shown: McpSurfaceArgs,
    /// The port to listen on; 0 picks a free one
    #[arg(long, value_parser = number::<u16>, default_value_t = 6453, conflicts_with = "listen")]
    pub(crate) port: u16,
    /// The address to listen on, for example 0.0.0.0:6453
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Allow an address that other machines can reach
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Allow requests that name this host; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// Allow web pages from this origin; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Read the token from this file; it may be in `MILEPOST_TOKEN` instead
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept OAuth tokens from this authorization server instead
    #[arg(long, value_name = "URL", conflicts_with = "token_file")]
    pub(crate) oauth_issuer: Option<String>,
    /// The audience OAuth tokens must have: this server's URL as its clients know it
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    pub(crate) oauth_resource: Option<String>,
    /// The keys that verify OAuth tokens, a file or URL [default: from the issuer's metadata]
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    pub(crate) oauth_jwks: Option<String>,
}

/// What a server's clients see.
#[derive(Debug, Args)]
pub(crate) struct McpSurfaceArgs {
    /// Which tools are offered
    #[arg(long, value_enum, default_value_t = McpSurface::Auto)]
    pub(crate) surface: McpSurface,
    /// How many tools are listed
    #[arg(long, value_enum, default_value_t = McpTools::Full)]
    pub(crate) tools: McpTools,
    /// How tool names are written; several clients reject dots
    #[arg(long, value_enum, default_value_t = McpNames::Underscore)]
    pub(crate) tool_names: McpNames,
    /// How failures are reported [default: `jsonrpc` with dotted names, else `result`]
    #[arg(long, value_enum)]
    pub(crate) errors: Option<McpErrors>,
    /// Speak only this protocol version, for example 2024-11-05
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpSurface {
    /// The set that fits the client's protocol version
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
    /// All tools
    Full,
    /// The ten tools needed for most work
    Core,
    /// Tools for working on runs; none shows the source of a workflow
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
    /// As results marked as errors, which models read
    Result,
    /// As JSON-RPC errors
    Jsonrpc,
}
