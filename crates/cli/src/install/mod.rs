//! `milepost mcp install`: one entry in the configuration of a client, put in, shown or taken out.
//!
//! The file is its user's: nothing in it is written anew, a text that cannot be read is never
//! touched, and each change is proven before it is made.

pub(crate) mod args;
mod client;
mod diff;
mod edit;
mod json;
mod jsonc;
mod launcher;
mod place;
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
use milepost_ops::doctor::{ClientFile, ClientFormat};
use milepost_store::{Digest, EditedFile};
use serde::Serialize;
use serde_json::{Map, Value};

use self::args::{Client, Install, Scope};
use self::diff::Side;
use self::place::Surroundings;
use self::problem::Wish;
use self::receipt::{Back, Drawer, Receipt};
use self::slot::{Change, Format, Slot};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits::{self, SERVER_NAME_CHARS};
use crate::session::print;
use crate::target;
use crate::terminal::{Terminal, safe, shell_quoted};

/// What no undo brings back.
const NOT_KEPT: &str = "what the entry said before is not kept: the difference shows it, but \
    for values that may be secret";

const BOM: &str = "\u{feff}";

pub(crate) fn run(arguments: &Install, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let job = Job::of(arguments)?;
    let done = match arguments.uninstall {
        true => job.uninstall(),
        false => job.install(),
    };
    let done = done.inspect_err(|problem| {
        // With `--json` it is in the problem, which then is all there is to read.
        if let Some(diff) = problem.context.get("diff").and_then(Value::as_str)
            && !arguments.json.json
        {
            terminal.complain(shown(diff).trim_end());
        }
    })?;
    if arguments.json.json {
        print(&done, terminal)?;
    } else {
        show(&job, &done, terminal)?;
    }
    Ok(Exit::Done)
}

/// What became, or would become, of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// It was not there.
    Added,
    /// It said something else.
    Replaced,
    /// It is there already.
    Unchanged,
    /// It is out.
    Removed,
    /// It is not there.
    Absent,
}

/// The result, as `--json` shows it.
#[derive(Debug, Serialize)]
struct Done {
    client: Client,
    scope: Scope,
    name: String,
    /// The configuration of the client.
    path: String,
    action: Action,
    /// Whether the file was changed: not with `--print`, and not when there is nothing to do.
    written: bool,
    /// The whole file is new, or gone.
    whole_file: bool,
    /// What the client is told, under the name.
    entry: Map<String, Value>,
    /// A diff of the entry alone, without values that may be secret; empty when nothing changes.
    diff: String,
    /// What to do now.
    next: &'static str,
    /// The command that takes it back.
    undo: String,
    /// What else is worth knowing.
    notes: Vec<String>,
}

/// Every file that an entry may be in: of each client, the user's and the project's.
pub(crate) fn files(working: &Path) -> Vec<ClientFile> {
    let surroundings = Surroundings::here(working);
    let mut files = Vec::new();
    for client in Client::value_variants() {
        let slot = client.slot("");
        let format = match slot.format {
            Format::Json => ClientFormat::Json,
            Format::Toml => ClientFormat::Toml,
            Format::Yaml => ClientFormat::Yaml,
        };
        // A client without a file for projects, or a user without a home, has nothing to look at.
        let paths = Scope::value_variants().iter().map(|scope| surroundings.path(*client, *scope));
        for path in paths.flatten() {
            files.push(ClientFile { client: client.title(), path, key: slot.parent, format });
        }
    }
    files
}

/// One entry and the file it goes to.
struct Job<'a> {
    arguments: &'a Install,
    slot: Slot,
    entry: Map<String, Value>,
    path: PathBuf,
    file: EditedFile,
    /// What the file says, without its byte order mark.
    text: Option<String>,
    drawer: Drawer,
}

impl Job<'_> {
    fn of(arguments: &Install) -> Result<Job<'_>, Failure> {
        let Install { client, scope, name, .. } = arguments;
        check_name(name)?;
        let locations = target::locations()?;
        let working = locations.working.as_path();
        let path = Surroundings::here(working).path(*client, *scope)?;
        let slot = client.slot(name);
        let entry = client.entry(name, &launcher::command(client.needs_whole_path())?);
        let wish = Wish { path: &path, slot: &slot, entry: &entry, out: arguments.uninstall };
        // What lies in a project comes from others: its links must not lead out of it.
        let within = (*scope == Scope::Project).then_some(working);
        let file = EditedFile::open(&path, within, limits::CLIENT_CONFIG_BYTES)
            .map_err(|error| wish.not_written(&error))?;
        let text = file.bytes().map(|bytes| wish.decoded(bytes)).transpose()?;
        let drawer = Drawer::of(&locations.data, &path, &slot.name);
        Ok(Job { arguments, slot, entry, path, file, text, drawer })
    }

    fn install(&self) -> Result<Done, Problem> {
        let text = self.text.as_deref().unwrap_or_default();
        let found = self.slot.find(text).map_err(|fault| self.wish().refused(text, &fault))?;
        match found {
            Some(found) if client::does_the_same(&found, &self.entry) => {
                Ok(self.done(Action::Unchanged))
            }
            Some(found) => self.overwrite(text, &found),
            None => self.add(text),
        }
    }

    fn add(&self, text: &str) -> Result<Done, Problem> {
        let change = self.slot.insert(text, &self.entry);
        let change = change.map_err(|fault| self.wish().refused(text, &fault))?;
        let mut done = self.done(Action::Added);
        done.diff = self.diff(None, Some(&self.entry), true);
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        let receipt = Receipt {
            path: self.path.display().to_string(),
            made_file: self.text.is_none(),
            made_parent: !self.slot.has_parent(text),
            made_directories: self.file.missing_directories(),
            back: Some(Back {
                before: digest(text),
                after: digest(&change.after),
                edits: edit::inverse(text, &change.edits),
            }),
        };
        self.write(&mut done, &change, &receipt)?;
        Ok(done)
    }

    fn overwrite(&self, text: &str, found: &Value) -> Result<Done, Problem> {
        let diff = self.diff(Some(found), Some(&self.entry), true);
        if !self.arguments.overwrite {
            return Err(self.wish().conflict(&diff));
        }
        let change = self.slot.replace(text, &self.entry);
        let change = change.map_err(|fault| self.wish().refused(text, &fault))?;
        let mut done = self.done(Action::Replaced);
        done.diff = diff;
        done.notes.push(NOT_KEPT.to_owned());
        let receipt = Receipt { back: None, ..self.drawer.receipt().unwrap_or_default() };
        self.write(&mut done, &change, &receipt)?;
        Ok(done)
    }

    fn write(&self, done: &mut Done, change: &Change, receipt: &Receipt) -> Result<(), Problem> {
        if self.arguments.print {
            return Ok(());
        }
        // Before the change: a receipt for a text that never came to be does no harm.
        let kept = self.drawer.keep(receipt);
        if !kept && (receipt.made_file || receipt.made_parent) {
            let note = "what was there before could not be noted: `--uninstall` will take out the \
                entry alone";
            done.notes.push(note.to_owned());
        }
        let private = self.arguments.scope == Scope::User;
        let written = self.file.replace(&self.encoded(&change.after), private);
        written.map_err(|error| self.wish().not_written(&error))?;
        done.written = true;
        Ok(())
    }

    fn uninstall(&self) -> Result<Done, Problem> {
        let text = self.text.as_deref().unwrap_or_default();
        let found = self.slot.find(text).map_err(|fault| self.wish().refused(text, &fault))?;
        let Some(found) = found else { return Ok(self.done(Action::Absent)) };
        let ours = client::is_ours(&found) || client::does_the_same(&found, &self.entry);
        let receipt = self.drawer.receipt().unwrap_or_default();
        let restored = receipt.back.as_ref().and_then(|back| back.restore(text));
        let after = restored.map_or_else(|| self.without(text, receipt.made_parent), Ok)?;
        let gone = receipt.made_file && matches!(after.trim(), "" | "{}");
        let after = (!gone).then_some(after.as_str());
        let diff = self.diff(Some(&found), None, !gone);
        if !ours && !self.arguments.overwrite {
            return Err(self.wish().conflict(&diff));
        }
        let mut done = self.done(Action::Removed);
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

    /// The text without the entry, as far as the text itself tells.
    fn without(&self, text: &str, parent_too: bool) -> Result<String, Problem> {
        let change = self.slot.remove(text, parent_too);
        Ok(change.map_err(|fault| self.wish().refused(text, &fault))?.after)
    }

    fn wish(&self) -> Wish<'_> {
        let out = self.arguments.uninstall;
        Wish { path: &self.path, slot: &self.slot, entry: &self.entry, out }
    }

    /// What becomes of the entry; `stays` says whether the file is there afterwards.
    fn diff(
        &self,
        before: Option<&Value>,
        after: Option<&Map<String, Value>>,
        stays: bool,
    ) -> String {
        let path = self.path.display().to_string();
        let before = before.map(diff::without_keys);
        let was = self.text.as_ref().map(|_| path.as_str());
        let before = Side { path: was, entry: before.as_ref() };
        let after = Side { path: stays.then_some(path.as_str()), entry: after };
        diff::of_entry(&self.slot, &before, &after)
    }

    /// A text as it goes back to the file.
    fn encoded(&self, text: &str) -> Vec<u8> {
        let marked = self.file.bytes().is_some_and(|bytes| bytes.starts_with(BOM.as_bytes()));
        [if marked { BOM } else { "" }, text].concat().into_bytes()
    }

    fn done(&self, action: Action) -> Done {
        let Install { client, scope, uninstall, .. } = self.arguments;
        Done {
            client: *client,
            scope: *scope,
            name: self.slot.name.clone(),
            path: self.path.display().to_string(),
            action,
            written: false,
            whole_file: action == Action::Added && self.text.is_none(),
            entry: self.entry.clone(),
            diff: String::new(),
            next: if *uninstall { client.next_without() } else { client.next(*scope) },
            undo: self.undo(),
            notes: self.notes(),
        }
    }

    fn undo(&self) -> String {
        let Install { client, scope, name, uninstall, .. } = self.arguments;
        let project = if *scope == Scope::Project { " --scope project" } else { "" };
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
        let shared = self.arguments.scope == Scope::Project && !self.arguments.uninstall;
        if shared && Path::new(command).is_absolute() {
            let note = "the path of the program is that of this machine: put `milepost` on the \
                `PATH` to share the file";
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

fn show(job: &Job<'_>, done: &Done, terminal: &mut Terminal) -> Result<(), Failure> {
    let (name, path) = (&done.name, safe(&done.path));
    let word = |done, would| if job.arguments.print { would } else { done };
    let new = if done.whole_file { ", a new file" } else { "" };
    let whole = if done.whole_file { ", and the file with it" } else { "" };
    terminal.line(&match done.action {
        Action::Unchanged => format!("{name} is in {path} already: nothing to do"),
        Action::Absent => format!("there is no {name} in {path}: nothing to do"),
        Action::Added => format!("{} {name} to {path}{new}", word("added", "would add")),
        Action::Replaced => format!("{} {name} in {path}", word("replaced", "would replace")),
        Action::Removed => {
            format!("{} {name} out of {path}{whole}", word("took", "would take"))
        }
    })?;
    let writes = matches!(done.action, Action::Added | Action::Replaced);
    if job.arguments.print && writes {
        terminal.line(shown(&job.slot.snippet(&job.entry)).trim_end())?;
    }
    if !done.diff.is_empty() {
        terminal.remark(shown(&done.diff).trim_end());
    }
    for note in &done.notes {
        terminal.remark(&format!("note: {}", safe(note)));
    }
    if done.written || done.action == Action::Unchanged {
        terminal.remark(&format!("next: {}", done.next));
    }
    if done.written {
        terminal.remark(&format!("undo: {}", done.undo));
    }
    Ok(())
}

/// Lines of a file; those that begin with tabs keep them.
fn shown(text: &str) -> String {
    text.split('\t').map(safe).collect::<Vec<_>>().join("\t")
}
