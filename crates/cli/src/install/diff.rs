//! The diff of a configuration entry.
//!
//! The rest of the file is never shown, because it may contain other servers' API keys. Values of
//! an existing entry that may be secret are hidden too.

use clap::{Args, Command};
use serde_json::{Map, Value};

use super::slot::EntrySlot;
use crate::server::args::McpSurfaceArgs;

const HIDDEN: &str = "…";

/// Keys of an entry that determine what is started; the user must see these to decide.
const SHOWN: &[&str] = &["type", "command", "cmd", "enabled", "disabled"];

/// One side of a diff: the file, if it exists, and the entry, if it has one.
pub(super) type EntrySide<'a> = (Option<&'a str>, Option<&'a Map<String, Value>>);

/// The diff of an entry.
pub(super) fn of_entry(slot: &EntrySlot, before: EntrySide<'_>, after: EntrySide<'_>) -> String {
    let [old, new] = [before.0, after.0].map(|path| path.unwrap_or("/dev/null"));
    let mut diff = format!("--- {old}\n+++ {new}\n@@ {}.{} @@\n", slot.parent, slot.name);
    for (sign, (_, entry)) in [('-', before), ('+', after)] {
        let text = entry.map(|entry| slot.snippet(entry)).unwrap_or_default();
        for line in text.lines() {
            diff.push(sign);
            diff.push_str(line);
            diff.push('\n');
        }
    }
    diff
}

/// An entry with everything hidden except what is started.
pub(super) fn without_keys(found: &Value) -> Map<String, Value> {
    let Value::Object(found) = found else {
        return Map::from_iter([(HIDDEN.to_owned(), HIDDEN.into())]);
    };
    let shown = |(key, value): (&String, &Value)| {
        let told = match value {
            _ if SHOWN.contains(&key.as_str()) => value.clone(),
            Value::Array(words) if key == "args" => own_words(words),
            _ => hidden(value),
        };
        (key.clone(), told)
    };
    found.iter().map(shown).collect()
}

/// Arguments with everything hidden except our own words, because a user may have added an API key.
fn own_words(words: &[Value]) -> Value {
    let known = McpSurfaceArgs::augment_args(Command::new("mcp"));
    let takes = |word: &str| {
        let name = word.strip_prefix("--")?;
        known.get_arguments().find(|argument| argument.get_long() == Some(name))
    };
    let is_value = |argument: &clap::Arg, word: &str| {
        argument.get_possible_values().iter().any(|value| value.matches(word, false))
    };
    let mut before = None;
    let shown = words.iter().enumerate().map(|(index, word)| {
        let word = word.as_str().unwrap_or_default();
        if let Some(argument) = before.take() {
            let shown = if is_value(argument, word) { word } else { HIDDEN };
            return Value::from(shown);
        }
        if let Some((name, value)) = word.split_once('=') {
            return match takes(name) {
                Some(argument) if is_value(argument, value) => word.into(),
                Some(_) => format!("{name}={HIDDEN}").into(),
                None => HIDDEN.into(),
            };
        }
        before = takes(word);
        let is_ours = before.is_some() || index == 0 && word == known.get_name();
        Value::from(if is_ours { word } else { HIDDEN })
    });
    shown.collect()
}

fn hidden(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) | Value::String(_) => HIDDEN.into(),
        Value::Array(items) => items.iter().map(hidden).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), hidden(value)));
            Value::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::slot::ConfigFormat;
    use super::*;

    #[test]
    fn only_what_is_started_is_shown() {
        let found = json!({
            "command": "npx", "args": ["-y", "x"], "enabled": false, "timeout": 5,
            "env": {"A": "sk-1", "B": ["sk-2", 3, null]}, "url": "https://u:sk-3@h/?key=sk-4",
        });
        let shown = json!({
            "command": "npx", "args": ["…", "…"], "enabled": false, "timeout": "…",
            "env": {"A": "…", "B": ["…", "…", null]}, "url": "…",
        });
        assert_eq!(Value::Object(without_keys(&found)), shown);
        assert_eq!(Value::Object(without_keys(&json!("sk-5"))), json!({"…": "…"}));
    }

    #[test]
    fn of_arguments_only_our_own_words_are_shown() {
        let shown = |args: Value| without_keys(&json!({"args": args}))["args"].clone();
        let own = json!(["mcp", "--tools", "core", "--surface=all", "--errors", "jsonrpc"]);
        assert_eq!(shown(own.clone()), own);
        for (args, told) in [
            (json!(["mcp", "--token", "sk-1"]), json!(["mcp", "…", "…"])),
            (json!(["mcp", "--tools", "sk-1"]), json!(["mcp", "--tools", "…"])),
            (json!(["mcp", "--tools=sk-1", "mcp"]), json!(["mcp", "--tools=…", "…"])),
            (json!(["mcp", "--protocol", "sk-1"]), json!(["mcp", "--protocol", "…"])),
            (json!(["sk-1", "--key=sk-2", 3, null]), json!(["…", "…", "…", "…"])),
            (json!("mcp --token sk-1"), json!("…")),
        ] {
            assert_eq!(shown(args.clone()), told, "{args}");
        }
    }

    #[test]
    fn a_diff_is_of_the_entry_alone() {
        let slot =
            EntrySlot { format: ConfigFormat::Toml, parent: "servers", name: "m".to_owned() };
        let entry = Map::from_iter([("command".to_owned(), Value::from("m"))]);
        let none = (None, None);
        let some = (Some("f"), Some(&entry));
        let diff = of_entry(&slot, none, some);
        let lines = "@@ servers.m @@\n+[servers.m]\n+command = \"m\"\n";
        assert_eq!(diff, format!("--- /dev/null\n+++ f\n{lines}"));
        let without = (Some("f"), None);
        let diff = of_entry(&slot, some, without);
        assert_eq!(diff, format!("--- f\n+++ f\n{}", lines.replace('+', "-")));
    }
}
