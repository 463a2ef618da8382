//! The environment of this process: the directories of the user and the project, environment
//! variables, and the operations that use them.

use std::sync::OnceLock;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::problem::{Code, Problem};
use milepost_ops::{CatalogCommands, Operations, Reader, Writer};
use milepost_store::secrets::Environment;
use milepost_store::{Config, Grants, LibraryEntry, Locations};

use crate::failure::CliResult;
use crate::wording;

/// The directories for this user and working directory.
pub(crate) fn locations() -> CliResult<Locations> {
    let working = std::env::current_dir().map_err(|error| {
        let message = format!("cannot determine the working directory: {error}");
        Problem::new(Code::StorageFailed, message, "change to a directory that exists")
    })?;
    Ok(Locations::resolve(&variable, &working))
}

/// An environment variable, if it is valid UTF-8.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// All environment variables, because any of them may hold a secret.
pub(crate) fn variables() -> Environment {
    Environment::from_variables(std::env::vars_os())
}

/// What validation can look up: catalogs, other workflows, and the environment variables that
/// workflows may read.
pub(crate) fn world() -> World<'static> {
    static KNOWN: OnceLock<Option<(CatalogCommands, Option<Vec<String>>)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let locations = locations().ok()?;
        // An unreadable configuration is reported by the code that needs it.
        let config = Config::read(&locations, &Grants::of(&locations.data));
        let allowed = config.ok().map(|config| config.known_variables());
        Some((CatalogCommands::of(Reader::open(locations)), allowed))
    });
    match known {
        Some((known, allowed)) => World { commands: known, env_allow: allowed.as_deref() },
        None => World { commands: &NoCommands, env_allow: None },
    }
}

/// The context for operations, plus a workflow that the user named by its file, if any.
pub(crate) fn writer(given: Option<LibraryEntry>) -> CliResult<Writer> {
    let reader = Reader::open(locations()?);
    let reader = match given {
        Some(entry) => reader.with(entry),
        None => reader,
    };
    Ok(Writer::open(reader, variables()))
}

pub(crate) fn operations() -> CliResult<Operations> {
    Ok(Operations::new(writer(None)?).worded(wording::shared()))
}
