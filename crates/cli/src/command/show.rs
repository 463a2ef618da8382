//! `milepost command show`.

use milepost_ops::command::get::{GetCommand, Request};
use milepost_ops::command::{BodyView, CommandDetails, ParameterView, ResponseView};
use serde_json::{Map, Value};

use super::args::CommandArgs;
use super::lists::plain;
use crate::failure::CliResult;
use crate::limits;
use crate::session::call;
use crate::terminal::{Terminal, safe, shell_quoted, wrap_words};

pub(super) fn run(args: &CommandArgs, terminal: &mut Terminal) -> CliResult {
    let full = call::<GetCommand>(Request { command: args.command() }, terminal)?;
    terminal.answer(&full, |terminal| show(&full, terminal))
}

fn show(full: &CommandDetails, terminal: &mut Terminal) {
    let width = terminal.width();
    terminal.line(match full.summary.as_str() {
        "" => full.command.clone(),
        summary => format!("{} — {}", full.command, safe(summary)),
    });
    let id = full.operation_id.as_deref().map(|id| format!("  ({})", safe(id)));
    let id = id.unwrap_or_default();
    terminal.line(format!("{} {}{id}", full.method, safe(&full.path)));
    if full.deprecated {
        terminal.line("deprecated");
    }
    if !full.description.is_empty() && full.description != full.summary {
        let lines = full.description.lines().map(|line| wrap_words(&safe(line), width));
        terminal.line(format!("\n{}", lines.collect::<Vec<_>>().join("\n")));
    }
    if !full.parameters.is_empty() {
        terminal.line("");
        let headings = ["argument", "in", "required", "type", "description"];
        terminal.table(&headings, full.parameters.iter().map(|one| parameter(one, &full.defs)));
    }
    if let Some(body) = &full.body {
        show_body(body, &full.defs, terminal);
    }
    if !full.responses.is_empty() {
        terminal.line("");
        let headings = ["response", "type", "fields", "description"];
        terminal.table(&headings, full.responses.iter().map(response));
    }
    let security = full.security.join(" or ");
    if !security.is_empty() {
        terminal.line(format!("\nauthenticates with {}", safe(&security)));
    }
    for one in &full.parameters {
        if let Some(provider) = &one.provider {
            let (name, provider) = (safe(&one.name), safe(provider));
            terminal
                .remark(format!("note: values for `{name}`: milepost command choices {provider}"));
        }
    }
    terminal.remark(format!("next: {}", example(full)));
}

fn parameter(one: &ParameterView, defs: &Map<String, Value>) -> Vec<String> {
    vec![
        one.name.clone(),
        one.location.clone(),
        yes_or_no(one.required),
        kind(&one.schema, defs),
        one.description.clone(),
    ]
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn show_body(body: &BodyView, defs: &Map<String, Value>, terminal: &mut Terminal) {
    let types: Vec<&str> = body.contents.iter().map(|one| one.media_type.as_str()).collect();
    let required = if body.required { "required" } else { "optional" };
    terminal.line(format!("\nbody ({required}): {}", safe(&types.join(", "))));
    let Some(first) = body.contents.first() else { return };
    let schema = resolved(&first.schema, defs);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return terminal.line(safe(&kind(&first.schema, defs)));
    };
    let row = |(name, property): (&String, &Value)| {
        let description = resolved(property, defs).get("description").and_then(Value::as_str);
        let description = description.unwrap_or_default().to_owned();
        vec![name.clone(), yes_or_no(is_required(name)), kind(property, defs), description]
    };
    terminal.table(&["property", "required", "type", "description"], properties.iter().map(row));
}

fn response(one: &ResponseView) -> Vec<String> {
    let fields = match one.fields.len() {
        more if more > limits::CELL_NAMES => {
            format!("{}, …", one.fields[..limits::CELL_NAMES].join(", "))
        }
        _ => one.fields.join(", "),
    };
    let kind = one.media_types.first().cloned().unwrap_or_default();
    let list = if one.list { format!("list of {kind}") } else { kind };
    vec![one.status.clone(), list, fields, one.description.clone()]
}

/// The schema that a reference points to.
fn resolved<'s>(schema: &'s Value, defs: &'s Map<String, Value>) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|text| text.strip_prefix("#/$defs/"));
    name.and_then(|name| defs.get(name)).unwrap_or(schema)
}

/// The type of a value, in one or two words.
fn kind(schema: &Value, defs: &Map<String, Value>) -> String {
    let schema = resolved(schema, defs);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown: Vec<String> = values.iter().take(limits::CELL_NAMES).map(text).collect();
        let more = if values.len() > limits::CELL_NAMES { "|…" } else { "" };
        return format!("{}{more}", shown.join("|"));
    }
    let name = match schema.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    };
    match (name.as_str(), schema.get("items"), schema.get("format").and_then(Value::as_str)) {
        // Only one level, because deeper nesting adds nothing here.
        ("array", Some(items), _) => match resolved(items, defs).get("type") {
            Some(Value::String(item)) => format!("array of {item}"),
            _ => name,
        },
        ("string", _, Some(format)) => format!("string ({format})"),
        _ => name,
    }
}

/// An example call as typed.
fn example(full: &CommandDetails) -> String {
    let mut words = vec![format!("milepost command run {}", full.command)];
    let with = full.example.get("with").and_then(Value::as_object);
    for (name, value) in with.into_iter().flatten() {
        words.push(format!("-p {}", shell_quoted(&safe(&format!("{name}={}", plain(value))))));
    }
    if let Some(body) = full.example.get("body") {
        words.push(format!("--body {}", shell_quoted(&safe(&body.to_string()))));
    }
    words.join(" ")
}
