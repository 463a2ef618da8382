//! Prompts: texts that set a model to work, with what it needs to know now.

use milepost_ops::{Alone, Code, Operations, Problem};
use rmcp::model::{Prompt, PromptArgument};
use serde_json::{Map, Value, json};

/// Guides that become prompts of their own.
const GUIDES: usize = 50;
/// Commands that are shown for a goal.
const COMMANDS: usize = 8;

/// A prompt of the contract.
struct Kind {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Name, description, and whether it has to be given.
    arguments: &'static [(&'static str, &'static str, bool)],
    text: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "workflow.author",
        title: "Write a workflow",
        description: "Draft a workflow in YAML for a goal",
        arguments: &[
            ("goal", "What the workflow is to achieve", true),
            ("target_system", "The API or system it works with", false),
            ("constraints", "What it must or must not do", false),
        ],
        text: include_str!("prompts/author.md"),
    },
    Kind {
        name: "workflow.extend",
        title: "Change a workflow",
        description: "Change a workflow and keep the order of what stays",
        arguments: &[
            ("manifest", "The workflow as it is", true),
            ("changes", "What is to change", true),
        ],
        text: include_str!("prompts/extend.md"),
    },
    Kind {
        name: "workflow.fix_validation",
        title: "Mend a workflow",
        description: "Correct a workflow that validation refuses",
        arguments: &[
            ("manifest", "The workflow as it is", true),
            ("errors", "What validation found", true),
        ],
        text: include_str!("prompts/fix_validation.md"),
    },
    Kind {
        name: "workflow.run_with_inputs",
        title: "Find the inputs of a run",
        description: "Resolve the inputs of a workflow, or ask for what is missing",
        arguments: &[
            ("manifest", "The workflow", true),
            ("inputs", "What is known already", false),
            ("rules", "Rules that the values have to keep", false),
        ],
        text: include_str!("prompts/run_with_inputs.md"),
    },
];

/// Every prompt: those of the contract, and one for each guide.
pub(super) async fn list(operations: &Operations) -> Vec<Prompt> {
    let kinds = KINDS.iter().map(|kind| {
        let arguments = kind.arguments.iter().map(|(name, description, required)| {
            PromptArgument::new(*name).with_description(*description).with_required(*required)
        });
        Prompt::new(kind.name, Some(kind.description), Some(arguments.collect()))
            .with_title(kind.title)
    });
    let mut prompts: Vec<Prompt> = kinds.collect();
    for (id, item) in guides(operations).await {
        let title = item["title"].as_str().unwrap_or(&id).to_owned();
        let prompt = Prompt::new(id, item["description"].as_str(), None);
        prompts.push(prompt.with_title(title));
    }
    prompts
}

async fn guides(operations: &Operations) -> Vec<(String, Value)> {
    // Files that cannot be read are told by whoever lists workflows.
    let listed = called(operations, "workflow.list", json!({})).await.unwrap_or_default();
    let items = listed["workflows"].as_array().into_iter().flatten();
    let guides = items.filter(|item| item["kind"] == "guide").filter_map(|item| {
        let id = item["workflow_id"].as_str()?.to_owned();
        KINDS.iter().all(|kind| kind.name != id).then(|| (id, item.clone()))
    });
    guides.take(GUIDES).collect()
}

/// The text of a prompt; `None` when there is none of that name.
pub(super) async fn text(
    operations: &Operations,
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<String, Problem>> {
    if let Some(kind) = KINDS.iter().find(|kind| kind.name == name) {
        return Some(filled(operations, kind, arguments).await);
    }
    let (id, _) = guides(operations).await.into_iter().find(|(id, _)| id == name)?;
    Some(Ok(fill(include_str!("prompts/guide.md"), |_| id.clone())))
}

async fn filled(
    operations: &Operations,
    kind: &Kind,
    arguments: &Map<String, Value>,
) -> Result<String, Problem> {
    let given = |name: &str| {
        let text = match arguments.get(name)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (!text.trim().is_empty()).then_some(text)
    };
    let missing = kind.arguments.iter().find(|(name, _, needed)| *needed && given(name).is_none());
    if let Some((name, ..)) = missing {
        let message = format!("`{}` needs `{name}`", kind.name);
        return Err(Problem::new(Code::ParamsInvalid, message, format!("give `{name}`")));
    }
    let about: Vec<String> =
        ["goal", "target_system", "changes"].into_iter().filter_map(given).collect();
    let commands = match kind.text.contains("{{commands}}") {
        true => commands(operations, &about.join(" ")).await,
        false => String::new(),
    };
    Ok(fill(kind.text, |blank| match blank {
        "commands" => commands.clone(),
        "language" => include_str!("prompts/language.md").trim_end().to_owned(),
        argument => given(argument).unwrap_or_else(|| "(not said)".to_owned()),
    }))
}

/// A text with its blanks filled in. What fills one is never read for others.
fn fill(text: &str, filling: impl Fn(&str) -> String) -> String {
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

/// The commands that come nearest to what is wanted.
async fn commands(operations: &Operations, about: &str) -> String {
    let arguments = json!({"query": about, "limit": COMMANDS, "detail": "summary"});
    let found = called(operations, "command.list", arguments).await.unwrap_or_default();
    let items = found["commands"].as_array().into_iter().flatten();
    let lines: Vec<String> = items
        .map(|item| {
            let name = item["command"].as_str().unwrap_or_default();
            let summary = item["summary"].as_str().unwrap_or_default();
            format!("- `{name}`: {summary}")
        })
        .collect();
    match lines.is_empty() {
        true => "(no command matches: import a catalog, or search with command_list)".to_owned(),
        false => lines.join("\n"),
    }
}

async fn called(operations: &Operations, name: &str, arguments: Value) -> Result<Value, Problem> {
    let response = operations.call_and_wait(name, &Alone, arguments).await?;
    Ok(serde_json::from_str(response.json()).unwrap_or_default())
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
