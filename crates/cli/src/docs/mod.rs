//! `milepost docs`: the pages of the documentation.

mod pages;

use milepost_model::problem::{Code, Problem};
use milepost_model::suggest;
use serde_json::json;

use self::pages::{ERRORS, TOPICS};
use crate::args::DocsArgs;
use crate::failure::CliResult;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(args: &DocsArgs, terminal: &mut Terminal) -> CliResult {
    let Some(topic) = &args.topic else { return list(terminal) };
    let (name, text) = find(topic)?;
    let response = json!({"topic": name, "title": title(text), "text": text});
    terminal.answer(&response, |terminal| terminal.page(text.trim_end()))
}

fn list(terminal: &mut Terminal) -> CliResult {
    let topic = |(name, text): &(&str, &str)| json!({"topic": name, "title": title(text)});
    let topics: Vec<_> = TOPICS.iter().map(topic).collect();
    let errors: Vec<&str> = ERRORS.iter().map(|(code, _)| *code).collect();
    terminal.answer(&json!({"topics": topics, "errors": errors}), |terminal| {
        let row = |(name, text): &(&str, &str)| vec![(*name).to_owned(), title(text).to_owned()];
        terminal.table(&["topic", "about"], TOPICS.iter().map(row));
        let first = TOPICS.first().map_or("", |(name, _)| name);
        terminal.remark(format!("next: milepost docs {first}; for an error: milepost docs <CODE>"));
    })
}

/// The heading of a page.
fn title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
}

fn find(topic: &str) -> Result<(&'static str, &'static str), Problem> {
    // Also accepts the path of a page, as used in links between pages.
    let wanted = topic.rsplit('/').next().unwrap_or(topic);
    let wanted = wanted.strip_suffix(".md").unwrap_or(wanted);
    let pages = || TOPICS.iter().chain(ERRORS).copied();
    let same = |name: &str| name.eq_ignore_ascii_case(&wanted.replace('-', "_")) || name == wanted;
    pages().find(|(name, _)| same(name)).ok_or_else(|| {
        let message = format!("there is no page `{}`", safe(&suggest::excerpt(topic)));
        let meant =
            suggest::nearest_word(wanted, pages().map(|(name, _)| name).collect::<Vec<_>>());
        let hint = match meant {
            Some(meant) => format!("did you mean `milepost docs {meant}`?"),
            None => "`milepost docs` lists the pages".to_owned(),
        };
        Problem::new(Code::ParamsInvalid, message, hint)
    })
}
