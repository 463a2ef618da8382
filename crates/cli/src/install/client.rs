//! The entry of each client, in its own format, and what its user does next.

use serde_json::{Map, Value, json};

use super::args::{InstallScope, McpClient};
use super::slot::{ConfigFormat, EntrySlot};
use crate::limits;

/// Shown by clients that show a description.
const DESCRIPTION: &str = "Workflows that agents and APIs run together";

impl McpClient {
    /// Where its entry goes.
    pub(super) fn slot(self, name: &str) -> EntrySlot {
        let (format, parent) = match self {
            McpClient::ClaudeCode | McpClient::Cursor | McpClient::ClaudeDesktop => {
                (ConfigFormat::Json, "mcpServers")
            }
            McpClient::Vscode => (ConfigFormat::Json, "servers"),
            McpClient::Codex => (ConfigFormat::Toml, "mcp_servers"),
            McpClient::Goose => (ConfigFormat::Yaml, "extensions"),
        };
        // goose looks entries up by their lowercase names.
        let name =
            if self == McpClient::Goose { name.to_ascii_lowercase() } else { name.to_owned() };
        EntrySlot { format, parent, name }
    }

    /// The entry that starts this server.
    pub(super) fn entry(self, name: &str, command: &str) -> Map<String, Value> {
        let entry = match self {
            McpClient::ClaudeCode => {
                json!({"type": "stdio", "command": command, "args": ["mcp"], "env": {}})
            }
            McpClient::Vscode => json!({"type": "stdio", "command": command, "args": ["mcp"]}),
            McpClient::Cursor | McpClient::ClaudeDesktop | McpClient::Codex => {
                json!({"command": command, "args": ["mcp"]})
            }
            McpClient::Goose => json!({
                "enabled": true,
                "type": "stdio",
                "name": name,
                "description": DESCRIPTION,
                "cmd": command,
                "args": ["mcp"],
                "envs": {},
                "env_keys": [],
                "timeout": limits::GOOSE_TIMEOUT_S,
            }),
        };
        match entry {
            Value::Object(entry) => entry,
            _ => Map::new(),
        }
    }

    /// Whether it starts programs without the `PATH` of a shell.
    pub(super) fn needs_whole_path(self) -> bool {
        self == McpClient::ClaudeDesktop
    }

    /// What to do next, and how to see that it works.
    pub(super) fn next(self, scope: InstallScope) -> &'static str {
        match (self, scope) {
            (McpClient::ClaudeCode, InstallScope::User) => {
                "start a new session of Claude Code; `/mcp` shows the server"
            }
            (McpClient::ClaudeCode, InstallScope::Project) => {
                "start Claude Code in this directory and approve the server; `/mcp` shows it"
            }
            (McpClient::Cursor, _) => {
                "restart Cursor; its settings list the server under MCP, where it can be turned on"
            }
            (McpClient::Vscode, _) => "run `MCP: List Servers` in VS Code and start the server",
            (McpClient::Codex, InstallScope::User) => {
                "start a new session of Codex; `/mcp` shows the server"
            }
            (McpClient::Codex, InstallScope::Project) => {
                "start Codex in this directory and trust the project; `/mcp` shows the server"
            }
            (McpClient::Goose, _) => {
                "start a new session of goose; `goose configure` lists it among the extensions"
            }
            (McpClient::ClaudeDesktop, _) => {
                "quit Claude Desktop and start it again; Settings, Developer shows the server"
            }
        }
    }

    /// What to do after the entry is removed.
    pub(super) fn next_without(self) -> &'static str {
        match self {
            McpClient::ClaudeCode | McpClient::Codex | McpClient::Goose => {
                "open sessions keep the server until they end"
            }
            McpClient::Cursor | McpClient::Vscode | McpClient::ClaudeDesktop => {
                "restart it: until then the server keeps running"
            }
        }
    }
}

/// Whether an entry has the effect of ours: it starts the same program in the same way and is not
/// disabled. Clients and people may add more to it.
pub(super) fn does_the_same(found: &Value, entry: &Map<String, Value>) -> bool {
    let same = |key: &str| found.get(key) == entry.get(key);
    let is_off = found.get("enabled") == Some(&Value::Bool(false))
        || found.get("disabled") == Some(&Value::Bool(true));
    let by_pipe = found.get("type").is_none_or(|kind| kind == "stdio");
    same("command") && same("cmd") && same("args") && by_pipe && !is_off
}

/// Whether this program wrote the entry, wherever the program was at that time.
pub(super) fn is_ours(found: &Value) -> bool {
    let command = found.get("command").or_else(|| found.get("cmd")).and_then(Value::as_str);
    let name = command.and_then(|command| command.rsplit(['/', '\\']).next());
    let is_milepost = name.is_some_and(|name| matches!(name, "milepost" | "milepost.exe"));
    is_milepost && found.get("args") == Some(&json!(["mcp"]))
}
