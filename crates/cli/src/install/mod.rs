//! `milepost mcp install`: adds, shows or removes one entry in the configuration of a client.
//!
//! The file belongs to the user: only the entry changes, a file that cannot be parsed is never
//! touched, and every change is verified before it is written.

pub(crate) mod args;
mod client;
mod client_paths;
mod diff;
mod edit;
mod json;
mod jsonc;
mod problem;
mod receipt;
mod slot;
mod toml;
mod yaml;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use milepost_model::problem::{Code, Problem};
use milepost_ops::doctor::ClientFile;
use milepost_store::{Digest, EditedFile, FileError, read_document};
use serde::Serialize;
use serde_json::{Map, Value};

use self::args::{InstallArgs, InstallScope, SupportedClient};
use self::client_paths::ClientPaths;
use self::edit::EditFault;
use self::problem::EditRequest;
use self::receipt::{Receipt, ReceiptFile, UndoEdits};
use self::slot::{ConfigChange, ConfigFormat, EntrySlot};
use crate::environment;
use crate::failure::CliResult;
use crate::limits::{self, SERVER_NAME_CHARS};
use crate::terminal::{Terminal, safe, safe_lines, shell_quoted};

/// What the undo command cannot restore.
const NOT_KEPT: &str = "the previous entry is not kept: the diff shows it, except for values \
    that may be secret";

const BOM: &str = "\u{feff}";

pub(crate) fn run(args: &InstallArgs, terminal: &mut Terminal) -> CliResult {
    let job = Job::of(args)?;
    let done = if args.uninstall { job.uninstall() } else { job.install() };
    let done = done.inspect_err(|problem| {
        // With `--json`, the diff is already part of the problem.
        if let Some(diff) = problem.context.get("diff").and_then(Value::as_str)
            && !terminal.is_json()
        {
            terminal.notice(shown(diff).trim_end());
        }
    })?;
    terminal.answer(&done, |terminal| show(&job, &done, terminal))
}

/// What happens to the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum InstallAction {
    Added,
    Replaced,
    Unchanged,
    Removed,
    Absent,
}

/// The result, as `--json` shows it.
#[derive(Debug, Serialize)]
struct InstallResult {
    client: SupportedClient,
    scope: InstallScope,
    name: String,
    /// The client's configuration file.
    path: String,
    action: InstallAction,
    /// Whether the file was changed; false with `--print` or if there is nothing to do.
    written: bool,
    /// Whether the whole file is created or removed.
    whole_file: bool,
    /// The value of the entry.
    entry: Map<String, Value>,
    /// A diff of the entry alone, without values that may be secret; empty if nothing changes.
    diff: String,
    /// What to do next.
    next: &'static str,
    /// The command that undoes the change.
    undo: String,
    /// Additional information for the user.
    notes: Vec<String>,
}

/// Every file that may contain an entry, with its content: for each client, the user's and the
/// project's.
pub(crate) fn files(working: &Path) -> Vec<ClientFile> {
    let paths = ClientPaths::here(working);
    let mut files = Vec::new();
    for client in SupportedClient::value_variants() {
        let slot = client.slot("");
        // Some clients have no project file, and some users have no home directory.
        let scopes = InstallScope::value_variants().iter();
        for path in scopes.flat_map(|scope| paths.path(*client, *scope)) {
            let content = content(&path, &slot);
            files.push(ClientFile { client: client.title(), path, key: slot.parent, content });
        }
    }
    files
}

fn content(path: &Path, slot: &EntrySlot) -> Result<Option<Value>, &'static str> {
    let bytes = match read_document(path, limits::CLIENT_CONFIG_BYTES) {
        Ok(bytes) => bytes,
        Err(FileError::NotFound { .. }) => return Ok(None),
        Err(_) => return Err("cannot be read"),
    };
    let text = String::from_utf8(bytes).map_err(|_| "is not valid UTF-8")?;
    let value = slot.value(text.strip_prefix(BOM).unwrap_or(&text));
    value.map(Some).map_err(|_| match slot.format {
        ConfigFormat::Json => "is not valid JSON",
        ConfigFormat::Toml => "is not valid TOML",
        ConfigFormat::Yaml => "is not YAML in a supported form",
    })
}

/// An entry and the file it belongs in.
struct Job<'a> {
    arguments: &'a InstallArgs,
    slot: EntrySlot,
    entry: Map<String, Value>,
    path: PathBuf,
    file: EditedFile,
    /// The text of the file, without its byte order mark.
    text: Option<String>,
    drawer: ReceiptFile,
}

impl Job<'_> {
    fn of(arguments: &InstallArgs) -> CliResult<Job<'_>> {
        let InstallArgs { client, scope, name, .. } = arguments;
        check_name(name)?;
        let locations = environment::locations()?;
        let working = locations.working.as_path();
        let path = ClientPaths::here(working).path(*client, *scope)?;
        let slot = client.slot(name);
        let command = client::command(client.needs_whole_path())?;
        let entry = client.entry(name, &command, arguments.tools);
        let wish =
            EditRequest { path: &path, slot: &slot, entry: &entry, out: arguments.uninstall };
        // A project may come from someone else, so its symlinks must not lead outside it.
        let within = (*scope == InstallScope::Project).then_some(working);
        let file = EditedFile::open(&path, within, limits::CLIENT_CONFIG_BYTES)
            .map_err(|error| wish.not_written(&error))?;
        let text = file.bytes().map(|bytes| wish.decoded(bytes)).transpose()?;
        let drawer = ReceiptFile::of(&locations.data, &path, &slot.name);
        Ok(Job { arguments, slot, entry, path, file, text, drawer })
    }

    fn install(&self) -> Result<InstallResult, Problem> {
        let text = self.text.as_deref().unwrap_or_default();
        match self.slot.find(text).map_err(|fault| self.refused(&fault))? {
            Some(found) if client::does_the_same(&found, &self.entry) => {
                Ok(self.done(InstallAction::Unchanged))
            }
            Some(found) => self.overwrite(text, &found),
            None => self.add(text),
        }
    }

    fn add(&self, text: &str) -> Result<InstallResult, Problem> {
        let change = self.slot.insert(text, &self.entry).map_err(|fault| self.refused(&fault))?;
        let mut done = self.done(InstallAction::Added);
        done.diff = self.diff(None, Some(&self.entry), true);
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        let receipt = Receipt {
            path: self.path.display().to_string(),
            made_file: self.text.is_none(),
            made_parent: !self.slot.has_parent(text),
            made_directories: self.file.missing_directories(),
            back: Some(UndoEdits {
                before: digest(text),
                after: digest(&change.after),
                edits: edit::inverse(text, &change.edits),
            }),
        };
        self.write(&mut done, &change, &receipt)?;
        Ok(done)
    }

    fn overwrite(&self, text: &str, found: &Value) -> Result<InstallResult, Problem> {
        let diff = self.diff(Some(found), Some(&self.entry), true);
        if !self.arguments.overwrite {
            return Err(self.wish().conflict(&diff));
        }
        let change = self.slot.replace(text, &self.entry).map_err(|fault| self.refused(&fault))?;
        let mut done = self.done(InstallAction::Replaced);
        done.diff = diff;
        done.notes.push(NOT_KEPT.to_owned());
        let receipt = Receipt { back: None, ..self.drawer.receipt().unwrap_or_default() };
        self.write(&mut done, &change, &receipt)?;
        Ok(done)
    }

    fn write(
        &self,
        done: &mut InstallResult,
        change: &ConfigChange,
        receipt: &Receipt,
    ) -> Result<(), Problem> {
        if self.arguments.print {
            return Ok(());
        }
        // Stored before the change, because a receipt for a change that was never written does no
        // harm.
        let kept = self.drawer.keep(receipt);
        if !kept && (receipt.made_file || receipt.made_parent) {
            let note = "the previous state could not be recorded: `--uninstall` will remove only \
                the entry";
            done.notes.push(note.to_owned());
        }
        let private = self.arguments.scope == InstallScope::User;
        let written = self.file.replace(&self.encoded(&change.after), private);
        written.map_err(|error| self.wish().not_written(&error))?;
        done.written = true;
        Ok(())
    }

    fn uninstall(&self) -> Result<InstallResult, Problem> {
        let text = self.text.as_deref().unwrap_or_default();
        let found = self.slot.find(text).map_err(|fault| self.refused(&fault))?;
        let Some(found) = found else { return Ok(self.done(InstallAction::Absent)) };
        let ours = client::is_ours(&found) || client::does_the_same(&found, &self.entry);
        let receipt = self.drawer.receipt().unwrap_or_default();
        // Without a receipt that matches the text, the entry is removed as it would be by hand.
        let restored = receipt.back.as_ref().and_then(|back| back.restore(text));
        let after = if let Some(restored) = restored {
            restored
        } else {
            let change = self.slot.remove(text, receipt.made_parent);
            change.map_err(|fault| self.refused(&fault))?.after
        };
        let gone = receipt.made_file && matches!(after.trim(), "" | "{}");
        let after = (!gone).then_some(after.as_str());
        let diff = self.diff(Some(&found), None, !gone);
        if !ours && !self.arguments.overwrite {
            return Err(self.wish().conflict(&diff));
        }
        let mut done = self.done(InstallAction::Removed);
        (done.diff, done.whole_file) = (diff, gone);
        if !ours {
            done.notes.push(NOT_KEPT.to_owned());
        }
        if !self.arguments.print {
            let written = match after {
                Some(after) => self.file.replace(&self.encoded(after), false),
                None => self.file.remove(&receipt.made_directories),
            };
            written.map_err(|error| self.wish().not_written(&error))?;
            self.drawer.clear();
            done.written = true;
        }
        Ok(done)
    }

    fn refused(&self, fault: &EditFault) -> Problem {
        self.wish().refused(self.text.as_deref().unwrap_or_default(), fault)
    }

    fn wish(&self) -> EditRequest<'_> {
        let out = self.arguments.uninstall;
        EditRequest { path: &self.path, slot: &self.slot, entry: &self.entry, out }
    }

    /// The diff of the entry; `stays` is true if the file exists afterwards.
    fn diff(
        &self,
        before: Option<&Value>,
        after: Option<&Map<String, Value>>,
        stays: bool,
    ) -> String {
        let path = self.path.display().to_string();
        let before = before.map(diff::without_keys);
        let was = self.text.as_ref().map(|_| path.as_str());
        let is = stays.then_some(path.as_str());
        diff::of_entry(&self.slot, (was, before.as_ref()), (is, after))
    }

    /// Encodes the text, restoring the file's byte order mark.
    fn encoded(&self, text: &str) -> Vec<u8> {
        let marked = self.file.bytes().is_some_and(|bytes| bytes.starts_with(BOM.as_bytes()));
        [if marked { BOM } else { "" }, text].concat().into_bytes()
    }

    fn done(&self, action: InstallAction) -> InstallResult {
        let InstallArgs { client, scope, uninstall, .. } = self.arguments;
        InstallResult {
            client: *client,
            scope: *scope,
            name: self.slot.name.clone(),
            path: self.path.display().to_string(),
            action,
            written: false,
            whole_file: action == InstallAction::Added && self.text.is_none(),
            entry: self.entry.clone(),
            diff: String::new(),
            next: if *uninstall { client.next_without() } else { client.next(*scope) },
            undo: self.undo(),
            notes: self.notes(),
        }
    }

    fn undo(&self) -> String {
        let InstallArgs { client, scope, name, uninstall, .. } = self.arguments;
        let project = if *scope == InstallScope::Project { " --scope project" } else { "" };
        let named = match name.as_str() {
            "milepost" => String::new(),
            name => format!(" --name {}", shell_quoted(name)),
        };
        let out = if *uninstall { "" } else { " --uninstall" };
        format!("milepost mcp install {}{project}{named}{out}", client.word())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(target) = self.file.link_target() {
            notes.push(format!("{} is a link to {}", self.path.display(), target.display()));
        }
        let command = self.entry.get("command").and_then(Value::as_str).unwrap_or_default();
        let shared = self.arguments.scope == InstallScope::Project && !self.arguments.uninstall;
        if shared && Path::new(command).is_absolute() {
            let note = "the entry contains the path of the program on this machine: put `milepost` \
                on the `PATH` to share the file";
            notes.push(note.to_owned());
        }
        notes
    }
}

fn check_name(name: &str) -> Result<(), Problem> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= SERVER_NAME_CHARS && name.chars().all(fits) {
        return Ok(());
    }
    let hint = format!("use at most {SERVER_NAME_CHARS} letters, digits, `-` and `_`");
    Err(Problem::new(Code::IdInvalid, format!("`{name}` is not a valid server name"), hint))
}

fn show(job: &Job<'_>, done: &InstallResult, terminal: &mut Terminal) {
    let (name, path) = (&done.name, safe(&done.path));
    let verb = |done, would| if job.arguments.print { would } else { done };
    let new = if done.whole_file { ", a new file" } else { "" };
    let whole = if done.whole_file { ", and the file itself" } else { "" };
    terminal.line(match done.action {
        InstallAction::Unchanged => format!("{name} is already in {path}: nothing to do"),
        InstallAction::Absent => format!("there is no {name} in {path}: nothing to do"),
        InstallAction::Added => format!("{} {name} to {path}{new}", verb("added", "would add")),
        InstallAction::Replaced => {
            format!("{} {name} in {path}", verb("replaced", "would replace"))
        }
        InstallAction::Removed => {
            format!("{} {name} from {path}{whole}", verb("removed", "would remove"))
        }
    });
    let writes = matches!(done.action, InstallAction::Added | InstallAction::Replaced);
    if job.arguments.print && writes {
        terminal.line(shown(&job.slot.snippet(&job.entry)).trim_end());
    }
    if !done.diff.is_empty() {
        terminal.remark(shown(&done.diff).trim_end());
    }
    for note in &done.notes {
        terminal.remark(format!("note: {}", safe(note)));
    }
    if done.written || done.action == InstallAction::Unchanged {
        terminal.remark(format!("next: {}", done.next));
    }
    if done.written {
        terminal.remark(format!("undo: {}", done.undo));
    }
}

/// Sanitizes the lines of a file, keeping tabs.
fn shown(text: &str) -> String {
    text.split('\t').map(safe_lines).collect::<Vec<_>>().join("\t")
}
