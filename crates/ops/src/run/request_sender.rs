//! How a run reaches external systems: the requests of its steps, each prepared and sent once.
//!
//! Retries are up to the engine; nothing is retried here.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost_catalog::command::{ApiCommand, Method};
use milepost_catalog::request::{Arguments, Payload, PreparedCommand, Request};
use milepost_driver::clock::{monotonic, now_ms};
use milepost_engine::command::StepCall;
use milepost_engine::effect_bound::{EffectBound, is_read};
use milepost_engine::event::{CallAnswer, CallExtras, RunCreated};
use milepost_engine::interpreter::{AttemptOutcome, PreparedCall, WorldView};
use milepost_engine::ports::{
    BoxFuture, ChildRun, OpenWorld, OutgoingRequest, PreparedRun, RequestSender, RunContext,
    WorldPin, WorldResult,
};
use milepost_engine::world::MissingWorld;
use milepost_engine::{Failure, FailureKind};
use milepost_mock::{Mock, MockRequest, MockSettings, MockSource};
use milepost_model::document::hex;
use milepost_model::id::RunId;
use milepost_model::secret::{Mask, Secret, known_secrets};
use milepost_model::workflow::Workflow;
use milepost_outbound::{
    ApiResponse, CallError, CallRetry, Outgoing, Oversize, RequestPermit, Response, SendFault,
    SendOptions as Transfer,
};
use milepost_store::SealedInputs;
use milepost_store::catalogs::Idempotency;
use milepost_store::secrets::SecretName;
use sha2::{Digest, Sha256};
use url::Url;

use super::call_extras::UsedFiles;
use super::errors::failure_of;
use super::secret_placeholders::SecretPlaceholders;
use super::world::{OpenedWorld, VersionChoice, WorldCache};
use super::{effect_bound, next_action, prepare, sent_request, world};
use crate::author::builtin_command::BuiltinCommand;
use crate::catalog_cache::LoadedCatalog;
use crate::catalog_client;
use crate::command;
use crate::command::answer::{self, AnswerBody};
use crate::framework::AgentCaller;
use crate::inputs;
use crate::prelude::*;
use crate::trust::{self, KnownSecrets, WantedSecret};

/// The caller who started a run.
async fn starter_of(writer: &Writer, run: &RunId) -> Result<AgentCaller> {
    let first = writer.reader.runs().snapshot(run).await.or_problem()?;
    Ok(super::starter(&first.state.head.actor))
}

/// The prefix of secret inputs among the names of a run's secrets.
pub(crate) const INPUT: &str = "input:";
/// The prefix of environment variables among the names of a run's secrets.
pub(crate) const ENV: &str = "env:";

/// Sends the requests of runs to the APIs of catalogs.
#[derive(Debug)]
pub(crate) struct CatalogSender {
    pub(crate) place: Arc<OpenedWorld>,
    shared: Arc<Shared>,
}

/// State shared by all worlds of a process.
#[derive(Debug)]
struct Shared {
    worlds: WorldCache,
    /// Secret inputs of runs that this process started or has unsealed.
    inputs: Mutex<HashMap<RunId, BTreeMap<String, Secret>>>,
    /// Encrypted secret inputs, for whichever process drives a run next.
    sealed: SealedInputs,
    mocks: Mutex<HashMap<(RunId, String), Mock>>,
}

impl CatalogSender {
    pub(crate) fn new(writer: Writer) -> CatalogSender {
        let (worlds, inputs) = (WorldCache::new(writer.clone()), Mutex::default());
        let sealed = SealedInputs::of(&writer.reader.locations.data);
        sealed.remove_expired(now_ms());
        let shared = Shared { worlds, inputs, sealed, mocks: Mutex::default() };
        CatalogSender { place: Arc::new(OpenedWorld::live(writer)), shared: Arc::new(shared) }
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.place.writer
    }

    /// The sender for another world.
    fn at(&self, place: Arc<OpenedWorld>) -> Arc<CatalogSender> {
        Arc::new(CatalogSender { place, shared: Arc::clone(&self.shared) })
    }

    /// The sender for the world of a run.
    pub(crate) async fn world_of(
        &self,
        head: &RunCreated,
    ) -> Result<(Arc<CatalogSender>, Option<WorldPin>), MissingWorld> {
        let (place, pin) = self.shared.worlds.open(head).await?;
        Ok((self.at(place), pin))
    }

    /// The sender for the current state of a run's workspace.
    pub(crate) fn live_for(&self, head: &RunCreated) -> Arc<CatalogSender> {
        self.at(Arc::new(self.shared.worlds.live(head)))
    }

    /// The world for a run that is about to start. A child run gets a part of its parent's world.
    pub(crate) fn begins(
        &self,
        writer: &Writer,
        workflow: &Workflow,
        workspace: &str,
    ) -> Arc<OpenedWorld> {
        let world = match self.place.world {
            Some(_) => self.place.part(workflow),
            None => OpenedWorld::newest(writer, workflow),
        };
        self.shared.worlds.keep(workspace, world)
    }

    /// The sender for the same run with different versions of its catalogs and workflows.
    pub(crate) fn moved(&self, workflow: &Workflow, versions: VersionChoice) -> Arc<CatalogSender> {
        self.at(Arc::new(self.place.moved(workflow, versions)))
    }

    /// Keeps the secret inputs of a run in memory for the lifetime of this process.
    pub(crate) fn keep(&self, run: &RunId, secrets: BTreeMap<String, Secret>) {
        if secrets.is_empty() {
            return;
        }
        secrets.iter().for_each(|(name, secret)| known_secrets::register(name, secret));
        let mut inputs = locked(&self.shared.inputs);
        inputs.entry(run.clone()).or_default().extend(secrets);
    }

    /// Encrypts and stores the secret inputs of a run for the process that drives it next. Best
    /// effort: if it fails, the run continues, but the inputs may have to be supplied again.
    pub(crate) fn seal(&self, run: &RunId, given: &BTreeMap<String, Secret>) {
        let Ok(config) = self.writer().reader.config() else { return };
        let days = config.secret_inputs_days.unwrap_or(milepost_store::limits::SECRET_INPUTS_DAYS);
        if given.is_empty() || days == 0 {
            return;
        }
        let now = now_ms();
        let mut all = self.shared.sealed.get(run, now).unwrap_or_default();
        all.extend(given.iter().map(|(name, secret)| (name.clone(), secret.clone())));
        let expires_ms = now.saturating_add(days.saturating_mul(limits::DAY_MS));
        if let Err(error) = self.shared.sealed.put(run, &all, expires_ms) {
            tracing::warn!(%run, %error, "secret inputs are kept in memory only");
        }
    }

    /// A secret input that was given to another process.
    fn unsealed(&self, run: &RunId, input: &str) -> Option<Secret> {
        let opened = self.shared.sealed.get(run, now_ms());
        let all = opened.inspect_err(|error| tracing::warn!(%run, %error, "no secret inputs"));
        let all = all.ok()?;
        let found = all.get(input).cloned();
        self.keep(run, all);
        found
    }

    /// Sends a request once.
    async fn sent(&self, sending: &OutgoingRequest) -> AttemptOutcome {
        match self.attempt(sending).await {
            Ok(AttemptOutcome::Answered { mut answer, duration_ms }) => {
                // A response is data and must not be able to insert a secret where no author did.
                let sealed = SecretPlaceholders(sending.context.nonce.clone());
                if !sealed.names(&answer.output).is_empty() {
                    answer.output = sealed.broken(&answer.output);
                }
                AttemptOutcome::Answered { answer, duration_ms }
            }
            Ok(outcome) => outcome,
            Err(problem) => failed(&problem, FailureKind::Unsendable, true),
        }
    }

    async fn attempt(&self, sending: &OutgoingRequest) -> Result<AttemptOutcome> {
        let OutgoingRequest { context, call, .. } = sending;
        if let Some(errand) = BuiltinCommand::of(&call.command) {
            // Boxed because few calls are built-in commands, and the size of their future would
            // otherwise be added to every future.
            let workflow = context.flow.workflow().id.value.as_str();
            let done = async {
                let starter = starter_of(self.writer(), &context.run).await?;
                Ok(errand.run(self.writer(), &starter, workflow, call).await)
            };
            return Box::pin(done).await;
        }
        if !context.mock
            && let Err(problem) = trust::may_act(&self.writer().reader)
        {
            return Ok(failed(&problem, FailureKind::Withheld, true));
        }
        let wanted = SecretPlaceholders(context.nonce.clone()).names_of(call);
        if let Some(problem) = self.lacks(context, &wanted).filter(|_| !context.mock) {
            return Ok(failed(&problem, FailureKind::Withheld, true));
        }
        let Some(drafted) = self.recorded(sending)? else {
            return Ok(failed(&changed(call), FailureKind::Changed, true));
        };
        let loaded = &drafted.loaded;
        // Disabling a catalog stops the runs that call it.
        self.writer().reader.shelf.command(&call.command)?;
        let (built, mask, files) = match self.built(sending, &drafted, &wanted) {
            Err(problem) if problem.code == Code::SecretNotAllowed => {
                return Ok(failed(&problem, FailureKind::Withheld, true));
            }
            built => built?,
        };
        if let Some(approved) = &sending.approved
            && !approved.still(&self.extras_with(context, call, &drafted, files))
        {
            return Ok(failed(&changed(call), FailureKind::Changed, true));
        }
        let request = catalog_client::outgoing(&built);
        // Nothing after this changes what the request does.
        let effect = effect_bound::effect(&request, &drafted.base, &built.path_template);
        let refused = effect_bound::outside(context.bound.as_deref(), &request);
        let catalog = loaded.record.id.as_str();
        let denied = || effect_bound::denied(&self.writer().reader, catalog, &effect);
        if let Some(problem) = refused.map_or_else(denied, |problem| Ok(Some(problem)))? {
            return Ok(failed(&problem, FailureKind::Unsendable, true));
        }
        if context.mock {
            return self.mocked(context, loaded, &built, &request);
        }
        self.transferred(sending, &drafted, &built, &request, (mask, &wanted)).await
    }

    /// Sends a finished request, which carries these secrets.
    async fn transferred(
        &self,
        sending: &OutgoingRequest,
        drafted: &DraftedRequest,
        built: &Request,
        request: &Outgoing,
        (mask, carried): (Mask, &[String]),
    ) -> Result<AttemptOutcome> {
        let (call, command) = (&sending.call, drafted.prepared.command());
        let timeout = Duration::from_millis(call.timeout_ms);
        // The timeout starts here, so it includes the time to obtain credentials.
        let permit = permit(sending, timeout);
        let sender = command::run::sender(self.writer(), &drafted.loaded, None)?;
        let own = carried.iter().map(|name| (name.clone(), request.url.origin()));
        let carried = own.chain(sender.credential_places(command)).collect();
        let transfer = Transfer {
            guard: KnownSecrets::guard(self.writer(), carried)?,
            timeout,
            permit: Some(permit),
            oversize: Oversize::Cut,
            mask,
            attempt: sending.attempt,
            ..Transfer::default()
        };
        let called = sender.send(command, request, transfer, &CallRetry::never()).await;
        Ok(match called {
            Ok(called) => match self.answered(built, &called) {
                Ok(outcome) => told_by(command, outcome),
                // The request was sent and answered, but the answer could not be stored. It must
                // not be treated as unsent.
                Err(problem) => failed(&problem, FailureKind::Network, false),
            },
            Err(CallError::Send(error)) if error.fault == SendFault::Lapsed => {
                AttemptOutcome::lapsed()
            }
            Err(error) => not_answered(&error, command),
        })
    }

    /// The recorded request: from the cache, or drafted again. `None` if it would be a different
    /// request now.
    fn recorded(&self, sending: &OutgoingRequest) -> Result<Option<Arc<DraftedRequest>>> {
        if let Some(drafted) = self.place.drafts.find(|known, _| *known == sending.digest) {
            return Ok(Some(drafted));
        }
        let drafted = self.draft(&sending.call)?;
        let is_same = digest(&catalog_client::outgoing(&drafted.built)) == sending.digest;
        Ok(is_same.then(|| Arc::new(drafted)))
    }

    /// Looks up a command in this world.
    pub(super) fn command(&self, text: &str) -> Result<(Arc<LoadedCatalog>, usize)> {
        let catalogs = &self.writer().reader.shelf;
        if let Some(pinned) = catalogs.pinned_command(text) {
            return pinned;
        }
        let found = catalogs.command(text)?;
        match self.place.world {
            None => Ok(found),
            Some(_) => Err(world::came_later(found.0.record.id.as_str())),
        }
    }

    pub(super) fn draft(&self, call: &StepCall) -> Result<DraftedRequest> {
        let (loaded, row) = self.command(&call.command)?;
        DraftedRequest::of(loaded, row, call)
    }

    /// Completes a drafted request with its secrets, files and idempotency key; also returns the
    /// mask that hides the secrets, and the files that were read.
    fn built<'d>(
        &self,
        sending: &OutgoingRequest,
        drafted: &'d DraftedRequest,
        wanted: &[String],
    ) -> Result<(Cow<'d, Request>, Mask, UsedFiles)> {
        let OutgoingRequest { context, call, .. } = sending;
        let DraftedRequest { loaded, prepared, .. } = drafted;
        let (mut mask, mut files) = (Mask::guard(), UsedFiles::default());
        let mut built = Cow::Borrowed(&drafted.built);
        if !wanted.is_empty() {
            let mut values = BTreeMap::new();
            for name in wanted {
                let secret = self.secret(sending, drafted, name)?;
                mask.add(name, &secret);
                values.insert(name.clone(), secret);
            }
            let revealed = SecretPlaceholders(context.nonce.clone()).revealed(call, &values);
            built = Cow::Owned(build(prepared, &drafted.base, &revealed)?);
        }
        if built.body.as_ref().is_some_and(Payload::has_files) {
            let own = built.to_mut();
            if let Some(payload) = own.body.take() {
                let read = |path: &str| -> Result<Vec<u8>> {
                    let contents = self.writer().reader.file(path, &SilentCaller)?;
                    files.add(path, Some(&contents));
                    Ok(contents)
                };
                own.body = Some(payload.with_files(read)?);
            }
        }
        if let Some(header) = keyed(&built, loaded, prepared.command()) {
            built.to_mut().headers.push((header.to_owned(), sending.idempotency_key.clone()));
        }
        Ok((built, mask, files))
    }

    /// The problem if this process lacks a secret of the run that another process may have.
    fn lacks(&self, context: &RunContext, wanted: &[String]) -> Option<Problem> {
        let mut own = wanted.iter().filter_map(|name| self.own(context, name));
        own.find_map(Result::err)
    }

    /// A secret that a run may pass to a child run. A secret from the vault is bound to its
    /// destination and cannot be passed on.
    pub(crate) fn handed(&self, above: &RunContext, name: &str) -> Result<Secret> {
        self.own(above, name).unwrap_or_else(|| {
            let message = format!("the secret `{name}` cannot be passed to another workflow");
            let hint = "let that workflow read it with `secret()`";
            Err(Problem::new(Code::SecretNotFound, message, hint))
        })
    }

    /// A secret that belongs to the run rather than the vault: a given input, or an environment
    /// variable.
    pub(super) fn own(&self, context: &RunContext, name: &str) -> Option<Result<Secret>> {
        let run = &context.run;
        if let Some(variable) = name.strip_prefix(ENV) {
            return Some(self.variable(variable).ok_or_else(|| {
                let message = format!("the variable `{variable}` is not set in this process");
                let resume = next_action::resume(run.as_str());
                let hint = Hint::text("set it, then continue with ").call(resume);
                Problem::new(Code::SecretNotFound, message, hint)
            }));
        }
        let input = name.strip_prefix(INPUT)?;
        let inputs = locked(&self.shared.inputs);
        let given = inputs.get(run).and_then(|own| own.get(input)).cloned();
        drop(inputs);
        let known = given.or_else(|| {
            let workflow = context.flow.workflow();
            match context.defaulted.iter().any(|name| name == input) {
                true => inputs::secret_default(&self.writer().reader, workflow, input),
                false => self.unsealed(run, input),
            }
        });
        Some(known.ok_or_else(|| {
            let message = format!("the secret input `{input}` was given to another process");
            let hint =
                Hint::text("continue with ").person(next_action::resume_with(run.as_str(), input));
            Problem::new(Code::SecretNotFound, message, hint)
        }))
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        let config = self.writer().reader.live_config().ok()?;
        let name = config.env_allow.iter().find(|allowed| *allowed == name)?;
        let variable = self.writer().variable(name).map(Secret::new)?;
        known_secrets::register(name, &variable);
        Some(variable)
    }

    fn secret(
        &self,
        sending: &OutgoingRequest,
        drafted: &DraftedRequest,
        name: &str,
    ) -> Result<Secret> {
        let OutgoingRequest { context, call, .. } = sending;
        if context.mock {
            // A mock answers in this process, so nobody needs the secret itself.
            return Ok(Secret::new(limits::MOCK_SECRET));
        }
        if let Some(own) = self.own(context, name) {
            return own;
        }
        let parsed = SecretName::parse(name).map_err(|_| {
            let message = format!("`{name}` is not a valid secret name");
            let hint = Hint::text("see ").call(Invocation::of("secret.list"));
            Problem::new(Code::SecretNotFound, message, hint)
        })?;
        // What counts is where the request goes: an operation may have a server of its own.
        let origin = drafted.built.url.origin();
        let secret = self.writer().vault()?.get_for(&parsed, &origin).or_problem()?;
        let command = drafted.prepared.command().id.to_string();
        let wanted = WantedSecret { name: &parsed, command: &command, origin: &origin };
        wanted.check(self.writer(), call, &SecretPlaceholders(context.nonce.clone()))?;
        Ok(secret)
    }

    fn answered(&self, built: &Request, called: &ApiResponse) -> Result<AttemptOutcome> {
        let response = &called.response;
        let mut notes: Vec<String> = built.notes.iter().map(ToString::to_string).collect();
        if response.truncated {
            notes.push(format!("the response was truncated after {} bytes", response.body.len()));
        }
        let output = match answer::body(response, &mut notes) {
            AnswerBody::Nothing => Value::Null,
            AnswerBody::Json(value) => value,
            AnswerBody::Text(text) => Value::String(text),
            AnswerBody::Binary(bytes) => {
                let path = self.writer().keep_blob(&bytes)?;
                json!({"file": path.display().to_string(), "bytes": bytes.len()})
            }
        };
        let headers = answer::headers(response);
        let answer = CallAnswer { output, status: response.status, headers, notes };
        let duration_ms = u64::try_from(response.elapsed.as_millis()).unwrap_or(u64::MAX);
        let mut outcome = judged(built, answer, duration_ms, || asked_pause(response));
        if called.token_refused
            && let AttemptOutcome::Failed { trouble, .. } = &mut outcome
        {
            *trouble = FailureKind::TokenRefused;
        }
        Ok(outcome)
    }

    /// The response of the catalog's mock; each run has its own mock.
    fn mocked(
        &self,
        context: &RunContext,
        loaded: &Arc<LoadedCatalog>,
        built: &Request,
        request: &Outgoing,
    ) -> Result<AttemptOutcome> {
        let mut mocks = locked(&self.shared.mocks);
        let catalog = loaded.record.id.clone();
        let key = (context.run.clone(), catalog.to_string());
        let mock = match mocks.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let rows = loaded.table.rows.clone();
                let operations = MockSource { api: loaded.api()?, rows, catalog };
                let settings = MockSettings { lenient_ids: true, ..MockSettings::default() };
                free.insert(Mock::new(operations, settings))
            }
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
        let told = CallAnswer { output, status: answer.status, headers, notes };
        Ok(judged(built, told, 0, || None))
    }

    fn prepared(&self, call: &StepCall) -> Result<PreparedCall> {
        if let Some(errand) = BuiltinCommand::of(&call.command) {
            return Ok(PreparedCall {
                digest: hex(&Sha256::digest(call.arguments().to_string())),
                request: call.command.clone(),
                write: errand.writes(),
                repeatable: errand.may_repeat(),
                ..PreparedCall::default()
            });
        }
        let drafted = Arc::new(self.draft(call)?);
        let (built, command) = (&drafted.built, drafted.prepared.command());
        // Shows only the path template, because the arguments are shown separately and one may be a
        // secret.
        let (method, path) = (built.method.name(), &built.path_template);
        let whole = drafted.base.as_str().trim_end_matches('/');
        let request = catalog_client::outgoing(built);
        let effect = effect_bound::effect(&request, &drafted.base, &built.path_template);
        let key_header = keyed(built, &drafted.loaded, command);
        let prepared = PreparedCall {
            digest: digest(&request),
            sent: Some(Box::new(sent_request::shown(&request, key_header))),
            request: format!("{method} {path}"),
            target: format!("{method} {whole}{path}"),
            write: !is_read(&effect.method),
            repeatable: call.idempotent.unwrap_or(command.may_repeat),
            effect: Some(effect),
        };
        self.place.drafts.keep(prepared.digest.clone(), drafted);
        Ok(prepared)
    }
}

/// A request as recorded, with everything that went into it, since the catalog may have changed by
/// the time it is sent.
#[derive(Debug)]
pub(crate) struct DraftedRequest {
    pub(super) loaded: Arc<LoadedCatalog>,
    pub(super) prepared: Arc<PreparedCommand>,
    base: Url,
    /// Contains placeholders instead of secrets.
    pub(super) built: Request,
}

impl DraftedRequest {
    fn of(loaded: Arc<LoadedCatalog>, row: usize, call: &StepCall) -> Result<DraftedRequest> {
        let prepared = loaded.prepared(row)?;
        let base = catalog_client::base_of(&loaded, prepared.command())?;
        let built = build(&prepared, &base, call)?;
        Ok(DraftedRequest { loaded, prepared, base, built })
    }
}

/// Builds the request of a step, including the step's own headers.
fn build(prepared: &PreparedCommand, base: &Url, call: &StepCall) -> Result<Request> {
    let command = prepared.command();
    let (with, body) = (call.with.clone(), call.body.clone());
    let files = Some(call.files.clone());
    let built = prepared.build(base, &Arguments { with, body, files, ..Arguments::default() });
    let mut built = built.map_err(|faults| problems::of_misuse(command, &faults))?;
    for (name, value) in &call.headers {
        built
            .set_header(name, &plain_text(value))
            .map_err(|fault| problems::of_misuse(command, &[fault]))?;
    }
    Ok(built)
}

/// The digest that identifies a request.
fn digest(request: &Outgoing) -> String {
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
    hex(&digest.finalize())
}

impl WorldView for CatalogSender {
    fn arrives_within_ms(&self, timeout_ms: u64) -> u64 {
        super::sent_request::arrives_within_ms(timeout_ms)
    }

    fn prepare(&self, call: &StepCall, _mock: bool) -> Result<PreparedCall, Failure> {
        self.prepared(call).map_err(|problem| failure_of(&problem))
    }

    fn bound_of(&self, workflow: &str) -> Option<EffectBound> {
        self.place.bound_of(workflow)
    }

    fn extras(&self, context: &RunContext, call: &StepCall) -> CallExtras {
        self.extras_now(context, call)
    }

    fn child_extras(&self, context: &RunContext, workflow: &str) -> CallExtras {
        self.child_extras_now(context, workflow)
    }

    fn text_of(&self, workflow: &str) -> Option<String> {
        let texts = self.place.texts_below(workflow);
        let own = texts.get(workflow)?.is_some();
        let texts: BTreeMap<&str, Option<&str>> =
            texts.iter().map(|(id, text)| (id.as_str(), text.as_deref())).collect();
        own.then(|| hex(&Sha256::digest(json!(texts).to_string())))
    }

    fn writes(&self, command: &str, _mock: bool) -> Option<bool> {
        if let Some(errand) = BuiltinCommand::of(command) {
            return Some(errand.writes());
        }
        let (loaded, row) = self.command(command).ok()?;
        Some(is_write(loaded.prepared(row).ok()?.command()))
    }

    fn is_signed(&self, person: &str, text: &str, signature: &str) -> bool {
        super::person::is_signed(person, text, signature)
    }
}

impl RequestSender for CatalogSender {
    fn send(&self, sending: OutgoingRequest) -> BoxFuture<'_, AttemptOutcome> {
        Box::pin(async move { self.sent(&sending).await })
    }

    fn prepare_child(&self, child: ChildRun) -> BoxFuture<'_, Result<PreparedRun, Failure>> {
        Box::pin(async move {
            let prepared = prepare::child(self, child).await;
            prepared.map_err(|problem| failure_of(&problem))
        })
    }

    fn open(self: Arc<Self>, head: &RunCreated) -> BoxFuture<'_, WorldResult> {
        Box::pin(async move {
            let (sender, pin) = self.world_of(head).await?;
            Ok(OpenWorld { sender, pin })
        })
    }

    fn forget(&self, run: &RunId) {
        locked(&self.shared.inputs).remove(run);
        if let Err(error) = self.shared.sealed.remove(run) {
            tracing::warn!(%run, %error, "secret inputs remain until they expire");
        }
        let mut mocks = locked(&self.shared.mocks);
        mocks.retain(|(owner, _), _| owner != run);
    }
}

/// The problem when the catalog changed after the request was recorded.
fn changed(call: &StepCall) -> Problem {
    let message = format!("`{}` differs from the recorded request", call.command);
    Problem::new(Code::RunConflict, message, "the step will be planned again")
}

fn is_write(command: &ApiCommand) -> bool {
    !matches!(command.method, Method::Get | Method::Head | Method::Options | Method::Trace)
}

/// The header for the idempotency key of a write, unless the request already sets it.
fn keyed<'l>(built: &Request, loaded: &'l LoadedCatalog, command: &ApiCommand) -> Option<&'l str> {
    if !is_write(command) {
        return None;
    }
    let name = match &loaded.record.options.idempotency {
        Idempotency::Unsaid => "Idempotency-Key",
        Idempotency::Header(name) => name,
        Idempotency::Off => return None,
    };
    let given = built.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    (!given).then_some(name)
}

/// Turns an error status into a failure.
fn judged(
    built: &Request,
    answer: CallAnswer,
    duration_ms: u64,
    asked: impl FnOnce() -> Option<u64>,
) -> AttemptOutcome {
    // Only a read follows redirects; for a write, `303` refers to its result, and the others leave
    // it undone or its outcome open.
    let is_redirected = matches!(answer.status, 301 | 302 | 307 | 308);
    if answer.status < 400 && !is_redirected {
        return AttemptOutcome::Answered { answer, duration_ms };
    }
    let request = format!("{} {}", built.method.name(), built.path_template);
    let body = match &answer.output {
        Value::Null => String::new(),
        output => plain_text(output),
    };
    let excerpt = known_secrets::beginning(&body, limits::FAILURE_BODY_CHARS);
    let target = answer.headers.get("location").and_then(Value::as_str);
    let message = match target.filter(|_| is_redirected) {
        Some(target) => {
            format!("`{request}` was redirected to `{target}`; the redirect was not followed")
        }
        None => format!("`{request}` returned status {}", answer.status),
    };
    let hint = match answer.status {
        300..400 => "if that address is right, set it as the base URL of the catalog",
        500.. | 429 => "resume when the API is available again; completed steps are kept",
        _ => "check the response, correct the request, then resume",
    };
    let failure = Failure::new(Code::UpstreamRejected, message, hint)
        .with("status", answer.status)
        .with("body", excerpt);
    let trouble = FailureKind::Status(answer.status);
    AttemptOutcome::Failed { failure, trouble, unsent: false, retry_after_ms: asked() }
}

/// Adds the name of the command to a failure.
fn told_by(command: &ApiCommand, outcome: AttemptOutcome) -> AttemptOutcome {
    match outcome {
        AttemptOutcome::Failed { failure, trouble, unsent, retry_after_ms } => {
            let failure = failure.with("command", command.id.to_string());
            AttemptOutcome::Failed { failure, trouble, unsent, retry_after_ms }
        }
        answered @ AttemptOutcome::Answered { .. } => answered,
    }
}

/// Lets a request start only while this process owns the run, and continue only until its timeout.
/// The deadline is checked explicitly, because other work may run before the timer fires when a
/// suspended process resumes.
fn permit(sending: &OutgoingRequest, timeout: Duration) -> RequestPermit {
    let (own, until) = (sending.permit.clone(), monotonic() + timeout);
    RequestPermit::new(move || own.holds(), move || monotonic() < until)
}

fn not_answered(error: &CallError, command: &ApiCommand) -> AttemptOutcome {
    let problem = problems::of_call(error).context("command", command.id.to_string());
    let trouble = match error {
        CallError::Auth(_) => FailureKind::Unsendable,
        CallError::Send(error) => match &error.fault {
            SendFault::Timeout { .. } => FailureKind::Timeout,
            fault if fault.is_passing() => FailureKind::Network,
            _ => FailureKind::Unsendable,
        },
    };
    failed(&problem, trouble, error.certainly_not_sent())
}

fn failed(problem: &Problem, trouble: FailureKind, unsent: bool) -> AttemptOutcome {
    AttemptOutcome::failed(failure_of(problem), trouble, unsent)
}

fn asked_pause(response: &Response) -> Option<u64> {
    response.retry_after().map(|asked| u64::try_from(asked.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::path::Path;

    use milepost_model::pinned;
    use milepost_store::Locations;
    use milepost_store::secrets::Environment;

    use milepost_engine::ports::SendPermit;

    use super::*;
    use crate::catalog::import::ImportOpenApi;
    use crate::framework::Operation;
    use crate::reader::Reader;

    struct Person;

    impl crate::framework::Caller for Person {
        fn progress(&self, _: &str) {}

        fn warn(&self, _: &str) {}

        fn ask(&self, _: &str) -> Option<bool> {
            None
        }

        fn cancelled(&self) -> bool {
            false
        }

        fn kind(&self) -> crate::framework::CallerKind {
            crate::framework::CallerKind::Person
        }
    }

    /// A server that answers one request with its name.
    fn serve(name: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a request");
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).expect("is read");
            let length = name.len() + 2;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n\r\n\"{name}\""
            );
            stream.write_all(answer.as_bytes()).expect("is answered");
        });
        format!("http://{address}")
    }

    async fn import(writer: &Writer, home: &Path, base: &str) {
        let path = home.join("shop.json");
        let document = json!({
            "openapi": "3.1.0",
            "info": {"title": "Shop", "version": base},
            "paths": {"/items": {"get": {
                "operationId": "listItems",
                "tags": ["items"],
                "responses": {"200": {"description": "Items"}},
            }}},
        });
        std::fs::write(&path, document.to_string()).expect("is written");
        let request = json!({"source": path, "base_url": base, "overwrite": true});
        let request = serde_json::from_value(request).expect("a request");
        ImportOpenApi::run(writer, &Person, request).await.expect("is imported");
    }

    /// Importing a catalog again while a request is being recorded does not redirect that request.
    #[tokio::test]
    async fn what_is_sent_is_what_was_written_down() {
        let home = tempfile::tempdir().expect("a folder");
        let variable = |name: &str| (name == "HOME").then(|| home.path().display().to_string());
        let working = home.path().join("work");
        std::fs::create_dir(&working).expect("is made");
        let locations = Locations::resolve(&variable, &working);
        let writer = Writer::open(Reader::open(locations), Environment::default());
        import(&writer, home.path(), &serve("old")).await;
        let caller = CatalogSender::new(writer.clone());
        let call = list();
        let before = caller.prepare(&call, false).expect("can be sent");
        import(&writer, home.path(), &serve("new")).await;
        let after = caller.prepare(&call, false).expect("can be sent");
        assert_ne!(before.digest, after.digest);
        for (prepared, from) in [(before, "old"), (after, "new")] {
            match caller.sent(&sending(&call, prepared.digest)).await {
                AttemptOutcome::Answered { answer, .. } => assert_eq!(answer.output, from),
                AttemptOutcome::Failed { failure, .. } => panic!("{failure:?}"),
            }
        }
    }

    fn sending(call: &StepCall, digest: String) -> OutgoingRequest {
        let run = RunId::from_bytes([1; 16]);
        let text = "workflow: w\nsteps: [{id: a, run: shop items:list}]\n";
        let pinned = pinned::decode(text, pinned::LANGUAGE_VERSION).expect("is a workflow");
        let flow = milepost_engine::Flow::of(Arc::new(pinned.workflow));
        let (nonce, defaulted) = ("nonce".to_owned(), Vec::new());
        OutgoingRequest {
            context: RunContext {
                run,
                nonce,
                defaulted,
                flow,
                mock: false,
                presence: milepost_engine::event::Presence::Terminal,
                bound: None,
                reviewed: false,
            },
            call: call.clone(),
            digest,
            approved: None,
            attempt: 1,
            idempotency_key: "run_1/list".to_owned(),
            permit: SendPermit::new(|| true),
        }
    }

    /// A process that did not draft the request drafts it again, and sends it only if it is still
    /// the recorded one.
    #[tokio::test]
    async fn a_request_that_would_be_another_one_is_not_sent() {
        let home = tempfile::tempdir().expect("a folder");
        let variable = |name: &str| (name == "HOME").then(|| home.path().display().to_string());
        let working = home.path().join("work");
        std::fs::create_dir(&working).expect("is made");
        let locations = Locations::resolve(&variable, &working);
        let writer = Writer::open(Reader::open(locations), Environment::default());
        import(&writer, home.path(), &serve("old")).await;
        let call = list();
        let before = CatalogSender::new(writer.clone()).prepare(&call, false).expect("is drafted");
        let next = CatalogSender::new(writer.clone());
        match next.sent(&sending(&call, before.digest.clone())).await {
            AttemptOutcome::Answered { answer, .. } => assert_eq!(answer.output, "old"),
            AttemptOutcome::Failed { failure, .. } => panic!("{failure:?}"),
        }
        import(&writer, home.path(), "http://127.0.0.1:9").await;
        let outcome = next.sent(&sending(&call, before.digest)).await;
        let is_unsent = matches!(
            outcome,
            AttemptOutcome::Failed { trouble: FailureKind::Changed, unsent: true, .. }
        );
        assert!(is_unsent, "{outcome:?}");
    }

    fn list() -> StepCall {
        StepCall {
            command: "shop items:list".to_owned(),
            with: Map::new(),
            body: None,
            headers: Map::new(),
            files: Vec::new(),
            idempotent: None,
            timeout_ms: 5_000,
        }
    }
}
