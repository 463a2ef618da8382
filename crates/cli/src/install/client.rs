//! Each client's entry in its own format, the command in the entry, and what the user should do
//! next.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use milepost_model::problem::{Code, Problem};
use serde_json::{Map, Value, json};

use super::args::{InstallScope, SupportedClient};
use super::slot::{ConfigFormat, EntrySlot};
use crate::limits;
use crate::server::args::McpTools;

/// Shown by clients that display a description.
const DESCRIPTION: &str = "Workflows that agents and APIs run together";

impl SupportedClient {
    /// Where the client's entry goes.
    pub(super) fn slot(self, name: &str) -> EntrySlot {
        let (format, parent) = match self {
            SupportedClient::ClaudeCode
            | SupportedClient::Cursor
            | SupportedClient::ClaudeDesktop => (ConfigFormat::Json, "mcpServers"),
            SupportedClient::Vscode => (ConfigFormat::Json, "servers"),
            SupportedClient::Codex => (ConfigFormat::Toml, "mcp_servers"),
            SupportedClient::Goose => (ConfigFormat::Yaml, "extensions"),
        };
        // goose looks entries up by their lowercase names.
        let name = if self == SupportedClient::Goose {
            name.to_ascii_lowercase()
        } else {
            name.to_owned()
        };
        EntrySlot { format, parent, name }
    }

    /// The entry that starts this server.
    pub(super) fn entry(
        self,
        name: &str,
        command: &str,
        tools: Option<McpTools>,
    ) -> Map<String, Value> {
        let args = match tools.and_then(|tools| tools.to_possible_value()) {
            Some(tools) => json!(["mcp", "--tools", tools.get_name()]),
            None => json!(["mcp"]),
        };
        let entry = match self {
            SupportedClient::ClaudeCode => {
                json!({"type": "stdio", "command": command, "args": args, "env": {}})
            }
            SupportedClient::Vscode => {
                json!({"type": "stdio", "command": command, "args": args})
            }
            SupportedClient::Cursor | SupportedClient::ClaudeDesktop | SupportedClient::Codex => {
                json!({"command": command, "args": args})
            }
            SupportedClient::Goose => json!({
                "enabled": true,
                "type": "stdio",
                "name": name,
                "description": DESCRIPTION,
                "cmd": command,
                "args": args,
                "envs": {},
                "env_keys": [],
                "timeout": limits::GOOSE_TIMEOUT_S,
            }),
        };
        serde_json::from_value(entry).unwrap_or_default()
    }

    /// Whether the client starts programs without the `PATH` of a shell.
    pub(super) fn needs_whole_path(self) -> bool {
        self == SupportedClient::ClaudeDesktop
    }

    /// What to do next, and how to check that it works.
    pub(super) fn next(self, scope: InstallScope) -> &'static str {
        match (self, scope) {
            (SupportedClient::ClaudeCode, InstallScope::User) => {
                "start a new Claude Code session; `/mcp` shows the server"
            }
            (SupportedClient::ClaudeCode, InstallScope::Project) => {
                "start Claude Code in this directory and approve the server; `/mcp` shows it"
            }
            (SupportedClient::Cursor, _) => {
                "restart Cursor; its settings list the server under MCP, where it can be turned on"
            }
            (SupportedClient::Vscode, _) => {
                "run `MCP: List Servers` in VS Code and start the server"
            }
            (SupportedClient::Codex, InstallScope::User) => {
                "start a new Codex session; `/mcp` shows the server"
            }
            (SupportedClient::Codex, InstallScope::Project) => {
                "start Codex in this directory and trust the project; `/mcp` shows the server"
            }
            (SupportedClient::Goose, _) => {
                "start a new goose session; `goose configure` lists the server as an extension"
            }
            (SupportedClient::ClaudeDesktop, _) => {
                "quit Claude Desktop and start it again; Settings > Developer shows the server"
            }
        }
    }

    /// What to do after the entry is removed.
    pub(super) fn next_without(self) -> &'static str {
        match self {
            SupportedClient::ClaudeCode | SupportedClient::Codex | SupportedClient::Goose => {
                "open sessions keep the server until they end"
            }
            SupportedClient::Cursor | SupportedClient::Vscode | SupportedClient::ClaudeDesktop => {
                "restart the client: until then the server keeps running"
            }
        }
    }
}

/// Whether an entry is equivalent to ours: it starts the same program in the same way and is not
/// disabled. Clients and users may have added to it.
pub(super) fn does_the_same(found: &Value, entry: &Map<String, Value>) -> bool {
    let same = |key: &str| found.get(key) == entry.get(key);
    let is_off = found.get("enabled") == Some(&Value::Bool(false))
        || found.get("disabled") == Some(&Value::Bool(true));
    let by_pipe = found.get("type").is_none_or(|kind| kind == "stdio");
    same("command") && same("cmd") && same("args") && by_pipe && !is_off
}

/// Whether this program wrote the entry, regardless of where the program was installed at the time.
pub(super) fn is_ours(found: &Value) -> bool {
    let command = found.get("command").or_else(|| found.get("cmd")).and_then(Value::as_str);
    let name = command.and_then(|command| command.rsplit(['/', '\\']).next());
    let is_milepost = name.is_some_and(|name| matches!(name, "milepost" | "milepost.exe"));
    let args = found.get("args").and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice);
    let is_mcp = match args {
        [mcp] => mcp == "mcp",
        [mcp, tools, word] => mcp == "mcp" && tools == "--tools" && word.is_string(),
        _ => false,
    };
    is_milepost && is_mcp
}

/// The command that starts this program: `milepost` if that name is found on the `PATH` and is this
/// program, or else the full path. With `whole_path`, it is always the full path.
pub(super) fn command(whole_path: bool) -> Result<String, Problem> {
    let this = env::current_exe().map_err(|error| {
        let message = format!("cannot determine the path of this program: {error}");
        Problem::new(Code::StorageFailed, message, "start it by its full path")
    })?;
    let found = env::var_os("PATH").and_then(|path| first_in(&path));
    let path = match found.filter(|found| is_same(found, &this)) {
        Some(_) if !whole_path => return Ok("milepost".to_owned()),
        // A name on the `PATH` survives an update that moves the program.
        Some(found) => found,
        None => this,
    };
    path.into_os_string().into_string().map_err(|path| {
        let path = path.to_string_lossy();
        let message = format!("the path of this program is not valid UTF-8: {path}");
        Problem::new(Code::ParamsInvalid, message, "move the program to another directory")
    })
}

fn first_in(path: &OsStr) -> Option<PathBuf> {
    let name = format!("milepost{}", env::consts::EXE_SUFFIX);
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&name)).find(|file| is_program(file))
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
