//! Calls that are answered on the spot: those that only read, reach nobody else and need not wait.
//! Most calls are of this kind, and what stands between the edge and an operation costs more than
//! most operations do.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use milepost_ops::{Call, Operation, Response, Safety, Task};
use serde_json::{Map, Value};

use super::names::Meant;
use super::{WorkflowServer, next, shorten};

/// What a call may say to be one of these: whoever says more wants more than the result.
const KNOWN: [&str; 2] = ["name", "arguments"];

/// The operation that shows a run, and what it says of one that asks a person.
const STATUS: &str = "workflow.status";
const ASKS: &str = "\"kind\":\"approval\"";

impl WorkflowServer {
    /// What a call comes to, when there is nothing to wait for and nobody to ask. `None` sends it
    /// the long way, as if nothing had been done: nothing was but reading.
    ///
    /// It must be called where a runtime is.
    pub(crate) fn at_once(&self, params: &Map<String, Value>) -> Option<Response> {
        if params.keys().any(|name| !KNOWN.contains(&name.as_str())) {
            return None;
        }
        let Some(Meant::Operation(operation)) = self.meant(params.get("name")?.as_str()?) else {
            return None;
        };
        let arguments = match params.get("arguments") {
            None => Map::new(),
            Some(arguments) => arguments.as_object()?.clone(),
        };
        if !only_reads(operation) {
            return None;
        }
        let unseen = Unseen::default();
        let asked = Value::Object(arguments.clone());
        let done = pin!(self.operations().call_and_wait(operation.name, &unseen, asked));
        let Poll::Ready(Ok(response)) = done.poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        // Somebody may have to be asked what the run waits for.
        if operation.name == STATUS && response.json().contains(ASKS) {
            return None;
        }
        // What is longer is shortened on the way.
        if response.json().len() > shorten::USUAL || unseen.has_warnings() {
            return None;
        }
        self.shared.repeats.forget(operation.name);
        Some(self.told(operation, &arguments, response))
    }

    /// A response with what comes next. Most say it themselves.
    fn told(
        &self,
        operation: &Operation,
        arguments: &Map<String, Value>,
        response: Response,
    ) -> Response {
        if operation.name != STATUS {
            return response;
        }
        let Ok(mut answer) = serde_json::from_str(response.json()) else { return response };
        next::told(&mut answer, operation.name, arguments, self.shared.look);
        Response::from(answer.to_string())
    }
}

fn only_reads(operation: &Operation) -> bool {
    let here = operation.tool().is_some_and(|tool| !tool.calls_out && tool.task == Task::Never);
    here && operation.safety == Safety::Safe
}

/// A caller who hears nothing but the result.
#[derive(Default)]
struct Unseen {
    warned: Mutex<bool>,
}

impl Unseen {
    fn has_warnings(&self) -> bool {
        *self.warned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call for Unseen {
    fn progress(&self, _: &str) {}

    fn warn(&self, _: &str) {
        *self.warned.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn ask(&self, _: &str) -> Option<bool> {
        None
    }

    fn cancelled(&self) -> bool {
        false
    }
}
