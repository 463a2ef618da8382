//! What each client is told of this server, in its own words, and what its user does next.

use serde_json::{Map, Value, json};

use super::args::{Client, Scope};
use super::slot::{Format, Slot};
use crate::limits;

/// What the server is for, where a client shows it.
const DESCRIPTION: &str = "Workflows that agents and APIs run together";

impl Client {
    /// Where its entry goes.
    pub(super) fn slot(self, name: &str) -> Slot {
        let (format, parent) = match self {
            Client::ClaudeCode | Client::Cursor | Client::ClaudeDesktop => {
                (Format::Json, "mcpServers")
            }
            Client::Vscode => (Format::Json, "servers"),
            Client::Codex => (Format::Toml, "mcp_servers"),
            Client::Goose => (Format::Yaml, "extensions"),
        };
        // goose looks entries up by their names in small letters.
        let name = if self == Client::Goose { name.to_ascii_lowercase() } else { name.to_owned() };
        Slot { format, parent, name }
    }

    /// The entry that starts this server.
    pub(super) fn entry(self, name: &str, command: &str) -> Map<String, Value> {
        let entry = match self {
            Client::ClaudeCode => {
                json!({"type": "stdio", "command": command, "args": ["mcp"], "env": {}})
            }
            Client::Vscode => json!({"type": "stdio", "command": command, "args": ["mcp"]}),
            Client::Cursor | Client::ClaudeDesktop | Client::Codex => {
                json!({"command": command, "args": ["mcp"]})
            }
            Client::Goose => json!({
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

    /// Whether it starts programs without the `PATH` of a shell, and needs the whole path.
    pub(super) fn needs_whole_path(self) -> bool {
        self == Client::ClaudeDesktop
    }

    /// What to do now, and how to see that it works.
    pub(super) fn next(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Client::ClaudeCode, Scope::User) => {
                "start a new session of Claude Code; `/mcp` shows the server"
            }
            (Client::ClaudeCode, Scope::Project) => {
                "start Claude Code in this directory and approve the server; `/mcp` shows it"
            }
            (Client::Cursor, _) => {
                "restart Cursor; its settings list the server under MCP, where it can be turned on"
            }
            (Client::Vscode, _) => "run `MCP: List Servers` in VS Code and start the server",
            (Client::Codex, Scope::User) => "start a new session of Codex; `/mcp` shows the server",
            (Client::Codex, Scope::Project) => {
                "start Codex in this directory and trust the project; `/mcp` shows the server"
            }
            (Client::Goose, _) => {
                "start a new session of goose; `goose configure` lists it among the extensions"
            }
            (Client::ClaudeDesktop, _) => {
                "quit Claude Desktop and start it again; Settings, Developer shows the server"
            }
        }
    }

    /// What to do once the entry is out.
    pub(super) fn next_without(self) -> &'static str {
        match self {
            Client::ClaudeCode | Client::Codex | Client::Goose => {
                "sessions that are open keep the server until they end"
            }
            Client::Cursor | Client::Vscode | Client::ClaudeDesktop => {
                "restart it: until then the server goes on"
            }
        }
    }
}

/// Whether an entry does what ours would: it starts the same program in the same way and is not
/// switched off. What clients and people add to it is theirs.
pub(super) fn does_the_same(found: &Value, entry: &Map<String, Value>) -> bool {
    let same = |key: &str| found.get(key) == entry.get(key);
    let is_off = found.get("enabled") == Some(&Value::Bool(false))
        || found.get("disabled") == Some(&Value::Bool(true));
    let by_pipe = found.get("type").is_none_or(|kind| kind == "stdio");
    same("command") && same("cmd") && same("args") && by_pipe && !is_off
}

/// Whether an entry is one that this program writes, wherever the program was at that time.
pub(super) fn is_ours(found: &Value) -> bool {
    let command = found.get("command").or_else(|| found.get("cmd")).and_then(Value::as_str);
    let name = command.and_then(|command| command.rsplit(['/', '\\']).next());
    let is_milepost = name.is_some_and(|name| matches!(name, "milepost" | "milepost.exe"));
    is_milepost && found.get("args") == Some(&json!(["mcp"]))
}
