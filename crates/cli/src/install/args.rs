//! The arguments of `milepost mcp install`.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::server::args::McpTools;

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: SupportedClient,
    /// For this user everywhere, or for everyone who works in this directory
    #[arg(long, value_enum, default_value_t = InstallScope::User)]
    pub(crate) scope: InstallScope,
    /// The name of the entry
    #[arg(long, default_value = "milepost")]
    pub(crate) name: String,
    /// How many tools are listed
    #[arg(long, value_enum)]
    pub(crate) tools: Option<McpTools>,
    /// Show what would be written and where, and change nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Remove the entry
    #[arg(long)]
    pub(crate) uninstall: bool,
    /// Replace or remove the entry even if it differs from ours
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SupportedClient {
    /// Claude Code
    ClaudeCode,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Codex
    Codex,
    /// goose
    Goose,
    /// Claude Desktop
    ClaudeDesktop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InstallScope {
    /// The user's own configuration
    User,
    /// A file in the working directory, shared with others
    Project,
}

impl SupportedClient {
    pub(super) fn title(self) -> &'static str {
        match self {
            SupportedClient::ClaudeCode => "Claude Code",
            SupportedClient::Cursor => "Cursor",
            SupportedClient::Vscode => "VS Code",
            SupportedClient::Codex => "Codex",
            SupportedClient::Goose => "goose",
            SupportedClient::ClaudeDesktop => "Claude Desktop",
        }
    }

    /// The name of the client on the command line.
    pub(super) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
