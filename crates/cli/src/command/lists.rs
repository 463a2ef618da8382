//! `milepost command search`, `providers` and `choices`.

use milepost_ops::command::list::{self, Detail, ListCommands};
use milepost_ops::command::typed_arguments::{self, TypedArguments};
use milepost_ops::provider::list::{ListProviders, ProviderItem, Request as ProvidersRequest};
use milepost_ops::provider::values::{FetchChoices, Request as ValuesRequest};
use serde_json::Value;

use super::args::{ChoicesArgs, ProvidersArgs, SearchArgs};
use super::{pairs, show_commands};
use crate::failure::CliResult;
use crate::limits;
use crate::session::{CliSession, call};
use crate::terminal::{Terminal, count};

pub(super) fn search(args: &SearchArgs, terminal: &mut Terminal) -> CliResult {
    let query = args.words.join(" ");
    let request = list::Request {
        query: Some(query).filter(|query| !query.trim().is_empty()),
        catalog: args.catalog.clone(),
        method: args.method.clone(),
        // The table does not show schemas.
        detail: (!terminal.is_json()).then_some(Detail::Summary),
        cursor: None,
        limit: args.limit,
    };
    let response = call::<ListCommands>(request, terminal)?;
    terminal.answer(&response, |terminal| show_found(&response, terminal))
}

fn show_found(response: &list::Response, terminal: &mut Terminal) {
    if response.total == 0 {
        return terminal.remark("nothing found; `milepost catalog list` shows what is searched");
    }
    if !response.commands.is_empty() {
        show_commands(&response.commands, terminal);
    }
    if !response.workflows.is_empty() {
        if !response.commands.is_empty() {
            terminal.line("");
        }
        let rows = response.workflows.iter().map(|it| vec![it.command.clone(), it.title.clone()]);
        terminal.table(&["workflow", "title"], rows);
    }
    let shown = response.commands.len() + response.workflows.len();
    if let Some(rest @ 1..) = response.total.checked_sub(shown) {
        let more = count(rest, "more match");
        terminal.remark(format!("note: {more}; add words or use `--limit`"));
    }
    if let Some(first) = response.commands.first() {
        terminal.remark(format!("next: milepost command show {}", first.command));
    }
}

pub(super) fn providers(args: &ProvidersArgs, terminal: &mut Terminal) -> CliResult {
    let (catalog, command) = (args.catalog.clone(), args.command.clone());
    let response = call::<ListProviders>(ProvidersRequest { catalog, command }, terminal)?;
    terminal.answer(&response, |terminal| {
        let Some(first) = response.providers.first() else {
            return terminal.remark("no command provides choices here");
        };
        let headings = ["provider", "value", "confidence", "serves"];
        terminal.table(&headings, response.providers.iter().map(provider_row));
        let mut words = vec![format!("next: milepost command choices {}", first.provider)];
        let given = first.required_parameters.iter();
        words.extend(given.map(|bind| format!("-p {}=…", bind.parameter)));
        terminal.remark(words.join(" "));
    })
}

fn provider_row(item: &ProviderItem) -> Vec<String> {
    let first = item.serves.iter().take(limits::PROVIDER_PARAMETERS);
    let mut serves: Vec<String> =
        first.map(|one| format!("{} {}", one.command, one.parameter)).collect();
    if let Some(rest @ 1..) = item.serves.len().checked_sub(limits::PROVIDER_PARAMETERS) {
        serves.push(format!("{rest} more"));
    }
    vec![
        item.provider.clone(),
        item.value_field.clone(),
        format!("{:.0}%", item.confidence * 100.0),
        serves.join(", "),
    ]
}

pub(super) fn choices(args: &ChoicesArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let provider = args.command.command();
    let typed = TypedArguments { texts: pairs(&args.parameters)?, ..TypedArguments::default() };
    let reader = session.operations.reader();
    let response = session.run::<FetchChoices>(ValuesRequest {
        args: typed_arguments::read(reader, &session.user, &provider, typed)?.with,
        provider,
        query: args.query.clone(),
        profile: args.profile.clone(),
        ..ValuesRequest::default()
    })?;
    terminal.answer(&response, |terminal| {
        if response.choices.is_empty() {
            return terminal.remark("there are no choices");
        }
        let choices = response.choices.iter();
        show_choices(choices.map(|one| (&one.value, one.label.as_ref())), terminal);
        if response.next_cursor.is_some() || response.more {
            terminal.remark("note: there are more choices; narrow them down with `--query`");
        }
    })
}

/// Shows a table of values and their labels.
pub(crate) fn show_choices<'c>(
    choices: impl Iterator<Item = (&'c Value, Option<&'c String>)>,
    terminal: &mut Terminal,
) {
    let row = |(value, label): (&Value, Option<&String>)| {
        vec![plain(value), label.cloned().unwrap_or_default()]
    };
    terminal.table(&["value", "label"], choices.map(row));
}

/// Strings without quotes, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
