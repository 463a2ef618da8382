//! A small catalog for tests: the information about a depot's commands that validation needs.

use milepost_model::commands::{BodyInfo, CommandInfo, Commands, Effect, Lookup, Parameter};
use milepost_model::id::WorkflowId;
use milepost_model::target::CommandId;
use serde_json::{Value, json};

/// The catalog `depot` and the workflow `send-report`; nothing else exists.
pub(crate) struct Depot;

const COMMANDS: &[&str] = &[
    "goods:check",
    "labels:show",
    "levels:get",
    "orders:create",
    "orders:get",
    "shelves:list",
    "shelves:mark",
];

impl Commands for Depot {
    fn command(&self, id: &CommandId) -> Lookup {
        if id.group().as_str() != "depot" {
            return Lookup::NoCatalog(vec!["depot".into()]);
        }
        match info(id.name()) {
            Some(info) => Lookup::Known(Box::new(info)),
            None => {
                Lookup::NoCommand(COMMANDS.iter().map(|name| format!("depot {name}")).collect())
            }
        }
    }

    fn workflow(&self, id: &WorkflowId) -> Lookup {
        if id.as_str() != "send-report" {
            return Lookup::NoCommand(vec!["workflow send-report".into()]);
        }
        let to = required("to", json!({"type": "string"}));
        Lookup::Known(Box::new(reading(vec![to], None)))
    }
}

fn info(name: &str) -> Option<CommandInfo> {
    let text = json!({"type": "string"});
    let whole = json!({"type": "integer"});
    Some(match name {
        "goods:check" => {
            let sort = optional("sort", json!({"type": "string", "enum": ["asc", "desc"]}));
            reading(vec![required("shelf", text), sort], None)
        }
        "labels:show" => reading(vec![required("sku", text), optional("position", whole)], None),
        "levels:get" => {
            let item = json!({"type": "object", "properties": {"count": whole, "name": text}});
            let response = json!({
                "type": "object",
                "properties": {"items": {"type": "array", "items": item}},
                "additionalProperties": false,
            });
            reading(vec![required("shelf", text), optional("limit", whole)], Some(response))
        }
        "orders:create" => CommandInfo {
            body: Some(BodyInfo {
                required: true,
                schema: json!({
                    "type": "object",
                    "required": ["shelf", "lines"],
                    "properties": {"shelf": text, "lines": {"type": "array"}, "note": text},
                    "additionalProperties": false,
                }),
            }),
            effect: Effect::Create,
            may_repeat: false,
            ..reading(vec![], None)
        },
        "orders:get" => {
            let response = json!({"type": "object", "properties": {"id": text, "state": text}});
            reading(vec![required("id", text)], Some(response))
        }
        "shelves:list" => reading(vec![optional("aisle", whole), optional("zone", text)], None),
        "shelves:mark" => CommandInfo {
            effect: Effect::Write,
            ..reading(
                vec![required("shelf", text), optional("full", json!({"type": "boolean"}))],
                None,
            )
        },
        _ => return None,
    })
}

fn reading(parameters: Vec<Parameter>, response: Option<Value>) -> CommandInfo {
    CommandInfo { parameters, body: None, response, effect: Effect::Read, may_repeat: true }
}

fn required(name: &str, schema: Value) -> Parameter {
    Parameter { name: name.into(), required: true, schema }
}

fn optional(name: &str, schema: Value) -> Parameter {
    Parameter { required: false, ..required(name, schema) }
}
