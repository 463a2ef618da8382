//! Checks whether the program that MCP clients start for Milepost exists. The clients' files are
//! only read, and only names and commands are shown.

use std::path::{Path, PathBuf};

use super::{DoctorCheck, or_ok};
use crate::prelude::*;

/// A client's configuration file, which the command line finds and reads.
#[derive(Debug, Clone)]
pub struct ClientFile {
    /// The client's display name.
    pub client: &'static str,
    pub path: PathBuf,
    /// The key that holds the server entries.
    pub key: &'static str,
    /// The parsed content, or why it cannot be read; `None` if the file does not exist.
    pub content: Result<Option<Value>, &'static str>,
}

pub(super) fn checks(writer: &Writer, files: &[ClientFile]) -> Vec<DoctorCheck> {
    let mut found = Vec::new();
    let mut servers = 0;
    for file in files {
        match &file.content {
            Ok(content) => {
                let mut entries = Vec::new();
                let content = content.as_ref().unwrap_or(&Value::Null);
                gather(content, file.key, limits::CLIENT_CONFIG_DEPTH, &mut entries);
                servers += entries.len();
                found.extend(entries.iter().filter_map(|server| check(writer, file, server)));
            }
            Err(what) => {
                let fix = format!("correct it; {} may not be able to read it either", file.client);
                let what = format!("{}'s configuration file {what}", file.client);
                found.push(DoctorCheck::warning("client", what, fix).at(&file.path));
            }
        }
    }
    or_ok(found, || match servers {
        0 => DoctorCheck::ok("client", "no MCP client is set up to start this program"),
        1 => DoctorCheck::ok("client", "the program started by an MCP client exists"),
        _ => DoctorCheck::ok(
            "client",
            format!("the programs started by {servers} MCP clients exist"),
        ),
    })
}

/// An entry that starts this program.
struct Server {
    name: String,
    command: String,
}

/// Collects the entries for this program under every occurrence of the key, down to the given
/// depth.
fn gather(value: &Value, key: &str, depth: usize, servers: &mut Vec<Server>) {
    let Some(map) = value.as_object() else { return };
    for (name, server) in map.get(key).and_then(Value::as_object).into_iter().flatten() {
        // goose uses `cmd`.
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

fn check(writer: &Writer, file: &ClientFile, server: &Server) -> Option<DoctorCheck> {
    if is_there(writer, &server.command) {
        return None;
    }
    let (client, Server { name, command }) = (file.client, server);
    let what = format!("for `{name}`, {client} starts `{command}`, which does not exist");
    let fix = "use the full path of this program there, shown above as `program`";
    Some(DoctorCheck::fault("client", what, fix).at(&file.path))
}

/// Whether a client can find a program: by its path, or in `PATH`.
fn is_there(writer: &Writer, command: &str) -> bool {
    let home = writer.reader.locations.home.as_deref();
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
