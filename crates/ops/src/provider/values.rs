//! `provider.values`: the choices for a parameter, fetched from the API.

use std::time::Duration;

use milepost_catalog::provider::InferredProvider;
use milepost_catalog::request::Arguments;

use crate::command::list::cursor;
use crate::command::run::{CommandCall, no_list};
use crate::inputs::resolve_inputs::{self, ResolveInputs};
use crate::masked_values;
use crate::prelude::*;

/// Which choices to fetch.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// As listed by `provider.list`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Or a workflow, with `input`.
    pub workflow_id: Option<String>,
    /// Its input.
    pub input: Option<String>,
    /// The item field with the value, if the provider has several.
    #[schemars(extend("x-rare" = true))]
    pub value_field: Option<String>,
    /// Arguments by name, or the workflow's other inputs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// Only choices whose value or label contains this.
    pub query: Option<String>,
    /// `next_cursor` from the previous page.
    pub cursor: Option<String>,
    /// How many, at most 1,000.
    #[schemars(extend("x-rare" = true))]
    pub limit: Option<usize>,
    /// The profile whose credentials are used; default `default`.
    #[schemars(extend("x-rare" = true))]
    pub profile: Option<String>,
    /// Seconds for which a cached response may be reused; default 60.
    #[schemars(extend("x-rare" = true))]
    pub cache_ttl_sec: Option<u64>,
}

/// The choices.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The provider.
    pub provider: String,
    /// In the API's order.
    pub choices: Vec<ProviderChoice>,
    /// Where the next page starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Whether the API has more items than were fetched.
    pub more: bool,
}

/// A selectable value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProviderChoice {
    /// The value.
    pub value: Value,
    /// A human-readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

operation! {
    FetchChoices: "provider.values", "Fetch choices", include_str!("values.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::FULL }), Door::Command("command choices")];
    run: fetch_choices(Writer, Request) -> Response;
    example: {"provider": "shop orders:list"};
}

async fn fetch_choices(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    masked_values::refuse_in_map("args", &request.args)?;
    match (&request.workflow_id, &request.input) {
        (Some(workflow), Some(input)) if request.provider.is_empty() => {
            return of_input(writer, call, workflow, input, &request).await;
        }
        (None, None) if !request.provider.is_empty() => {}
        _ => return Err(unnamed()),
    }
    let (loaded, row) = writer.reader.shelf.command(&request.provider)?;
    let spelling = loaded.spelling(row);
    let name = &loaded.table.rows[row].name;
    let provider = loaded.table.providers.iter().find(|provider| {
        provider.command == *name
            && request.value_field.as_ref().is_none_or(|field| provider.value_field == *field)
    });
    let Some(provider) = provider else { return Err(no_provider(&spelling)) };
    let ttl = Duration::from_secs(request.cache_ttl_sec.unwrap_or(60));
    let key = format!("{spelling}\n{:?}\n{}", request.profile, Value::from(request.args.clone()));
    let fetched = if let Some(fetched) = writer.choices.recent(&key, ttl) {
        fetched
    } else {
        let profile = request.profile.as_deref();
        let calling = CommandCall::open(writer, call, &loaded, row, profile)?;
        writer.choices.put(key, fetch(&calling, request.args.clone()).await?)
    };
    let choices = chosen(&fetched.items, provider, request.query.as_deref());
    page(spelling, choices, fetched.more, &request)
}

/// The page of choices that a request selects.
fn page(
    provider: String,
    choices: Vec<ProviderChoice>,
    more: bool,
    request: &Request,
) -> Result<Response> {
    let from = request.cursor.as_deref().map(cursor).transpose()?.unwrap_or(0);
    let limit = request.limit.unwrap_or(limits::CHOICES_PAGE).clamp(1, limits::CHOICES_PAGE_MAX);
    let left = choices.len().saturating_sub(from);
    Ok(Response {
        provider,
        next_cursor: (left > limit).then(|| (from + limit).to_string()),
        choices: choices.into_iter().skip(from).take(limit).collect(),
        more,
    })
}

/// The choices for a workflow's input, using the provider arguments from the workflow.
async fn of_input(
    writer: &Writer,
    call: &dyn Caller,
    workflow_id: &str,
    input: &str,
    request: &Request,
) -> Result<Response> {
    let wish = resolve_inputs::Request {
        workflow_id: Some(workflow_id.to_owned()),
        partial_inputs: request.args.clone(),
        all_choices: true,
        ..resolve_inputs::Request::default()
    };
    let about = |problem: Problem| problem.context("workflow_id", workflow_id);
    let mut resolved = ResolveInputs::run(writer, call, wish).await?;
    let Some(provided) = resolved.providers.remove(input) else {
        let message = format!("input `{input}` of `{workflow_id}` has no provider");
        let inputs = Invocation::of("workflow.preview_inputs").with("workflow_id", workflow_id);
        let hint = Hint::text("see ").call(inputs).then(" for its inputs");
        return Err(about(Problem::new(Code::ProviderNotFound, message, hint)));
    };
    if let Some(needed) = provided.needs.first().filter(|_| provided.choices.is_empty()) {
        let message = format!("the choices for input `{input}` need `{needed}`");
        let hint = "give the values of the other inputs in `args`";
        return Err(about(Problem::new(Code::InputInvalid, message, hint)));
    }
    if let Some(message) = provided.message.filter(|_| provided.choices.is_empty()) {
        let hint = "try again when the API is available";
        return Err(about(Problem::new(Code::UpstreamFailed, message, hint)));
    }
    let query = request.query.as_deref();
    let choices = provided.choices.into_iter();
    let choices = choices.map(|one| ProviderChoice { value: one.value, label: one.label });
    let choices = choices.filter(|choice| choice.matches(query)).collect();
    page(provided.provider, choices, provided.more, request)
}

impl ProviderChoice {
    /// Whether the value or label contains the query.
    fn matches(&self, query: Option<&str>) -> bool {
        query.map(str::to_lowercase).is_none_or(|query| {
            plain_text(&self.value).to_lowercase().contains(&query)
                || self.label.as_deref().is_some_and(|it| it.to_lowercase().contains(&query))
        })
    }
}

fn unnamed() -> Problem {
    let hint = "give `provider`, or `workflow_id` and `input`";
    Problem::new(Code::ParamsInvalid, "name exactly one provider", hint)
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FetchedItems {
    pub(crate) items: Vec<Value>,
    pub(crate) more: bool,
}

/// Fetches a list's items, one page at a time.
pub(crate) async fn fetch(
    calling: &CommandCall<'_>,
    args: Map<String, Value>,
) -> Result<FetchedItems> {
    let files = Some(Vec::new());
    let arguments = Arguments { with: args, files, ..Arguments::default() };
    let response =
        calling.pages(arguments, Duration::from_secs(30), Some(limits::CHOICES_FETCHED)).await?;
    let spelling = response.command.clone();
    if response.ok != Some(true) {
        let status = response.status.unwrap_or_default();
        return Err(problems::upstream_status(&spelling, status, response.body.as_ref()));
    }
    let body = response.body.unwrap_or_default();
    let at = milepost_catalog::pagination::items(&body);
    let items = at.and_then(|at| body.pointer(&at)?.as_array().cloned());
    let items = items.ok_or_else(|| no_list(&spelling))?;
    Ok(FetchedItems { items, more: response.more == Some(true) })
}

/// A label for people, on one line.
pub(crate) fn label_of(label: Value) -> String {
    match label {
        Value::String(text) => milepost_catalog::text::line(&text, 200),
        other => other.to_string(),
    }
}

fn chosen(
    items: &[Value],
    provider: &InferredProvider,
    query: Option<&str>,
) -> Vec<ProviderChoice> {
    let field = |item: &Value, field: &str| {
        let at = if field.starts_with('/') { field.to_owned() } else { format!("/{field}") };
        item.pointer(&at).cloned()
    };
    let mut choices: Vec<ProviderChoice> = Vec::new();
    for item in items {
        let Some(value) = field(item, &provider.value_field) else { continue };
        let label = provider.label_field.as_deref().and_then(|name| field(item, name));
        let choice = ProviderChoice { value, label: label.map(label_of) };
        if choice.matches(query) {
            choices.push(choice);
        }
    }
    choices
}

fn no_provider(spelling: &str) -> Problem {
    let message = format!("`{spelling}` provides no choices");
    let hint = Hint::text("see ").call(Invocation::of("provider.list")).then(" for those that do");
    Problem::new(Code::ProviderNotFound, message, hint).context("command", spelling)
}
