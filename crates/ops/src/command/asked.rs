//! Calls that a person has to agree to first. Each is a run with one step, so that it is asked
//! about, recorded and recovered like any other request.

use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::command::ApiCommand;
use milepost_driver::RunReader;
use milepost_engine::StepKey;
use milepost_engine::event::Event;
use milepost_engine::state::End;
use milepost_model::id::RunId;
use milepost_model::step::Action;

use super::run::{CommandCall, Request, RequestView, Response, arguments};
use crate::catalog_cache::LoadedCatalog;
use crate::catalog_client;
use crate::prelude::*;
use crate::run::view::RunView;
use crate::run::{consent, effect_bound, prepare};

/// The response to a call, or the run of a call that a person has to agree to first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandAnswer {
    /// It was called, or shown.
    Called(Box<Response>),
    /// A person is asked first.
    Waiting(Box<RunView>),
}

/// The workflow of a single call.
const CALL: &str = "milepost.call";
/// Its only step.
const STEP: &str = "call";

impl CommandCall<'_> {
    /// Starts a run of this call if a person has to agree to it, and waits for its end.
    pub(crate) async fn asked(
        &self,
        loaded: &Arc<LoadedCatalog>,
        request: &Request,
        timeout: Duration,
    ) -> Result<Option<CommandAnswer>> {
        let sent = self.build(&arguments(request))?;
        let outgoing = catalog_client::outgoing(&sent);
        let effect = effect_bound::effect(&outgoing, self.base(), &sent.path_template);
        let catalog = loaded.record.id.as_str();
        if let Some(problem) = effect_bound::denied(&self.writer.reader, catalog, &effect)? {
            return Err(problem);
        }
        let needs = consent::of_command(self.writer, self.call, loaded, &effect).await?;
        if !needs {
            return Ok(None);
        }
        let rare = [
            ("profile", request.profile.is_some()),
            ("content_type", request.content_type.is_some()),
            ("accept", request.accept.is_some()),
            ("paginate", request.paginate.is_some()),
        ];
        if let Some((name, _)) = rare.iter().find(|(_, given)| *given) {
            let message =
                format!("`{name}` cannot be used in a call that a person has to agree to");
            let hint = format!("leave out `{name}`, or ask the person to make the call");
            return Err(Problem::new(Code::ParamsInvalid, message, hint));
        }
        let (manifest, inputs) = manifest(self.command(), request, timeout);
        let runs = self.writer.runs()?;
        let prepared = prepare::own(self.writer, self.call, &manifest, inputs).await?;
        let run = runs.start(prepared).await.or_problem()?;
        let patience = timeout.min(Duration::from_secs(crate::limits::RUN_WAIT_MAX_S));
        crate::run::follow(runs, self.call, &run, patience).await?;
        answered(runs, &run).await.map(Some)
    }
}

/// The workflow of a single call. An argument that looks like a template is passed as an input, so
/// that it stays what it is.
fn manifest(
    command: &ApiCommand,
    request: &Request,
    timeout: Duration,
) -> (Value, Map<String, Value>) {
    let mut values = Vec::new();
    let mut literal = |value: &Value| {
        if !value.to_string().contains("{{") {
            return value.clone();
        }
        values.push(value.clone());
        format!("${{{{ inputs.values[{}] }}}}", values.len() - 1).into()
    };
    let with: Map<String, Value> =
        request.with.iter().map(|(name, value)| (name.clone(), literal(value))).collect();
    let mut step = json!({
        "id": STEP,
        "run": command.id.to_string(),
        "timeout": format!("{}s", timeout.as_secs()),
        "with": with,
    });
    if let Some(body) = &request.body {
        step["body"] = literal(body);
    }
    let manifest = json!({
        "workflow": CALL,
        "title": format!("Call {}", command.id),
        "inputs": {"values": {"type": "array"}},
        "steps": [step],
    });
    (manifest, Map::from_iter([("values".to_owned(), Value::Array(values))]))
}

/// The response of the call that a run makes, or the run if it has not ended.
async fn answered(runs: &dyn RunReader, run: &RunId) -> Result<CommandAnswer> {
    let snapshot = runs.snapshot(run).await.or_problem()?;
    let state = &*snapshot.state;
    let step = state.step(&StepKey::of_walk(STEP));
    let command = snapshot.flow.nodes().first().and_then(|node| snapshot.flow.of_key(&node.key));
    let command = command.and_then(|step| match &step.action {
        Action::Run(run) => Some(run.target.value.to_string()),
        _ => None,
    });
    let events = runs.events(run, 0).await.or_problem()?;
    let sent = events.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::AttemptStarted(attempt) => attempt.sent.as_deref().cloned(),
        _ => None,
    });
    let shown = sent.map(|sent| RequestView {
        method: sent.method,
        url: sent.url,
        ..RequestView::default()
    });
    let mut response = Response {
        command: command.unwrap_or_default(),
        request: shown.unwrap_or_default(),
        attempts: step.map(|step| step.attempts.max(1)),
        ..Response::default()
    };
    let failure = match &state.end {
        None => return Ok(CommandAnswer::Waiting(Box::new(crate::run::view(runs, run).await?))),
        Some(End::Succeeded(_)) => None,
        Some(End::Failed(failure)) => Some(&**failure),
        Some(End::Canceled) => {
            let message = "the call was canceled";
            return Err(Problem::new(Code::RunCanceled, message, "call again if it is needed"));
        }
    };
    if let Some(failure) = failure {
        let known = |name: &str| failure.context.as_deref().and_then(|all| all.get(name)).cloned();
        let Some(status) = known("status").and_then(|status| status.as_u64()) else {
            return Err(crate::run::errors::refused(failure, run));
        };
        response.status = u16::try_from(status).ok();
        response.ok = Some(false);
        response.body = known("body").map(|body| match body.as_str() {
            Some(text) => serde_json::from_str(text).unwrap_or(Value::String(text.to_owned())),
            None => body,
        });
        return Ok(CommandAnswer::Called(Box::new(response)));
    }
    let answer = step.and_then(|step| step.answer.as_ref());
    if let Some(answer) = answer {
        let nonce = &state.head.nonce;
        response.status = Some(answer.status);
        response.ok = Some(true);
        response.headers = answer.headers.clone();
        response.body = Some(milepost_engine::mask_secrets(nonce, &answer.output));
        response.notes = answer.notes.iter().map(|note| note.clone().into()).collect();
    }
    Ok(CommandAnswer::Called(Box::new(response)))
}

/// The run of a call that a person was asked about.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeRequest {
    /// Run id.
    pub run_id: String,
    /// Seconds to wait for its end.
    pub wait_s: u64,
}

operation! {
    /// The response of a call once a person has agreed to it; for interfaces, which ask.
    CommandOutcome: "command.outcome", "The outcome of a call",
        "The response of a call once a person has agreed to it.";
    doors: [];
    run: outcome(Writer, OutcomeRequest) -> CommandAnswer;
    example: {"run_id": "run_00000000000000000000000001", "wait_s": 5};
}

async fn outcome(
    writer: &Writer,
    call: &dyn Caller,
    request: OutcomeRequest,
) -> Result<CommandAnswer> {
    let runs = writer.runs()?;
    let run = crate::run::find(runs, call, &request.run_id).await?;
    let patience = Duration::from_secs(request.wait_s.min(crate::limits::RUN_WAIT_MAX_S));
    crate::run::follow(runs, call, &run, patience).await?;
    answered(runs, &run).await
}
