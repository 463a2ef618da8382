//! MCP clients that would start this program: whether what they would start is there. Their files
//! are read, never written, and nothing of them is shown but names and commands.

use std::path::{Path, PathBuf};

use milepost_model::reading;
use milepost_store::read_document;
use serde_json::Value;

use super::jsonc::plain;
use super::{Check, or_ok};
use crate::limits;
use crate::writer::Writer;

/// How a client writes its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFormat {
    /// JSON, with what editors allow in it.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// A file in which a client keeps what it starts. Which clients there are, and where their files
/// are, is known by whoever installs into them.
#[derive(Debug, Clone)]
pub struct ClientFile {
    /// What people call the client.
    pub client: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// The key of the servers.
    pub key: &'static str,
    /// How it is written.
    pub format: ClientFormat,
}

pub(super) fn checks(writer: &Writer, files: &[ClientFile]) -> Vec<Check> {
    let mut found = Vec::new();
    let mut servers = 0;
    for file in files {
        match read(file) {
            Ok(Some(commands)) => {
                servers += commands.len();
                found.extend(commands.iter().filter_map(|server| check(writer, file, server)));
            }
            Ok(None) => {}
            Err(what) => {
                let fix = format!("correct it; {} may not be able to read it either", file.client);
                let what = format!("the file of {} {what}", file.client);
                found.push(Check::warning("client", what, fix).at(&file.path));
            }
        }
    }
    or_ok(found, || match servers {
        0 => Check::ok("client", "no MCP client is set up to start this program"),
        1 => Check::ok("client", "what an MCP client would start is there"),
        _ => Check::ok("client", format!("what {servers} MCP clients would start is there")),
    })
}

/// The entries of this program; nothing when there is no such file.
fn read(file: &ClientFile) -> Result<Option<Vec<Server>>, &'static str> {
    let bytes = match read_document(&file.path, limits::CLIENT_CONFIG_BYTES) {
        Ok(bytes) => bytes,
        Err(milepost_store::FileError::NotFound { .. }) => return Ok(None),
        Err(_) => return Err("cannot be read"),
    };
    let text = String::from_utf8(bytes).map_err(|_| "is not text")?;
    let value: Value = match file.format {
        ClientFormat::Json => {
            serde_json::from_str(&plain(&text)).map_err(|_| "is not valid JSON")?
        }
        ClientFormat::Toml => toml::from_str(&text).map_err(|_| "is not valid TOML")?,
        ClientFormat::Yaml => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            reading::yaml(text).map_err(|_| "is not YAML that can be read here")?.to_value()
        }
    };
    let mut servers = Vec::new();
    gather(&value, file.key, limits::CLIENT_CONFIG_DEPTH, &mut servers);
    Ok(Some(servers))
}

/// An entry that starts this program.
struct Server {
    name: String,
    command: String,
}

/// Every entry below the key, wherever the key is.
fn gather(value: &Value, key: &str, depth: usize, servers: &mut Vec<Server>) {
    let Some(map) = value.as_object() else { return };
    for (name, server) in map.get(key).and_then(Value::as_object).into_iter().flatten() {
        // goose says `cmd`.
        let command = server.get("command").or_else(|| server.get("cmd"));
        let command = command.and_then(Value::as_str).unwrap_or_default();
        let stem = Path::new(command).file_stem().and_then(|stem| stem.to_str());
        let ours = name.contains("milepost") || stem == Some("milepost");
        if ours && !command.is_empty() {
            servers.push(Server { name: name.clone(), command: command.to_owned() });
        }
    }
    if depth > 0 {
        map.values().for_each(|inner| gather(inner, key, depth - 1, servers));
    }
}

fn check(writer: &Writer, file: &ClientFile, server: &Server) -> Option<Check> {
    if is_there(writer, &server.command) {
        return None;
    }
    let (client, Server { name, command }) = (file.client, server);
    let what = format!("{client} would start `{command}` for `{name}`, and there is none");
    let fix = "write the full path of this program there: the one that `program` above shows";
    Some(Check::fault("client", what, fix).at(&file.path))
}

/// Whether a client finds a program: at its path, or where the system looks.
fn is_there(writer: &Writer, command: &str) -> bool {
    let home = writer.reader.locations().home.as_deref();
    let command = match (command.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(command),
    };
    if command.components().count() > 1 || command.is_absolute() {
        return is_program(&writer.reader.workspace().join(command));
    }
    let path = writer.variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_program(&folder.join(&command)))
}

fn is_program(path: &Path) -> bool {
    let named = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    named(path) || cfg!(windows) && named(&path.with_extension("exe"))
}
