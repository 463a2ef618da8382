//! Prompts, which give a model a task together with the information it needs.

use milepost_model::workflow::Spelling;
use milepost_ops::workflow::list::{ListWorkflows, Request as ListRequest, WorkflowItem};
use milepost_ops::{Code, Operations, Problem, SilentCaller, prompts};
use milepost_store::SourceKind;
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use serde_json::Value;

use crate::limits;

/// A prompt defined by the contract.
struct Kind {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Name, description, and whether the argument is required.
    arguments: &'static [(&'static str, &'static str, bool)],
    text: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "workflow.author",
        title: "Write a workflow",
        description: "Draft a workflow in YAML for a goal",
        arguments: &[
            ("goal", "What the workflow should achieve", true),
            ("target_system", "The API or system it works with", false),
            ("constraints", "What it must or must not do", false),
        ],
        text: prompts::AUTHOR,
    },
    Kind {
        name: "workflow.extend",
        title: "Change a workflow",
        description: "Change a workflow and leave everything else as it is",
        arguments: &[
            ("manifest", "The workflow as it is", true),
            ("changes", "What should change", true),
        ],
        text: include_str!("prompts/extend.md"),
    },
    Kind {
        name: "workflow.fix_validation",
        title: "Fix a workflow",
        description: "Correct a workflow that fails validation",
        arguments: &[
            ("manifest", "The workflow as it is", true),
            ("errors", "What validation found", true),
        ],
        text: prompts::FIX,
    },
    Kind {
        name: "workflow.run_with_inputs",
        title: "Find the inputs of a run",
        description: "Resolve the inputs of a workflow, or ask for what is missing",
        arguments: &[
            ("manifest", "The workflow", true),
            ("inputs", "What is already known", false),
            ("rules", "Rules that the values must follow", false),
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
    for guide in guides(operations).await {
        let prompt = Prompt::new(guide.workflow_id, guide.description, None);
        prompts.push(prompt.with_title(guide.title));
    }
    prompts
}

async fn guides(operations: &Operations) -> Vec<WorkflowItem> {
    // If the library cannot be listed, the operation that lists workflows reports it.
    let Ok(listed) = operations.run::<ListWorkflows>(&SilentCaller, ListRequest::default()).await
    else {
        return Vec::new();
    };
    // What a folder says is not put into a client's menu before a person trusts the folder.
    let may_act = operations.may_act();
    let is_prompt = |item: &WorkflowItem| {
        let is_ours = KINDS.iter().any(|kind| kind.name == item.workflow_id);
        let is_hidden = !may_act && item.source == SourceKind::Runtime.name();
        item.kind == Spelling::Guide && !is_ours && !is_hidden
    };
    listed.workflows.into_iter().filter(is_prompt).take(limits::PROMPT_GUIDES).collect()
}

/// The text of a prompt; `None` if there is no prompt with that name.
pub(super) async fn text(
    operations: &Operations,
    name: &str,
    arguments: &JsonObject,
) -> Option<Result<String, Problem>> {
    if let Some(kind) = KINDS.iter().find(|kind| kind.name == name) {
        return Some(filled(operations, kind, arguments).await);
    }
    let guides = guides(operations).await;
    let id = &guides.iter().find(|guide| guide.workflow_id == name)?.workflow_id;
    Some(Ok(prompts::fill(include_str!("prompts/guide.md"), |_| id.clone())))
}

async fn filled(
    operations: &Operations,
    kind: &Kind,
    arguments: &JsonObject,
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
        return Err(Problem::new(Code::ParamsInvalid, message, format!("pass `{name}`")));
    }
    let about: Vec<String> =
        ["goal", "target_system", "changes"].into_iter().filter_map(given).collect();
    Ok(prompts::filled(operations.reader(), kind.text, &about.join(" "), given).await)
}
