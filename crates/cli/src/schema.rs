//! `milepost schema`: of documents, and of what commands print with `--json`.

use milepost_model::problem::{Code, Problem};
use milepost_model::workflow::Spelling;
use milepost_model::{schema, suggest};
use milepost_ops::{Door, OPERATIONS};
use serde_json::{Map, Value, json};

use crate::args::{Schema, SchemaOf};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::terminal::Terminal;

/// What commands print that no operation answers, or that is put together from several answers.
const OWN: &str = include_str!("outputs.json");
/// Commands that print an event a line, and the run when it ends or waits.
const STREAMS: [&str; 5] = ["run", "resume", "approve", "reject", "decide"];

pub(crate) fn run(arguments: &Schema, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let found = match arguments.of {
        SchemaOf::Workflow => schema::of(Spelling::Manifest),
        SchemaOf::Guide => schema::of(Spelling::Guide),
        SchemaOf::Output if arguments.command.is_empty() => {
            return list(arguments.json.json, terminal);
        }
        SchemaOf::Output => of(&arguments.command.join(" "))?,
    };
    match arguments.json.json {
        true => print(&found, terminal)?,
        false => terminal.line(&format!("{found:#}"))?,
    }
    Ok(Exit::Done)
}

fn list(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let all = outputs();
    if json {
        print(&json!({"commands": all.keys().collect::<Vec<_>>()}), terminal)?;
    } else {
        all.keys().try_for_each(|command| terminal.line(command))?;
    }
    Ok(Exit::Done)
}

fn of(command: &str) -> Result<Value, Failure> {
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

/// The schema of what each command prints, by the words that are typed.
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
        "seq": {"type": "integer", "description": "Its number"},
        "at_ms": {"type": "integer", "description": "When, in milliseconds since 1970"},
        "event": {"type": "string", "description": "What happened; its fields stand beside it"},
    }});
    all.insert("logs".to_owned(), event.clone());
    for command in STREAMS {
        let described = "One object a line: events, and the run when it ends or waits";
        let mut either = vec![event.clone(), run.clone()];
        // What a plan says, and what a dry run says.
        let dry = if command == "run" { "workflow plan --requests" } else { command };
        either.extend(all.get(dry).filter(|own| **own != run).cloned());
        all.insert(command.to_owned(), json!({"description": described, "anyOf": either}));
    }
    // A flag that asks for something else has no schema of its own.
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
