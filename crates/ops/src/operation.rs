//! The table of operations and how one is called.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{Arguments, schema_of};
use crate::author;
use crate::call::Call;
use crate::catalog;
use crate::command;
use crate::guide;
use crate::inputs;
use crate::later::{self, All, Hands, Later, Waiting};
use crate::limits;
use crate::preview;
use crate::problems;
use crate::provider;
use crate::reader::Reader;
use crate::response::Response;
use crate::run;
use crate::run::errors::of_run;
use crate::standing;
use crate::tool::Tool;
use crate::trace;
use crate::workflow;
use crate::writer::Writer;
use milepost_metrics::Journal;
use milepost_model::problem::{Code, Problem};
use milepost_model::wording::{self, Neutral, Wording};
use milepost_store::Confirm;

/// What an operation may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// It neither changes anything nor calls out.
    Safe,
    /// It changes things, or calls out.
    Standard,
    /// It cannot be taken back.
    Destructive,
}

/// Where an operation is offered, and under which name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A tool of the `workflowlookup` contract.
    GuideTool(&'static str),
    /// A tool for agents; its name is that of the operation.
    Tool(Tool),
    /// A command of the binary.
    Command(&'static str),
}

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Operation {
    /// Its name, the same in logs and documentation.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for people and models.
    pub description: &'static str,
    /// What it may do to the world.
    pub safety: Safety,
    /// Where it is offered.
    pub doors: &'static [Door],
    /// The schema of its request.
    pub request: fn() -> Value,
    /// The schema of its response.
    pub response: fn() -> Value,
    /// A request about what comes with the program.
    pub example: fn() -> Value,
    run: Way,
}

/// How an operation is done.
#[derive(Clone, Copy)]
enum Way {
    /// At once, with nothing but a reader.
    Now(Run, RunText),
    /// It may have to wait.
    Later(RunLater),
}

type RunLater = for<'a> fn(&'a All, &'a dyn Call, Value) -> Waiting<'a, Response>;
type Run = fn(&Reader, &dyn Call, Value) -> Result<Response, Problem>;
type RunText = fn(&Reader, &dyn Call, &str) -> Option<Result<Response, Problem>>;

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An operation that is given nothing but a [`Reader`]: it cannot change anything.
pub(crate) trait SafeOperation {
    /// What it is asked.
    type Request: DeserializeOwned + JsonSchema;
    /// What it answers.
    type Response: Respond + JsonSchema;

    const NAME: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    const DOORS: &'static [Door];

    fn run(
        reader: &Reader,
        call: &dyn Call,
        request: Self::Request,
    ) -> Result<Self::Response, Problem>;

    fn example() -> Value;

    /// Whether a request that was read from text surely keeps its schema, and names nothing
    /// outside a library. `false` when in doubt: then the schema decides, and words the faults.
    fn fits(request: &Self::Request) -> bool;
}

/// A response as JSON.
pub(crate) trait Respond {
    fn write(&self, out: &mut Response) -> serde_json::Result<()>;
}

impl<T: Serialize> Respond for T {
    fn write(&self, out: &mut Response) -> serde_json::Result<()> {
        out.serialize(self)
    }
}

const fn safe<T: SafeOperation>() -> Operation {
    Operation {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        safety: Safety::Safe,
        doors: T::DOORS,
        request: schema_of::<T::Request>,
        response: schema_of::<T::Response>,
        example: T::example,
        run: Way::Now(run_safe::<T>, run_safe_text::<T>),
    }
}

const fn row<T: Later>(safety: Safety) -> Operation {
    Operation {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        safety,
        doors: T::DOORS,
        request: schema_of::<T::Request>,
        response: schema_of::<T::Response>,
        example: example_of::<T>,
        run: Way::Later(run_later::<T>),
    }
}

const fn waits<T: Later>() -> Operation {
    row::<T>(<T::Hands as Hands>::SAFETY)
}

fn example_of<T: Later>() -> Value {
    serde_json::to_value(T::example()).unwrap_or_default()
}

fn run_later<'a, T: Later>(
    all: &'a All,
    call: &'a dyn Call,
    arguments: Value,
) -> Waiting<'a, Response> {
    Box::pin(async move {
        let request = serde_json::from_value(arguments).map_err(|error| internal(&error))?;
        let response = later::run::<T>(all, call, request).await?;
        let mut json = Response::new();
        let own = call.wording();
        let wording = own.as_ref().unwrap_or(&all.wording);
        let written = wording::scoped(wording, || response.write(&mut json));
        written.map_err(|error| internal(&error))?;
        Ok(json)
    })
}

fn run_safe<T: SafeOperation>(
    reader: &Reader,
    call: &dyn Call,
    arguments: Value,
) -> Result<Response, Problem> {
    // The schema has been checked: what fails here is a fault of ours.
    let request = serde_json::from_value(arguments).map_err(|error| internal(&error))?;
    answer::<T>(reader, call, request)
}

fn run_safe_text<T: SafeOperation>(
    reader: &Reader,
    call: &dyn Call,
    arguments: &str,
) -> Option<Result<Response, Problem>> {
    // The fields of a request could be read from an array as well.
    let request = serde_json::from_str(arguments).ok().filter(|_| arguments.starts_with('{'))?;
    T::fits(&request).then(|| answer::<T>(reader, call, request))
}

fn answer<T: SafeOperation>(
    reader: &Reader,
    call: &dyn Call,
    request: T::Request,
) -> Result<Response, Problem> {
    let response = T::run(reader, call, request)?;
    let mut json = Response::new();
    response.write(&mut json).map_err(|error| internal(&error))?;
    Ok(json)
}

fn internal(error: &serde_json::Error) -> Problem {
    Problem::new(Code::Internal, error.to_string(), "report this with the request that caused it")
}

/// Every operation.
pub const OPERATIONS: &[Operation] = &[
    safe::<guide::list::List>(),
    safe::<guide::get::Get>(),
    safe::<guide::next::Next>(),
    safe::<guide::check::Check>(),
    safe::<guide::validate_json::ValidateJson>(),
    waits::<catalog::validate::Validate>(),
    waits::<catalog::preview::Judge>(),
    waits::<catalog::import::Import>(),
    waits::<catalog::set_enabled::SetEnabled>(),
    row::<catalog::remove::Remove>(Safety::Destructive),
    waits::<catalog::list::List>(),
    waits::<catalog::diff::Diff>(),
    waits::<catalog::auth::Auth>(),
    waits::<command::list::List>(),
    waits::<command::get::Get>(),
    waits::<command::run::Run>(),
    waits::<run::start::StartOrShow>(),
    waits::<run::execute::Execute>(),
    waits::<author::author_and_run::AuthorAndRun>(),
    waits::<author::repair_and_rerun::RepairAndRerun>(),
    waits::<run::status::Status>(),
    waits::<run::submit::Submit>(),
    waits::<run::resume::Resume>(),
    row::<run::cancel::Cancel>(Safety::Destructive),
    waits::<run::pause::Pause>(),
    waits::<run::decide::Approve>(),
    waits::<run::decide::Reject>(),
    waits::<run::settle::Settle>(),
    waits::<run::list::List>(),
    waits::<run::events::Events>(),
    row::<run::keep::Forget>(Safety::Destructive),
    row::<run::keep::Purge>(Safety::Destructive),
    waits::<run::keep::Backup>(),
    waits::<run::keep::Restore>(),
    waits::<run::pin::SetPin>(),
    waits::<provider::list::List>(),
    waits::<provider::values::Values>(),
    waits::<inputs::preview_inputs::PreviewInputs>(),
    waits::<inputs::resolve_inputs::ResolveInputs>(),
    waits::<preview::step_plan::StepPlan>(),
    waits::<preview::preview_rendered::PreviewRendered>(),
    waits::<workflow::list::List>(),
    waits::<workflow::get::Get>(),
    waits::<workflow::validate::Validate>(),
    waits::<workflow::save::Save>(),
    waits::<workflow::rename::Rename>(),
    row::<workflow::delete::Delete>(Safety::Destructive),
    waits::<workflow::versions::Versions>(),
    waits::<workflow::diff::Diff>(),
    waits::<workflow::restore::Restore>(),
];

impl Operation {
    /// Its name as a tool of the `workflowlookup` contract.
    pub fn guide_tool(&self) -> Option<&'static str> {
        self.doors.iter().find_map(|door| match door {
            Door::GuideTool(name) => Some(*name),
            Door::Tool(_) | Door::Command(_) => None,
        })
    }

    /// How it shows itself as a tool for agents, where it is one.
    pub fn tool(&self) -> Option<Tool> {
        self.doors.iter().find_map(|door| match door {
            Door::Tool(tool) => Some(*tool),
            Door::GuideTool(_) | Door::Command(_) => None,
        })
    }
}

/// The operations over the directories of one process.
#[derive(Debug)]
pub struct Operations {
    all: All,
    arguments: Vec<OnceLock<Arguments>>,
}

impl Operations {
    /// Nothing is read or compiled before it is needed.
    pub fn new(writer: Writer) -> Operations {
        let arguments = OPERATIONS.iter().map(|_| OnceLock::new()).collect();
        let (reader, wording) = (writer.reader.clone(), Arc::new(Neutral));
        Operations { all: All { reader, writer, wording }, arguments }
    }

    /// The same for a door that has words of its own: JSON responses are written in them.
    #[must_use]
    pub fn worded(mut self, wording: Arc<dyn Wording>) -> Operations {
        self.all.wording = wording;
        self
    }

    /// The words of the door.
    pub fn wording(&self) -> &dyn Wording {
        &*self.all.wording
    }

    /// Whether there have ever been runs. Looking creates nothing.
    pub fn has_runs(&self) -> bool {
        self.all.reader.ports().journal.exists()
    }

    /// Takes up runs that nobody drives, again and again: for a process that stays. Does nothing
    /// as long as there are no runs at all.
    pub async fn tend_runs(&self) {
        loop {
            if self.has_runs()
                && let Ok(runs) = self.all.writer.runs()
            {
                // What cannot be adopted now is looked at again.
                drop(runs.adopt_orphans().await);
            }
            tokio::time::sleep(limits::ORPHANS_EVERY).await;
        }
    }

    /// Waits until no run that this process drives goes on by itself. A process that has let go of
    /// its runs has nothing to wait for.
    pub async fn rest_runs(&self) {
        if let Some(runs) = self.all.writer.opened_runs() {
            runs.idle().await;
        }
    }

    /// Waits until a run of this process that has ended has told the run that it is a part of.
    pub async fn hand_on_runs(&self) {
        if let Some(runs) = self.all.writer.opened_runs() {
            runs.delivered().await;
        }
    }

    /// Lets go of the runs that this process drives, before it ends: begins nothing new, and waits
    /// for requests under way that may not be sent again.
    pub async fn finish_runs(&self) {
        if let Some(runs) = self.all.writer.opened_runs() {
            // Without a limit there is nothing to give back afterwards.
            drop(runs.shutdown(Duration::MAX).await);
        }
    }

    /// Gives the runs back at once that this process drives.
    pub async fn leave_runs(&self) -> Result<(), Problem> {
        match self.all.writer.opened_runs() {
            Some(runs) => runs.shutdown(Duration::ZERO).await.map_err(|error| of_run(&error)),
            None => Ok(()),
        }
    }

    /// What is known about all runs, from the index alone.
    pub async fn standing(&self) -> Result<Journal, Problem> {
        standing::of(self.all.reader.runs()).await
    }

    /// Whether runs can be read and, where this process writes, written.
    pub async fn is_healthy(&self) -> bool {
        self.all.reader.runs().health().await.is_ok()
    }

    /// What looks and changes nothing.
    pub fn reader(&self) -> &Reader {
        &self.all.reader
    }

    /// Calls an operation that answers at once; the response is JSON.
    pub fn call(
        &self,
        name: &str,
        call: &dyn Call,
        mut arguments: Value,
    ) -> Result<Response, Problem> {
        let operation = self.checked(name, &mut arguments)?;
        match operation.run {
            Way::Now(run, _) => now(operation, run, &self.all.reader, call, arguments),
            Way::Later(_) => Err(problems::has_to_wait(name)),
        }
    }

    /// Calls any operation by its name; the response is JSON.
    pub async fn call_and_wait(
        &self,
        name: &str,
        call: &dyn Call,
        mut arguments: Value,
    ) -> Result<Response, Problem> {
        let operation = self.checked(name, &mut arguments)?;
        match operation.run {
            Way::Now(run, _) => now(operation, run, &self.all.reader, call, arguments),
            Way::Later(run) => run(&self.all, call, arguments).await,
        }
    }

    /// Does an operation with its own types: what a door does that knows which one it wants.
    pub async fn run<T: Later>(
        &self,
        call: &dyn Call,
        request: T::Request,
    ) -> Result<T::Response, Problem> {
        later::run::<T>(&self.all, call, request).await
    }

    fn checked(&self, name: &str, arguments: &mut Value) -> Result<&'static Operation, Problem> {
        let found = OPERATIONS.iter().position(|operation| operation.name == name);
        let Some(index) = found else {
            let names = OPERATIONS.iter().map(|operation| operation.name);
            return Err(problems::no_operation(name, names));
        };
        let operation = &OPERATIONS[index];
        let checker = self.arguments[index].get_or_init(|| Arguments::of(&(operation.request)()));
        checker.check(arguments)?;
        Ok(operation)
    }

    /// Whatever is called from here on was asked for before now, until this is told again.
    pub fn arrived(&self) {
        self.all.reader.arrived();
    }

    /// What agents have to have confirmed. As strict as can be when the configuration cannot be
    /// read.
    pub fn confirm(&self) -> Confirm {
        self.all.reader.config().map_or(Confirm::Person, |config| config.confirm)
    }

    /// Another one when a workflow came or went: a look that costs next to nothing.
    pub fn stamp(&self) -> u64 {
        self.all.reader.stamp()
    }

    /// Calls come in at several doors from here on, and runs go on by themselves: each looks at
    /// the library as it is then.
    pub fn scattered(&self) {
        self.all.reader.scattered();
    }

    /// The same from the text of an object, without a schema and the values it looks at. `None`
    /// when the arguments do not plainly fit: [`call`](Operations::call) then says why, or takes
    /// them after all. What this answers, that would answer too.
    pub fn call_text(
        &self,
        operation: &Operation,
        call: &dyn Call,
        arguments: &str,
    ) -> Option<Result<Response, Problem>> {
        match operation.run {
            // Who reads a log pays for the way on which there are values to tell of.
            Way::Now(..) if trace::is_wanted() => None,
            Way::Now(_, run) => run(&self.all.reader, call, arguments),
            Way::Later(_) => None,
        }
    }
}

/// Does an operation that answers at once, and tells of it.
fn now(
    operation: &Operation,
    run: Run,
    reader: &Reader,
    call: &dyn Call,
    arguments: Value,
) -> Result<Response, Problem> {
    let told = trace::is_wanted().then(|| arguments.clone());
    trace::operation_now(operation.name, told.as_ref(), || run(reader, call, arguments))
}
