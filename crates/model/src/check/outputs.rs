//! Whether a step's output can have a path: by its contract, its schema, or what it sets.

use serde_json::Value;

use crate::check::Checker;
use crate::commands::Lookup;
use crate::expr::{Kind, Segment, SegmentKind};
use crate::step::{Action, FieldType, OutputContract, Step};
use crate::target::Target;

/// What is known of a path.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It may be there.
    Fine,
    /// Not mentioned at this segment, but allowed.
    Unmentioned { index: usize, names: Vec<String> },
    /// It cannot be there.
    RuledOut { index: usize, names: Vec<String> },
}

impl Checker<'_> {
    /// `None` when nothing is known of the output.
    pub(crate) fn output_path(&self, step: &Step, path: &[Segment]) -> Option<Verdict> {
        if step.for_each.is_some() {
            // A list of outputs: an index first, then what one output has.
            return match &path.first()?.kind {
                SegmentKind::Field(_) => Some(Verdict::RuledOut { index: 0, names: vec![] }),
                _ => self.single_output(step, &path[1..]).map(|verdict| shift(verdict, 1)),
            };
        }
        self.single_output(step, path)
    }

    fn single_output(&self, step: &Step, path: &[Segment]) -> Option<Verdict> {
        path.first()?;
        if let Some(contract) = &step.output_contract {
            return Some(by_contract(contract, path));
        }
        match &step.action {
            Action::Prompt(prompt) => {
                let schema = &prompt.output_schema.as_ref()?.value;
                Some(walk(schema, schema, path, 0))
            }
            Action::Set(values) => match &path[0].kind {
                SegmentKind::Field(name) if values.get(name).is_some() => Some(Verdict::Fine),
                _ => {
                    let names = values.names().map(str::to_owned).collect();
                    Some(Verdict::RuledOut { index: 0, names })
                }
            },
            Action::Run(run) => {
                let schema = self.response(&run.target.value)?;
                Some(walk(&schema, &schema, path, 0))
            }
            _ => None,
        }
    }
}

impl Checker<'_> {
    /// The kind of a field of a step's output, by its contract or its schema.
    pub(crate) fn output_kind(&self, step: &Step, field: Option<&str>) -> Kind {
        let Some(field) = field.filter(|_| step.for_each.is_none()) else { return Kind::Unknown };
        if let Some(contract) = &step.output_contract {
            let found = contract.fields.iter().find(|one| one.name.value == field);
            let kind = found.and_then(|field| field.kind);
            return kind.map_or(Kind::Unknown, |kind| kind_named(kind.name()));
        }
        let schema = match &step.action {
            Action::Prompt(prompt) => {
                prompt.output_schema.as_ref().map(|schema| schema.value.clone())
            }
            Action::Run(run) => self.response(&run.target.value),
            _ => None,
        };
        let property = schema.as_ref().and_then(|schema| {
            let properties = resolve(schema, schema).get("properties")?;
            Some(resolve(properties.get(field)?, schema))
        });
        let name = property.and_then(|property| property.get("type")).and_then(Value::as_str);
        name.map_or(Kind::Unknown, kind_named)
    }

    /// The schema of what a command answers.
    fn response(&self, target: &Target) -> Option<Value> {
        let Target::Command(command) = target else { return None };
        match self.world.commands.command(command) {
            Lookup::Known(info) => info.response,
            _ => None,
        }
    }
}

/// The kind of value a schema calls by this name.
pub(crate) fn kind_named(name: &str) -> Kind {
    match name {
        "string" => Kind::String,
        "number" | "integer" => Kind::Number,
        "boolean" => Kind::Bool,
        "array" => Kind::List,
        "object" => Kind::Map,
        "null" => Kind::Null,
        _ => Kind::Unknown,
    }
}

fn shift(verdict: Verdict, by: usize) -> Verdict {
    match verdict {
        Verdict::Fine => Verdict::Fine,
        Verdict::Unmentioned { index, names } => Verdict::Unmentioned { index: index + by, names },
        Verdict::RuledOut { index, names } => Verdict::RuledOut { index: index + by, names },
    }
}

fn by_contract(contract: &OutputContract, path: &[Segment]) -> Verdict {
    let names = || contract.fields.iter().map(|field| field.name.value.clone()).collect();
    let SegmentKind::Field(name) = &path[0].kind else {
        return Verdict::RuledOut { index: 0, names: names() };
    };
    let Some(field) = contract.fields.iter().find(|field| field.name.value == *name) else {
        return Verdict::RuledOut { index: 0, names: names() };
    };
    let scalar = matches!(
        field.kind,
        Some(FieldType::String | FieldType::Number | FieldType::Integer | FieldType::Boolean)
    );
    if scalar && path.len() > 1 {
        return Verdict::RuledOut { index: 1, names: vec![] };
    }
    Verdict::Fine
}

/// Follows a path through a JSON Schema.
pub(crate) fn walk(schema: &Value, root: &Value, path: &[Segment], index: usize) -> Verdict {
    let Some(segment) = path.get(index) else { return Verdict::Fine };
    let schema = resolve(schema, root);
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(branches) = schema.get(key).and_then(Value::as_array) {
            return best(branches.iter().map(|branch| walk(branch, root, path, index)));
        }
    }
    match &segment.kind {
        SegmentKind::Dynamic => Verdict::Fine,
        SegmentKind::Index(_) => {
            if !allows(schema, "array") {
                return Verdict::RuledOut { index, names: vec![] };
            }
            match schema.get("items") {
                Some(items) => walk(items, root, path, index + 1),
                None => Verdict::Fine,
            }
        }
        SegmentKind::Field(name) => field(schema, root, name, path, index),
    }
}

fn field(schema: &Value, root: &Value, name: &str, path: &[Segment], index: usize) -> Verdict {
    if !allows(schema, "object") {
        return Verdict::RuledOut { index, names: vec![] };
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Verdict::Fine;
    };
    if let Some(inner) = properties.get(name) {
        return walk(inner, root, path, index + 1);
    }
    let names: Vec<String> = properties.keys().cloned().collect();
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => Verdict::RuledOut { index, names },
        Some(inner @ Value::Object(_)) => walk(inner, root, path, index + 1),
        _ => Verdict::Unmentioned { index, names },
    }
}

/// The mildest verdict of several branches, since any of them may be the one that holds.
fn best(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts
        .min_by_key(|verdict| match verdict {
            Verdict::Fine => 0,
            Verdict::Unmentioned { .. } => 1,
            Verdict::RuledOut { .. } => 2,
        })
        .unwrap_or(Verdict::Fine)
}

fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => true,
    }
}

/// Follows local references, a bounded number of times.
fn resolve<'v>(schema: &'v Value, root: &'v Value) -> &'v Value {
    let mut schema = schema;
    for _ in 0..64 {
        let target = schema.get("$ref").and_then(Value::as_str);
        match target.and_then(|target| target.strip_prefix('#')).and_then(|p| root.pointer(p)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}
