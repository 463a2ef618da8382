//! `milepost workflow graph`.

use milepost_model::plan::Plan;

use super::{sound, workflow_of};
use crate::args::Graph;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Graph, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (_, document) = sound(&arguments.target, false, terminal)?;
    let graph = Plan::of(workflow_of(&document)?).graph();
    let drawing = if arguments.form.svg {
        graph.to_svg()
    } else if arguments.form.mermaid {
        graph.to_mermaid()
    } else {
        graph.to_text(terminal.width())
    };
    terminal.line(drawing.trim_end())?;
    Ok(Exit::Done)
}
