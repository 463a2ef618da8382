//! Rejects secret values given to an orchestration. They must be rejected before anything is
//! recorded, because an orchestration's inputs become part of its journal.

use milepost_model::document::Document;
use milepost_model::workflow::Workflow;
use milepost_syntax::source::Source;

use super::SAVE;
use crate::prelude::*;
use crate::run::view::RunView;
use crate::workflow;

/// A hint that explains how to pass a secret to a run instead.
fn how() -> Hint {
    Hint::text("run the workflow with ").call(Invocation::of("workflow.run")).then(
        ", which keeps secrets in memory, or give the input a default from the environment \
         (`default: {from: env, value: NAME}`)",
    )
}

/// Rejects secret inputs for a workflow in the library.
pub(super) fn of_workflow(writer: &Writer, id: &str, inputs: &Map<String, Value>) -> Result<()> {
    of_document(&writer.reader.workflow(id)?.document, inputs)
}

/// Rejects secret inputs for a workflow given as source. An invalid source does not reliably show
/// which inputs are secret, so it must not mention secrets at all.
pub(super) fn of_text(writer: &Writer, text: &str, inputs: &Map<String, Value>) -> Result<()> {
    of_document(&workflow::read(&writer.reader, text.as_bytes(), None), inputs)
}

fn of_document(document: &Document, inputs: &Map<String, Value>) -> Result<()> {
    if let Some(workflow) = &document.workflow {
        return first(workflow, inputs).map_or(Ok(()), |name| Err(refused(name)));
    }
    // The invalid source may declare an input as secret, possibly spelled with escape sequences.
    let text = document.source.as_ref().map(Source::text).unwrap_or_default();
    if inputs.is_empty() || !text.contains("secret") && !text.contains('\\') {
        return Ok(());
    }
    let message = "the workflow is not valid and may have secret inputs, so it accepts no `inputs`";
    let hint = "omit `inputs`: missing values are requested once the workflow is valid";
    Err(Problem::new(Code::ParamsInvalid, message, hint))
}

/// The first secret input among the given ones.
pub(super) fn first<'w>(workflow: &'w Workflow, given: &Map<String, Value>) -> Option<&'w str> {
    let mut inputs = workflow.inputs.0.iter();
    let found = inputs.find(|(name, input)| input.is_secret() && given.contains_key(&name.value));
    found.map(|(name, _)| name.value.as_str())
}

/// The secret inputs among the given names.
pub(super) fn among<'w>(workflow: &'w Workflow, names: &[&str]) -> Vec<&'w str> {
    let secret = workflow.inputs.0.iter().filter(|(_, input)| input.is_secret());
    let secret = secret.map(|(name, _)| name.value.as_str());
    secret.filter(|name| names.contains(name)).collect()
}

fn refused(name: &str) -> Problem {
    let message =
        format!("`{name}` is a secret input, and the inputs of an orchestration are recorded");
    Problem::new(Code::ParamsInvalid, message, how()).context("input", name)
}

/// The problem for a workflow that cannot run without a secret.
pub(super) fn lacking(names: &[&str]) -> Problem {
    let names = names.join("`, `");
    let message = format!("the workflow needs the secret `{names}`, which a task cannot accept");
    Problem::new(Code::InputInvalid, message, how())
}

/// Rejects values submitted to an orchestration if they contain secret inputs of the workflow that
/// it is about to run. Other runs keep secrets out of their journals themselves.
pub(crate) fn of_run<'v>(
    writer: &Writer,
    run: &RunView,
    given: impl IntoIterator<Item = &'v Value>,
) -> Result<()> {
    if !super::is_orchestration(&run.workflow) {
        return Ok(());
    }
    let Some(id) = subject(run) else { return Ok(()) };
    let Ok(entry) = writer.reader.workflow(&id) else { return Ok(()) };
    let Some(workflow) = &entry.document.workflow else { return Ok(()) };
    let mut found = given.into_iter().filter_map(|value| {
        // The value may be a string that contains the object as JSON, which the step would parse.
        let parsed = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        let object = parsed.as_ref().unwrap_or(value).as_object()?;
        first(workflow, object)
    });
    let refused = |name: &str| Err(refused(name).context("run_id", run.run_id.as_str()));
    found.next().map_or(Ok(()), refused)
}

/// The workflow that an orchestration eventually runs, once it is known.
fn subject(run: &RunView) -> Option<String> {
    let saved = run.steps.iter().find(|step| step.id == SAVE);
    let id = match saved {
        Some(save) => save.output.as_ref()?.get("workflow_id"),
        None => run.inputs.get("workflow_id"),
    };
    id.and_then(Value::as_str).map(str::to_owned)
}
