//! The workflow that a preview is about, given as a source or as an id in the library. It is
//! checked against the current catalogs.

use std::sync::Arc;

use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_model::workflow::Workflow;

use crate::catalog_commands::CatalogCommands;
use crate::compiled_workflow::{CompiledWorkflow, GivenText};
use crate::prelude::*;
use crate::reader::WORLD;
use crate::run::prepare::nothing_to_run;
use crate::workflow::problem::invalid;

/// A document that contains a workflow.
#[derive(Debug)]
pub(crate) struct WorkflowSubject {
    pub(crate) document: Document,
}

impl WorkflowSubject {
    /// Finds and checks the workflow that a request names.
    pub(crate) fn find(
        reader: &Reader,
        manifest: Option<&Value>,
        workflow_id: Option<&str>,
    ) -> Result<WorkflowSubject> {
        let given = given(reader, manifest, workflow_id)?;
        let known = CatalogCommands::of(reader.clone());
        WorkflowSubject::read(&known, &reader.live_config()?.known_variables(), &given)
    }

    /// Like `find`, but compiled; reuses the result if the same source was compiled recently.
    pub(crate) fn compiled(
        reader: &Reader,
        manifest: Option<&Value>,
        workflow_id: Option<&str>,
    ) -> Result<Arc<CompiledWorkflow>> {
        let given = given(reader, manifest, workflow_id)?;
        let env_allow = reader.live_config()?.known_variables();
        if let Some(compiled) = reader.compiled.find(reader, &given, &env_allow) {
            return Ok(compiled);
        }
        let known = CatalogCommands::of(reader.clone());
        let WorkflowSubject { document } = WorkflowSubject::read(&known, &env_allow, &given)?;
        let compiled = CompiledWorkflow::of(document).map(Arc::new).ok_or_else(nothing_to_run)?;
        if let Some(catalogs) = known.consulted() {
            reader.compiled.keep(given, env_allow, catalogs, &compiled);
        }
        Ok(compiled)
    }

    fn read(
        known: &CatalogCommands,
        env_allow: &[String],
        given: &GivenText,
    ) -> Result<WorkflowSubject> {
        let world = World { commands: known, env_allow: Some(env_allow) };
        WorkflowSubject::of(Document::read(&given.bytes, given.format, world))
    }

    fn of(document: Document) -> Result<WorkflowSubject> {
        match document.workflow.is_some() {
            true => Ok(WorkflowSubject { document }),
            false => Err(invalid(&document, "the workflow")),
        }
    }

    /// A built-in manifest, which calls no catalog commands.
    pub(crate) fn own(manifest: &Value) -> Result<WorkflowSubject> {
        WorkflowSubject::of(Document::read(manifest.to_string().as_bytes(), None, WORLD))
    }

    pub(crate) fn workflow(&self) -> Result<&Workflow> {
        self.document.workflow.as_ref().ok_or_else(|| invalid(&self.document, "the workflow"))
    }
}

/// Loads the source that a request names.
fn given(
    reader: &Reader,
    manifest: Option<&Value>,
    workflow_id: Option<&str>,
) -> Result<GivenText> {
    match (manifest, workflow_id) {
        (Some(manifest), None) => {
            Ok(GivenText { bytes: plain_text(manifest).into_bytes(), format: None })
        }
        (None, Some(id)) => {
            let entry = reader.workflow(id)?;
            let source = entry.document.source.as_ref().ok_or_else(|| no_text(id))?;
            let bytes = source.with_text(source.text());
            Ok(GivenText { bytes, format: Some(source.format()) })
        }
        (Some(_), Some(_)) => Err(wrong("both `manifest` and `workflow_id` are given", "give one")),
        (None, None) => {
            let hint = "give `workflow_id`, or the text of a workflow as `manifest`";
            Err(wrong("no workflow was given", hint))
        }
    }
}

fn wrong(message: &str, hint: &str) -> Problem {
    Problem::new(Code::ParamsInvalid, message, hint)
}

fn no_text(id: &str) -> Problem {
    let message = format!("workflow `{id}` has no text");
    Problem::new(Code::WorkflowInvalid, message, "write the file again").context("workflow_id", id)
}
