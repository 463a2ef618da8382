//! `milepost command show`.

use milepost_ops::command::get::{Get, Request};
use milepost_ops::command::{BodyView, Full, ParameterView, ResponseView};
use serde_json::{Map, Value};

use super::args::Named;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::{Terminal, safe, shell_quoted, wrap};

pub(crate) fn run(arguments: &Named, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let full = session.run::<Get>(Request { command: arguments.command() })?;
    if json {
        print(&full, terminal)?;
    } else {
        show(&full, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(full: &Full, terminal: &mut Terminal) -> Result<(), Failure> {
    let width = terminal.width();
    terminal.line(&match full.summary.as_str() {
        "" => full.command.clone(),
        summary => format!("{} — {}", full.command, safe(summary)),
    })?;
    let also = full.operation_id.as_deref().map(|id| format!("  ({})", safe(id)));
    let also = also.unwrap_or_default();
    terminal.line(&format!("{} {}{also}", full.method, safe(&full.path)))?;
    if full.deprecated {
        terminal.line("deprecated: its authors advise against it")?;
    }
    if !full.description.is_empty() && full.description != full.summary {
        let lines = full.description.lines().map(|line| wrap(&safe(line), width));
        terminal.line(&format!("\n{}", lines.collect::<Vec<_>>().join("\n")))?;
    }
    if !full.parameters.is_empty() {
        let rows = full.parameters.iter().map(|one| parameter(one, &full.defs));
        let rows: Vec<Vec<String>> = rows.collect();
        let headings = ["argument", "in", "needed", "type", "description"];
        terminal.line(&format!("\n{}", table::render(&headings, &rows, width)))?;
    }
    if let Some(body) = &full.body {
        show_body(body, &full.defs, terminal)?;
    }
    if !full.responses.is_empty() {
        let rows: Vec<Vec<String>> = full.responses.iter().map(response).collect();
        let headings = ["answer", "type", "fields", "description"];
        terminal.line(&format!("\n{}", table::render(&headings, &rows, width)))?;
    }
    let security = full.security.join(" or ");
    if !security.is_empty() {
        terminal.line(&format!("\nauthenticates with {}", safe(&security)))?;
    }
    for one in &full.parameters {
        if let Some(provider) = &one.provider {
            let (name, provider) = (safe(&one.name), safe(provider));
            terminal
                .remark(&format!("note: values of `{name}`: milepost command choices {provider}"));
        }
    }
    terminal.remark(&format!("next: {}", example(full)));
    Ok(())
}

fn parameter(one: &ParameterView, defs: &Map<String, Value>) -> Vec<String> {
    let needed = if one.required { "yes" } else { "no" };
    vec![
        one.name.clone(),
        one.location.clone(),
        needed.to_owned(),
        kind(&one.schema, defs),
        one.description.clone(),
    ]
}

fn show_body(
    body: &BodyView,
    defs: &Map<String, Value>,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let types: Vec<&str> = body.contents.iter().map(|one| one.media_type.as_str()).collect();
    let needed = if body.required { "needed" } else { "optional" };
    terminal.line(&format!("\nbody ({needed}): {}", safe(&types.join(", "))))?;
    let Some(first) = body.contents.first() else { return Ok(()) };
    let schema = resolved(&first.schema, defs);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let rows: Vec<Vec<String>> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let needed = if required.contains(&name.as_str()) { "yes" } else { "no" };
            let described = resolved(property, defs).get("description").and_then(Value::as_str);
            let described = described.unwrap_or_default().to_owned();
            vec![name.clone(), needed.to_owned(), kind(property, defs), described]
        })
        .collect();
    if rows.is_empty() {
        terminal.line(&safe(&kind(&first.schema, defs)))?;
    } else {
        let headings = ["property", "needed", "type", "description"];
        terminal.line(&table::render(&headings, &rows, terminal.width()))?;
    }
    Ok(())
}

fn response(one: &ResponseView) -> Vec<String> {
    let fields = match one.fields.len() {
        0 => String::new(),
        more if more > limits::CELL_NAMES => {
            format!("{}, …", one.fields[..limits::CELL_NAMES].join(", "))
        }
        _ => one.fields.join(", "),
    };
    let kind = one.media_types.first().cloned().unwrap_or_default();
    let list = if one.list { format!("list of {kind}") } else { kind };
    vec![one.status.clone(), list, fields, one.description.clone()]
}

/// A schema behind its reference.
fn resolved<'s>(schema: &'s Value, defs: &'s Map<String, Value>) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|text| text.strip_prefix("#/$defs/"));
    name.and_then(|name| defs.get(name)).unwrap_or(schema)
}

/// What a value is, in a word or two.
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
        // One level down: a list of lists of lists says no more.
        ("array", Some(items), _) => match resolved(items, defs).get("type") {
            Some(Value::String(item)) => format!("array of {item}"),
            _ => name,
        },
        ("string", _, Some(format)) => format!("string ({format})"),
        _ => name,
    }
}

/// A call as it would be typed.
fn example(full: &Full) -> String {
    let mut words = vec![format!("milepost command run {}", full.command)];
    let with = full.example.get("with").and_then(Value::as_object);
    for (name, value) in with.into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        words.push(format!("-p {}", shell_quoted(&safe(&format!("{name}={text}")))));
    }
    if let Some(body) = full.example.get("body") {
        words.push(format!("--body {}", shell_quoted(&safe(&body.to_string()))));
    }
    words.join(" ")
}
