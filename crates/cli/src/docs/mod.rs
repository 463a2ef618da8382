//! `milepost docs`: the pages of the documentation, as they are.

mod pages;

use milepost_model::problem::{Code, Problem};
use milepost_model::suggest;
use serde_json::json;

use self::pages::{ERRORS, TOPICS};
use crate::args::Docs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::table;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Docs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let Some(topic) = &arguments.topic else { return list(json, terminal) };
    let (name, text) = find(topic)?;
    if json {
        print(&json!({"topic": name, "title": title(text), "text": text}), terminal)?;
    } else {
        terminal.page(text.trim_end())?;
    }
    Ok(Exit::Done)
}

fn list(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if json {
        let topic = |(name, text): &(&str, &str)| json!({"topic": name, "title": title(text)});
        let topics: Vec<_> = TOPICS.iter().map(topic).collect();
        let errors: Vec<&str> = ERRORS.iter().map(|(code, _)| *code).collect();
        print(&json!({"topics": topics, "errors": errors}), terminal)?;
        return Ok(Exit::Done);
    }
    let row = |(name, text): &(&str, &str)| vec![(*name).to_owned(), title(text).to_owned()];
    let rows: Vec<Vec<String>> = TOPICS.iter().map(row).collect();
    terminal.line(&table::render(&["topic", "about"], &rows, terminal.width()))?;
    let first = TOPICS.first().map_or("", |(name, _)| name);
    terminal.remark(&format!("next: milepost docs {first}; an error: milepost docs <CODE>"));
    Ok(Exit::Done)
}

/// The heading of a page.
fn title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
}

fn find(topic: &str) -> Result<(&'static str, &'static str), Problem> {
    // As a file of the repository or a link in another page would name it.
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
            None => "`milepost docs` lists the pages there are".to_owned(),
        };
        Problem::new(Code::ParamsInvalid, message, hint)
    })
}
