//! The workflow library from outside: where it looks, what wins, what it refuses, how it writes.

mod library;
mod limits;
mod locations;
mod writing;

use std::fs;
use std::path::Path;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_store::{Library, Locations, SourceKind};

/// A manifest that is valid and has this id and title.
fn manifest(id: &str, title: &str) -> String {
    format!("workflow: {id}\ntitle: {title}\nsteps: [{{id: a, prompt: Look}}]\n")
}

/// Writes a file and the folders above it.
fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("has a parent")).expect("makes the folder");
    fs::write(path, text).expect("writes");
}

/// The library of some directories, least first.
fn scan(directories: &[(SourceKind, &Path)]) -> Library {
    let directories = directories.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    let locations = Locations { config: "config.toml".into(), directories };
    Library::scan(&locations, world()).expect("every directory can be read")
}

fn world() -> World<'static> {
    World { commands: &NoCommands, env_allow: None }
}

/// The ids of a library without those that come with the program.
fn ids(library: &Library) -> Vec<&str> {
    let own = library.entries().filter(|entry| entry.source != SourceKind::BuiltIn);
    own.map(|entry| entry.id.as_str()).collect()
}

/// File name and reason of everything the library left out.
fn left_out(library: &Library) -> Vec<(String, String)> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let invalid = library.invalid().iter();
    invalid.map(|one| (name(&one.path).unwrap_or_default(), one.reason.clone())).collect()
}
