//! The table of operations, and how interfaces call an operation by name.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use milepost_metrics::JournalMetrics;
use milepost_model::wording::{Neutral, Wording};

use super::arguments::{ArgumentChecker, schema_of};
use super::operation::{self, Access, OperationFuture, Services};
use super::response::Response;
use super::trace;
use crate::prelude::*;
use crate::run::stored_operation::Asked;
use crate::{
    author, catalog, command, guide, inputs, preview, provider, run, run_summary, workflow,
};

/// What effects an operation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// It changes nothing and calls no API; it may fetch a document.
    Safe,
    /// It changes things, or calls APIs.
    Standard,
    /// Its effects cannot be undone.
    Destructive,
}

/// An interface that offers an operation, and the operation's name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A tool of the `workflowlookup` contract.
    GuideTool(&'static str),
    /// A tool for agents, with the name of the operation.
    Tool(Tool),
    /// A command of the binary.
    Command(&'static str),
}

/// A row of the operation table.
#[derive(Debug, Clone, Copy)]
pub struct OperationSpec {
    /// Its name in logs and documentation.
    pub name: &'static str,
    pub title: &'static str,
    /// What it does, for people and models.
    pub description: &'static str,
    pub safety: Safety,
    pub doors: &'static [Door],
    /// Returns the schema of its request.
    pub request: fn() -> Value,
    /// Returns the schema of its response.
    pub response: fn() -> Value,
    /// Returns an example request, for documentation.
    pub example: fn() -> Value,
    run: for<'a> fn(&'a Services, &'a dyn Caller, Value) -> OperationFuture<'a, Response>,
}

impl OperationSpec {
    /// Executes the operation without checking its arguments again.
    pub(crate) fn execute<'a>(
        &self,
        services: &'a Services,
        caller: &'a dyn Caller,
        arguments: Value,
    ) -> OperationFuture<'a, Response> {
        (self.run)(services, caller, arguments)
    }
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
    // An agent's call is answered with the run that asks a person.
    let response = schema_of::<Asked<T::Response>>;
    OperationSpec { safety: Safety::Destructive, response, ..row::<T>() }
}

/// Every operation. Not a `const`, which every crate that reads it would compile again.
pub static OPERATIONS: &[OperationSpec] = &[
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
    row::<run::approve::ApproveStep>(),
    row::<run::approve::RejectStep>(),
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

    /// Its tool properties, if it is a tool for agents.
    pub fn tool(&self) -> Option<Tool> {
        self.doors.iter().find_map(|door| match door {
            Door::Tool(tool) => Some(*tool),
            Door::GuideTool(_) | Door::Command(_) => None,
        })
    }
}

/// The operations, bound to one process's directories.
#[derive(Debug)]
pub struct Operations {
    services: Services,
    checkers: Vec<OnceLock<ArgumentChecker>>,
}

impl Operations {
    /// Creates the operations. Nothing is read or compiled until it is needed.
    pub fn new(writer: Writer) -> Operations {
        let checkers = OPERATIONS.iter().map(|_| OnceLock::new()).collect();
        Operations { services: Services { writer, wording: Arc::new(Neutral) }, checkers }
    }

    /// Sets the wording that JSON responses use, which depends on the interface.
    #[must_use]
    pub fn worded(mut self, wording: Arc<dyn Wording>) -> Operations {
        self.services.wording = wording;
        self
    }

    /// The interface's wording.
    pub fn wording(&self) -> &dyn Wording {
        &*self.services.wording
    }

    /// Whether any runs exist. Creates nothing.
    pub fn has_runs(&self) -> bool {
        self.services.writer.reader.ports.journal.exists()
    }

    /// Adopts orphaned runs periodically, in a long-lived process. Does nothing while there are no
    /// runs at all.
    pub async fn tend_runs(&self) {
        loop {
            if self.has_runs()
                && let Ok(runs) = self.services.writer.runs()
            {
                // Runs that cannot be adopted now are retried in the next round.
                drop(runs.adopt_orphans().await);
            }
            tokio::time::sleep(limits::ORPHANS_EVERY).await;
        }
    }

    /// Waits until no run driven by this process can make progress on its own. Returns at once if
    /// the process has released its runs.
    pub async fn rest_runs(&self) {
        if let Some(runs) = self.services.writer.opened_runs() {
            runs.idle().await;
        }
    }

    /// Waits until this process's ended runs have reported to their parent runs.
    pub async fn hand_on_runs(&self) {
        if let Some(runs) = self.services.writer.opened_runs() {
            runs.delivered().await;
        }
    }

    /// Releases this process's runs before it exits. Starts no new work, and waits for requests in
    /// flight that must not be repeated.
    pub async fn finish_runs(&self) {
        if let Some(runs) = self.services.writer.opened_runs() {
            // With an unlimited wait, no runs are left to release afterwards.
            drop(runs.shutdown(Duration::MAX).await);
        }
    }

    /// Releases this process's runs immediately.
    pub async fn leave_runs(&self) -> Result<()> {
        match self.services.writer.opened_runs() {
            Some(runs) => runs.shutdown(Duration::ZERO).await.or_problem(),
            None => Ok(()),
        }
    }

    /// Metrics for all runs, from the index alone.
    pub async fn standing(&self) -> Result<JournalMetrics> {
        run_summary::of(self.services.writer.reader.runs()).await
    }

    /// Whether runs can be read and, if this process writes, written.
    pub async fn is_healthy(&self) -> bool {
        self.services.writer.reader.runs().health().await.is_ok()
    }

    /// Read-only access.
    pub fn reader(&self) -> &Reader {
        &self.services.writer.reader
    }

    /// Calls an operation that completes without waiting: one of the guide operations.
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

    /// Calls any operation by name; the response is JSON.
    pub async fn call_and_wait(
        &self,
        name: &str,
        caller: &dyn Caller,
        mut arguments: Value,
    ) -> Result<Response> {
        let operation = self.checked(name, &mut arguments)?;
        self.begin(operation, caller, arguments).await
    }

    /// Runs an operation with its own types, for an interface that knows which one it needs.
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

    /// Whether the folder in force may act.
    pub fn may_act(&self) -> bool {
        crate::trust::may_act(&self.services.writer.reader).is_ok()
    }

    /// What the operations work with, for what only people do.
    pub fn writer(&self) -> &Writer {
        &self.services.writer
    }

    /// A value that changes when a workflow is added or removed. Very cheap to compute.
    pub fn stamp(&self) -> u64 {
        self.services.writer.reader.stamp()
    }
}
