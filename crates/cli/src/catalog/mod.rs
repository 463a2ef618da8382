//! `milepost catalog …`: one file for each subcommand.

pub(crate) mod args;
mod auth;
mod diff;
mod import;
mod list;
pub(crate) mod mock;
mod preview;
mod remarks;
mod remove;
mod set_enabled;
mod show;
mod validate;

use self::args::CatalogCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;

pub(crate) fn run(command: &CatalogCommand, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match command {
        CatalogCommand::Validate(arguments) => validate::run(arguments, terminal),
        CatalogCommand::Preview(arguments) => preview::run(arguments, terminal),
        CatalogCommand::Import(arguments) => import::run(arguments, terminal),
        CatalogCommand::List(arguments) => list::run(arguments.json, terminal),
        CatalogCommand::Show(arguments) => show::run(arguments, terminal),
        CatalogCommand::Enable(arguments) => set_enabled::run(arguments, true, terminal),
        CatalogCommand::Disable(arguments) => set_enabled::run(arguments, false, terminal),
        CatalogCommand::Remove(arguments) => remove::run(arguments, terminal),
        CatalogCommand::Auth(arguments) => auth::run(arguments, terminal),
        CatalogCommand::Diff(arguments) => diff::run(arguments, terminal),
        CatalogCommand::Mock(arguments) => mock::run(arguments, terminal),
    }
}

/// An address as a cell or a line shows it.
fn address(base_url: Option<&str>) -> &str {
    base_url.unwrap_or("no address")
}
