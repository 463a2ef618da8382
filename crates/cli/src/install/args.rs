//! What can be said of a client that is to know this server.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::args::Json;

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: Client,
    /// For this user everywhere, or for whoever works in this directory
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// What the client calls it
    #[arg(long, default_value = "milepost")]
    pub(crate) name: String,
    /// Show what would be written and where, and change nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Take the entry out again
    #[arg(long)]
    pub(crate) uninstall: bool,
    /// Also replace or take out an entry of that name that says something else
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Client {
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
pub(crate) enum Scope {
    /// The user's own configuration
    User,
    /// A file in the working directory, to be shared with others
    Project,
}

impl Client {
    /// What people call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::Cursor => "Cursor",
            Client::Vscode => "VS Code",
            Client::Codex => "Codex",
            Client::Goose => "goose",
            Client::ClaudeDesktop => "Claude Desktop",
        }
    }

    /// What it is called here.
    pub(super) fn word(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Cursor => "cursor",
            Client::Vscode => "vscode",
            Client::Codex => "codex",
            Client::Goose => "goose",
            Client::ClaudeDesktop => "claude-desktop",
        }
    }
}
