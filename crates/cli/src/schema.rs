//! `milepost schema`: the schemas of documents, and of what commands print with `--json`.

use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Spelling;
use milepost_model::{schema, suggest};
use milepost_ops::{Door, OPERATIONS};
use serde_json::{Map, Value, json};

use crate::args::{SchemaArgs, SchemaKind};
use crate::failure::CliResult;
use crate::terminal::Terminal;

/// Schemas of outputs that do not come from an operation, or that combine several responses.
const OWN: &str = include_str!("outputs.json");
/// Commands that print one event per line, and then the run once it has ended or is waiting.
const STREAMS: [&str; 5] = ["run", "resume", "approve", "reject", "decide"];

pub(crate) fn run(args: &SchemaArgs, terminal: &mut Terminal) -> CliResult {
    let found = match args.of {
        SchemaKind::Workflow => schema::of(Spelling::Manifest),
        SchemaKind::Guide => schema::of(Spelling::Guide),
        SchemaKind::Output if args.command.is_empty() => {
            let all = outputs();
            let names: Vec<&String> = all.keys().collect();
            return terminal.answer(&json!({"commands": names}), |terminal| {
                names.iter().for_each(|command| terminal.line(command));
            });
        }
        SchemaKind::Output => of(&args.command.join(" "))?,
    };
    terminal.answer(&found, |terminal| terminal.line(format!("{found:#}")))
}

fn of(command: &str) -> CliResult<Value> {
    let command = command.strip_prefix("milepost ").unwrap_or(command);
    let mut all = outputs();
    if let Some(found) = all.remove(command) {
        return Ok(found);
    }
    let message = format!("there is no command `{}`", suggest::excerpt(command));
    let hint = match suggest::closest(command, all.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean `milepost schema output {meant}`?"),
        None => "list them with `milepost schema output`".to_owned(),
    };
    Err(Problem::new(Code::ParamsInvalid, message, hint).into())
}

/// The schema of each command's output, by the command as typed.
fn outputs() -> Map<String, Value> {
    let mut all = Map::new();
    for operation in OPERATIONS {
        for door in operation.doors {
            if let Door::Command(command) = door {
                all.insert((*command).to_owned(), (operation.response)());
            }
        }
    }
    let run = all.get("show").cloned().unwrap_or_default();
    let event = json!({"type": "object", "required": ["seq", "at_ms", "event"], "properties": {
        "seq": {"type": "integer", "description": "The event's number"},
        "at_ms": {"type": "integer", "description": "When it happened, in milliseconds since 1970"},
        "event": {"type": "string", "description": "The event's name; its fields are next to it"},
    }});
    all.insert("logs".to_owned(), event.clone());
    for command in STREAMS {
        let described = "One object per line: events, then the run when it ends or waits";
        let mut either = vec![event.clone(), run.clone()];
        // A plan or a dry run prints something else.
        let dry = if command == "run" { "workflow plan --requests" } else { command };
        either.extend(all.get(dry).filter(|own| **own != run).cloned());
        all.insert(command.to_owned(), json!({"description": described, "anyOf": either}));
    }
    // If a flag changes the output, its schema is merged into that of the plain command.
    let (flagged, mut all): (Map<_, _>, Map<_, _>) =
        all.into_iter().partition(|(command, _)| command.contains(" --"));
    for (command, other) in flagged {
        let plain = command.split(" --").next().unwrap_or_default().to_owned();
        let own = all.remove(&plain).unwrap_or_default();
        all.insert(plain, json!({"anyOf": [own, other]}));
    }
    let own: Map<String, Value> = serde_json::from_str(OWN).unwrap_or_default();
    all.extend(own);
    all.sort_keys();
    all
}
