//! Both contracts for a client that is listed only one: the guides answer as they always do, and
//! whatever else is called by its name is answered by the other contract, in the words of that.

use std::sync::OnceLock;

use milepost_ops::{Call, Code, Confirm, Operation, Problem, Response, Safety, Task};
use rmcp::model::{CallToolResponse, CallToolResult, ErrorData};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use super::names::{self, Meant};
use super::{WorkflowServer, act, confirm, next, shorten};
use crate::contract::Contract;
use crate::fault::Fault;
use crate::guide::Guides;
use crate::version::Surface;

/// What the other contract needs.
type Other = (WorkflowServer, Runtime);

/// The guides, with the other contract behind them.
pub struct Both {
    guides: Guides,
    /// Made when somebody calls for it: most never do.
    other: OnceLock<Option<Other>>,
    make: Box<dyn Fn() -> Option<Other> + Send + Sync>,
}

impl std::fmt::Debug for Both {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Both").field("guides", &self.guides).finish_non_exhaustive()
    }
}

impl Both {
    /// These guides, and what makes the other contract.
    pub fn new(
        guides: Guides,
        make: impl Fn() -> Option<(WorkflowServer, Runtime)> + Send + Sync + 'static,
    ) -> Both {
        Both { guides, other: OnceLock::new(), make: Box::new(make) }
    }

    /// Lets go of the runs that this process drives, before it ends.
    pub fn finish_runs(&self) {
        if let Some(Some((server, runtime))) = self.other.get() {
            runtime.block_on(server.finish_runs());
        }
    }
}

impl Contract for Both {
    fn tools(&self) -> &str {
        self.guides.tools()
    }

    fn instructions(&self) -> &'static str {
        self.guides.instructions()
    }

    fn names(&self) -> &[&str] {
        self.guides.names()
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        log: &mut String,
    ) -> Result<Response, Fault> {
        self.guides.call(tool, arguments, log)
    }

    fn call_text(
        &self,
        tool: &str,
        arguments: &str,
        log: &mut String,
    ) -> Option<Result<Response, Fault>> {
        self.guides.call_text(tool, arguments, log)
    }

    fn beyond(&self, tool: &str, arguments: Map<String, Value>) -> Option<Result<String, Fault>> {
        let meant = names::meant(tool, Surface::Workflowlookup)?;
        let (server, runtime) = self.other.get_or_init(|| (self.make)()).as_ref()?;
        let called = match meant {
            Meant::Guide(tool) => Ok(server.guide(tool, arguments)),
            Meant::Operation(operation) => runtime.block_on(server.alone(operation, arguments)),
        };
        let text = |result| serde_json::to_string(&result).unwrap_or_default();
        Some(called.map(text).map_err(|error| Fault {
            code: error.code.0,
            message: error.message,
            data: error.data.unwrap_or_default(),
        }))
    }

    fn arrived(&self) {
        self.guides.arrived();
    }
}

impl WorkflowServer {
    /// Does an operation for a client that nothing is known of: nobody can be asked, and nothing
    /// is a task.
    async fn alone(
        &self,
        operation: &'static Operation,
        mut arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ErrorData> {
        if operation.tool().is_some_and(|tool| tool.task == Task::Required) {
            return Err(self.needs_tasks(operation, false));
        }
        let token = arguments.remove(confirm::ARGUMENT);
        let token = token.as_ref().and_then(Value::as_str);
        let call = confirm::call(operation.name, &arguments);
        let wanted = self.operations().confirm();
        let carried = token.and_then(|token| self.shared.confirmations.take(token, &call));
        let yes = carried.filter(|_| wanted != Confirm::Person);
        let is_write = operation.safety == Safety::Standard;
        if wanted == Confirm::Writes && is_write && yes.is_none() {
            return self.whole(operation, &arguments, &act::unconfirmed(operation), true);
        }
        let caller = Carried { yes };
        let asked = Value::Object(arguments.clone());
        let done = self.operations().call_and_wait(operation.name, &caller, asked).await;
        match done {
            Ok(response) => {
                let mut answer = serde_json::from_str(response.json()).unwrap_or_default();
                next::told(&mut answer, operation.name, &arguments, self.shared.look);
                shorten::shorten(&mut answer, shorten::bound(&arguments));
                Ok(shorten::result(answer, &[], false))
            }
            Err(problem) if problem.code == Code::ConfirmationRequired => match wanted {
                Confirm::Person => {
                    let problem = act::for_person(operation, problem);
                    self.whole(operation, &arguments, &problem, false)
                }
                Confirm::Token | Confirm::Writes => {
                    self.whole(operation, &arguments, &problem, true)
                }
            },
            Err(problem) => self.whole(operation, &arguments, &problem, false),
        }
    }

    /// A failure for whoever cannot be asked for more.
    fn whole(
        &self,
        operation: &'static Operation,
        arguments: &Map<String, Value>,
        problem: &Problem,
        with_token: bool,
    ) -> Result<CallToolResult, ErrorData> {
        match self.failed(operation, arguments, problem, with_token)? {
            CallToolResponse::Complete(result) => Ok(result),
            _ => Ok(CallToolResult::default()),
        }
    }
}

/// A model that carries the yes of its person, or none.
struct Carried {
    yes: Option<String>,
}

impl Call for Carried {
    fn progress(&self, _message: &str) {}

    fn warn(&self, _message: &str) {}

    fn ask(&self, question: &str) -> Option<bool> {
        self.yes.as_deref().filter(|yes| *yes == question).map(|_| true)
    }

    fn cancelled(&self) -> bool {
        false
    }
}
