//! `milepost workflow graph`.

use milepost_model::plan::Plan;
use serde_json::json;

use super::{sound, workflow_of};
use crate::args::Graph;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Graph, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let (_, document) = sound(&arguments.target, json, terminal)?;
    let graph = Plan::of(workflow_of(&document)?).graph();
    let (form, drawing) = if arguments.form.svg {
        ("svg", graph.to_svg())
    } else if arguments.form.mermaid {
        ("mermaid", graph.to_mermaid())
    } else {
        ("text", graph.to_text(terminal.width()))
    };
    match json {
        true => print(&json!({"form": form, "graph": drawing.trim_end()}), terminal)?,
        false => terminal.line(drawing.trim_end())?,
    }
    Ok(Exit::Done)
}
