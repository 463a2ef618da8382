//! Files on disk through the public API: lookup, precedence, refusals, and writing.

mod catalogs;
mod config;
mod derived;
mod edited;
mod library;
mod limits;
mod living;
mod locations;
mod records;
mod runs;
mod secrets;
mod sources;
mod standing;
mod workflows;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_store::{
    InvalidFile, Library, LibraryEntry, LibraryMatch, Listing, Locations, SourceKind,
};

/// A valid manifest with this id and title.
fn manifest(id: &str, title: &str) -> String {
    format!("workflow: {id}\ntitle: {title}\nsteps: [{{id: a, prompt: Look}}]\n")
}

/// Locations below one directory, without a home or a project.
fn locations(root: &Path) -> Locations {
    fs::create_dir_all(root.join("work")).expect("makes the folder");
    Locations {
        config: root.join("config/config.toml"),
        user_config: root.join("config/config.toml"),
        has_user_directories: true,
        data: root.join("data"),
        cache: root.join("cache"),
        working: root.join("work"),
        ..Locations::default()
    }
}

/// The names in a directory, including hidden ones but not the lock.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("reads").map(|entry| entry.expect("reads"));
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
    names.sort();
    names
}

/// Writes a file and creates its parent folders.
fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("has a parent")).expect("makes the folder");
    fs::write(path, text).expect("writes");
}

/// A directory in memory if possible, for tests with injected faults, which a real disk would only
/// slow down.
fn in_memory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    root.expect("makes a directory")
}

/// A library of these directories, lowest precedence first.
fn open(directories: &[(SourceKind, &Path)]) -> Library {
    let directories = directories.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    Library::open(Locations { config: "config.toml".into(), directories, ..Locations::default() })
}

/// The listing of a library of these directories, lowest precedence first.
fn list(directories: &[(SourceKind, &Path)]) -> Arc<Listing> {
    listing(&open(directories))
}

fn listing(library: &Library) -> Arc<Listing> {
    library.listing(world()).expect("every directory can be read")
}

fn get(library: &Library, id: &str) -> Option<LibraryMatch> {
    library.get(id, world()).expect("every directory can be read")
}

/// The workflow with this id, which must exist.
fn workflow(library: &Library, id: &str) -> Arc<LibraryEntry> {
    match get(library, id) {
        Some(LibraryMatch::Workflow(entry)) => entry,
        other => panic!("`{id}` is no workflow: {other:?}"),
    }
}

/// The title of the workflow with this id, which must exist.
fn title(library: &Library, id: &str) -> String {
    let entry = workflow(library, id);
    let workflow = entry.document.workflow.as_ref().expect("is a workflow");
    workflow.display_title().to_owned()
}

/// The invalid file with this id, which must exist.
fn invalid(library: &Library, id: &str) -> Arc<InvalidFile> {
    match get(library, id) {
        Some(LibraryMatch::Invalid(invalid)) => invalid,
        other => panic!("`{id}` is not invalid: {other:?}"),
    }
}

fn world() -> World<'static> {
    World { commands: &NoCommands, env_allow: None }
}

/// The ids in a listing, without the built-in ones.
fn ids(listing: &Listing) -> Vec<&str> {
    let own = listing.items.iter().filter(|item| item.source != SourceKind::BuiltIn);
    own.map(|item| item.id.as_str()).collect()
}

/// The file name and reason of everything that a listing left out.
fn left_out(listing: &Listing) -> Vec<(String, String)> {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let invalid = listing.invalid.iter();
    invalid.map(|one| (name(&one.path).unwrap_or_default(), one.reason.clone())).collect()
}
