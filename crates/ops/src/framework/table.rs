//! The table of operations, and how a door calls one by its name.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use milepost_metrics::JournalMetrics;
use milepost_model::wording::{Neutral, Wording};
use milepost_store::Confirm;

use super::arguments::{ArgumentChecker, schema_of};
use super::operation::{self, Access, OperationFuture, Services};
use super::response::Response;
use super::trace;
use crate::prelude::*;
use crate::{
    author, catalog, command, guide, inputs, preview, provider, run, run_summary, workflow,
};

/// What an operation may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// It neither changes anything nor calls out.
    Safe,
    /// It changes things, or calls out.
    Standard,
    /// It cannot be undone.
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
#[derive(Debug, Clone, Copy)]
pub struct OperationSpec {
    /// The same in logs and documentation.
    pub name: &'static str,
    pub title: &'static str,
    /// What it does, for people and models.
    pub description: &'static str,
    pub safety: Safety,
    pub doors: &'static [Door],
    /// The schema of its request.
    pub request: fn() -> Value,
    /// The schema of its response.
    pub response: fn() -> Value,
    /// A request about what comes with the program.
    pub example: fn() -> Value,
    run: for<'a> fn(&'a Services, &'a dyn Caller, Value) -> OperationFuture<'a, Response>,
}

const fn row<T: Operation>() -> OperationSpec {
    OperationSpec {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        safety: <T::Access as Access>::SAFETY,
        doors: T::DOORS,
        request: schema_of::<T::Request>,
        response: schema_of::<T::Response>,
        example: T::example,
        run: operation::run_json::<T>,
    }
}

const fn destructive<T: Operation>() -> OperationSpec {
    OperationSpec { safety: Safety::Destructive, ..row::<T>() }
}

/// Every operation.
pub const OPERATIONS: &[OperationSpec] = &[
    row::<guide::list::ListGuides>(),
    row::<guide::get::GetGuide>(),
    row::<guide::next::NextStep>(),
    row::<guide::check::CheckOutput>(),
    row::<guide::validate_json::ValidateGuideJson>(),
    row::<catalog::validate::ValidateOpenApi>(),
    row::<catalog::preview::PreviewImport>(),
    row::<catalog::import::ImportOpenApi>(),
    row::<catalog::set_enabled::SetCatalogEnabled>(),
    destructive::<catalog::remove::RemoveCatalog>(),
    row::<catalog::list::ListCatalogs>(),
    row::<catalog::diff::DiffCatalog>(),
    row::<catalog::auth::ConfigureAuth>(),
    row::<command::list::ListCommands>(),
    row::<command::get::GetCommand>(),
    row::<command::run::RunCommand>(),
    row::<run::start::RunWorkflow>(),
    row::<run::execute::ExecuteWorkflow>(),
    row::<author::author_and_run::AuthorAndRun>(),
    row::<author::repair_and_rerun::RepairAndRerun>(),
    row::<run::status::GetRunStatus>(),
    row::<run::submit::SubmitStep>(),
    row::<run::resume::ResumeRun>(),
    destructive::<run::cancel::CancelRun>(),
    row::<run::pause::PauseRun>(),
    row::<run::decide::ApproveStep>(),
    row::<run::decide::RejectStep>(),
    row::<run::settle::SettleStep>(),
    row::<run::list::ListRuns>(),
    row::<run::events::ReadEvents>(),
    destructive::<run::retention::ForgetInputs>(),
    destructive::<run::retention::PurgeRuns>(),
    row::<run::retention::BackupRuns>(),
    row::<run::retention::RestoreRuns>(),
    row::<run::pin::SetPin>(),
    row::<provider::list::ListProviders>(),
    row::<provider::values::FetchChoices>(),
    row::<inputs::preview_inputs::PreviewInputs>(),
    row::<inputs::resolve_inputs::ResolveInputs>(),
    row::<preview::step_plan::PlanSteps>(),
    row::<preview::preview_rendered::PreviewRequests>(),
    row::<workflow::list::ListWorkflows>(),
    row::<workflow::get::GetWorkflow>(),
    row::<workflow::validate::ValidateWorkflow>(),
    row::<workflow::save::SaveWorkflow>(),
    row::<workflow::rename::RenameWorkflow>(),
    destructive::<workflow::delete::DeleteWorkflow>(),
    row::<workflow::versions::ListVersions>(),
    row::<workflow::diff::DiffVersions>(),
    row::<workflow::restore::RestoreWorkflow>(),
];

impl OperationSpec {
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
    services: Services,
    checkers: Vec<OnceLock<ArgumentChecker>>,
}

impl Operations {
    /// Nothing is read or compiled before it is needed.
    pub fn new(writer: Writer) -> Operations {
        let checkers = OPERATIONS.iter().map(|_| OnceLock::new()).collect();
        Operations { services: Services { writer, wording: Arc::new(Neutral) }, checkers }
    }

    /// The same for a door that has words of its own: JSON responses are written in them.
    #[must_use]
    pub fn worded(mut self, wording: Arc<dyn Wording>) -> Operations {
        self.services.wording = wording;
        self
    }

    /// The words of the door.
    pub fn wording(&self) -> &dyn Wording {
        &*self.services.wording
    }

    /// Whether there have ever been runs. Looking creates nothing.
    pub fn has_runs(&self) -> bool {
        self.services.writer.reader.ports.journal.exists()
    }

    /// Takes up runs that nobody drives, again and again: for a process that stays. Does nothing
    /// as long as there are no runs at all.
    pub async fn tend_runs(&self) {
        loop {
            if self.has_runs()
                && let Ok(runs) = self.services.writer.runs()
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
        if let Some(runs) = self.services.writer.opened_runs() {
            runs.idle().await;
        }
    }

    /// Waits until a run of this process that has ended has told the run that it is a part of.
    pub async fn hand_on_runs(&self) {
        if let Some(runs) = self.services.writer.opened_runs() {
            runs.delivered().await;
        }
    }

    /// Lets go of the runs that this process drives, before it ends: begins nothing new, and waits
    /// for requests under way that may not be sent again.
    pub async fn finish_runs(&self) {
        if let Some(runs) = self.services.writer.opened_runs() {
            // Without a limit there is nothing to give back afterwards.
            drop(runs.shutdown(Duration::MAX).await);
        }
    }

    /// Gives the runs back at once that this process drives.
    pub async fn leave_runs(&self) -> Result<()> {
        match self.services.writer.opened_runs() {
            Some(runs) => runs.shutdown(Duration::ZERO).await.or_problem(),
            None => Ok(()),
        }
    }

    /// What is known about all runs, from the index alone.
    pub async fn standing(&self) -> Result<JournalMetrics> {
        run_summary::of(self.services.writer.reader.runs()).await
    }

    /// Whether runs can be read and, where this process writes, written.
    pub async fn is_healthy(&self) -> bool {
        self.services.writer.reader.runs().health().await.is_ok()
    }

    /// What looks and changes nothing.
    pub fn reader(&self) -> &Reader {
        &self.services.writer.reader
    }

    /// Calls an operation that answers at once, without waiting for anything: those of the guides.
    pub fn call(&self, name: &str, caller: &dyn Caller, mut arguments: Value) -> Result<Response> {
        let operation = self.checked(name, &mut arguments)?;
        if operation.guide_tool().is_none() {
            return Err(problems::has_to_wait(name));
        }
        let mut work = self.begin(operation, caller, arguments);
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => Err(problems::has_to_wait(name)),
        }
    }

    /// Calls any operation by its name; the response is JSON.
    pub async fn call_and_wait(
        &self,
        name: &str,
        caller: &dyn Caller,
        mut arguments: Value,
    ) -> Result<Response> {
        let operation = self.checked(name, &mut arguments)?;
        self.begin(operation, caller, arguments).await
    }

    /// Runs an operation with its own types, for a door that knows which one it wants.
    pub async fn run<T: Operation>(
        &self,
        caller: &dyn Caller,
        request: T::Request,
    ) -> Result<T::Response> {
        operation::run::<T>(&self.services, caller, request).await
    }

    fn begin<'a>(
        &'a self,
        operation: &OperationSpec,
        caller: &'a dyn Caller,
        arguments: Value,
    ) -> OperationFuture<'a, Response> {
        let logged = trace::is_wanted().then(|| arguments.clone());
        let work = (operation.run)(&self.services, caller, arguments);
        match logged {
            None => work,
            Some(logged) => Box::pin(trace::operation(operation.name, Some(logged), work)),
        }
    }

    fn checked(&self, name: &str, arguments: &mut Value) -> Result<&'static OperationSpec> {
        let found = OPERATIONS.iter().position(|operation| operation.name == name);
        let Some(index) = found else {
            let names = OPERATIONS.iter().map(|operation| operation.name);
            return Err(problems::no_operation(name, names));
        };
        let operation = &OPERATIONS[index];
        let checker =
            self.checkers[index].get_or_init(|| ArgumentChecker::of(&(operation.request)()));
        checker.check(arguments)?;
        Ok(operation)
    }

    /// What agents have to have confirmed. As strict as can be when the configuration cannot be
    /// read.
    pub fn confirm(&self) -> Confirm {
        self.services.writer.reader.config().map_or(Confirm::Person, |config| config.confirm)
    }

    /// Another one when a workflow came or went: a look that costs next to nothing.
    pub fn stamp(&self) -> u64 {
        self.services.writer.reader.stamp()
    }
}
