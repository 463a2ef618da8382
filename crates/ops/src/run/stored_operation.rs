//! Operations that an agent asked for and a person has to agree to: each is stored in a run of a
//! built-in workflow, whose question is answered like any other, and the answer executes it.

use milepost_engine::command::StepCall;
use milepost_engine::event::CallAnswer;
use milepost_engine::interpreter::AttemptOutcome;
use milepost_engine::{Failure, FailureKind};
use milepost_model::wording::Neutral;

use super::errors::failure_of;
use super::prepare;
use super::view::RunView;
use crate::framework::{OPERATIONS, Services};
use crate::prelude::*;

/// The workflow that asks and then executes the stored operation. Only its runs may do so.
pub(crate) const WORKFLOW: &str = "milepost.removal";
/// The built-in command that executes the stored operation.
pub(crate) const COMMAND: &str = "operation:run";

/// The response of an operation that a person may have to agree to first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Asked<T> {
    /// It was executed.
    Done(T),
    /// A person is asked first; their answer executes it.
    Waiting(Box<RunView>),
}

/// Asks a person whether to execute an operation: `loss` says what it does.
pub(crate) async fn ask(
    writer: &Writer,
    call: &dyn Caller,
    operation: &'static str,
    arguments: &Value,
    loss: &str,
) -> Result<RunView> {
    let title = OPERATIONS.iter().find(|spec| spec.name == operation);
    let text = json!({"type": "string"});
    let manifest = json!({
        "workflow": WORKFLOW,
        "title": title.map_or(operation, |spec| spec.title),
        "inputs": {
            "question": text,
            "operation": text,
            "principal": text,
            "arguments": {"type": "object"},
        },
        "steps": [
            {"id": "ask", "approve": "${{ inputs.question }}"},
            {
                "id": "do",
                "run": format!("{} {COMMAND}", crate::author::builtin_command::GROUP),
                "depends_on": ["ask"],
                "with": {
                    "operation": "${{ inputs.operation }}",
                    "arguments": "${{ inputs.arguments }}",
                    "principal": "${{ inputs.principal }}",
                },
            },
        ],
        "final_output": "${{ steps.do.output }}",
    });
    let inputs = Map::from_iter([
        ("question".to_owned(), format!("an agent asks: {loss}; do it?").into()),
        ("operation".to_owned(), operation.into()),
        ("principal".to_owned(), call.principal().unwrap_or_default().into()),
        ("arguments".to_owned(), arguments.clone()),
    ]);
    let runs = writer.runs()?;
    let prepared = prepare::own(writer, call, &manifest, inputs).await?;
    let run = runs.start(prepared).await.or_problem()?;
    super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await
}

/// The person who agreed to a stored operation, on behalf of whoever asked for it.
struct Agreed {
    principal: Option<String>,
}

impl Caller for Agreed {
    fn ask(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }
}

/// Executes the stored operation of a run.
pub(crate) async fn run(writer: &Writer, workflow: &str, call: &StepCall) -> AttemptOutcome {
    match executed(writer, workflow, call).await {
        Ok(output) => {
            let answer = CallAnswer { output, status: 200, ..CallAnswer::default() };
            AttemptOutcome::Answered { answer, duration_ms: 0 }
        }
        Err(failure) => AttemptOutcome::failed(failure, FailureKind::Unsendable, true),
    }
}

async fn executed(writer: &Writer, workflow: &str, call: &StepCall) -> Result<Value, Failure> {
    let named = |name: &str| call.with.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = OPERATIONS.iter().find(|spec| spec.name == named("operation"));
    let Some(operation) = operation.filter(|_| workflow == WORKFLOW) else {
        let message = "only Milepost itself can call this command";
        return Err(Failure::new(Code::CommandNotFound, message, "call the operation's own tool"));
    };
    let arguments = call.with.get("arguments").cloned().unwrap_or_default();
    let services = Services { writer: writer.clone(), wording: std::sync::Arc::new(Neutral) };
    let principal = Some(named("principal").to_owned()).filter(|name| !name.is_empty());
    let agreed = Agreed { principal };
    let response = operation.execute(&services, &agreed, arguments).await;
    let response = response.map_err(|problem| failure_of(&problem))?;
    serde_json::from_str(response.json())
        .map_err(|error| Failure::new(Code::Internal, error.to_string(), "report this"))
}
