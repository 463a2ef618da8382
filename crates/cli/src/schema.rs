//! `milepost schema`.

use milepost_model::schema;
use milepost_model::workflow::Spelling;

use crate::args::SchemaOf;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;

pub(crate) fn run(of: SchemaOf, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let spelling = match of {
        SchemaOf::Workflow => Spelling::Manifest,
        SchemaOf::Guide => Spelling::Guide,
    };
    terminal.line(&format!("{:#}", schema::of(spelling)))?;
    Ok(Exit::Done)
}
