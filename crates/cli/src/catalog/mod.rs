//! `milepost catalog …`.

pub(crate) mod args;
mod documents;
mod manage;
pub(crate) mod mock;

use self::args::CatalogCommand;
use crate::failure::CliResult;
use crate::terminal::Terminal;

pub(crate) fn run(command: &CatalogCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        CatalogCommand::Validate(args) => documents::validate(args, terminal),
        CatalogCommand::Preview(args) => documents::preview(args, terminal),
        CatalogCommand::Import(args) => documents::import(args, terminal),
        CatalogCommand::Diff(args) => documents::diff(args, terminal),
        CatalogCommand::List => manage::list(terminal),
        CatalogCommand::Show(args) => manage::show(args, terminal),
        CatalogCommand::Enable(args) => manage::set_enabled(args, true, terminal),
        CatalogCommand::Disable(args) => manage::set_enabled(args, false, terminal),
        CatalogCommand::Remove(args) => manage::remove(args, terminal),
        CatalogCommand::Auth(args) => manage::auth(args, terminal),
        CatalogCommand::Mock(args) => mock::run(args, terminal),
    }
}

fn address(base_url: Option<&str>) -> &str {
    base_url.unwrap_or("no address")
}
