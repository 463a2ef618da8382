//! Texts that set a model to work on a workflow, with what it needs to know now.

use milepost_model::problem::Problem;

use crate::call::Alone;
use crate::command::list::{Detail, List, Request};
use crate::later::Later;
use crate::reader::Reader;

/// To write a workflow.
pub const AUTHOR: &str = include_str!("author.md");
/// To correct one.
pub const FIX: &str = include_str!("fix_validation.md");
/// The language in short.
pub const LANGUAGE: &str = include_str!("language.md");

/// Commands that are shown for a goal.
const COMMANDS: usize = 8;

/// A text with its blanks filled in. What fills one is never read for others.
pub fn fill(text: &str, filling: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((blank, after)) = after.split_once("}}") else { break };
        filled.push_str(before);
        filled.push_str(&filling(blank));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A text with the language, the commands that come near to what it is about, and what was given;
/// what was not says so.
pub async fn filled(
    reader: &Reader,
    text: &str,
    about: &str,
    given: impl Fn(&str) -> Option<String>,
) -> String {
    let commands = match text.contains("{{commands}}") {
        true => commands(reader, about).await.unwrap_or_default(),
        false => String::new(),
    };
    fill(text, |blank| match blank {
        "commands" if commands.is_empty() => {
            "(no command matches: import a catalog, or search with command_list)".to_owned()
        }
        "commands" => commands.clone(),
        "language" => LANGUAGE.trim_end().to_owned(),
        argument => given(argument).unwrap_or_else(|| "(not said)".to_owned()),
    })
}

/// The commands that come nearest to what is wanted, a line each.
async fn commands(reader: &Reader, about: &str) -> Result<String, Problem> {
    let request = Request {
        query: Some(about.to_owned()),
        limit: Some(COMMANDS),
        detail: Some(Detail::Summary),
        ..Request::default()
    };
    let found = List::run(reader, &Alone, request).await?;
    let lines = found.commands.iter().map(|one| format!("- `{}`: {}", one.command, one.summary));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_blank_is_not_read_for_others() {
        let filled = fill("a {{x}} b {{y}} c", |blank| match blank {
            "x" => "{{y}}".to_owned(),
            _ => "end".to_owned(),
        });
        assert_eq!(filled, "a {{y}} b end c");
    }
}
