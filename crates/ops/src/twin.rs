//! Hints for two kinds of readers. A hint is written once, with commands and flags of the command
//! line in backticks; whoever calls tools is told the calls that do the same, where there are any.

use serde_json::{Map, Value, json};

use crate::operation::OPERATIONS;

/// A command and the operation that does the same for agents.
struct Twin {
    command: &'static str,
    operation: &'static str,
    /// The arguments that its words are, in order.
    words: &'static [&'static str],
    /// The arguments that it says by its name.
    says: &'static [(&'static str, bool)],
}

const fn twin(
    command: &'static str,
    operation: &'static str,
    words: &'static [&'static str],
) -> Twin {
    Twin { command, operation, words, says: &[] }
}

/// Every command that hints may name, and that an agent has a tool for.
const TWINS: &[Twin] = &[
    twin("workflow list", "workflow.list", &[]),
    twin("workflow show", "workflow.get", &["workflow_id"]),
    twin("workflow validate", "workflow.validate", &[]),
    twin("workflow save", "workflow.save", &[]),
    twin("workflow rename", "workflow.rename", &["workflow_id", "new_id"]),
    twin("workflow delete", "workflow.delete", &["workflow_id"]),
    twin("workflow inputs", "workflow.preview_inputs", &["workflow_id"]),
    twin("workflow plan", "workflow.step_plan", &["workflow_id"]),
    twin("catalog validate", "catalog.validate_openapi", &[]),
    twin("catalog preview", "catalog.preview_import", &[]),
    // What would change is seen by looking at what would be there.
    twin("catalog diff", "catalog.preview_import", &[]),
    twin("catalog import", "catalog.import_openapi", &[]),
    Twin {
        command: "catalog enable",
        operation: "catalog.set_enabled",
        words: &["catalog_id"],
        says: &[("enabled", true)],
    },
    Twin {
        command: "catalog disable",
        operation: "catalog.set_enabled",
        words: &["catalog_id"],
        says: &[("enabled", false)],
    },
    twin("catalog remove", "catalog.remove", &["catalog_id"]),
    // Agents know catalogs by their commands.
    twin("catalog list", "command.list", &[]),
    twin("catalog show", "command.list", &["catalog"]),
    twin("command search", "command.list", &["query"]),
    twin("command show", "command.get", &[]),
    twin("command run", "command.run", &[]),
    twin("command providers", "provider.list", &[]),
    twin("command choices", "provider.values", &[]),
    twin("run", "workflow.run", &["workflow_id"]),
    twin("runs", "workflow.status", &[]),
    twin("show", "workflow.status", &["run_id"]),
    twin("submit", "workflow.submit", &["run_id", "step_id"]),
    twin("resume", "workflow.resume", &["run_id"]),
    twin("cancel", "workflow.cancel", &["run_id"]),
    twin("inputs forget", "workflow.purge_history", &["workflow_id"]),
];

/// How a flag is said to a tool.
enum Said {
    /// It is there.
    True(&'static str),
    /// It is one of several words.
    Word(&'static str, &'static str),
    /// It has a value.
    Text(&'static str),
    /// It has values.
    List(&'static str),
}

const FLAGS: &[(&str, Said)] = &[
    ("--overwrite", Said::True("overwrite")),
    ("--plan", Said::True("plan_only")),
    ("--only", Said::Word("mode", "only")),
    ("--latest", Said::Word("version", "latest")),
    ("--from", Said::Text("from")),
    ("--redo", Said::List("redo")),
    ("--set", Said::Text("overrides")),
    ("--reason", Said::Text("reason")),
    ("--vendor", Said::Text("vendor")),
    ("--title", Said::Text("catalog_title")),
    ("--base-url", Said::Text("base_url")),
    ("--timeout", Said::Text("timeout_s")),
    ("--expect", Said::Text("expected_version")),
    ("--allow-refs", Said::List("allow_refs")),
];

/// A call that a hint leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct HintedCall {
    /// The operation.
    pub operation: &'static str,
    /// As far as the hint knows them.
    pub arguments: Map<String, Value>,
    /// Whether it can be made as it stands.
    pub is_whole: bool,
}

/// A hint for somebody who calls tools: with their names, as `tool` spells an operation's, in the
/// place of commands. The first call it leads to comes with it. A command for which `tool` has
/// no name stays what it is: a person types it.
pub fn for_agents(
    hint: &str,
    tool: impl Fn(&'static str) -> Option<String>,
) -> (String, Option<HintedCall>) {
    // What an agent is to tell its person is said as the person types it.
    if hint.starts_with("stop") {
        return (hint.to_owned(), None);
    }
    let (mut said, mut first) = (String::with_capacity(hint.len()), None);
    for (number, part) in hint.split('`').enumerate() {
        let is_code = number % 2 == 1;
        if number > 0 {
            said.push('`');
        }
        match is_code.then(|| reworded(part, &tool)).flatten() {
            Some((words, call)) => {
                said.push_str(&words);
                first = first.or(call);
            }
            None => said.push_str(part),
        }
    }
    (said, first)
}

/// What stands between backticks, for tools; none when it is no matter of the command line.
fn reworded(
    code: &str,
    tool: &impl Fn(&'static str) -> Option<String>,
) -> Option<(String, Option<HintedCall>)> {
    if code.starts_with("--") {
        let (arguments, bare) = flags(&code.split(' ').collect::<Vec<_>>())?;
        let pairs = arguments.iter().map(|(name, value)| format!("{name}: {value}"));
        let words: Vec<String> = pairs.chain(bare.into_iter().map(str::to_owned)).collect();
        return Some((words.join(", "), None));
    }
    let call = called(code)?;
    let name = tool(call.operation)?;
    let words = match call.arguments.is_empty() {
        true => name,
        false => format!("{name} {}", Value::Object(call.arguments.clone())),
    };
    Some((words, Some(call)))
}

/// The call that does what a command line does.
fn called(line: &str) -> Option<HintedCall> {
    let words: Vec<&str> = line.strip_prefix("milepost ")?.split(' ').collect();
    let fits = |twin: &&Twin| {
        let command: Vec<&str> = twin.command.split(' ').collect();
        words.starts_with(&command)
    };
    let twin = TWINS.iter().filter(fits).max_by_key(|twin| twin.command.len())?;
    let rest = &words[twin.command.split(' ').count()..];
    let from = rest.iter().position(|word| word.starts_with("--")).unwrap_or(rest.len());
    let (plain, flagged) = rest.split_at(from);
    let (mut arguments, _) = flags(flagged)?;
    for (name, word) in twin.words.iter().zip(plain) {
        if !word.starts_with(['<', '…']) {
            arguments.insert((*name).to_owned(), (*word).into());
        }
    }
    arguments.extend(twin.says.iter().map(|(name, says)| ((*name).to_owned(), (*says).into())));
    let operation = OPERATIONS.iter().find(|operation| operation.name == twin.operation)?;
    let schema = (operation.request)();
    let mut required = schema["required"].as_array().into_iter().flatten();
    let has_all = required.all(|name| name.as_str().is_some_and(|it| arguments.contains_key(it)));
    // Some operations take one thing of several, which no schema asks for.
    let is_whole = has_all && twin.words.iter().all(|name| arguments.contains_key(*name));
    Some(HintedCall { operation: twin.operation, arguments, is_whole })
}

/// Flags as arguments, and those that have yet to be given a value.
fn flags(words: &[&str]) -> Option<(Map<String, Value>, Vec<&'static str>)> {
    let (mut arguments, mut bare) = (Map::new(), Vec::new());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (_, said) = FLAGS.iter().find(|(flag, _)| flag == word)?;
        let mut value = || words.next_if(|next| !next.starts_with("--"));
        match said {
            Said::True(name) => {
                arguments.insert((*name).to_owned(), true.into());
            }
            Said::Word(name, word) => {
                arguments.insert((*name).to_owned(), (*word).into());
            }
            Said::Text(name) | Said::List(name) => match (value(), said) {
                (None, _) => bare.push(*name),
                (Some(value), Said::List(_)) => {
                    arguments.insert((*name).to_owned(), json!([value]));
                }
                (Some(value), _) => {
                    arguments.insert((*name).to_owned(), (*value).into());
                }
            },
        }
    }
    Some((arguments, bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hint: &str) -> (String, Option<HintedCall>) {
        for_agents(hint, |operation| Some(operation.replace('.', "_")))
    }

    #[test]
    fn a_hint_is_told_with_the_names_of_tools() {
        for (hint, said) in [
            ("see `milepost workflow list`", "see `workflow_list`"),
            (
                "enable it with `milepost catalog enable shop`",
                "enable it with `catalog_set_enabled {\"catalog_id\":\"shop\",\"enabled\":true}`",
            ),
            (
                "say `--overwrite`, or give another `--vendor` and `--title`",
                "say `overwrite: true`, or give another `vendor` and `catalog_title`",
            ),
            (
                "import it again with `--overwrite --base-url https://…`",
                "import it again with `overwrite: true, base_url: \"https://…\"`",
            ),
            (
                "`milepost catalog import … --overwrite`: shop",
                "`catalog_import_openapi {\"overwrite\":true}`: shop",
            ),
            ("resume it without `--only`", "resume it without `mode: \"only\"`"),
            ("`--allow-refs a.example` follows them", "`allow_refs: [\"a.example\"]` follows them"),
            // What a person types stays, and so does what is none of ours.
            ("set it with `milepost secret set X`", "set it with `milepost secret set X`"),
            ("did you mean `--nothing`?", "did you mean `--nothing`?"),
            ("an odd ` one", "an odd ` one"),
        ] {
            assert_eq!(told(hint).0, said);
        }
    }

    #[test]
    fn a_call_that_a_hint_names_can_be_made_when_it_is_whole() {
        let call = told("`milepost catalog enable shop`").1.expect("a call");
        assert!(call.is_whole, "{call:?}");
        assert!(!told("`milepost catalog enable`").1.expect("a call").is_whole);
        assert!(!told("`milepost catalog validate` it").1.expect("a call").is_whole);
        assert!(told("`milepost runs`").1.expect("a call").is_whole);
        assert_eq!(told("`milepost inbox`").1, None);
        let nobody = for_agents("`milepost runs`", |_| None);
        assert_eq!(nobody, ("`milepost runs`".to_owned(), None));
    }

    /// Whatever an agent has a tool for, hints can lead it to.
    #[test]
    fn every_command_with_a_tool_has_its_twin() {
        use crate::operation::Door;
        for operation in OPERATIONS.iter().filter(|operation| operation.tool().is_some()) {
            for door in operation.doors {
                let Door::Command(command) = door else { continue };
                let command = command.split(" --").next().unwrap_or_default();
                let twin = TWINS.iter().find(|twin| twin.command == command);
                assert!(twin.is_some(), "`milepost {command}` has no twin");
            }
        }
        for twin in TWINS {
            let operation = OPERATIONS.iter().find(|one| one.name == twin.operation);
            let operation = operation.expect("is an operation");
            assert!(operation.tool().is_some(), "{} is no tool", twin.operation);
            let schema = (operation.request)();
            for name in twin.words.iter().chain(twin.says.iter().map(|(name, _)| name)) {
                assert!(schema["properties"][*name].is_object(), "{}: {name}", twin.command);
            }
        }
    }
}
