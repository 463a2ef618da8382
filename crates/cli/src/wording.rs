//! Formats hints for the command line: operations become commands, arguments become words and
//! flags.

use std::sync::{Arc, LazyLock};

use milepost_model::hint::{Hint, Invocation};
use milepost_model::wording::{self, Neutral, Wording};
use milepost_ops::run::next_action::NextAction;
use serde_json::{Map, Value};

use crate::terminal::shell_quoted;

#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandLine;

static SHARED: LazyLock<Arc<dyn Wording>> = LazyLock::new(|| Arc::new(CommandLine));

pub(crate) fn shared() -> Arc<dyn Wording> {
    Arc::clone(&SHARED)
}

/// Runs code in which hints are serialized in the wording of the command line.
pub(crate) fn scoped<T>(work: impl FnOnce() -> T) -> T {
    wording::scoped(&SHARED, work)
}

/// A hint as shown to people.
pub(crate) fn hint_text(hint: &Hint) -> String {
    hint.worded(&CommandLine)
}

/// The command to type next.
pub(crate) fn command_text(next: &NextAction) -> String {
    CommandLine.call(&next.0)
}

/// How an operation is typed as a command.
struct CommandSpec {
    operation: &'static str,
    command: &'static str,
    /// The positional arguments, in order.
    positional: &'static [&'static str],
    /// An argument whose value the command name implies.
    implied: Option<(&'static str, bool)>,
}

const fn typed_as(
    operation: &'static str,
    command: &'static str,
    positional: &'static [&'static str],
) -> CommandSpec {
    CommandSpec { operation, command, positional, implied: None }
}

const fn switch(command: &'static str, enabled: bool) -> CommandSpec {
    let (operation, positional) = ("catalog.set_enabled", &["catalog_id"]);
    CommandSpec { operation, command, positional, implied: Some(("enabled", enabled)) }
}

/// Every operation that hints may name. If an operation has two commands, the first one whose
/// arguments are given is used.
const COMMANDS: &[CommandSpec] = &[
    typed_as("workflow.list", "workflow list", &[]),
    typed_as("workflow.get", "workflow show", &["workflow_id"]),
    typed_as("workflow.validate", "workflow validate", &["path"]),
    typed_as("workflow.save", "workflow save", &["path"]),
    typed_as("workflow.copy", "workflow new", &["workflow_id"]),
    typed_as("workflow.rename", "workflow rename", &["workflow_id", "new_id"]),
    typed_as("workflow.delete", "workflow delete", &["workflow_id"]),
    typed_as("workflow.versions", "workflow versions", &["workflow_id"]),
    typed_as("workflow.diff", "workflow diff", &["workflow_id"]),
    typed_as("workflow.restore", "workflow restore", &["workflow_id"]),
    typed_as("workflow.sources", "workflow sources", &[]),
    typed_as("workflow.preview_inputs", "workflow inputs", &["workflow_id"]),
    typed_as("workflow.resolve_inputs", "workflow inputs", &["workflow_id"]),
    typed_as("workflow.step_plan", "workflow plan", &["workflow_id"]),
    typed_as("workflow.preview_rendered", "workflow plan", &["workflow_id"]),
    typed_as("workflow.purge_history", "inputs forget", &[]),
    typed_as("catalog.validate_openapi", "catalog validate", &["source"]),
    typed_as("catalog.preview_import", "catalog preview", &["source"]),
    typed_as("catalog.import_openapi", "catalog import", &["source"]),
    switch("catalog enable", true),
    switch("catalog disable", false),
    typed_as("catalog.remove", "catalog remove", &["catalog_id"]),
    typed_as("catalog.list", "catalog show", &["catalog_id"]),
    typed_as("catalog.list", "catalog list", &[]),
    typed_as("catalog.diff", "catalog diff", &["catalog_id", "source"]),
    typed_as("catalog.auth", "catalog auth", &["catalog_id"]),
    typed_as("command.list", "command search", &["query"]),
    typed_as("command.get", "command show", &["command"]),
    typed_as("command.run", "command run", &["command"]),
    typed_as("provider.list", "command providers", &[]),
    typed_as("provider.values", "command choices", &["command"]),
    typed_as("workflow.run", "run", &["workflow_id"]),
    typed_as("workflow.status", "show", &["run_id", "step_id"]),
    typed_as("workflow.submit", "submit", &["run_id", "step_id", "output"]),
    typed_as("workflow.resume", "resume", &["run_id"]),
    typed_as("workflow.cancel", "cancel", &["run_id"]),
    typed_as("workflow.pause", "pause", &["run_id"]),
    typed_as("workflow.approve", "approve", &["run_id"]),
    typed_as("workflow.reject", "reject", &["run_id"]),
    typed_as("workflow.decide", "decide", &["run_id"]),
    typed_as("run.events", "logs", &["run_id"]),
    typed_as("runs.list", "runs", &[]),
    typed_as("runs.purge", "runs purge", &[]),
    typed_as("runs.backup", "backup", &["to"]),
    typed_as("runs.restore", "restore", &["from"]),
    typed_as("person.set_pin", "person set-pin", &[]),
    typed_as("secret.set", "secret set", &["name"]),
    typed_as("secret.allow", "secret allow", &["name"]),
    typed_as("trust", "trust", &[]),
    typed_as("untrust", "untrust", &[]),
    typed_as("workflow.review", "workflow review", &[]),
    typed_as("grants", "grants", &[]),
    typed_as("grants.revoke", "grants revoke", &["id"]),
    typed_as("secret.list", "secret list", &[]),
    typed_as("config.get", "config get", &[]),
    typed_as("config.set", "config set", &["key", "value"]),
    typed_as("docs", "docs", &["topic"]),
    typed_as("doctor", "doctor", &[]),
    typed_as("inbox", "inbox", &[]),
    typed_as("demo", "demo", &[]),
];

/// How an argument is typed.
enum Flag {
    /// A flag without a value, for `true`.
    Switch(&'static str),
    /// A flag that stands for one value of the argument: `mode=only` is typed `--only`.
    Choice(&'static str, &'static str),
    /// A flag with a value; it is repeated for several values.
    Value(&'static str),
    /// A flag with `name=value`, for each member.
    Pairs(&'static str),
    /// A flag with a JSON object.
    Object(&'static str),
    /// A flag for each member.
    Names,
    /// Nothing, because the command does it anyway.
    Silent,
}

const FLAGS: &[(&str, Flag)] = &[
    ("overwrite", Flag::Switch("--overwrite")),
    ("plan_only", Flag::Switch("--plan")),
    ("yes", Flag::Switch("--yes")),
    ("fix", Flag::Switch("--fix")),
    ("follow", Flag::Switch("--follow")),
    ("mode", Flag::Choice("only", "--only")),
    ("version", Flag::Choice("latest", "--latest")),
    ("latest_catalogs", Flag::Switch("--latest-catalogs")),
    ("from", Flag::Value("--from")),
    ("redo", Flag::Value("--redo")),
    ("reason", Flag::Value("--reason")),
    ("vendor", Flag::Value("--vendor")),
    ("catalog_title", Flag::Value("--title")),
    ("base_url", Flag::Value("--base-url")),
    ("timeout_s", Flag::Value("--timeout")),
    ("expected_version", Flag::Value("--expect")),
    ("output", Flag::Value("--output")),
    ("step_id", Flag::Value("--step")),
    ("scheme", Flag::Value("--scheme")),
    ("overrides", Flag::Pairs("--set")),
    ("budget", Flag::Pairs("--budget")),
    ("inputs", Flag::Pairs("-i")),
    ("with", Flag::Pairs("-p")),
    ("body", Flag::Value("--body")),
    ("accept", Flag::Value("--accept")),
    ("content_type", Flag::Value("--content-type")),
    ("context", Flag::Object("--context")),
    ("secrets", Flag::Names),
    ("wait_s", Flag::Silent),
];

impl Wording for CommandLine {
    fn call(&self, call: &Invocation) -> String {
        let given = |name: &str| call.arguments.contains_key(name);
        let fits = |typed: &&CommandSpec| {
            let is_implied = typed.implied.is_none_or(|(name, implied)| {
                call.arguments.get(name).is_none_or(|value| *value == implied)
            });
            typed.operation == call.operation && is_implied
        };
        let mut fitting = COMMANDS.iter().filter(fits);
        let first = fitting.next();
        // If an argument of the first command is missing, use the command that takes none.
        let other = fitting.next().filter(|other| other.positional.is_empty());
        let lacks = first.is_some_and(|first| !first.positional.iter().all(|word| given(word)));
        let Some(typed) = other.filter(|_| lacks).or(first) else { return Neutral.call(call) };
        let implied = typed.implied.map(|(name, _)| name);
        let mut flags = Vec::new();
        for (name, value) in &call.arguments {
            if !typed.positional.contains(&name.as_str()) && implied != Some(name) {
                flags.extend(flag(name, value));
            }
        }
        let words =
            typed.positional.iter().filter_map(|name| Some((*name, call.arguments.get(*name)?)));
        let mut words: Vec<String> = words.filter_map(|(name, value)| word(name, value)).collect();
        // The subject still has to be filled in by the user.
        if words.is_empty() {
            let subject = |name: &&str| format!("<{}>", name.trim_end_matches("_id"));
            words.extend(typed.positional.first().map(subject));
        }
        let line = ["milepost".to_owned(), typed.command.to_owned()].into_iter();
        line.chain(words).chain(flags).collect::<Vec<_>>().join(" ")
    }

    fn person(&self, call: &Invocation) -> String {
        self.call(call)
    }

    fn arguments(&self, arguments: &Map<String, Value>) -> String {
        let flags = arguments.iter().flat_map(|(name, value)| flag(name, value));
        flags.collect::<Vec<_>>().join(" ")
    }

    fn next(&self, call: &Invocation, _person: Option<&str>) -> Value {
        self.call(call).into()
    }
}

/// A positional argument.
fn word(name: &str, value: &Value) -> Option<String> {
    match (name, value) {
        // The result of a step is submitted as a file.
        ("output", _) => Some("<file>".to_owned()),
        (_, Value::String(text)) if text.is_empty() => None,
        _ => Some(shown(value)),
    }
}

/// Formats an argument as flags with their values.
fn flag(name: &str, value: &Value) -> Vec<String> {
    let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == name) else {
        return vec![name.to_owned()];
    };
    let pairs = || value.as_object().into_iter().flatten();
    match flag {
        Flag::Choice(word, _) if value != word => vec![format!("{name}={}", shown(value))],
        Flag::Switch(flag) | Flag::Choice(_, flag) => vec![(*flag).to_owned()],
        Flag::Value(flag) if value.is_null() => vec![(*flag).to_owned()],
        Flag::Pairs(flag) if value.is_null() => vec![(*flag).to_owned()],
        Flag::Value(flag) => match value {
            Value::Array(items) => {
                items.iter().map(|item| format!("{flag} {}", shown(item))).collect()
            }
            value => vec![format!("{flag} {}", shown(value))],
        },
        Flag::Pairs(flag) => {
            let pair = |(name, value)| format!("{flag} {name}={}", shown(value));
            pairs().map(pair).collect()
        }
        Flag::Object(flag) => {
            let names: Vec<String> = pairs().map(|(name, _)| format!("\"{name}\": …")).collect();
            vec![format!("{flag} '{{{}}}'", names.join(", "))]
        }
        Flag::Names => {
            let each = |(name, value): (&String, &Value)| {
                format!("--{} {}", name.replace('_', "-"), shown(value))
            };
            pairs().map(each).collect()
        }
        Flag::Silent => Vec::new(),
    }
}

/// A value as typed; a placeholder is kept as it is.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('…') || text.starts_with('<') => text.clone(),
        Value::String(text) => shell_quoted(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::CommandFactory;
    use milepost_ops::{Door, OPERATIONS};
    use serde_json::json;

    use super::*;
    use crate::args::CliArgs;

    fn line(operation: &'static str, arguments: &Value) -> String {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        CommandLine.call(&Invocation { arguments, ..Invocation::of(operation) })
    }

    #[test]
    fn a_call_is_typed_as_its_command() {
        for (operation, arguments, expected) in [
            ("workflow.list", json!({}), "milepost workflow list"),
            ("catalog.list", json!({}), "milepost catalog list"),
            ("catalog.list", json!({"catalog_id": "shop"}), "milepost catalog show shop"),
            ("catalog.diff", json!({}), "milepost catalog diff <catalog>"),
            (
                "catalog.set_enabled",
                json!({"catalog_id": "shop", "enabled": true}),
                "milepost catalog enable shop",
            ),
            (
                "catalog.set_enabled",
                json!({"catalog_id": "shop", "enabled": false}),
                "milepost catalog disable shop",
            ),
            (
                "catalog.import_openapi",
                json!({"overwrite": true}),
                "milepost catalog import <source> --overwrite",
            ),
            (
                "catalog.import_openapi",
                json!({"source": "my shop.yaml", "overwrite": true}),
                "milepost catalog import 'my shop.yaml' --overwrite",
            ),
            (
                "catalog.auth",
                json!({"catalog_id": "shop", "scheme": "oauth",
                    "secrets": {"client_id": "SECRET", "client_secret": "SECRET"}}),
                "milepost catalog auth shop --scheme oauth --client-id SECRET --client-secret \
                 SECRET",
            ),
            ("workflow.status", json!({"run_id": "run_1", "wait_s": 25}), "milepost show run_1"),
            (
                "workflow.resume",
                json!({"run_id": "run_1", "plan_only": true}),
                "milepost resume run_1 --plan",
            ),
            (
                "workflow.resume",
                json!({"run_id": "run_1", "budget": {"writes": 20}}),
                "milepost resume run_1 --budget writes=20",
            ),
            (
                "workflow.resume",
                json!({"run_id": "run_1", "inputs": {"token": "…"}}),
                "milepost resume run_1 -i token=…",
            ),
            (
                "workflow.submit",
                json!({"run_id": "run_1", "step_id": "look", "output": "<the result>"}),
                "milepost submit run_1 look <file>",
            ),
            (
                "workflow.submit",
                json!({"run_id": "run_1", "context": {"tone": "<its value>"}}),
                "milepost submit run_1 --context '{\"tone\": …}'",
            ),
            ("doctor", json!({"fix": true}), "milepost doctor --fix"),
            ("made.up", json!({"a": 1}), "made.up {\"a\":1}"),
        ] {
            assert_eq!(line(operation, &arguments), expected);
        }
    }

    #[test]
    fn arguments_are_typed_as_flags() {
        let text = |arguments: Value| {
            CommandLine.arguments(&arguments.as_object().cloned().unwrap_or_default())
        };
        assert_eq!(text(json!({"overwrite": true})), "--overwrite");
        assert_eq!(text(json!({"catalog_title": null})), "--title");
        assert_eq!(text(json!({"mode": "only"})), "--only");
        assert_eq!(text(json!({"version": "latest"})), "--latest");
        assert_eq!(text(json!({"inputs": {"name": "value"}})), "-i name=value");
        assert_eq!(text(json!({"output": "null"})), "--output null");
        let again = json!({"overwrite": true, "base_url": "https://…"});
        assert_eq!(text(again), "--overwrite --base-url https://…");
    }

    /// Every command in the table must exist.
    #[test]
    fn every_command_exists() {
        let mut root = CliArgs::command();
        root.build();
        for typed in COMMANDS {
            let found = typed.command.split(' ').try_fold(&root, |command, word| {
                command.get_subcommands().find(|one| one.get_name() == word)
            });
            assert!(found.is_some(), "`milepost {}` is not a command", typed.command);
        }
        for operation in OPERATIONS {
            let commands: Vec<&str> = operation
                .doors
                .iter()
                .filter_map(|door| match door {
                    Door::Command(command) => command.split(" --").next(),
                    Door::Tool(_) | Door::GuideTool(_) => None,
                })
                .collect();
            let rows = COMMANDS.iter().filter(|typed| typed.operation == operation.name);
            for typed in rows {
                assert!(commands.contains(&typed.command), "{}", typed.command);
            }
        }
    }

    /// Every operation that a hint names must have a command.
    #[test]
    fn every_operation_that_hints_name_can_be_typed() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut named = Vec::new();
        for part in ["engine/src", "ops/src"] {
            names(&crates.join(part), &mut named);
        }
        assert!(named.len() > 40, "{named:?}");
        for name in named {
            assert!(COMMANDS.iter().any(|typed| typed.operation == name), "{name}");
        }
    }

    fn names(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                names(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a file");
                let named = text.split("Invocation::of(\"").skip(1);
                found.extend(named.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            }
        }
    }
}
