//! What a `run` step runs: a catalog command or another workflow.

use std::fmt;

use milepost_syntax::mend::Mend;
use milepost_syntax::tree::SyntaxNode;
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report, text};
use crate::finding::{Finding, Rule};
use crate::id::{CatalogId, WorkflowId};
use crate::suggest;

/// A command: its catalog and its name in that catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId {
    group: CatalogId,
    name: String,
}

impl CommandId {
    /// Parses `group name`.
    pub fn parse(text: &str) -> Option<CommandId> {
        let (group, name) = text.split_once(' ')?;
        let group = CatalogId::parse(group).ok()?;
        let fits = !name.is_empty()
            && name.len() <= 128
            && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        fits.then(|| CommandId { group, name: name.to_owned() })
    }

    /// The command's catalog.
    pub fn group(&self) -> &CatalogId {
        &self.group
    }

    /// The name within the catalog.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.group, self.name)
    }
}

impl Decode for CommandId {
    const WANT: &'static str = "a command such as `shop orders:list`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = text(node, Self::WANT, report)?;
        let command = CommandId::parse(&text);
        if command.is_none() {
            let fault =
                Finding::error(node.at, Rule::Command, format!("`{text}` is not a command"))
                    .expected("`<catalog> <command>`");
            report.add(with_meant(fault, node, meant_command(&text)));
        }
        command
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9-]* \\S+$"})
    }
}

/// What a step runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An operation from an imported API.
    Command(CommandId),
    /// Another workflow.
    Workflow(WorkflowId),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Command(command) => write!(f, "{command}"),
            Target::Workflow(id) => write!(f, "workflow {id}"),
        }
    }
}

impl Decode for Target {
    const WANT: &'static str = "a command such as `shop orders:get`, or `workflow <id>`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = text(node, Self::WANT, report)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["mcp" | "exec", _] => {
                let message = format!("`{} …` is reserved and cannot be run yet", words[0]);
                let fault = Finding::error(node.at, Rule::Command, message);
                report.add(fault.suggest("call an operation from an imported API instead"));
                None
            }
            ["workflow", id] => match WorkflowId::parse(id) {
                Ok(id) => Some(Target::Workflow(id)),
                Err(invalid) => {
                    let fault = Finding::error(node.at, Rule::Id, invalid.to_string());
                    report.add(match suggest::slug(id, true) {
                        Some(slug) => {
                            fault.suggest(format!("use `workflow {slug}`")).mend(Mend::Replace {
                                at: node.at,
                                value: format!("workflow {slug}").into(),
                            })
                        }
                        None => fault.suggest("name a workflow"),
                    });
                    None
                }
            },
            [group, name] => {
                let joined = format!("{group} {name}");
                match CommandId::parse(&joined).filter(|_| joined == text) {
                    Some(command) => Some(Target::Command(command)),
                    None => refuse(node, &text, report),
                }
            }
            _ => refuse(node, &text, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({
            "type": "string",
            "pattern": "^[a-z0-9][a-z0-9-]* \\S+$",
            "examples": ["shop orders:get", "workflow refund-order"],
        })
    }
}

fn refuse(node: &SyntaxNode, text: &str, report: &mut Report) -> Option<Target> {
    let message = format!("`{text}` is not something that can be run");
    let fault = Finding::error(node.at, Rule::Command, message)
        .expected("`<catalog> <command>` or `workflow <id>`")
        .actual(format!("`{text}`"));
    report.add(with_meant(fault, node, meant_command(text)));
    None
}

/// Normalizes a command name: `shop/orders:get`, `shop.orders:get` and `Shop orders:get` all mean
/// the same command.
fn meant_command(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (group, name) = match words.as_slice() {
        [group, name] => (*group, *name),
        [word] => word.split_once(['/', '.'])?,
        _ => return None,
    };
    let meant = format!("{} {name}", group.to_ascii_lowercase().replace('_', "-"));
    CommandId::parse(&meant).map(|_| meant)
}

fn with_meant(fault: Finding, node: &SyntaxNode, meant: Option<String>) -> Finding {
    fault.write_instead(node.at, meant, "write the catalog, a space, and the command")
}
