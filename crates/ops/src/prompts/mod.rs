//! Prompts that ask a model to work on a workflow, filled with the current context.

use std::sync::OnceLock;

use milepost_model::schema;
use milepost_model::workflow::Spelling;
use sha2::{Digest as _, Sha256};

use crate::command::list::{Detail, ListCommands, Request};
use crate::prelude::*;

/// The prompt for writing a workflow.
pub const AUTHOR: &str = include_str!("author.md");
/// The prompt for correcting a workflow.
pub const FIX: &str = include_str!("fix_validation.md");
/// A summary of the workflow language.
pub const LANGUAGE: &str = include_str!("language.md");

/// Whether a prompt asks for a new workflow.
pub fn writes(prompt: &str) -> bool {
    AUTHOR.lines().next().is_some_and(|first| prompt.starts_with(first))
}

/// Fills in the blanks in a prompt. Inserted values are not scanned for further blanks.
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

/// Fills in the language, the commands that best match `about`, and the given values; a missing
/// value is marked as such.
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
        "language" => format!("{}\n\n{}", LANGUAGE.trim_end(), digest()),
        argument => given(argument).unwrap_or_else(|| "(not given)".to_owned()),
    })
}

/// A summary of the current schema: its keys, and a hash that reveals whether it has changed.
pub fn digest() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| {
        let schema = schema::of(Spelling::Manifest);
        let hash = Sha256::digest(schema.to_string());
        let hash = milepost_model::document::hex(&hash[..6]);
        let keys = |at: &str| -> String {
            let part = schema.pointer(at).and_then(Value::as_object);
            let names = part.into_iter().flat_map(Map::keys).map(String::as_str);
            names.collect::<Vec<_>>().join(", ")
        };
        let parts = [
            ("a workflow", keys("/properties")),
            ("an input", keys("/$defs/Input/properties")),
            ("a step", keys("/$defs/StepDoc/properties")),
        ];
        let parts = parts.iter().filter(|(_, keys)| !keys.is_empty());
        let parts: Vec<String> = parts.map(|(of, keys)| format!("- {of}: {keys}")).collect();
        format!("Keys of the schema (digest {hash}); there are no others:\n{}", parts.join("\n"))
    })
}

/// The commands that best match what is wanted, one per line.
async fn commands(reader: &Reader, about: &str) -> Result<String> {
    let request = Request {
        query: Some(about.to_owned()),
        limit: Some(limits::PROMPT_COMMANDS),
        detail: Some(Detail::Summary),
        ..Request::default()
    };
    let found = ListCommands::run(reader, &SilentCaller, request).await?;
    let lines = found.commands.iter().map(|one| format!("- `{}`: {}", one.command, one.summary));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_the_schema_as_it_is() {
        let digest = digest();
        for key in ["final_output", "provider", "on_error", "output_schema", "approve"] {
            assert!(digest.contains(key), "no {key}: {digest}");
        }
        assert_eq!(digest.lines().count(), 4, "{digest}");
        assert!(digest.len() < 2_048, "{}", digest.len());
    }

    #[test]
    fn what_fills_a_blank_is_not_read_for_others() {
        let filled = fill("a {{x}} b {{y}} c", |blank| match blank {
            "x" => "{{y}}".to_owned(),
            _ => "end".to_owned(),
        });
        assert_eq!(filled, "a {{y}} b end c");
    }
}
