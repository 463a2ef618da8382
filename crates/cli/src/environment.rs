//! What this process works with: the directories of the user and the working directory, the
//! variables of the environment, and the operations over them.

use std::sync::OnceLock;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::problem::{Code, Problem};
use milepost_ops::{CatalogCommands, Operations, Reader, Writer};
use milepost_store::secrets::Environment;
use milepost_store::{Config, LibraryEntry, Locations};

use crate::failure::Failure;
use crate::wording;

/// The directories of this user and working directory.
pub(crate) fn locations() -> Result<Locations, Failure> {
    let working = std::env::current_dir().map_err(|error| {
        let message = format!("there is no working directory: {error}");
        Problem::new(Code::StorageFailed, message, "change to a directory that exists")
    })?;
    Ok(Locations::resolve(&variable, &working))
}

/// A variable of the environment, if it is text.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// All variables, for those that may hold secrets.
pub(crate) fn variables() -> Environment {
    Environment::from_variables(std::env::vars_os())
}

/// What validation can look up here: the catalogs, the other workflows, and the variables that may
/// be read.
pub(crate) fn world() -> World<'static> {
    static KNOWN: OnceLock<Option<(CatalogCommands, Option<Vec<String>>)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let locations = locations().ok()?;
        // Whoever needs the configuration reports that it cannot be read.
        let allowed = Config::read(&locations).ok().map(|config| config.env_allow);
        Some((CatalogCommands::of(Reader::open(locations)), allowed))
    });
    match known {
        Some((known, allowed)) => World { commands: known, env_allow: allowed.as_deref() },
        None => World { commands: &NoCommands, env_allow: None },
    }
}

/// What operations work with, and one more workflow if the user named its file.
pub(crate) fn writer(given: Option<LibraryEntry>) -> Result<Writer, Failure> {
    let reader = Reader::open(locations()?);
    let reader = match given {
        Some(entry) => reader.with(entry),
        None => reader,
    };
    Ok(Writer::open(reader, variables()))
}

pub(crate) fn operations() -> Result<Operations, Failure> {
    Ok(Operations::new(writer(None)?).worded(wording::shared()))
}
