//! `command.run`: calls a command.

use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::command::{ApiCommand, Method};
use milepost_catalog::pagination::{self, NextPage, PageResponse, PageStep, PageWalk};
use milepost_catalog::request::{self, Arguments};
use milepost_model::secret::Mask;
use milepost_model::wording::Worded;
use milepost_outbound::{ApiResponse, CallRetry, Outgoing, SendOptions};

use super::answer::{self, AnswerBody};
pub use super::asked::{CommandAnswer, CommandOutcome, OutcomeRequest};
use super::draft::CommandDraft;
use crate::catalog_cache::{CachedClient, LoadedCatalog};
use crate::catalog_client::{self, CatalogClient};
use crate::limits::CALL_TIMEOUT_MAX_S;
use crate::masked_values;
use crate::prelude::*;
use crate::trust::{self, KnownSecrets};

/// What to call, and its arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `group name`, or an operationId.
    pub command: String,
    /// Arguments by name, regardless of location; `path.id` or `query.id` if a name is ambiguous.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// The body.
    pub body: Option<Value>,
    /// Shows the exact request, secrets masked, and sends nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// All pages: `true`, or `{"max_items": 100}`.
    pub paginate: Option<Paginate>,
    /// The media type of the body; defaults to the simplest one.
    #[schemars(extend("x-rare" = true))]
    pub content_type: Option<String>,
    /// The media type of the response; default JSON.
    #[schemars(extend("x-rare" = true))]
    pub accept: Option<String>,
    /// The profile whose credentials are used; default `default`.
    #[schemars(extend("x-rare" = true))]
    pub profile: Option<String>,
    /// Timeout in seconds; default 30, at most 600.
    #[schemars(extend("x-rare" = true))]
    pub timeout_s: Option<u64>,
}

/// How many pages to fetch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paginate {
    /// All pages, or only the first.
    All(bool),
    /// As many pages as needed.
    Items {
        /// The maximum number of items.
        max_items: usize,
    },
}

/// The request and the response.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Response {
    /// `group name`.
    pub command: String,
    /// Whether nothing was sent.
    pub dry_run: bool,
    /// The request, secrets masked.
    pub request: RequestView,
    /// The request as a `curl` command, secrets masked; only for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curl: Option<String>,
    /// The status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the status is below 400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Selected response headers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// The response body: JSON or text; the items, if all pages were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The file with the body, if it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_path: Option<String>,
    /// The size of the body in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<usize>,
    /// The number of pages fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<usize>,
    /// Whether the API has more items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<bool>,
    /// The number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Additional notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub notes: Vec<Worded>,
}

/// A request, as shown.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RequestView {
    /// The method.
    pub method: String,
    /// Its URL.
    pub url: String,
    /// Its headers, in order; only for a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HeaderView>,
    /// Its body; only for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeaderView {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

operation! {
    /// Calls a command.
    RunCommand: "command.run", "Call a command", include_str!("run.md");
    doors: [
        Door::Tool(Tool { calls_out: true, destroys: true, ..Tool::CORE }),
        Door::Command("command run"),
    ];
    run: run_command(Writer, Request) -> CommandAnswer;
    loss: loss;
    example: {"command": "shop orders:list", "dry_run": true};
}

/// A person who calls a command is asked before it deletes something. What an agent calls is asked
/// about with the request itself.
async fn loss(writer: &Writer, call: &dyn Caller, request: &Request) -> Result<Option<String>> {
    if call.kind() == CallerKind::Agent {
        return Ok(None);
    }
    let (loaded, row) = writer.reader.shelf.command(&request.command)?;
    let deletes = loaded.table.rows[row].method == Method::Delete && !request.dry_run;
    let spelling = loaded.spelling(row);
    Ok(deletes.then(|| format!("`{spelling}` deletes what its arguments identify")))
}

async fn run_command(
    writer: &Writer,
    call: &dyn Caller,
    request: Request,
) -> Result<CommandAnswer> {
    masked_values::refuse_in_map("with", &request.with)?;
    masked_values::refuse("body", request.body.as_ref())?;
    let called = |response: Response| CommandAnswer::Called(Box::new(response));
    let (loaded, row) = writer.reader.shelf.command(&request.command)?;
    let profile = request.profile.as_deref();
    let calling = match request.dry_run {
        true => CommandCall::unsent(writer, call, &loaded, row, profile)?,
        false => CommandCall::open(writer, call, &loaded, row, profile)?,
    };
    let arguments = arguments(&request);
    if request.dry_run {
        return calling.dry_run(&arguments).map(called);
    }
    let timeout = request.timeout_s.unwrap_or(30);
    if !(1..=CALL_TIMEOUT_MAX_S).contains(&timeout) {
        let message = format!("`timeout_s` cannot be {timeout}");
        let hint = format!("give 1 to {CALL_TIMEOUT_MAX_S} seconds");
        return Err(Problem::new(Code::ParamsInvalid, message, hint));
    }
    let timeout = Duration::from_secs(timeout);
    if let Some(asked) = Box::pin(calling.asked(&loaded, &request, timeout)).await? {
        return Ok(asked);
    }
    let response = match request.paginate {
        None | Some(Paginate::All(false)) => calling.once(&arguments, timeout).await,
        Some(Paginate::All(true)) => calling.pages(arguments, timeout, None).await,
        Some(Paginate::Items { max_items: 0 }) => Err(Problem::new(
            Code::ParamsInvalid,
            "`max_items` is 0",
            "give a number greater than 0",
        )),
        Some(Paginate::Items { max_items }) => {
            calling.pages(arguments, timeout, Some(max_items)).await
        }
    };
    response.map(called)
}

/// The arguments of a call.
pub(crate) fn arguments(request: &Request) -> Arguments {
    Arguments {
        with: request.with.clone(),
        body: request.body.clone(),
        content_type: request.content_type.clone(),
        accept: request.accept.clone(),
        files: None,
    }
}

/// A catalog's client: cached for the default profile, otherwise new. A catalog that a run is
/// pinned to may have changed, but the private hosts that it may call and the folder's trust are
/// always the current ones.
pub(crate) fn sender(
    writer: &Writer,
    loaded: &Arc<LoadedCatalog>,
    profile: Option<&str>,
) -> Result<Arc<CatalogClient>> {
    trust::may_act(&writer.reader)?;
    let name = crate::catalog::auth::profile(profile)?;
    let config = writer.reader.live_config()?;
    trust::may_call(&config, loaded)?;
    let live = writer.reader.shelf.known(&loaded.record.id)?;
    let live = live.ok_or_else(|| problems::no_catalog(loaded.record.id.as_str(), None))?;
    let open = || CatalogClient::open(loaded, &live, &config, Some(writer.vault()?), &name);
    if profile.is_some() {
        return Ok(Arc::new(open()?));
    }
    let mut kept = locked(&loaded.sender);
    if let Some(one) = kept.as_ref()
        && Arc::ptr_eq(&one.config, &config)
        && (Arc::ptr_eq(&one.live, &live) || one.live.allow_private == live.allow_private)
    {
        return Ok(Arc::clone(&one.client));
    }
    let client = Arc::new(open()?);
    *kept = Some(CachedClient { live, config, client: Arc::clone(&client) });
    Ok(client)
}

pub(crate) struct CommandCall<'a> {
    pub(crate) writer: &'a Writer,
    pub(crate) call: &'a dyn Caller,
    draft: CommandDraft,
    /// The location of the list in a response, if specified.
    pub(crate) list_at: Option<String>,
}

impl<'a> CommandCall<'a> {
    /// Prepares a call to a catalog command.
    pub(crate) fn open(
        writer: &'a Writer,
        call: &'a dyn Caller,
        loaded: &Arc<LoadedCatalog>,
        row: usize,
        profile: Option<&str>,
    ) -> Result<CommandCall<'a>> {
        trust::ensure(writer, call, &[(Arc::clone(&loaded.record), loaded.document_hash()?)])?;
        let sender = sender(writer, loaded, profile)?;
        let draft = CommandDraft::of(loaded, row, sender)?;
        Ok(CommandCall { writer, call, draft, list_at: None })
    }

    /// Like [`CommandCall::open`], for a call that is only shown.
    fn unsent(
        writer: &'a Writer,
        call: &'a dyn Caller,
        loaded: &Arc<LoadedCatalog>,
        row: usize,
        profile: Option<&str>,
    ) -> Result<CommandCall<'a>> {
        let draft = CommandDraft::unsent(&writer.reader, loaded, row, profile)?;
        Ok(CommandCall { writer, call, draft, list_at: None })
    }

    pub(crate) fn base(&self) -> &url::Url {
        self.draft.base()
    }

    pub(crate) fn command(&self) -> &ApiCommand {
        self.draft.command()
    }

    pub(crate) fn build(&self, arguments: &Arguments) -> Result<request::Request> {
        self.draft.build(&self.writer.reader, self.call, arguments)
    }

    fn dry_run(&self, arguments: &Arguments) -> Result<Response> {
        let drawn = self.draft.drawn(self.build(arguments)?)?;
        let mut response = self.response(drawn.shown, true);
        response.curl = Some(drawn.curl);
        response.notes = drawn.notes.into_iter().map(Worded::from).collect();
        match self.draft.sender.can_authenticate(self.command()) {
            Ok(secrets) => {
                response.notes.extend(self.unready(&secrets)?.into_iter().map(Worded::from));
            }
            Err(problem) => {
                let note = Hint::text(format!("{} — ", problem.message)).and(problem.hint);
                response.notes.push(note.into());
            }
        }
        Ok(response)
    }

    /// A warning for each secret that the call needs but would not get.
    fn unready(&self, secrets: &[String]) -> Result<Vec<String>> {
        if secrets.is_empty() {
            return Ok(Vec::new());
        }
        let kept = self.writer.vault()?.list().or_problem()?;
        let origin = self.draft.sender.base.origin().ascii_serialization();
        let told = secrets.iter().filter_map(|name| {
            let Some(entry) = kept.iter().find(|entry| entry.name.as_str() == name) else {
                return Some(format!("the secret `{name}` is not set: the call would fail"));
            };
            let bound = entry.origin.as_ref().filter(|bound| **bound != origin)?;
            Some(format!("the secret `{name}` may only be sent to {bound}: the call would fail"))
        });
        Ok(told.collect())
    }

    async fn once(&self, arguments: &Arguments, timeout: Duration) -> Result<Response> {
        let built = self.build(arguments)?;
        let request = catalog_client::outgoing(&built);
        let called = self.send(&request, timeout).await?;
        let mut response = self.response(called_as(&request, &called.mask), false);
        response.notes = built.notes.iter().map(|note| note.to_string().into()).collect();
        self.fill(&mut response, &called)?;
        Ok(response)
    }

    pub(crate) async fn pages(
        &self,
        mut arguments: Arguments,
        timeout: Duration,
        max_items: Option<usize>,
    ) -> Result<Response> {
        let detected = pagination::detect(self.command());
        let is_said = detected.is_some();
        // If the document does not describe paging, the response may still have a `Link` header.
        let scheme = detected.unwrap_or(pagination::PagingScheme::Link);
        let mut walk = PageWalk::new(None, max_items);
        let mut request = catalog_client::outgoing(&self.build(&arguments)?);
        let mut items: Vec<Value> = Vec::new();
        let mut pages = 0;
        loop {
            let called = self.send(&request, timeout).await?;
            let mut response = self.response(called_as(&request, &called.mask), false);
            self.fill(&mut response, &called)?;
            pages += 1;
            let body = response.body.take().unwrap_or_default();
            if response.ok != Some(true) {
                response.body = Some(body);
                return Ok(response);
            }
            let at = self.list_at.clone().or_else(|| pagination::items(&body));
            let found = at.and_then(|at| body.pointer(&at)?.as_array().cloned());
            let Some(found) = found else {
                response.body = Some(body);
                response.notes.push("the response contains no list".to_owned().into());
                return Ok(response);
            };
            let wanted = walk.wanted();
            let answer =
                PageResponse { url: &request.url, headers: &called.response.headers, body: &body };
            let step = walk.step(&scheme, &arguments, &answer);
            let cut = found.len() > wanted;
            items.extend(found.into_iter().take(wanted));
            self.call.progress(&format!("page {pages}, items so far: {}", items.len()));
            let more = match step {
                Ok(PageStep::More(next)) if !cut && !self.call.cancelled() => {
                    request = self.next(&mut arguments, request, next)?;
                    continue;
                }
                Ok(PageStep::End) => cut,
                Ok(PageStep::Full | PageStep::More(_)) => true,
                Err(stuck) => {
                    response.notes.push(stuck.to_string().into());
                    true
                }
            };
            if !is_said && pages == 1 {
                let note = "neither the document nor the response describes how this list is paged";
                response.notes.push(note.to_owned().into());
            }
            response.body = Some(Value::Array(items));
            response.pages = Some(pages);
            response.more = Some(more);
            return Ok(response);
        }
    }

    fn next(
        &self,
        arguments: &mut Arguments,
        mut request: Outgoing,
        next: NextPage,
    ) -> Result<Outgoing> {
        match next {
            NextPage::With { name, value } => {
                arguments.with.insert(name, value);
                Ok(catalog_client::outgoing(&self.build(arguments)?))
            }
            NextPage::Url(url) => {
                request.url = url;
                Ok(request)
            }
        }
    }

    async fn send(&self, request: &Outgoing, timeout: Duration) -> Result<ApiResponse> {
        let (command, retry) = (self.command(), CallRetry::of(self.command().may_repeat));
        let credentials = self.draft.sender.credential_places(command);
        let guard = KnownSecrets::guard(self.writer, credentials)?;
        let sending = SendOptions { timeout, guard, ..SendOptions::default() };
        let called = self.draft.sender.send(command, request, sending, &retry).await;
        called.map_err(|error| problems::of_call(&error).context("command", command.id.to_string()))
    }

    fn response(&self, request: RequestView, dry_run: bool) -> Response {
        let command = self.command().id.to_string();
        Response { command, dry_run, request, ..Response::default() }
    }

    fn fill(&self, response: &mut Response, called: &ApiResponse) -> Result<()> {
        let answer = &called.response;
        response.status = Some(answer.status);
        response.ok = Some(answer.status < 400);
        response.headers = answer::headers(answer);
        response.attempts = Some(called.attempts);
        let elapsed = u64::try_from(answer.elapsed.as_millis());
        response.duration_ms = Some(elapsed.unwrap_or(u64::MAX));
        let mut notes = Vec::new();
        let body = answer::body(answer, &mut notes);
        response.notes.extend(notes.into_iter().map(Worded::from));
        match body {
            AnswerBody::Nothing => {}
            AnswerBody::Json(value) => response.body = Some(value),
            AnswerBody::Text(text) => response.body = Some(Value::from(text)),
            AnswerBody::Binary(bytes) => {
                response.body_bytes = Some(bytes.len());
                let path = self.writer.keep_blob(&bytes)?;
                response.body_path = Some(path.display().to_string());
            }
        }
        Ok(())
    }
}

/// The request that was sent, masked for display.
fn called_as(request: &Outgoing, mask: &Mask) -> RequestView {
    let request = milepost_outbound::masked(request, mask);
    let (method, url) = (request.method, request.url.to_string());
    RequestView { method, url, ..RequestView::default() }
}

/// The problem when a command did not return a list.
pub(crate) fn no_list(command: &str) -> Problem {
    let message = format!("`{command}` did not return a list");
    let hint = Hint::text("inspect its response with ").call(Invocation::of("command.run"));
    Problem::new(Code::UpstreamFailed, message, hint)
}
