//! `workflow.execute`: a run that its client follows as a task.

use milepost_model::problem::Problem;

use super::start::{Request, Start};
use super::view::RunView;
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::tool::{Task, Tool};
use crate::writer::Writer;

/// Starts a run for a client that knows tasks.
#[derive(Debug)]
pub struct Execute;

impl Later for Execute {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = "workflow.execute";
    const TITLE: &'static str = "Run a workflow as a task";
    const DESCRIPTION: &'static str = include_str!("execute.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL.calls_out().task(Task::Required))];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        Start::run(writer, call, request).await
    }

    fn example() -> Request {
        Start::example()
    }
}
