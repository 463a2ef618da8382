//! How a run reaches the world: requests of its steps, prepared and sent once.
//!
//! The engine decides on tries, so nothing here tries again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use milepost_catalog::command::{Command, Method};
use milepost_catalog::mock::{Documented, Mock, MockRequest, Settings};
use milepost_catalog::request::{Arguments, Request};
use milepost_engine::command::Call as StepCall;
use milepost_engine::event::Answer;
use milepost_engine::pilot::{Outcome, Prepared, World};
use milepost_engine::{Failure, Trouble};
use milepost_model::document::hex;
use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::{Mask, Secret};
use milepost_outbound::{
    CallError, Called, Fault, Outcome as Tried, Outgoing, Oversize, Response, Sending,
};
use milepost_store::catalogs::Idempotency;
use milepost_store::secrets::SecretName;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::sealed::Sealed;
use crate::author::errand::Errand;
use crate::call::Alone;
use crate::command;
use crate::command::answer::{self, Body};
use crate::command::draft::Draft;
use crate::inputs;
use crate::problems;
use crate::send;
use crate::shelf::Loaded;
use crate::writer::Writer;

/// What the name of a secret input begins with, among the secrets of a run.
pub(crate) const INPUT: &str = "input:";
/// What the name of a variable of the environment begins with there.
pub(crate) const ENV: &str = "env:";
/// Characters of an answer's body that a failure quotes.
const EXCERPT: usize = 1024;

/// What sends the requests of runs.
#[derive(Debug)]
pub(crate) struct Caller {
    writer: Writer,
    /// Secret inputs of runs that this process started.
    inputs: Mutex<HashMap<String, BTreeMap<String, Secret>>>,
    mocks: Mutex<HashMap<(String, String), Played>>,
}

struct Played(Mock);

impl std::fmt::Debug for Played {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Played")
    }
}

/// Which run a request belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) run: String,
    pub(crate) sealed: Sealed,
    pub(crate) mock: bool,
    /// Which try of the step it is, from 1.
    pub(crate) attempt: u32,
}

impl Caller {
    pub(crate) fn new(writer: Writer) -> Caller {
        Caller { writer, inputs: Mutex::default(), mocks: Mutex::default() }
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Keeps the secret inputs of a run, for as long as this process lives.
    pub(crate) fn keep(&self, run: &str, secrets: BTreeMap<String, Secret>) {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        inputs.entry(run.to_owned()).or_default().extend(secrets);
    }

    pub(crate) fn forget(&self, run: &str) {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
        let mut mocks = self.mocks.lock().unwrap_or_else(PoisonError::into_inner);
        mocks.retain(|(owner, _), _| owner != run);
    }

    /// Sends a request once.
    pub(crate) async fn call(
        &self,
        context: &Context,
        call: &StepCall,
        idempotency_key: &str,
    ) -> Outcome {
        match self.attempt(context, call, idempotency_key).await {
            Ok(outcome) => outcome,
            Err(problem) => unsendable(&problem),
        }
    }

    async fn attempt(
        &self,
        context: &Context,
        call: &StepCall,
        idempotency_key: &str,
    ) -> Result<Outcome, Problem> {
        if let Some(errand) = Errand::of(&call.command) {
            return Ok(errand.run(&self.writer, call).await);
        }
        if let Some(problem) = self.lacks(context, call) {
            let trouble = Trouble::Withheld;
            let failure = failure(&problem);
            return Ok(Outcome::Failed { failure, trouble, unsent: true, retry_after_ms: None });
        }
        let (loaded, row) = self.writer.reader.shelf().command(&call.command)?;
        let (revealed, mask) = self.revealed(context, &loaded, call)?;
        let sender = command::run::sender(&self.writer, &loaded, None).await?;
        let draft = Draft::of(&loaded, row, sender)?;
        let mut built = draft.build(&self.writer.reader, &Alone, &arguments(&revealed))?;
        finish(&mut built, &revealed, &loaded, draft.command(), idempotency_key)?;
        let request = send::outgoing(&built);
        if context.mock {
            return self.mocked(context, &loaded, &built, &request);
        }
        let sending = Sending {
            timeout: Duration::from_millis(call.timeout_ms),
            oversize: Oversize::Cut,
            mask: mask.clone(),
            attempt: context.attempt,
            ..Sending::default()
        };
        let called = draft.sender.send_once(draft.command(), &request, sending).await;
        Ok(match called {
            Ok(called) => told_by(draft.command(), self.answered(&built, &called)?),
            Err(error) => failed(&error, draft.command()),
        })
    }

    /// The call with its secrets in their places, and what hides them again.
    fn revealed(
        &self,
        context: &Context,
        loaded: &Loaded,
        call: &StepCall,
    ) -> Result<(StepCall, Mask), Problem> {
        let mut mask = Mask::new();
        let wanted = context.sealed.names(&call.arguments());
        if wanted.is_empty() {
            return Ok((call.clone(), mask));
        }
        let mut values = BTreeMap::new();
        for name in wanted {
            let secret = self.secret(context, loaded, &name)?;
            mask.add(&name, &secret);
            values.insert(name, secret);
        }
        let mut revealed = call.clone();
        revealed.with = context.sealed.reveal_map(&call.with, &values);
        revealed.headers = context.sealed.reveal_map(&call.headers, &values);
        revealed.body = call.body.as_ref().map(|body| context.sealed.reveal(body, &values));
        Ok((revealed, mask))
    }

    /// What this process is not told and cannot find out, though another one was or could.
    fn lacks(&self, context: &Context, call: &StepCall) -> Option<Problem> {
        let wanted = context.sealed.names(&call.arguments());
        let mut own = wanted.iter().filter_map(|name| self.own(&context.run, name));
        own.find_map(Result::err)
    }

    /// A secret that a run may hand on to one that its step starts. One of the vault is bound to
    /// where it is sent, and is not handed on.
    pub(crate) fn handed(&self, run: &str, name: &str) -> Result<Secret, Problem> {
        self.own(run, name).unwrap_or_else(|| {
            let message = format!("the secret `{name}` cannot be handed to another workflow");
            let hint = "let that workflow read it with `secret()`";
            Err(Problem::new(Code::SecretNotFound, message, hint))
        })
    }

    /// A secret of a run itself, not of the vault: what it was given, or what the environment has.
    fn own(&self, run: &str, name: &str) -> Option<Result<Secret, Problem>> {
        if let Some(variable) = name.strip_prefix(ENV) {
            let found = self.variable(variable);
            return Some(found.ok_or_else(|| {
                let message = format!("the variable `{variable}` is not set in this process");
                let next = format!("milepost resume {run}");
                let hint = format!("set it, then go on with `{next}`");
                Problem::new(Code::SecretNotFound, message, hint).context("next", next)
            }));
        }
        let input = name.strip_prefix(INPUT)?;
        let inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let given = inputs.get(run).and_then(|own| own.get(input)).cloned();
        drop(inputs);
        let known = given.or_else(|| {
            let run = RunId::parse(run).ok()?;
            let flow = self.writer.reader.runs().defaults(&run, input)?;
            inputs::secret_default(&self.writer.reader, flow.workflow(), input)
        });
        Some(known.ok_or_else(|| {
            let message = format!("the secret input `{input}` was given to another process");
            let next = format!("milepost resume {run} -i {input}=…");
            let hint = format!("go on with `{next}`");
            Problem::new(Code::SecretNotFound, message, hint).context("next", next)
        }))
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        let allowed = self.writer.reader.config().ok()?.env_allow;
        let value = allowed.iter().any(|allowed| allowed == name).then_some(name);
        value.and_then(|name| self.writer.variable(name)).map(Secret::new)
    }

    fn secret(&self, context: &Context, loaded: &Loaded, name: &str) -> Result<Secret, Problem> {
        if let Some(own) = self.own(&context.run, name) {
            return own;
        }
        let parsed = SecretName::parse(name).map_err(|_| {
            let message = format!("`{name}` is no name of a secret");
            Problem::new(Code::SecretNotFound, message, "see `milepost secret list`")
        })?;
        let origin = send::base(&loaded.record)?.origin();
        let found = self.writer.vault()?.get_for(&parsed, &origin);
        found.map_err(|error| problems::of_secret(&error))
    }

    fn answered(&self, built: &Request, called: &Called) -> Result<Outcome, Problem> {
        let response = &called.response;
        let mut notes: Vec<String> = built.notes.iter().map(ToString::to_string).collect();
        if response.truncated {
            notes.push(format!("the answer was cut after {} bytes", response.body.len()));
        }
        let output = match answer::body(response, &called.mask, &mut notes) {
            Body::Nothing => Value::Null,
            Body::Json(value) => value,
            Body::Text(text) => Value::String(text),
            Body::Binary(bytes) => {
                let path = self.writer.keep_blob(&bytes)?;
                json!({"file": path.display().to_string(), "bytes": bytes.len()})
            }
        };
        let headers = answer::headers(response, &called.mask);
        let answer = Answer { output, status: response.status, headers, notes };
        let duration_ms = u64::try_from(response.elapsed.as_millis()).unwrap_or(u64::MAX);
        Ok(judged(built, answer, duration_ms, || asked_pause(response)))
    }

    /// The answer of the catalog's mock; each run has its own.
    fn mocked(
        &self,
        context: &Context,
        loaded: &Arc<Loaded>,
        built: &Request,
        request: &Outgoing,
    ) -> Result<Outcome, Problem> {
        let mut mocks = self.mocks.lock().unwrap_or_else(PoisonError::into_inner);
        let catalog = loaded.record.id.clone();
        let key = (context.run.clone(), catalog.to_string());
        if !mocks.contains_key(&key) {
            let rows = loaded.table.rows.clone();
            let operations = Documented { api: loaded.api()?, rows, catalog };
            let settings = Settings { lenient_ids: true, ..Settings::default() };
            let played = Played(Mock::new(Box::new(operations), settings));
            mocks.insert(key.clone(), played);
        }
        let Some(Played(mock)) = mocks.get_mut(&key) else {
            return Err(problems::no_base_url(&loaded.record.id));
        };
        let answer = mock.answer(&MockRequest {
            method: built.method,
            path: request.url.path(),
            query: request.url.query_pairs().into_owned().collect(),
            headers: request.headers.clone(),
            body: &request.body,
        });
        let output = serde_json::from_slice(&answer.body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            if text.is_empty() { Value::Null } else { Value::String(text) }
        });
        let headers: Map<String, Value> =
            answer.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
        let notes = vec!["answered by the mock".to_owned()];
        let told = Answer { output, status: answer.status, headers, notes };
        Ok(judged(built, told, 0, || None))
    }

    fn prepared(&self, call: &StepCall) -> Result<Prepared, Problem> {
        if let Some(errand) = Errand::of(&call.command) {
            return Ok(Prepared {
                digest: hex(&Sha256::digest(call.arguments().to_string())),
                request: call.command.clone(),
                target: String::new(),
                write: errand.writes(),
                repeatable: true,
            });
        }
        let (loaded, row) = self.writer.reader.shelf().command(&call.command)?;
        let prepared = loaded.prepared(row)?;
        let command = prepared.command();
        let base = send::base(&loaded.record)?;
        let base = send::base_of(&loaded, command, &base)?;
        let mut built = prepared
            .build(&base, &arguments(call))
            .map_err(|faults| problems::of_misuse(command, &faults))?;
        finish(&mut built, call, &loaded, command, "")?;
        let request = send::outgoing(&built);
        let mut digest = Sha256::new();
        digest.update(request.method.as_bytes());
        digest.update(request.url.as_str().as_bytes());
        for (name, value) in &request.headers {
            for part in ["\n", name, ":", value] {
                digest.update(part.as_bytes());
            }
        }
        digest.update(b"\n\n");
        digest.update(&request.body);
        let digest = hex(&digest.finalize());
        // Its arguments are shown beside it, and a secret may be among them.
        let (method, path) = (built.method.name(), &built.path_template);
        let whole = base.as_str().trim_end_matches('/');
        Ok(Prepared {
            digest,
            request: format!("{method} {path}"),
            target: format!("{method} {whole}{path}"),
            write: is_write(command),
            repeatable: call.idempotent.unwrap_or(command.may_repeat),
        })
    }
}

impl World for Caller {
    fn prepare(&self, call: &StepCall, _mock: bool) -> Result<Prepared, Failure> {
        self.prepared(call).map_err(|problem| failure(&problem))
    }

    fn writes(&self, command: &str, _mock: bool) -> Option<bool> {
        if let Some(errand) = Errand::of(command) {
            return Some(errand.writes());
        }
        let (loaded, row) = self.writer.reader.shelf().command(command).ok()?;
        Some(is_write(loaded.prepared(row).ok()?.command()))
    }

    fn is_signed(&self, person: &str, text: &str, signature: &str) -> bool {
        super::person::is_signed(person, text, signature)
    }
}

/// A problem as the journal keeps it.
pub(crate) fn failure(problem: &Problem) -> Failure {
    let mut failure = Failure::new(problem.code, &problem.message, &problem.hint);
    for (name, value) in problem.context.iter() {
        failure = failure.with(name, value.clone());
    }
    if !problem.arguments.is_empty() {
        let told: Vec<String> =
            problem.arguments.iter().map(|fault| fault.message.clone()).collect();
        failure = failure.with("arguments", told);
    }
    failure
}

fn arguments(call: &StepCall) -> Arguments {
    Arguments { with: call.with.clone(), body: call.body.clone(), content_type: None, accept: None }
}

fn is_write(command: &Command) -> bool {
    !matches!(command.method, Method::Get | Method::Head | Method::Options | Method::Trace)
}

/// Adds the headers that the step brings, and the key that makes repeats known.
fn finish(
    built: &mut Request,
    call: &StepCall,
    loaded: &Loaded,
    command: &Command,
    key: &str,
) -> Result<(), Problem> {
    for (name, value) in &call.headers {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        built.set_header(name, &text).map_err(|fault| problems::of_misuse(command, &[fault]))?;
    }
    if key.is_empty() || !is_write(command) {
        return Ok(());
    }
    let name = match &loaded.record.options.idempotency {
        Idempotency::Unsaid => "Idempotency-Key",
        Idempotency::Header(name) => name,
        Idempotency::Off => return Ok(()),
    };
    let given = built.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    if !given {
        built.headers.push((name.to_owned(), key.to_owned()));
    }
    Ok(())
}

/// An answer that is an error is a failure.
fn judged(
    built: &Request,
    answer: Answer,
    duration_ms: u64,
    asked: impl FnOnce() -> Option<u64>,
) -> Outcome {
    if answer.status < 400 {
        return Outcome::Answered { answer, duration_ms };
    }
    let request = format!("{} {}", built.method.name(), built.path_template);
    let body = match &answer.output {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let excerpt: String = body.chars().take(EXCERPT).collect();
    let message = format!("`{request}` answered {}", answer.status);
    let hint = match answer.status {
        500.. | 429 => "resume when it answers again; what succeeded is kept",
        _ => "look at the answer, correct what is sent, then resume",
    };
    let failure = Failure::new(Code::UpstreamRejected, message, hint)
        .with("status", answer.status)
        .with("body", excerpt);
    let trouble = Trouble::Status(answer.status);
    Outcome::Failed { failure, trouble, unsent: false, retry_after_ms: asked() }
}

/// A failure names the command that failed.
fn told_by(command: &Command, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed { failure, trouble, unsent, retry_after_ms } => {
            let failure = failure.with("command", command.id.to_string());
            Outcome::Failed { failure, trouble, unsent, retry_after_ms }
        }
        answered @ Outcome::Answered { .. } => answered,
    }
}

fn failed(error: &CallError, command: &Command) -> Outcome {
    let problem = problems::of_call(error).context("command", command.id.to_string());
    let trouble = match error {
        CallError::Auth(_) => Trouble::Unsendable,
        CallError::Send(error) => match &error.fault {
            Fault::Timeout { .. } => Trouble::Timeout,
            fault if fault.is_passing() => Trouble::Network,
            _ => Trouble::Unsendable,
        },
    };
    let unsent = error.certainly_not_sent();
    Outcome::Failed { failure: failure(&problem), trouble, unsent, retry_after_ms: None }
}

fn unsendable(problem: &Problem) -> Outcome {
    let trouble = Trouble::Unsendable;
    Outcome::Failed { failure: failure(problem), trouble, unsent: true, retry_after_ms: None }
}

fn asked_pause(response: &Response) -> Option<u64> {
    match Tried::of(&Ok(response.clone())) {
        Tried::Answered { retry_after, .. } => {
            retry_after.map(|asked| u64::try_from(asked.as_millis()).unwrap_or(u64::MAX))
        }
        Tried::Failed { .. } => None,
    }
}
