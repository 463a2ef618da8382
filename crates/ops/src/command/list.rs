//! `command.list`: finds commands by what they do.

use milepost_catalog::command::Method;
use milepost_model::suggest;

use super::view::{CommandDetails, CommandSummary, full, short};
use crate::command_index::IndexEntry;
use crate::prelude::*;

/// What to look for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What the command does, or its name.
    pub query: Option<String>,
    /// Only this catalog, by id or title.
    pub catalog: Option<String>,
    /// Only this method.
    pub method: Option<String>,
    /// Level of detail.
    pub detail: Option<Detail>,
    /// `next_cursor` from the previous page.
    pub cursor: Option<String>,
    /// How many, at most 200.
    pub limit: Option<usize>,
}

/// How much of a command to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Names of the command and its arguments.
    Summary,
    /// With schemas.
    Full,
}

/// What was found.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Response {
    /// The number of matches.
    pub total: usize,
    /// Summaries of the best matches, best first.
    pub commands: Vec<CommandSummary>,
    /// The same commands with schemas, if there are few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<CommandDetails>,
    /// Matching workflows, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<MatchingWorkflow>,
    /// Where the next page starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MatchingWorkflow {
    /// `workflow <id>`, as used in a step.
    pub command: String,
    /// Its title.
    pub title: String,
}

operation! {
    /// Finds commands.
    ListCommands: "command.list", "Find commands", include_str!("list.md");
    doors: [Door::Tool(Tool::CORE), Door::Command("command search")];
    run: list_commands(Reader, Request) -> Response;
    example: {"query": "create an order"};
}

async fn list_commands(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let method = request.method.as_deref().map(method).transpose()?;
    let from = request.cursor.as_deref().map(cursor).transpose()?.unwrap_or(0);
    let limit = request.limit.unwrap_or(limits::COMMANDS_PAGE).clamp(1, limits::COMMANDS_PAGE_MAX);
    let group = request.catalog.as_deref().map(|which| reader.shelf.record(which));
    let group = group.transpose()?.map(|record| record.id.to_string());
    let finder = reader.finder()?;
    let found = finder.find(request.query.as_deref(), group.as_deref(), method);
    let page = found.iter().skip(from).take(limit);
    let whole = match request.detail {
        Some(detail) => detail == Detail::Full,
        None => found.len() <= limits::COMMANDS_DETAILED,
    };
    let next_cursor = (from + limit < found.len()).then(|| (from + limit).to_string());
    let mut response = Response { total: found.len(), next_cursor, ..Response::default() };
    for one in page {
        match *one {
            IndexEntry::Command(catalog, row) => {
                let loaded = &finder.loaded[catalog];
                let group = loaded.record.id.as_str();
                response.commands.push(short(group, &loaded.table.rows[row]));
                if whole {
                    // A command whose document is broken gets only a summary.
                    let Ok(prepared) = loaded.prepared(row) else { continue };
                    response.details.push(full(prepared.command(), &loaded.table.providers));
                }
            }
            IndexEntry::Workflow(number) => {
                let (id, title, _) = &finder.workflows[number];
                let (command, title) = (format!("workflow {id}"), title.clone());
                response.workflows.push(MatchingWorkflow { command, title });
            }
        }
    }
    // Details that were not requested must not flood the response.
    let bytes = serde_json::to_string(&response.details).map_or(0, |text| text.len());
    if request.detail.is_none() && bytes > limits::COMMANDS_DETAIL_BYTES {
        response.details.clear();
    }
    Ok(response)
}

fn method(text: &str) -> Result<Method> {
    Method::parse(text).ok_or_else(|| {
        let message = format!("`{}` is not an HTTP method", suggest::excerpt(text));
        Problem::new(Code::ParamsInvalid, message, "use GET, POST, PUT, PATCH or DELETE")
    })
}

pub(crate) fn cursor(text: &str) -> Result<usize> {
    text.parse().map_err(|_| {
        let hint = "use the `next_cursor` from the previous response, or omit the cursor";
        Problem::new(Code::ParamsInvalid, "the cursor is not valid", hint)
    })
}
